// Spans of a source on their way through the pool: each goes to a worker, or is hashed here, and what comes of it to whoever wants it.

import { NotShared } from './pool.js'
import { hashSpan } from './threads/span.js'
import { kernelName } from '../engine/kernel/index.js'
import { yieldToEventLoop } from '../source/async-util.js'

/** @import { Mode, OpenSource, SharedSource, SpanJob, SpanResult } from '../core/types.js' */
/** @import { Pool, PoolWorker } from './pool.js' */

/** Bytes of a span. */
export const SPAN_LEN = 1 << 23
/** Spans that a worker has in hand: one to hash, and one so that it never waits for us. */
export const DEPTH = 2

/**
 * @typedef {object} SpanQueueOptions
 * @property {Pick<OpenSource, 'pieces' | 'keepOpenUntil'>} opened  the source, for this thread
 * @property {SharedSource} shared  and for others
 * @property {{ start: number, end: number }[]} spans  bytes: perfect subtrees, but for the last
 * @property {number} width  threads
 * @property {Mode} mode
 * @property {SpanJob['outboard']} [outboard]  which pairs are wanted, if any
 * @property {(index: number, result: SpanResult) => Promise<void>} take  gets what comes of each span, in whatever order
 * @property {(index: number, error: unknown) => boolean} [forgive]  may a span fail like this? Then it is passed over
 */

/**
 * As long as workers are missing, because they start, or cannot be had, or cannot have the source, this thread stands in for them: so nothing is slower
 * than on one thread, and nothing waits for a worker that never comes.
 */
export class SpanQueue {
  #task
  /** Workers that have spans in hand. */
  #workers = /** @type {Set<PoolWorker>} */ (new Set())
  #isStandingIn = false
  /** Spans that were handed out in vain, the first that never was, and how many are done with. */
  #returned = /** @type {number[]} */ ([])
  #next = 0
  #done = 0
  #isStopped = false
  /** Of the promise that `run` gave. */
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
      this.#standIn()
    })
  }

  /** Nothing more is handed out, and what still comes is not looked at. */
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
        return this.#standIn()
      }
    }
  }

  /** Hashes spans here, as long as workers are missing. */
  async #standIn () {
    if (this.#isStandingIn) return
    this.#isStandingIn = true
    try {
      while (this.#workers.size < this.#task.width) {
        const index = this.#nextIndex()
        if (index === undefined) break
        const { opened, spans } = this.#task
        const running = hashSpan(this.#jobOf(index), opened.pieces(spans[index].start, spans[index].end))
        opened.keepOpenUntil?.(running)
        await this.#take(index, running)
        await yieldToEventLoop() // workers want to be heard
      }
    } catch (error) {
      this.#reject(error)
    }
    this.#isStandingIn = false
  }

  /** @returns {number | undefined} the span that is to be handed out now */
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

/** What a worker needs of a source for one span. A file is given whole, with its number. @param {SharedSource} shared @param {number} start @param {number} end @returns {SharedSource} */
function partOf (shared, start, end) {
  if ('blob' in shared) return { blob: shared.blob.slice(start, end) }
  if ('bytes' in shared) return { bytes: shared.bytes.subarray(start, end) }
  return shared
}
