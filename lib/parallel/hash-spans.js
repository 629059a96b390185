// Hashes a source on several threads. The source is cut into spans: perfect subtrees of one size, and the rest. Each
// thread hashes one span after the other. This thread joins the chaining values of the spans in order, like those of
// windows.

import { CHUNK_LEN } from '../core/constants.js'
import { DEPTH, SHORT_SPAN_LEN, SPAN_LEN, SpanQueue } from './span-queue.js'
import { PairTable } from '../outboard/pairs.js'
import { TreeBuilder } from '../hash/tree-builder.js'
import { assertInteger } from '../core/bytes.js'
import { chunkCount } from '../tree/geometry.js'
import { parallelism, sharedPool } from './pool.js'
import { untilAborted } from '../source/async-util.js'

/** @import { HashOptions, HashedSource } from './hash-source.js' */
/** @import { OpenSource, SpanResult } from '../core/types.js' */
/** @import { Pool } from './pool.js' */

/**
 * @typedef {object} SpanOptions  for tests
 * @property {Pool} [pool]  other workers
 * @property {number} [spanLen]  the length of shorter spans, in bytes: a power of two of chunks
 */

/** How many spans keep two workers busy. With `auto`, a source with fewer spans is hashed on one thread. */
const MIN_SPANS = 2 * DEPTH
const MAX_THREADS = 256

/**
 * @param {OpenSource} opened
 * @param {HashOptions & SpanOptions} options
 * @returns {Promise<HashedSource | undefined>} undefined if one thread is enough, in which case nothing has been read
 */
export async function hashInSpans (opened, { threads = 'auto', pool = sharedPool, ...options }) {
  const { shared, size = 0 } = opened
  const { spanLen = size < MIN_SPANS * SPAN_LEN ? SHORT_SPAN_LEN : SPAN_LEN } = options
  const count = Math.ceil(size / spanLen)
  const width = threadCount(threads, pool, size, count)
  if (shared === undefined || width < 2) return undefined

  const spanAt = (/** @type {number} */ start) => ({ start, end: Math.min(start + spanLen, size) })
  const spans = Array.from({ length: count }, (_, i) => spanAt(i * spanLen))
  const { mode, outboard, signal } = options
  const joint = new SpanJoiner(spans, size, options)
  const work = new SpanQueue({
    opened,
    shared,
    spans,
    width,
    mode,
    outboard: outboard && { groupLog: outboard.groupLog, order: outboard.order },
    take: (index, result) => joint.take(index, result)
  })
  try {
    await untilAborted(work.run(pool), signal)
  } finally {
    work.stop()
  }
  await opened.check?.()
  return joint.finish()
}

/**
 * Decides how many threads hash a source.
 *
 * @param {'auto' | number} threads  the caller's option
 * @param {Pool} pool
 * @param {number} size  bytes
 * @param {number} count  the number of spans
 */
export function threadCount (threads, pool, size, count) {
  if (threads !== 'auto') assertInteger('threads', threads, 1, MAX_THREADS)
  if (pool.isRefused) return 1
  if (threads !== 'auto') return Math.min(threads, count)
  return count >= MIN_SPANS && pool.isWorth(size) ? Math.min(parallelism(), Math.floor(count / DEPTH)) : 1
}

/** Joins spans into a tree, and their pairs into an outboard. */
class SpanJoiner {
  #spans
  #size
  #options
  #tree
  /** What gets the pairs, if they are wanted: memory, or a writer. */
  #table
  #writer
  /** The index of the next span to join, and the chaining values of later spans. */
  #due = 0
  #waiting = /** @type {Map<number, Uint8Array>} */ (new Map())
  #done = 0

  /** @param {{ start: number, end: number }[]} spans @param {number} size  bytes @param {HashOptions} options */
  constructor (spans, size, options) {
    const { mode, outboard } = options
    this.#spans = spans
    this.#size = size
    this.#options = options
    this.#writer = outboard?.writer
    this.#table = outboard && !outboard.writer ? new PairTable(size, outboard.groupLog, outboard.order) : undefined
    this.#tree = new TreeBuilder(mode, { sink: this.#writer ?? this.#table })
  }

  /** @param {number} index @param {SpanResult} result */
  async take (index, { cv, pairs }) {
    const { signal, type, onProgress } = this.#options
    if (signal?.aborted) return
    const { start, end } = this.#spans[index]
    if (pairs !== undefined) {
      (this.#writer ?? this.#table)?.putSubtree(start / CHUNK_LEN, chunkCount(end - start), pairs)
    }
    this.#waiting.set(index, cv)
    for (let next; (next = this.#waiting.get(this.#due)) !== undefined; this.#due++) {
      this.#waiting.delete(this.#due)
      const span = this.#spans[this.#due]
      this.#tree.addSubtree(next, chunkCount(span.end - span.start))
    }
    await this.#writer?.flush()
    if (signal?.aborted) return
    this.#done += end - start
    onProgress?.({ type, detail: { done: this.#done, total: this.#size, unit: 'bytes' } })
  }

  /** @returns {HashedSource} */
  finish () {
    const root = this.#tree.hash()
    return { root, size: this.#size, pairs: this.#table?.bytes }
  }
}
