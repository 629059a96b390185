// Gives the verified pairs of a stored blob at any group log. The store keeps the pairs of group log 4. A higher group
// log leaves out some of them. For a lower one, the pairs inside each group are computed from the group's bytes.

import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG, HASH_LEN, PAIR_LEN } from '../../lib/core/constants.js'
import { HASH_MODE } from '../../lib/engine/mode.js'
import { PairTable } from '../../lib/outboard/pairs.js'
import { TreeBuilder } from '../../lib/hash/tree-builder.js'
import { createYielder } from '../../lib/source/async-util.js'
import { endOf, startOf } from '../../lib/tree/walk.js'
import { leafMismatch, truncated } from '../../lib/core/errors.js'
import { levelOf, nodesInPreOrder, placeOf } from '../../lib/tree/geometry.js'
import { GROUP_LEN } from '../sizes.js'

/** @import { SliceOutboard, Step } from '../../lib/core/types.js' */
/** @import { StoredView } from './stored-view.js' */

/** A piece of an outboard has at most this many pairs. */
const PIECE_PAIRS = 1024

/** @implements {SliceOutboard} */
export class RegroupedOutboard {
  #view
  /** The pairs for the next calls of `copyPair`, by node number. */
  #pairs = /** @type {Map<number, Uint8Array>} */ (new Map())
  /** The last group whose inner pairs were computed: its start, its length, and its pairs in pre-order. */
  #group = { start: -1, len: 0, pairs: new Uint8Array(0) }
  root
  size
  groupLog

  /** @param {StoredView} view @param {number} groupLog  0 to 16 */
  constructor (view, groupLog) {
    this.#view = view
    this.root = view.outboard.root
    this.size = view.size
    this.groupLog = groupLog
  }

  /**
   * @param {number[]} nodes
   * @throws {import('../../lib/core/errors.js').BaoError} BAO_PARENT_MISMATCH, BAO_LEAF_MISMATCH, BAO_TRUNCATED
   */
  async prepare (nodes) {
    this.#pairs.clear()
    for (const node of nodes) {
      this.#pairs.set(node, await (levelOf(node) < GROUP_LOG ? this.#pairInGroup(node) : this.#storedPair(node)))
    }
  }

  /** @param {Pick<Step, 'node'>} step @param {Uint8Array} out @param {number} at */
  copyPair ({ node }, out, at) {
    const pair = this.#pairs.get(node)
    if (pair === undefined) return false
    out.set(pair, at)
    return true
  }

  /** @param {number} node */
  async #storedPair (node) {
    const middle = (node + 1) * CHUNK_LEN
    const pair = new Uint8Array(PAIR_LEN)
    pair.set(await this.#view.expected(startOf(node), middle))
    pair.set(await this.#view.expected(middle, endOf(node, this.size)), HASH_LEN)
    return pair
  }

  /** @param {number} node  below the group level of the store */
  async #pairInGroup (node) {
    const start = Math.floor(startOf(node) / GROUP_LEN) * GROUP_LEN
    if (start !== this.#group.start) await this.#loadGroup(start)
    const { len, pairs } = this.#group
    const place = placeOf(node - start / CHUNK_LEN, len, this.groupLog)
    if (place === undefined) throw new Error(`parent ${node} is not in the group at byte ${start}`)
    return pairs.subarray(place.pre * PAIR_LEN, (place.pre + 1) * PAIR_LEN)
  }

  /** @param {number} start */
  async #loadGroup (start) {
    const len = Math.min(GROUP_LEN, this.size - start)
    const bytes = await this.#view.source.read(start, start + len)
    if (bytes.length < len) throw truncated({ start, wanted: len, got: bytes.length })
    await this.#view.expected(start, start + len) // This throws when a pair above the group is wrong or missing.
    if (!await this.#view.isRight(bytes, start)) throw leafMismatch(start, len)
    const table = new PairTable(len, this.groupLog, 'pre', start / CHUNK_LEN)
    const tree = new TreeBuilder(HASH_MODE, { startChunk: start / CHUNK_LEN, sink: table })
    tree.update(bytes)
    tree.cv()
    this.#group = { start, len, pairs: table.bytes }
  }
}

/**
 * Yields a part of an outboard in pre-order, without the header. Only one piece is in memory at a time.
 *
 * @param {StoredView} view
 * @param {{ groupLog: number, start: number, end: number, signal?: AbortSignal }} options  `start`, `end`: a range of
 *   bytes inside the outboard
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the caller's own pieces
 */
export async function * outboardPieces (view, { groupLog, start, end, signal }) {
  const outboard = new RegroupedOutboard(view, groupLog)
  const yieldWhenDue = createYielder(signal)
  const first = Math.floor(start / PAIR_LEN)
  const nodes = nodesInPreOrder(view.size, groupLog, first, Math.ceil(end / PAIR_LEN))
  for (let at = first * PAIR_LEN; at < end;) {
    const some = take(nodes, PIECE_PAIRS)
    await outboard.prepare(some)
    const piece = new Uint8Array(some.length * PAIR_LEN)
    some.forEach((node, i) => outboard.copyPair({ node }, piece, i * PAIR_LEN))
    yield piece.subarray(Math.max(start - at, 0), end - at)
    at += piece.length
    await yieldWhenDue()
  }
}

/** @template T @param {Generator<T>} items @param {number} count  at most @returns {T[]} */
function take (items, count) {
  const taken = []
  while (taken.length < count) {
    const { done, value } = items.next()
    if (done) break
    taken.push(value)
  }
  return taken
}
