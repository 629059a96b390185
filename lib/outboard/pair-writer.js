// Pairs on their way to a sink: they gather until there are enough for a write, whatever order they come in, and memory holds no more than that.

import { PAIR_LEN } from '../core/constants.js'
import { HEADER_LEN, u64ToBytes } from '../core/bytes.js'
import { Places, pairsBelow } from './pairs.js'
import { copyPair, copyPairs } from '../engine/window.js'
import { outboardLen } from '../tree/geometry.js'
import { reorderInSink } from './reorder.js'

/** @import { Order } from './pairs.js' */
/** @import { PairSink, RandomAccessSink } from '../core/types.js' */

const PAIR_WORDS = PAIR_LEN / 4
/** Bytes that are written at a time, about. */
const WRITE_LEN = 1 << 18

/** @typedef {{ place: number, pairs: Uint8Array }} Run  pairs that follow one another in the outboard, and the place of the first */

/** @implements {PairSink} */
export class PairWriter {
  groupLog
  #order
  #sink
  #start
  /** Unknown as long as the size is: then pairs come in post-order, one behind the other. */
  #places = /** @type {Places | undefined} */ (undefined)
  #size = /** @type {number | undefined} */ (undefined)
  #count = 0
  /** Pairs before this place are written last of all. */
  #lateTo
  #signal
  #late = /** @type {Run[]} */ ([])
  #runs = /** @type {Run[]} */ ([])
  #len = 0
  #writing = Promise.resolve()

  /**
   * @param {RandomAccessSink} sink
   * @param {object} options
   * @param {number} options.groupLog
   * @param {Order} options.order
   * @param {boolean} options.header  with the size in front
   * @param {number} [options.lateTo]
   * @param {AbortSignal} [options.signal]  after it no write begins, but for the last ones
   */
  constructor (sink, { groupLog, order, header, lateTo = 0, signal }) {
    this.#sink = sink
    this.groupLog = groupLog
    this.#order = order
    this.#start = header ? HEADER_LEN : 0
    this.#lateTo = lateTo
    this.#signal = signal
  }

  /** Says how long the blob will be, where that is known. @param {number} [size]  bytes */
  begin (size) {
    if (size === undefined) {
      if (this.#order === 'pre' && this.#sink.read === undefined) throw new TypeError('"target" expected to have "read": pairs of a source of unknown size are written in post-order, and then turned')
      return
    }
    this.#size = size
    this.#places = new Places(size, this.groupLog, this.#order)
  }

  /** @type {PairSink['pair']} */
  pair (node, at) {
    copyPair(at, this.#room(1, () => this.#places?.of(node)), 0)
  }

  /** @type {PairSink['subtree']} */
  subtree (level, index, startChunk, chunks) {
    const count = pairsBelow(chunks, this.groupLog)
    if (count === 0) return
    const words = this.#room(count, () => this.#places?.first(startChunk, chunks))
    copyPairs(level, index, this.groupLog, this.#places === undefined ? 'post' : this.#order, words, 0)
  }

  /** Takes all pairs of a subtree. @param {number} startChunk @param {number} chunks @param {Uint8Array} pairs  kept */
  putSubtree (startChunk, chunks, pairs) {
    if (this.#places === undefined) throw new Error('a subtree has no place yet')
    if (pairs.length > 0) this.#add({ place: this.#places.first(startChunk, chunks), pairs })
  }

  /** Writes what has gathered, when it is enough. Whoever brings pairs awaits it before bringing more. */
  flush () {
    return this.#len < WRITE_LEN ? this.#writing : this.#write()
  }

  /** Writes the rest. @param {number} size  bytes of the blob */
  async finish (size) {
    await this.#write()
    if (this.#size === undefined && this.#order === 'pre') await reorderInSink(this.#sink, this.#start, size, this.groupLog)
    if (this.#lateTo > 0) await this.#sink.truncate?.(this.#start + outboardLen(size, this.groupLog))
    if (this.#late.length + this.#start > 0) await this.#sink.sync?.()
    for (const run of this.#late) await this.#writeRun(run)
    // Last, since it is what makes the whole look like one.
    if (this.#start > 0) await this.#sink.write(0, u64ToBytes(size))
    await this.#sink.sync?.()
  }

  /** @param {number} count @param {() => number | undefined} placeOf @returns {Uint32Array} for so many pairs */
  #room (count, placeOf) {
    const words = new Uint32Array(count * PAIR_WORDS)
    this.#add({ place: placeOf() ?? this.#count, pairs: new Uint8Array(words.buffer) })
    this.#count += count
    return words
  }

  /** @param {Run} run */
  #add (run) {
    this.#runs.push(run)
    this.#len += run.pairs.length
  }

  #write () {
    const runs = this.#runs
    this.#runs = []
    this.#len = 0
    this.#writing = this.#writing.then(async () => {
      for (const run of joined(runs)) {
        this.#signal?.throwIfAborted()
        await this.#writeRun(this.#withoutLate(run))
      }
    })
    this.#writing.catch(() => {}) // whoever awaits it is told
    return this.#writing
  }

  /** @param {Run} run @returns {Run} */
  #withoutLate ({ place, pairs }) {
    const late = Math.min(pairs.length, Math.max(0, this.#lateTo - place) * PAIR_LEN)
    if (late > 0) this.#late.push({ place, pairs: pairs.slice(0, late) })
    return { place: place + late / PAIR_LEN, pairs: pairs.subarray(late) }
  }

  /** @param {Run} run */
  async #writeRun ({ place, pairs }) {
    if (pairs.length > 0) await this.#sink.write(this.#start + place * PAIR_LEN, pairs)
  }
}

/** Runs in the order of their places, neighbours as one. @param {Run[]} runs */
function * joined (runs) {
  runs.sort((a, b) => a.place - b.place)
  for (let i = 0; i < runs.length;) {
    const first = i
    let len = 0
    do len += runs[i++].pairs.length
    while (i < runs.length && runs[i].place === runs[first].place + len / PAIR_LEN)
    const pairs = i - first === 1 ? runs[first].pairs : new Uint8Array(len)
    if (i - first > 1) for (let at = 0, j = first; j < i; at += runs[j++].pairs.length) pairs.set(runs[j].pairs, at)
    yield { place: runs[first].place, pairs }
  }
}
