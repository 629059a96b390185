// Makes the outboard of a blob that has grown from its old outboard, without reading all old bytes again.
//
// Appending changes only the right edge of the tree. In post-order, the pairs to the left of that edge come first and
// do not move, and new pairs follow them. So only the right edge of the old outboard and the last chunk group of the
// old blob are read again.

import { CHUNK_LEN, HASH_LEN, PAIR_LEN } from '../lib/core/constants.js'
import { Outboard } from './outboard.js'
import { PairTable } from '../lib/outboard/pairs.js'
import { Tail } from './tail.js'
import { TreeBuilder } from '../lib/hash/tree-builder.js'
import { readPieces, readUpTo } from '../lib/source/read-pieces.js'
import { untilAborted, withYields } from '../lib/source/async-util.js'
import { areEqual } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { groupCount, leftChunks } from '../lib/tree/geometry.js'
import { parentStep } from '../lib/tree/walk.js'
import { leafMismatch, parentMismatch, truncated } from '../lib/core/errors.js'
import { modeOf } from '../lib/hash/mode-options.js'
import { pairsOf } from '../lib/outboard/paged-outboard.js'
import { parentCvIn } from '../lib/hash/subtree.js'
import { closeSource, toRandomAccess } from '../lib/source/source.js'

/** @import { Mode, PairSink, ProgressOptions, RandomAccess, SliceOutboard } from '../lib/core/types.js' */

/** @typedef {{ cv: Uint8Array, groups: number }} Finished  a perfect subtree that appending does not change */
/**
 * @typedef {object} RightEdge  the right edge of a tree, checked against the root
 * @property {Finished[]} subtrees  the subtrees to the left of the edge, from left to right
 * @property {number} start  the byte offset at which they end and the last chunk group begins
 * @property {Uint8Array} last  the chaining value of the last chunk group; the root if the blob has no other group
 */
/**
 * @typedef {ProgressOptions & { key?: Uint8Array }} AppendOptions  `onProgress` gets `baobox:outboard`,
 *   in bytes read
 */

/**
 * Makes the outboard of a blob that has grown from its old outboard. Reads only the new bytes, and once more the old
 * last chunk group.
 *
 *     let outboard = await createOutboard('log.txt', { order: 'post' })
 *     outboard = await appendOutboard('log.txt', outboard)    // later
 *
 * The outboard is not believed: the right edge of its tree, which proves its size, is checked against its root. The old
 * bytes before the last chunk group are not read, so changes of these bytes are not noticed.
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source  the whole blob, as it is now
 * @param {Outboard} outboard  the outboard of the blob's beginning, in post-order; not changed
 * @param {AppendOptions} [options]
 * @returns {Promise<Outboard>} it does not share memory with the old one
 * @throws {BaoError} BAO_PARENT_MISMATCH, BAO_LEAF_MISMATCH when the outboard is wrong, or the source
 *   no longer begins with the old bytes; BAO_TRUNCATED when the source is shorter than before;
 *   BAO_SOURCE_CHANGED when a file changes during the call
 */
export async function appendOutboard (source, outboard, options = {}) {
  assertKnownOptions(options, ['key', 'signal', 'onProgress'])
  if (!(outboard instanceof Outboard)) throw new TypeError('"outboard" expected an Outboard')
  const { groupLog, order } = outboard
  assertPostOrder('outboard', order)
  const mode = modeOf({ key: options.key })
  const { root, size, sink } = await grownFrom(source, outboard, (size, kept) => {
    const table = new PairTable(size, groupLog, order)
    table.bytes.set(outboard.bytes.subarray(0, kept * PAIR_LEN))
    return table
  }, { ...options, mode })
  return new Outboard({ root, size, groupLog, order, bytes: sink.bytes })
}

/**
 * Grows a tree from its old end, and passes its pairs to a sink.
 *
 * @template {PairSink & { flush?: () => Promise<void> }} T
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source
 * @param {SliceOutboard} outboard  of the blob's beginning
 * @param {(size: number, kept: number) => T} sinkFor  makes the sink. Gets the new size, and the number of pairs at the
 *   start that do not change
 * @param {ProgressOptions & { mode: Mode }} options
 * @returns {Promise<{ root: Uint8Array, size: number, sink: T }>}
 */
