// Audits a blob, or its outboard: says which chunks are right. Wrong chunks do not cause an error. They are only left
// out of the result.

import { HASH_LEN, MAX_GROUP_LOG } from '../lib/core/constants.js'
import { Audit } from '../lib/slice/audit.js'
import { PairAudit } from '../lib/slice/pair-audit.js'
import { ChunkRanges, toRanges } from '../lib/tree/ranges.js'
import { PIECE_LEN, readPieces } from '../lib/source/read-pieces.js'
import { createYielder, untilAborted } from '../lib/source/async-util.js'
import { pairsOf } from '../lib/outboard/paged-outboard.js'
import { Prefetcher } from '../lib/source/prefetch.js'
import { auditInSpans } from '../lib/parallel/audit.js'
import { assertBytesOf, assertInteger } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { modeOf } from '../lib/hash/mode-options.js'
import { closeSource, sharedOf, toRandomAccess } from '../lib/source/source.js'

/** @import { BaoError } from '../lib/core/errors.js' */
/** @import { OpenFile } from '../lib/source/files.node.js' */
/** @import { ProgressOptions, RandomAccess, SliceOutboard, ThreadOptions } from '../lib/core/types.js' */
/** @import { SpanOptions } from '../lib/parallel/hash-spans.js' */
/** @import { RangesLike } from '../lib/tree/ranges.js' */

/**
 * The chunks of the source that the outboard's pairs prove, up to the root. The audit works in whole chunk groups of
 * the outboard: a wrong or missing byte makes its group invalid, and a wrong or missing pair makes everything below it
 * invalid. Only one batch is in memory at a time. Long files, bytes in shared memory and, in browsers, Blobs are hashed
 * on several threads. If the source changes during the audit, the result applies to the bytes that were read.
 *
 *     const valid = await validRanges('movie.mp4', outboard)
 *     const lost = ChunkRanges.all.canonical(outboard.size).difference(valid)
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source  the blob; it may end early
 * @param {SliceOutboard} outboard  only its root is believed
 * @param {RangesLike} [ranges]  ranges to check, rounded to groups; default: everything
 * @param {ProgressOptions & ThreadOptions & { key?: Uint8Array }} [options]  `onProgress` gets `baobox:valid`
 * @returns {Promise<ChunkRanges>} the right chunks; none for the empty blob, which has no bytes
 * @throws {BaoError} BAO_WORKER_FAILED; errors of the source and the outboard, unchanged
 */
export async function validRanges (source, outboard, ranges, options = {}) {
  assertKnownOptions(options, ['key', 'signal', 'onProgress', 'threads'])
  return findValid(source, outboard, ranges, options)
}

/**
 * Does the work of `validRanges` without checking the options, because tests pass more options for threads.
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source
 * @param {SliceOutboard} outboard @param {RangesLike | undefined} ranges
 * @param {ProgressOptions & ThreadOptions & SpanOptions & { key?: Uint8Array }} options
 * @returns {Promise<ChunkRanges>}
 */
export async function findValid (source, outboard, ranges, { key, signal, onProgress, ...threads }) {
  const all = begin(outboard, ranges, key)
  signal?.throwIfAborted()
  const blob = await toRandomAccess(source, signal)
  try {
    const progress = new Progress(all.ranges, all.size)
    const type = 'baobox:valid'
    const right = await auditInSpans({
      size: blob.size,
      shared: sharedOf(source, blob),
      pieces: (start = 0, end = blob.size) => readPieces(blob, start, end, signal),
      keepOpenUntil: promise => /** @type {Partial<OpenFile>} */ (blob).keepOpenUntil?.(promise)
    }, all, all.pairs, {
      ...threads,
      signal,
      onSpan: len => onProgress?.({ type, detail: { done: progress.skip(len), total: progress.total, unit: 'bytes' } })
    })
    const task = { ...all, ranges: all.ranges.difference(right) }
    progress.go(task.ranges)
    const audit = new Audit(task, task.pairs)
    const reader = new Prefetcher(blob, task.ranges.toBytes(task.size), signal)
    const rest = await run(audit, task, progress, { signal, onProgress, type }, async yieldWhenDue => {
      if (audit.large !== undefined) {
        const [{ start, end }] = audit.spans
        for (let at = start; at < end; at += PIECE_LEN) {
          reader.reclaimBuffers()
          audit.large.update(await reader.read(at, Math.min(at + PIECE_LEN, end)))
          await yieldWhenDue()
        }
        return audit.check([])
      }
      const bytes = []
      reader.reclaimBuffers()
      for (const { start, end } of audit.spans) bytes.push(await reader.read(start, end))
      audit.check(bytes)
    })
    return right.union(rest)
  } finally {
    await closeSource(blob, signal)
  }
}

