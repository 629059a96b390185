// Writes the pairs of a growing tree to a sink. Pairs may arrive in any order. They are gathered until there are enough
// for a write.

import { PAIR_LEN } from '../core/constants.js'
import { HEADER_LEN, concat, u64ToBytes } from '../core/bytes.js'
import { Places, pairsBelow } from './pairs.js'
import { copyPair, copyPairs } from '../engine/window.js'
import { outboardLen } from '../tree/geometry.js'
import { reorderInSink } from './reorder.js'

/** @import { Order } from './pairs.js' */
/** @import { RandomAccessSink, SubtreeSink } from '../core/types.js' */

const PAIR_WORDS = PAIR_LEN / 4
/** The approximate number of bytes in one write. */
const WRITE_LEN = 1 << 18

/**
 * @typedef {{ place: number, pairs: Uint8Array }} Piece  adjacent pairs of the outboard, and the place of the first
 *   pair
 */

/** @implements {SubtreeSink} */
export class PairWriter {
  groupLog
  #order
  #sink
  #start
  /** Undefined while the size is not known. Then pairs arrive in post-order, one after the other. */
  #places = /** @type {Places | undefined} */ (undefined)
  #size = /** @type {number | undefined} */ (undefined)
  #count = 0
  /** Pairs before this place are written last. */
  #lateTo
  #signal
  #late = /** @type {Piece[]} */ ([])
  #pieces = /** @type {Piece[]} */ ([])
  #len = 0
  #writing = Promise.resolve()

  /**
   * @param {RandomAccessSink} sink
   * @param {object} options
   * @param {number} options.groupLog
   * @param {Order} options.order
   * @param {boolean} options.header  true if the outboard begins with the size
   * @param {number} [options.lateTo]  pairs before this place are written last; default: 0
   * @param {AbortSignal} [options.signal]  an abort ends the writing, but only before the last writes begin
   */
  constructor (sink, { groupLog, order, header, lateTo = 0, signal }) {
    this.#sink = sink
    this.groupLog = groupLog
    this.#order = order
    this.#start = header ? HEADER_LEN : 0
    this.#lateTo = lateTo
    this.#signal = signal
  }

  /** Takes the size of the blob, if it is known. @param {number} [size]  bytes */
  begin (size) {
    if (size === undefined) {
      if (this.#order !== 'pre' || this.#sink.read !== undefined) return
      throw new TypeError('"target" expected to have "read": pairs of a source of unknown size are reordered')
    }
    this.#size = size
    this.#places = new Places(size, this.groupLog, this.#order)
  }

  /** @type {SubtreeSink['pair']} */
  pair (node, at) {
    copyPair(at, this.#reserve(1, () => this.#places?.of(node)), 0)
  }

  /** @type {SubtreeSink['subtree']} */
  subtree (level, index, startChunk, chunks) {
    const count = pairsBelow(chunks, this.groupLog)
    if (count === 0) return
    const words = this.#reserve(count, () => this.#places?.first(startChunk, chunks))
    copyPairs(level, index, this.groupLog, this.#places === undefined ? 'post' : this.#order, words, 0)
  }

  /** Takes all pairs of a subtree. @param {number} startChunk @param {number} chunks @param {Uint8Array} pairs  kept */
  putSubtree (startChunk, chunks, pairs) {
    if (this.#places === undefined) throw new Error('a subtree has no place yet')
    if (pairs.length > 0) this.#add({ place: this.#places.first(startChunk, chunks), pairs })
  }

  /** Writes the gathered pairs if there are enough. Callers await it before they add more. */
  flush () {
    return this.#len < WRITE_LEN ? this.#writing : this.#write()
  }

  /** Writes the remaining pairs. @param {number} size  bytes of the blob */
  async finish (size) {
    await this.#write()
    const mustReorder = this.#size === undefined && this.#order === 'pre'
    if (mustReorder) await reorderInSink(this.#sink, this.#start, size, this.groupLog)
    if (this.#lateTo > 0) await this.#sink.truncate?.(this.#start + outboardLen(size, this.groupLog))
    if (this.#late.length + this.#start > 0) await this.#sink.sync?.()
    for (const piece of this.#late) await this.#writePiece(piece)
    // The size is written last, so that an unfinished target does not look like an outboard.
    if (this.#start > 0) await this.#sink.write(0, u64ToBytes(size))
    await this.#sink.sync?.()
  }

  /**
   * Returns memory for the next pairs, which will be written to a place in the outboard.
   *
   * @param {number} count @param {() => number | undefined} placeOf
   */
  #reserve (count, placeOf) {
    const words = new Uint32Array(count * PAIR_WORDS)
    this.#add({ place: placeOf() ?? this.#count, pairs: new Uint8Array(words.buffer) })
    this.#count += count
    return words
  }

  /** @param {Piece} piece */
  #add (piece) {
    this.#pieces.push(piece)
    this.#len += piece.pairs.length
  }

  #write () {
    const pieces = this.#pieces
    this.#pieces = []
    this.#len = 0
    this.#writing = this.#writing.then(async () => {
      for (const piece of joined(pieces)) {
        this.#signal?.throwIfAborted()
        await this.#writePiece(this.#withoutLate(piece))
      }
    })
    this.#writing.catch(() => {}) // callers that await it get the error
    return this.#writing
  }

  /** @param {Piece} piece @returns {Piece} */
  #withoutLate ({ place, pairs }) {
    const late = Math.min(pairs.length, Math.max(0, this.#lateTo - place) * PAIR_LEN)
    if (late > 0) this.#late.push({ place, pairs: pairs.slice(0, late) })
    return { place: place + late / PAIR_LEN, pairs: pairs.subarray(late) }
  }

  /** @param {Piece} piece */
  async #writePiece ({ place, pairs }) {
    if (pairs.length > 0) await this.#sink.write(this.#start + place * PAIR_LEN, pairs)
  }
}

/** Sorts pieces by their places, and joins adjacent ones. @param {Piece[]} pieces */
function * joined (pieces) {
  pieces.sort((a, b) => a.place - b.place)
  for (let i = 0; i < pieces.length;) {
    const first = i
    let len = 0
    do len += pieces[i++].pairs.length
    while (i < pieces.length && pieces[i].place === pieces[first].place + len / PAIR_LEN)
    const { place, pairs } = pieces[first]
    yield { place, pairs: i - first === 1 ? pairs : concat(pieces.slice(first, i).map(piece => piece.pairs)) }
  }
}
