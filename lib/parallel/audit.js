// The quick part of an audit, on several threads: finds spans that are right as a whole. A span is right if the pairs
// that follow from its bytes are those of the outboard, and its chaining value is the expected one. All other spans are
// left to the audit that checks every step, so the result does not depend on the number of threads.

import { CHUNK_LEN, HASH_LEN, PAIR_LEN } from '../core/constants.js'
import { ChunkRanges } from '../tree/ranges.js'
import { SPAN_LEN, SpanQueue } from './span-queue.js'
import { chunkCount, leftChunks } from '../tree/geometry.js'
import { forEachParent } from '../slice/subtree-encoding.js'
import { parentCvIn } from '../hash/subtree.js'
import { parentStep } from '../tree/walk.js'
import { sharedPool } from './pool.js'
import { untilAborted } from '../source/async-util.js'
import { threadCount } from './hash-spans.js'

/** @import { AuditJob } from '../slice/audit.js' */
/** @import { OpenSource, PairReader, SpanResult, Step, ThreadOptions } from '../core/types.js' */
/** @import { ByteRange } from '../tree/ranges.js' */
/** @import { SpanOptions } from './hash-spans.js' */

/** For how many parents the pairs are fetched together. */
const MAX_NODES = 1024

/**
 * @param {Pick<OpenSource, 'size' | 'shared' | 'pieces' | 'keepOpenUntil'>} opened
 * @param {AuditJob} job
 * @param {PairReader} pairs
 * @param {ThreadOptions & SpanOptions & { signal?: AbortSignal, onSpan?: (len: number) => void }} options  `onSpan`:
 *   called with the number of bytes that were found right
 * @returns {Promise<ChunkRanges>} the chunks of the spans that were found right; none if one thread is enough
 */
export async function auditInSpans (opened, job, pairs, options) {
  const { threads = 'auto', pool = sharedPool, spanLen = SPAN_LEN, signal, onSpan } = options
  const { shared, size = 0 } = opened
  // Only if a source is shared, its size is more than a claim.
  const candidates = shared === undefined ? [] : wholeSpans(job, Math.min(size, job.size), spanLen)
  const width = threadCount(threads, pool, candidates.length * spanLen, candidates.length)
  if (shared === undefined || width < 2) return ChunkRanges.none

  const expected = await expectedCvs(candidates, job, pairs, spanLen, signal)
  const spans = candidates.filter(({ start }) => expected.has(start))
  /** @type {number[]} */
  const right = []
  let looking = Promise.resolve()
  const work = new SpanQueue({
    opened,
    shared,
    spans,
    width,
    mode: job.mode,
    outboard: { groupLog: job.groupLog, order: 'pre' },
    take: (index, result) => {
      // Check spans one after the other, because fetched pairs are borrowed until the next fetch.
      looking = looking.then(async () => {
        const { start, end } = spans[index]
        if (!isEqual(result.cv, /** @type {Uint8Array} */ (expected.get(start)))) return
        if (!await hasPairs(spans[index], job, pairs, result, signal)) return
        right.push(start / CHUNK_LEN)
        onSpan?.(end - start)
      })
      return looking
    },
    // The source has become shorter. The audit that checks every step finds the missing bytes.
    forgive: (_, error) => /** @type {any} */ (error).code === 'BAO_TRUNCATED'
  })
  try {
    if (spans.length > 0) await untilAborted(work.run(pool), signal)
  } finally {
    work.stop()
  }
  return new ChunkRanges(joined(right.sort((a, b) => a - b), spanLen / CHUNK_LEN))
}

/**
 * The perfect subtrees of one size, except the root, that are present and wanted as a whole.
 *
 * @param {AuditJob} job @param {number} present  bytes @param {number} spanLen
 * @returns {ByteRange[]}
 */
function wholeSpans ({ size, groupLog, ranges }, present, spanLen) {
  const spans = []
  if (spanLen < CHUNK_LEN * 2 ** groupLog || spanLen >= size) return []
  for (const { start, end } of ranges.toBytes(size)) {
    const stop = Math.min(end, present) - spanLen
    for (let at = Math.ceil(start / spanLen) * spanLen; at <= stop; at += spanLen) {
      spans.push({ start: at, end: at + spanLen })
    }
  }
  return spans
}

/**
 * Finds the expected chaining values of spans, which follow from right parents. Spans below a wrong or missing parent
 * have none.
 *
 * @param {ByteRange[]} spans @param {AuditJob} job @param {PairReader} pairs @param {number} spanLen
 * @param {AbortSignal} [signal]
 * @returns {Promise<Map<number, Uint8Array>>} chaining values, by the byte offset of the span
 */