export async function grownFrom (source, outboard, sinkFor, { mode, signal, onProgress }) {
  signal?.throwIfAborted()
  const edge = await rightEdgeOf(outboard, mode, signal)
  const blob = await toRandomAccess(source, signal)
  try {
    const group = await lastGroup(blob, outboard, edge, mode, signal)
    const { size } = blob
    const sink = sinkFor(size, edge.subtrees.reduce((sum, { groups }) => sum + groups - 1, 0))
    const tree = new Tail(mode, sink)
    for (const { cv, groups } of edge.subtrees) tree.addSubtree(cv, groups * groupLen(outboard))
    tree.update(group)
    let done = group.length
    for await (const piece of withYields(readPieces(blob, outboard.size, size, signal), signal)) {
      tree.update(piece)
      await untilAborted(sink.flush?.(), signal)
      done += piece.length
      onProgress?.({ type: 'baobox:outboard', detail: { done, total: size - edge.start, unit: 'bytes' } })
    }
    if ('check' in blob) await /** @type {{ check: () => Promise<void> }} */ (blob).check()
    return { root: tree.hash(), size, sink }
  } finally {
    await closeSource(blob, signal)
  }
}

/** @param {string} name @param {string} order */
export function assertPostOrder (name, order) {
  if (order === 'post') return
  throw new RangeError(`"${name}" expected an outboard in post-order: in pre-order every pair would move`)
}

/**
 * Walks down the right edge of a tree, and checks each pair against the one above it.
 *
 * @param {SliceOutboard} outboard @param {Mode} mode @param {AbortSignal} [signal]
 * @returns {Promise<RightEdge>}
 */
async function rightEdgeOf (outboard, mode, signal) {
  const { size, groupLog } = outboard
  const pairs = pairsOf(outboard)
  const steps = rightEdgeSteps(size, groupLog)
  await untilAborted(pairs.prepare?.(steps.map(({ node }) => node)), signal)
  const subtrees = []
  let last = outboard.root
  for (const step of steps) {
    const pair = new Uint8Array(PAIR_LEN)
    if (!pairs.copyPair(step, pair, 0)) throw truncated({ node: step.node, wanted: PAIR_LEN, got: 0 })
    const [left, right] = [pair.subarray(0, HASH_LEN), pair.subarray(HASH_LEN)]
    if (!areEqual(last, 0, parentCvIn(mode, pair, step.isRoot))) throw parentMismatch(step.node)
    subtrees.push({ cv: left, groups: leftChunks(step.groups) })
    last = right
  }
  return { subtrees, start: subtrees.reduce((sum, { groups }) => sum + groups, 0) * groupLen(outboard), last }
}

/** The length of a chunk group in bytes. @param {{ groupLog: number }} outboard */
const groupLen = ({ groupLog }) => 2 ** groupLog * CHUNK_LEN

/**
 * The parents on the right edge, from the root down, each with the number of groups below it.
 *
 * @param {number} size @param {number} groupLog
 */
function rightEdgeSteps (size, groupLog) {
  const steps = []
  const groupChunks = 2 ** groupLog
  let start = 0
  for (let groups = groupCount(size, groupLog); groups > 1;) {
    const left = leftChunks(groups)
    const node = (start + left) * groupChunks - 1
    steps.push({ ...parentStep(node, size, groupLog, true, true), groups })
    start += left
    groups -= left
  }
  return steps
}

/**
 * Reads the old last chunk group again, and checks it, which proves the size that the outboard claims.
 *
 * @param {RandomAccess} blob @param {SliceOutboard} outboard @param {RightEdge} edge
 * @param {Mode} mode @param {AbortSignal} [signal]
 * @returns {Promise<Uint8Array>}
 */
async function lastGroup (blob, { size }, { subtrees, start, last }, mode, signal) {
  const len = size - start
  const bytes = blob.size < size ? new Uint8Array(0) : new Uint8Array(await readUpTo(blob, start, size, signal))
  if (bytes.length < len) {
    throw truncated({ start, wanted: len, got: Math.max(bytes.length, Math.min(len, blob.size - start)) })
  }
  const tree = new TreeBuilder(mode, { startChunk: start / CHUNK_LEN })
  tree.update(bytes)
  if (!areEqual(last, 0, subtrees.length === 0 ? tree.hash() : tree.cv())) throw leafMismatch(start, len)
  return bytes
}