/**
 * The chunks above which all pairs are right, up to the root. The bytes of the blob are not read, so they may be wrong
 * or missing. A blob of one group has no pairs that could be wrong.
 *
 * @param {SliceOutboard} outboard  only its root is believed
 * @param {RangesLike} [ranges]  ranges to check, rounded to groups; default: everything
 * @param {ProgressOptions & { key?: Uint8Array }} [options]  `onProgress` gets `baobox:valid-outboard`,
 *   in bytes of the blob
 * @returns {Promise<ChunkRanges>} the chunks with right pairs; none for the empty blob
 * @throws errors of the outboard, unchanged
 */
export async function validOutboardRanges (outboard, ranges, options = {}) {
  assertKnownOptions(options, ['key', 'signal', 'onProgress'])
  const { key, signal, onProgress } = options
  const task = begin(outboard, ranges, key)
  signal?.throwIfAborted()
  const audit = new PairAudit(task, task.pairs)
  const progress = new Progress(task.ranges, task.size)
  return run(audit, task, progress, { signal, onProgress, type: 'baobox:valid-outboard' }, async () => audit.check())
}

/** @param {SliceOutboard} outboard @param {RangesLike} [like] @param {Uint8Array} [key] */
function begin (outboard, like, key) {
  const pairs = pairsOf(outboard)
  const { root, size, groupLog } = outboard
  assertBytesOf('outboard.root', root, HASH_LEN)
  assertInteger('outboard.size', size)
  assertInteger('outboard.groupLog', groupLog, 0, MAX_GROUP_LOG)
  const wanted = toRanges(like).canonical(size).roundToGroups(groupLog).canonical(size)
  const ranges = size === 0 ? ChunkRanges.none : wanted
  return { pairs, root: new Uint8Array(root), size, groupLog, ranges, mode: modeOf({ key }) }
}

/**
 * Runs an audit, batch by batch.
 *
 * @param {Audit | PairAudit} audit @param {ReturnType<typeof begin>} task @param {Progress} progress
 * @param {ProgressOptions & { type: string }} options
 * @param {(yieldWhenDue: () => Promise<void> | undefined) => Promise<void>} look  checks the planned batch. During a
 *   long batch, it calls its argument to yield to the event loop
 * @returns {Promise<ChunkRanges>}
 */
async function run (audit, task, progress, { signal, onProgress, type }, look) {
  const yieldWhenDue = createYielder(signal)
  while (audit.plan()) {
    if (audit.nodes.length > 0) await untilAborted(task.pairs.prepare?.(audit.nodes), signal)
    await look(yieldWhenDue)
    onProgress?.({ type, detail: { done: progress.upTo(audit.end), total: progress.total, unit: 'bytes' } })
    await yieldWhenDue()
  }
  return audit.valid
}

/** Counts how many bytes were audited. */
class Progress {
  #spans
  #size
  #passed = 0
  #at = 0
  total

  /** @param {ChunkRanges} ranges @param {number} size */
  constructor (ranges, size) {
    this.#size = size
    this.#spans = ranges.toBytes(size)
    this.total = this.#spans.reduce((sum, { start, end }) => sum + end - start, 0)
  }

  /** Counts bytes that were audited out of order. @param {number} len @returns {number} bytes done so far */
  skip (len) { return (this.#passed += len) }

  /** Sets the remaining ranges, which are audited in order. @param {ChunkRanges} ranges */
  go (ranges) { this.#spans = ranges.toBytes(this.#size) }

  /**
   * How many bytes are done when the audit is at an offset.
   *
   * @param {number} place  not below that of the previous call
   */
  upTo (place) {
    for (; this.#at < this.#spans.length && this.#spans[this.#at].end <= place; this.#at++) {
      this.#passed += this.#spans[this.#at].end - this.#spans[this.#at].start
    }
    const { start } = this.#spans[this.#at] ?? { start: place }
    return this.#passed + Math.max(0, place - start)
  }
}
