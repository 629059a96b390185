// What must come out, said by recursion over the claimed shape with the twin's hashes. No line of lib/
// is in it, and it holds no list of chunks, so that a size may be any number. That it says what the
// twin's own decoder says is tested (seeds.test.js).
import { same } from '../support/bytes.js'
import { HASH, cvBytes, leftLen, parent, rootBytes, subtree } from '../support/twin/blake3.js'
import { chunkCount, nodeNumber } from '../support/twin/tree.js'

/**
 * @typedef {object} Item  what is due next
 * @property {'leaf' | 'parent'} kind
 * @property {number} start  bytes of the blob below it
 * @property {number} end
 * @property {number} [node]
 * @property {boolean} isStored  is this pair in the outboard?
 * @property {number} pre  pairs of the outboard that stand before it in pre-order
 * @property {number} post  the place of its pair in post-order
 */

/**
 * The chunks that a query selects, as spans that neither touch nor overlap.
 *
 * @param {number} size @param {(number | bigint)[]} boundaries
 */
export function selectedSpans (size, boundaries) {
  const chunks = chunkCount(size)
  const spans = []
  for (let i = 0; i < boundaries.length; i += 2) {
    const end = i + 1 < boundaries.length ? Number(boundaries[i + 1]) : Infinity
    spans.push([Math.min(Number(boundaries[i]), chunks), Math.min(end, chunks)])
    if (end >= chunks) spans.push([chunks - 1, chunks])
  }
  return merged(spans)
}

/**
 * Spans rounded out to groups, within the blob.
 *
 * @param {number[][]} spans @param {number} size @param {number} groupLog
 */
export function toGroups (spans, size, groupLog) {
  const group = 2 ** groupLog
  return merged(spans.map(
    ([start, end]) => [Math.floor(start / group) * group, Math.min(Math.ceil(end / group) * group, chunkCount(size))]
  ))
}

function merged (spans) {
  const out = []
  for (const [start, end] of spans.filter(([start, end]) => start < end).sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1)
    if (last && start <= last[1]) last[1] = Math.max(last[1], end)
    else out.push([start, end])
  }
  return out
}

/** How much of bytes [start, end) is selected. @returns {'none' | 'some' | 'all'} */
export function wantedOf (spans, start, end) {
  const first = start / 1024
  const last = first + chunkCount(end - start)
  const hits = spans.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, last) - Math.max(from, first)), 0)
  return hits === 0 ? 'none' : hits === last - first ? 'all' : 'some'
}

/**
 * Goes over what an encoding of this shape consists of. A visitor that returns false for a parent does
 * not see what is below it.
 *
 * @param {{ size: number, groupLog: number, spans: number[][] }} shape
 * @param {(item: Item) => boolean | void} visit
 */
export function walkShape ({ size, groupLog, spans }, visit) {
  const groupLen = 1024 * 2 ** groupLog
  const groups = len => Math.max(1, Math.ceil(len / groupLen))
  const go = (start, end, pre, before) => {
    const wanted = wantedOf(spans, start, end)
    if (wanted === 'none') return
    const isStored = end - start > groupLen
    if (end - start <= 1024 || (!isStored && wanted === 'all')) {
      return visit(
        { kind: 'leaf', start, end, isStored: false, pre, post: -1 }
      )
    }
    const post = before + groups(end - start) - 2
    if (visit({ kind: 'parent', start, end, node: nodeNumber(start, end), isStored, pre, post }) === false) return
    const split = start + leftLen(end - start)
    const onLeft = isStored ? groups(split - start) - 1 : 0
    const own = isStored ? 1 : 0
    go(start, split, pre + own, before)
    go(split, end, pre + own + onLeft, before + onLeft)
  }
  go(0, size, 0, 0)
}

/**
 * What a verifier must make of an encoding: all leaves that stand before the first fault, and the fault.
 *
 * @param {object} what
 * @param {Uint8Array} what.root
 * @param {number} what.size  a claim
 * @param {number} what.groupLog
 * @param {number[][]} what.spans  chunks
 * @param {object} [what.mode]
 * @param {(len: number, item: Item) => Uint8Array} what.take  the bytes of the next item; fewer where there are no more
 * @param {Map<string, object>} [what.known]  subtrees whose bytes and pairs need not be hashed once
 *   more, by `start-end`
 * @returns {{ leaves: { offset: number, bytes: Uint8Array }[], pairs: { offset: number, bytes:
 *   Uint8Array }[], fault?: object, isSizeProven: boolean, len: number }} `pairs` by node; `len`: bytes
 *   that verified
 */
