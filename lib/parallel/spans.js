// Hashing on several threads. A source is cut into spans: perfect subtrees of one size, and what is left at the end. Each thread hashes one
// span after the other; here their chaining values are joined, in order, as windows are when a tree is grown on one thread.

import { CHUNK_LEN } from '../constants.js'
import { NotShared } from './pool-worker.js'
import { PairTable } from '../pairs.js'
import { TreeBuilder } from '../builder.js'
import { assertInteger } from '../bytes.js'
import { chunkCount } from '../tree.js'
import { hashSpan } from './span.js'
import { kernelName } from '../kernel/index.js'
import { parallelism, sharedPool } from './pool.js'
import { turn, untilAborted } from '../reading.js'

/** @import { GrowOptions, Grown } from '../grow.js' */
/** @import { OpenSource, SharedSource, SpanResult } from '../types.js' */
/** @import { Pool } from './pool.js' */
/** @import { PoolWorker } from './pool-worker.js' */

/** @typedef {{ pool?: Pool, spanLen?: number }} SpanOptions  for tests: other workers; shorter spans, of a power of two of chunks, in bytes */

/** Bytes of a span. */
const SPAN_LEN = 1 << 23
/** Spans that a worker has in hand: one to hash, and one so that it never waits for us. */
const DEPTH = 2
/** Bytes from which on `auto` is more than one thread: as many spans as two workers take in hand. */
const MIN_LEN = 2 * DEPTH * SPAN_LEN
const MAX_THREADS = 256

/**
 * @param {OpenSource} opened
 * @param {GrowOptions & SpanOptions} options
 * @returns {Promise<Grown | undefined>} undefined when it is for one thread: nothing has been read then
 */
export async function growInSpans (opened, { threads = 'auto', pool = sharedPool, spanLen = SPAN_LEN, ...options }) {
  if (threads !== 'auto') assertInteger('threads', threads, 1, MAX_THREADS)
  const { shared, size = 0 } = opened
  if (shared === undefined || pool.isRefused) return undefined
  const count = Math.ceil(size / spanLen)
  const width = threads === 'auto' ? usualWidth(size, count, pool) : Math.min(threads, count)
  if (width < 2) return undefined

  const work = new SpanWork(opened, shared, { size, spanLen, count }, width, options)
  try {
    await untilAborted(work.run(pool), options.signal)
  } finally {
    work.stop()
  }
  await opened.check?.()
  return work.finish()
}

/** How many threads `auto` means. @param {number} size @param {number} count @param {Pool} pool */
const usualWidth = (size, count, pool) => size >= MIN_LEN && pool.isWorth(size) ? Math.min(parallelism(), Math.floor(count / DEPTH)) : 1

/**
 * One source on its way through the pool. As long as workers are missing, because they start, or cannot be had, or cannot have the source, this
 * thread stands in for them: so nothing is slower than on one thread, and nothing waits for a worker that never comes.
 */
class SpanWork {
  #opened
  #shared
  #cut
  #width
  #options
  #tree
  /** Take the pairs, if they are wanted: here, or in a sink. */
  #table
  #writer
  /** Workers that have spans in hand. */
  #workers = /** @type {Set<PoolWorker>} */ (new Set())
  #isStandingIn = false
  /** Spans that were handed out in vain, and the first that never was. */
  #returned = /** @type {number[]} */ ([])
  #next = 0
  /** The span to be joined next, and chaining values of those behind it. */
  #due = 0
  #waiting = /** @type {Map<number, Uint8Array>} */ (new Map())
  #done = 0
  #isStopped = false
  /** Of the promise that `run` gave. */
  #resolve = () => {}
  /** @type {(error: unknown) => void} */
  #reject = () => {}

  /**
   * @param {OpenSource} opened @param {SharedSource} shared
   * @param {{ size: number, spanLen: number, count: number }} cut
   * @param {number} width  threads
   * @param {GrowOptions} options
   */
  constructor (opened, shared, cut, width, options) {
    const { mode, outboard } = options
    this.#opened = opened
    this.#shared = shared
    this.#cut = cut
    this.#width = width
    this.#options = options
    this.#writer = outboard?.writer
    this.#table = outboard && !outboard.writer ? new PairTable(cut.size, outboard.groupLog, outboard.order) : undefined
    this.#tree = new TreeBuilder(mode, { sink: this.#writer ?? this.#table })
  }