async function expectedCvs (spans, { root, size, groupLog, mode }, pairs, spanLen, signal) {
  const spanChunks = spanLen / CHUNK_LEN
  const expected = new Map()
  const wants = wantedIn(spans.map(({ start }) => start / CHUNK_LEN))
  let level = [{ start: 0, end: chunkCount(size), cv: root }].filter(({ start, end }) => wants(start, end))
  for (let isRoot = true; level.length > 0; isRoot = false) {
    const below = []
    for (let i = 0; i < level.length; i += MAX_NODES) {
      const nodes = level.slice(i, i + MAX_NODES)
        .map(node => ({ ...node, middle: node.start + leftChunks(node.end - node.start) }))
      await untilAborted(pairs.prepare?.(nodes.map(({ middle }) => middle - 1)), signal)
      for (const { start, middle, end, cv } of nodes) {
        const pair = new Uint8Array(PAIR_LEN)
        const isThere = pairs.copyPair(parentStep(middle - 1, size, groupLog, true, true), pair, 0)
        if (!isThere || !isEqual(parentCvIn(mode, pair, isRoot), cv)) continue
        below.push({ start, end: middle, cv: pair.subarray(0, HASH_LEN) })
        below.push({ start: middle, end, cv: pair.subarray(HASH_LEN) })
      }
    }
    for (const { start, end, cv } of below) {
      if (end - start === spanChunks && start % spanChunks === 0) expected.set(start * CHUNK_LEN, cv)
    }
    level = below.filter(({ start, end }) => end - start > spanChunks && wants(start, end))
  }
  return expected
}

/**
 * Makes a function that returns true if one of these places is between two others.
 *
 * @param {number[]} places  increasing
 * @returns {(start: number, end: number) => boolean}
 */
const wantedIn = places => (start, end) => {
  let [low, high] = [0, places.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (places[middle] < start) low = middle + 1
    else high = middle
  }
  return low < places.length && places[low] < end
}

/**
 * True if the pairs of a span are those of the outboard.
 *
 * @param {ByteRange} span @param {AuditJob} job @param {PairReader} pairs @param {SpanResult} result
 * @param {AbortSignal} [signal]
 */
async function hasPairs ({ start, end }, { size, groupLog }, pairs, { pairs: found = new Uint8Array(0) }, signal) {
  const leafLen = CHUNK_LEN * 2 ** groupLog
  const subtrees = partsOf({ start, len: end - start, leafLen })
  const memory = new Uint8Array(MAX_NODES * PAIR_LEN)
  let done = 0
  for (const subtree of subtrees) {
    /** @type {number[]} */
    const nodes = []
    const visit = (/** @type {(step: Step) => void} */ each) => {
      const node = (subtree.start + subtree.len / 2) / CHUNK_LEN - 1
      if (subtree.isParent) each(parentStep(node, size, groupLog, true, true))
      else forEachParent(subtree, size, groupLog, each)
    }
    if (pairs.prepare) {
      visit(({ node }) => { nodes.push(node) })
      await untilAborted(pairs.prepare(nodes), signal)
    }
    let len = 0
    let hasAll = true
    visit(step => {
      hasAll = hasAll && pairs.copyPair(step, memory, len)
      len += PAIR_LEN
    })
    if (!hasAll || !isEqual(memory.subarray(0, len), found.subarray(done, done + len))) return false
    done += len
  }
  return true
}

/**
 * Splits a subtree, in pre-order, into parts whose parents are fetched together. Upper parents are parts of their own,
 * and so are the subtrees of at most MAX_NODES leaves below them.
 *
 * @param {import('../slice/subtree-encoding.js').Subtree} subtree
 * @returns {Generator<import('../slice/subtree-encoding.js').Subtree & { isParent: boolean }>}
 */
function * partsOf ({ start, len, leafLen }) {
  if (len === leafLen) return
  if (len / leafLen <= MAX_NODES) return yield { start, len, leafLen, isParent: false }
  yield { start, len, leafLen, isParent: true }
  yield * partsOf({ start, len: len / 2, leafLen })
  yield * partsOf({ start: start + len / 2, len: len / 2, leafLen })
}

/**
 * The boundaries of subtrees of the same length. Adjacent subtrees are joined.
 *
 * @param {number[]} starts  chunks, increasing @param {number} chunks  the length of each subtree
 */
function joined (starts, chunks) {
  /** @type {number[]} */
  const boundaries = []
  for (const start of starts) {
    if (boundaries.at(-1) === start) boundaries[boundaries.length - 1] = start + chunks
    else boundaries.push(start, start + chunks)
  }
  return boundaries
}

/** @param {Uint8Array} a @param {Uint8Array} b  of the same length */
function isEqual (a, b) {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