export function decodeBy ({ root, size, groupLog, spans, mode = HASH, take, known }) {
  const result = { leaves: [], pairs: [], isSizeProven: false, len: 0 }
  const promised = [root]
  let isRoot = true
  let fault
  walkShape({ size, groupLog, spans }, item => {
    if (fault) return false
    const { kind, start, end, node } = item
    const len = kind === 'leaf' ? end - start : 64
    const bytes = take(len, item)
    if (bytes.length < len) {
      fault = { code: 'BAO_TRUNCATED', ...(kind === 'leaf' ? { start } : { node }), wanted: len, got: bytes.length }
      return false
    }
    const last = lastOf(kind, bytes, start, mode, known?.get(`${start}-${end}`))
    if (!same(isRoot ? rootBytes(last) : cvBytes(last), promised.pop())) {
      fault = kind === 'leaf' ? { code: 'BAO_LEAF_MISMATCH', start, len } : { code: 'BAO_PARENT_MISMATCH', node }
      return false
    }
    isRoot = false
    result.len += len
    if (kind === 'leaf') {
      result.leaves.push({ offset: start, bytes })
      if (end === size) result.isSizeProven = true
      return
    }
    result.pairs.push({ offset: node, bytes })
    const split = start + leftLen(end - start)
    if (wantedOf(spans, split, end) !== 'none') promised.push(bytes.subarray(32))
    if (wantedOf(spans, start, split) !== 'none') promised.push(bytes.subarray(0, 32))
  })
  return { ...result, fault }
}

/** The last compression of an item. @param {object} [known]  the subtree that a good blob has there */
export function lastOf (kind, bytes, start, mode, known) {
  if (kind === 'leaf') return known && same(known.bytes, bytes) ? known.last : subtree(bytes, start / 1024, mode)
  const [left, right] = [bytes.subarray(0, 32), bytes.subarray(32)]
  const isKnown = known?.left && same(known.left.cv, left) && same(known.right.cv, right)
  return isKnown ? known.last : parent(left, right, mode)
}

/** The subtrees of a grown blob by their place, as `decodeBy` takes them. @param {import('./cases.js').Blob} blob */
export function placesOf (blob) {
  if (blob.places) return blob.places
  const places = new Map()
  const visit = tree => {
    places.set(`${tree.start}-${tree.end}`, tree)
    if (tree.left) [tree.left, tree.right].forEach(visit)
  }
  const { tree, bytes, mode } = blob
  visit({ ...tree, last: tree.left ? parent(tree.left.cv, tree.right.cv, mode) : subtree(bytes, 0, mode) })
  return (blob.places = places)
}

/** Takes items from a response, one behind the other. @param {Uint8Array} response */
export function oneByOne (response) {
  let at = 0
  return len => {
    const part = response.subarray(at, at + len)
    at += part.length
    return part
  }
}

/**
 * A range in bytes that means the same chunks as one range of chunks.
 *
 * @param {(number | bigint)[]} boundaries @param {number} by  moves its start and end within their chunks
 * @returns {{ start: number, end?: number } | undefined} undefined where there is none
 */
export function byteRangeOf (boundaries, by) {
  const [first, last] = boundaries.map(Number)
  if (boundaries.length < 1 || boundaries.length > 2 || (last ?? first) > 2 ** 42) return undefined
  const start = first * 1024 + by % 1024
  return last === undefined ? { start } : { start, end: Math.max(start, last * 1024 - (by >>> 3) % 1024) }
}

/** What lies in a range in bytes. @param {{ offset: number, bytes: Uint8Array }[]} leaves */
export const trimmed = (leaves, { start, end = Infinity }) => leaves
  .map(({ offset, bytes }) => ({
    offset: Math.max(offset, start), bytes: bytes.subarray(Math.max(0, start - offset), Math.max(0, end - offset))
  }))
  .filter(({ bytes }) => bytes.length > 0)
