// Reads the pairs above some ranges from an outboard, many at a time and before they are used. Otherwise their user
// would wait for the server of the outboard again and again.

import { ENTER, Walk } from '../../../lib/tree/walk.js'
import { PAIR_LEN } from '../../../lib/core/constants.js'
import { concat } from '../../../lib/core/bytes.js'
import { pairsOf } from '../../../lib/outboard/paged-outboard.js'

/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */
/** @import { SliceOutboard, Step } from '../../../lib/core/types.js' */

/** How many pairs are read together, first and later: those of 8 MiB of a blob at group log 4, and of 64 MiB. */
const FIRST_COUNT = 512
const MAX_COUNT = 4096

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
  #count = FIRST_COUNT
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

  /**
   * Takes the next pairs of the walk.
   *
   * @param {number} count  at most those of a span
   * @returns {Uint8Array | undefined} fresh; fewer if the outboard lacks the next one. Undefined when `load` must be
   *   called first
   */
  take (count) {
    const { nodes, bytes, count: known } = this.#current
    const from = this.#index
    if (from + count > nodes.length) return undefined
    this.#index += count
    return bytes.slice(from * PAIR_LEN, Math.max(from, Math.min(from + count, known)) * PAIR_LEN)
  }

  /** Waits for more pairs. @returns {Promise<boolean>} false when the walk has ended */
  async load () {
    const next = await (this.#next ?? this.#read())
    this.#current = joined(this.#current, this.#index, next)
    this.#index = 0
    this.#next = this.#read()
    this.#next.catch(() => {}) // the next `load` gets the error
    return next.nodes.length > 0
  }

  /** @returns {Promise<Pairs>} */
  async #read () {
    const steps = []
    while (steps.length < this.#count && this.#walk.next()) {
      if (this.#walk.kind === ENTER && this.#walk.isStored) steps.push(/** @type {Step} */ ({ ...this.#walk }))
    }
    this.#count = Math.min(MAX_COUNT, 2 * this.#count)
    const nodes = steps.map(({ node }) => node)
    if (nodes.length > 0) await this.#reader.prepare?.(nodes, steps)
    const bytes = new Uint8Array(nodes.length * PAIR_LEN)
    const isMissing = (/** @type {Step} */ step, /** @type {number} */ i) =>
      !this.#reader.copyPair(step, bytes, i * PAIR_LEN)
    const missing = steps.findIndex(isMissing)
    return { nodes, bytes, count: missing < 0 ? nodes.length : missing }
  }
}

/**
 * Joins the pairs that were not used yet with the next ones.
 *
 * @param {Pairs} current @param {number} used  how many of these were used @param {Pairs} next
 * @returns {Pairs}
 */
function joined ({ nodes, bytes, count }, used, next) {
  if (used >= nodes.length) return next
  return {
    nodes: [...nodes.slice(used), ...next.nodes],
    bytes: concat([bytes.subarray(used * PAIR_LEN), next.bytes]),
    count: count < nodes.length ? Math.max(0, count - used) : count - used + next.count
  }
}
