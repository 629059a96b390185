// Gives the spans of a source to the workers of the pool, or hashes them on this thread, and passes the results on.

import { NotShared } from './pool.js'
import { hashSpan } from './threads/span.js'
import { kernelName } from '../engine/kernel/index.js'
import { yieldToEventLoop } from '../source/async-util.js'

/** @import { Mode, OpenSource, SharedSource, SpanJob, SpanResult } from '../core/types.js' */
/** @import { Pool, PoolWorker } from './pool.js' */

/**
 * The length of a span in bytes, and that of a span of a source that would otherwise have few spans. Shorter spans take
 * more time in total, because more pairs are passed between threads.
 */
export const SPAN_LEN = 1 << 23
export const SHORT_SPAN_LEN = 1 << 21
/** How many spans a worker gets at a time: the one that it is hashing, and the next one, so that it never waits. */
export const DEPTH = 2

/**
 * @typedef {object} SpanQueueOptions
 * @property {Pick<OpenSource, 'pieces' | 'keepOpenUntil'>} opened  the source, for this thread
 * @property {SharedSource} shared  the source, for other threads
 * @property {{ start: number, end: number }[]} spans  bytes: perfect subtrees, except for the last one
 * @property {number} width  how many threads hash
 * @property {Mode} mode
 * @property {SpanJob['outboard']} [outboard]  which pairs are wanted, if any
 * @property {(index: number, result: SpanResult) => Promise<void>} take  called with the result of each span, in any
 *   order
 * @property {(index: number, error: unknown) => boolean} [forgive]  returns true if the span may be skipped
 */

/**
 * Workers may still be starting, be refused, or not have access to the source. While some are missing, this thread
 * hashes spans, too. So hashing is never slower than on one thread, and never waits for a worker that does not start.
 */
export class SpanQueue {
  #task
  /** Workers that take spans. */
  #workers = /** @type {Set<PoolWorker>} */ (new Set())
  #isHashingHere = false
  /**
   * The spans that a worker has returned unhashed, the first span that was not given out, and the number of finished
   * spans.
   */
  #returned = /** @type {number[]} */ ([])
  #next = 0
  #done = 0
  #isStopped = false
  /** These settle the promise that `run` has returned. */
  #resolve = () => {}
  /** @type {(error: unknown) => void} */
  #reject = () => {}

  /** @param {SpanQueueOptions} task */
  constructor (task) {
    this.#task = task
  }

  /** Hashes all spans. @param {Pool} pool @returns {Promise<void>} */
  run (pool) {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      for (const worker of pool.take(this.#task.width)) {
        if (worker.isReady) this.#employ(worker)
        else worker.starting.then(isReady => { if (isReady) this.#employ(worker) })
      }
      this.#hashHere()
    })
  }

  /** Stops giving out spans, and ignores later results. */
  stop () { this.#isStopped = true }

  /** @param {PoolWorker} worker */
  #employ (worker) {
    this.#workers.add(worker)
    for (let i = 0; i < DEPTH; i++) this.#feed(worker).catch(this.#reject)
  }

  /** Gives a worker span after span. @param {PoolWorker} worker */
  async #feed (worker) {
    for (let index; (index = this.#nextIndex()) !== undefined;) {
      const running = worker.run(this.#jobOf(index))
      this.#task.opened.keepOpenUntil?.(running)
      try {
        await this.#take(index, running)
      } catch (error) {
        if (!(error instanceof NotShared)) throw error
        this.#returned.push(index)
        this.#workers.delete(worker)
        return this.#hashHere()
      }
    }
  }

  /** Hashes spans on this thread while workers are missing. */
  async #hashHere () {
    if (this.#isHashingHere) return
    this.#isHashingHere = true
    try {
      while (this.#workers.size < this.#task.width) {
        const index = this.#nextIndex()
        if (index === undefined) break
        const { opened, spans } = this.#task
        const running = hashSpan(this.#jobOf(index), opened.pieces(spans[index].start, spans[index].end))
        opened.keepOpenUntil?.(running)
        await this.#take(index, running)
        await yieldToEventLoop() // for the messages of workers
      }
    } catch (error) {
      this.#reject(error)
    }
    this.#isHashingHere = false
  }

  /** @returns {number | undefined} the next span to give out */
  #nextIndex () {
    if (this.#isStopped) return undefined
    return this.#returned.pop() ?? (this.#next < this.#task.spans.length ? this.#next++ : undefined)
  }

  /** @param {number} index @returns {SpanJob} */
  #jobOf (index) {
    const { mode, outboard, shared, spans } = this.#task
    const { start, end } = spans[index]
    return { kernel: kernelName(), mode, outboard, start, len: end - start, source: partOf(shared, start, end) }
  }

  /** @param {number} index @param {Promise<SpanResult>} running */
  async #take (index, running) {
    try {
      const result = await running
      if (this.#isStopped) return
      await this.#task.take(index, result)
    } catch (error) {
      if (error instanceof NotShared || !this.#task.forgive?.(index, error)) throw error
    }
    if (this.#isStopped) return
    if (++this.#done === this.#task.spans.length) this.#resolve()
  }
}

/**
 * The part of a source that a worker needs for one span. Of a file, the part is the whole file, by its descriptor.
 *
 * @param {SharedSource} shared @param {number} start @param {number} end
 * @returns {SharedSource}
 */
function partOf (shared, start, end) {
  if ('blob' in shared) return { blob: shared.blob.slice(start, end) }
  if ('bytes' in shared) return { bytes: shared.bytes.subarray(start, end) }
  return shared
}
