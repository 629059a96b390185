// Reads the pairs that a slice needs from an outboard, many at a time and before they are used. Otherwise the slice
// would wait for the server of the outboard again and again.

import { ENTER, Walk } from '../../../lib/tree/walk.js'
import { PAIR_LEN } from '../../../lib/core/constants.js'
import { pairsOf } from '../../../lib/outboard/paged-outboard.js'

/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */
/** @import { SliceOutboard, Step } from '../../../lib/core/types.js' */

/** How many pairs are read together: those of 8 MiB of a blob at group log 4. */
const COUNT = 512

/**
 * @typedef {object} Pairs  pairs that were read together
 * @property {number[]} nodes  the node numbers of the parents that were asked for
 * @property {Uint8Array} bytes  the pairs, in the same order
 * @property {number} count  how many pairs were read: those of the parents before the first one whose pair the outboard
 *   lacks
 */

export class PairsAhead {
  #walk
  #reader
  /** @type {Pairs} */
  #current = { nodes: [], bytes: new Uint8Array(0), count: 0 }
  #index = 0
  #next = /** @type {Promise<Pairs> | undefined} */ (undefined)

  /** @param {SliceOutboard} outboard @param {number} size  the size of the blob @param {ChunkRanges} ranges */
  constructor (outboard, size, ranges) {
    this.#walk = new Walk(size, outboard.groupLog, ranges)
    this.#reader = pairsOf(outboard)
  }

  /**
   * Moves to the pair of a parent.
   *
   * @param {number} node  its node number; calls follow the order of the walk
   * @returns {boolean} false when `load` must be called first
   */
  seek (node) {
    const { nodes } = this.#current
    while (this.#index < nodes.length && nodes[this.#index] !== node) this.#index++
    return this.#index < nodes.length
  }

  /** The pair that `seek` has found. @returns {Uint8Array | undefined} undefined if the outboard lacks the pair */
  get pair () {
    const { bytes, count } = this.#current
    const at = this.#index * PAIR_LEN
    return this.#index < count ? bytes.subarray(at, at + PAIR_LEN) : undefined
  }

  /** Waits for the next pairs. @returns {Promise<boolean>} false when the walk has ended */
  async load () {
    this.#current = await (this.#next ?? this.#read())
    this.#index = 0
    this.#next = this.#read()
    this.#next.catch(() => {}) // the next `load` gets the error
    return this.#current.nodes.length > 0
  }

  /** @returns {Promise<Pairs>} */
  async #read () {
    const steps = []
    while (steps.length < COUNT && this.#walk.next()) {
      if (this.#walk.kind === ENTER && this.#walk.isStored) steps.push(/** @type {Step} */ ({ ...this.#walk }))
    }
    const nodes = steps.map(({ node }) => node)
    if (nodes.length > 0) await this.#reader.prepare?.(nodes)
    const bytes = new Uint8Array(nodes.length * PAIR_LEN)
    const isMissing = (/** @type {Step} */ step, /** @type {number} */ i) =>
      !this.#reader.copyPair(step, bytes, i * PAIR_LEN)
    const missing = steps.findIndex(isMissing)
    return { nodes, bytes, count: missing < 0 ? nodes.length : missing }
  }
}