  /** Hashes all spans. @param {Pool} pool @returns {Promise<void>} */
  run (pool) {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      for (const worker of pool.take(this.#width)) {
        if (worker.isReady) this.#employ(worker)
        else worker.starting.then(isReady => { if (isReady) this.#employ(worker) })
      }
      this.#standIn()
    })
  }

  /** Nothing more is handed out, and what still comes is not looked at. */
  stop () { this.#isStopped = true }

  /** @returns {Grown} */
  finish () {
    const root = this.#tree.hash()
    return { root, size: this.#cut.size, pairs: this.#table?.bytes }
  }

  /** @param {PoolWorker} worker */
  #employ (worker) {
    this.#workers.add(worker)
    for (let i = 0; i < DEPTH; i++) this.#feed(worker).catch(this.#reject)
  }

  /** Gives a worker span after span. @param {PoolWorker} worker */
  async #feed (worker) {
    for (let index; (index = this.#nextIndex()) !== undefined;) {
      const running = worker.run(this.#jobOf(index))
      this.#opened.use?.(running)
      try {
        await this.#take(index, await running)
      } catch (error) {
        if (!(error instanceof NotShared)) throw error
        this.#returned.push(index)
        this.#workers.delete(worker)
        return this.#standIn()
      }
    }
  }

  /** Hashes spans here, as long as workers are missing. */
  async #standIn () {
    if (this.#isStandingIn) return
    this.#isStandingIn = true
    try {
      while (this.#workers.size < this.#width) {
        const index = this.#nextIndex()
        if (index === undefined) break
        const { start, end } = this.#spanAt(index)
        const running = hashSpan(this.#jobOf(index), this.#opened.pieces(start, end))
        this.#opened.use?.(running)
        await this.#take(index, await running)
        await turn() // workers want to be heard
      }
    } catch (error) {
      this.#reject(error)
    }
    this.#isStandingIn = false
  }

  /** @returns {number | undefined} the span that is to be handed out now */
  #nextIndex () {
    if (this.#isStopped) return undefined
    return this.#returned.pop() ?? (this.#next < this.#cut.count ? this.#next++ : undefined)
  }

  /** @param {number} index */
  #spanAt (index) {
    const start = index * this.#cut.spanLen
    return { start, end: Math.min(start + this.#cut.spanLen, this.#cut.size) }
  }

  /** @param {number} index */
  #jobOf (index) {
    const { start, end } = this.#spanAt(index)
    const { mode } = this.#options
    const outboard = this.#options.outboard && { groupLog: this.#options.outboard.groupLog, order: this.#options.outboard.order }
    return { kernel: kernelName(), mode, outboard, start, len: end - start, source: partOf(this.#shared, start, end) }
  }

  /** @param {number} index @param {SpanResult} result */
  async #take (index, { cv, pairs }) {
    if (this.#isStopped || this.#options.signal?.aborted) return
    const { start, end } = this.#spanAt(index)
    if (pairs !== undefined) (this.#writer ?? this.#table)?.putSubtree(start / CHUNK_LEN, chunkCount(end - start), pairs)
    this.#waiting.set(index, cv)
    for (let next; (next = this.#waiting.get(this.#due)) !== undefined; this.#due++) {
      this.#waiting.delete(this.#due)
      const span = this.#spanAt(this.#due)
      this.#tree.addSubtree(next, chunkCount(span.end - span.start))
    }
    await this.#writer?.flush()
    if (this.#isStopped) return
    this.#done += end - start
    const { type, onProgress } = this.#options
    onProgress?.({ type, detail: { done: this.#done, total: this.#cut.size } })
    if (this.#due === this.#cut.count) this.#resolve()
  }
}

/** What a worker needs of a source for one span. A file is given whole, with its number. @param {SharedSource} shared @param {number} start @param {number} end @returns {SharedSource} */
function partOf (shared, start, end) {
  if ('blob' in shared) return { blob: shared.blob.slice(start, end) }
  if ('bytes' in shared) return { bytes: shared.bytes.subarray(start, end) }
  return shared
}
