// The pool of worker threads that hash. Workers start when there is enough work for them, and stay for later calls. A
// worker may fail to start, die, or never answer. Then callers get an error, or the thread of the caller does the work.

import { errorFromMessage } from './threads/transfer-errors.js'
import { workerFailed } from '../core/errors.js'
import * as threads from '#threads'

/** @import { SpanJob, SpanResult, Thread, ThreadEvents } from '../core/types.js' */

/** @typedef {{ resolve: (result: SpanResult) => void, reject: (error: unknown) => void }} Task */

// The two functions below repeat the types of `#threads`, because type checkers of other packages do not resolve it.

/** How many threads can run at the same time. @returns {number} */
export const parallelism = () => threads.parallelism()

/** Starts a thread. Throws where threads are refused. @param {ThreadEvents} events @returns {Thread} */
export const startThread = events => threads.startThread(events)

/**
 * From this many bytes of work on, starting workers is worthwhile. Measured on two cores in fresh processes, where the
 * start costs this thread about 40 ms. For a file of 128 MiB, one thread took 90 ms and two cold workers 131 ms; for
 * 256 MiB, 161 and 187 ms; for 512 MiB, 281 and 232 ms. With more cores, less work is enough.
 */
const START_LEN = 1 << 28

export class Pool {
  #start
  #workers = /** @type {Set<PoolWorker>} */ (new Set())
  /**
   * The maximum number of workers that this runtime allows. It is set when a worker cannot be started, and never
   * changes after that.
   */
  #limit = Infinity
  /** How many bytes of work were done while no worker was running. */
  #missed = 0

  /** @param {(events: ThreadEvents) => Thread} start  may throw */
  constructor (start) {
    this.#start = start
  }

  get isRefused () { return this.#limit === 0 }

  /** True if a worker has started. */
  get isWarm () { return [...this.#workers].some(worker => worker.isReady) }

  /**
   * True if workers should be used for some work. Workers that are running are always used. Starting workers is
   * worthwhile if there was enough work so far: one long source, or several shorter ones.
   *
   * @param {number} size  bytes
   */
  isWorth (size) {
    this.#missed += size
    return this.isWarm || this.#missed >= START_LEN
  }

  /**
   * Returns the workers with the fewest jobs, and starts missing ones.
   *
   * @param {number} count  how many workers are wanted. The result is shorter if fewer are allowed
   */
  take (count) {
    while (this.#workers.size < Math.min(count, this.#limit)) this.#add()
    return [...this.#workers].sort((a, b) => a.load - b.load).slice(0, count)
  }

  /** Ends all workers. Their unfinished work fails with BAO_WORKER_FAILED; the next call starts new workers. */
  async close () {
    this.#missed = 0
    await Promise.all([...this.#workers].map(worker => worker.close()))
  }

  #add () {
    try {
      const worker = new PoolWorker(this.#start, isRefusal => {
        this.#workers.delete(worker)
        if (isRefusal) this.#limit = this.#workers.size
      })
      this.#workers.add(worker)
    } catch {
      this.#limit = this.#workers.size // a policy forbids more workers, or there is too little memory
    }
  }
}

/**
 * Thrown when a worker cannot get its input, because the runtime's threads do not share files, or a Blob cannot be
 * sent.
 */
export class NotShared extends Error {}

/** A worker, as the thread that gives it work sees it. */
export class PoolWorker {
  #thread
  #onEnd
  /** The jobs that the worker has not answered, by id. */
  #tasks = /** @type {Map<number, Task>} */ (new Map())
  #lastId = 0
  #isReady = false
  /** The error that ended the worker. @type {Error | undefined} */
  #failure
  /** @type {(isReady: boolean) => void} */
  #started = () => {}

  /**
   * Resolves to true when the worker is ready, and to false if it ends before that. With some workers, neither happens,
   * so callers must not wait for this promise alone.
   *
   * @type {Promise<boolean>}
   */
  starting = new Promise(resolve => { this.#started = resolve })

  /**
   * @param {(events: ThreadEvents) => Thread} start  may throw
   * @param {(isRefusal: boolean) => void} onEnd  `isRefusal`: true if the worker ended by itself before it was ready
   */
  constructor (start, onEnd) {
    this.#onEnd = onEnd
    this.#thread = start({
      message: data => this.#receive(data),
      end: cause => this.#end(workerFailed('a worker died', cause), !this.#isReady)
    })
    this.#thread.unref()
  }

  get isReady () { return this.#isReady }

  /** The number of jobs that the worker has not answered. */
  get load () { return this.#tasks.size }

  /**
   * @param {SpanJob} job
   * @returns {Promise<SpanResult>}
   * @throws {BaoError | NotShared} BAO_WORKER_FAILED { cause }, and the errors of reading the source
   */
  run (job) {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure)
      const id = this.#lastId++
      this.#tasks.set(id, { resolve, reject })
      try {
        this.#thread.post({ ...job, id })
        this.#thread.ref() // The worker keeps the process alive only while it works.
      } catch (error) {
        this.#tasks.delete(id)
        reject(/** @type {Error} */ (error).name === 'DataCloneError' ? new NotShared() : error)
      }
    })
  }

  close () {
    return this.#end(workerFailed('closeWorkers() was called'), false)
  }

  /** @param {any} data  what worker.js sends */
  #receive ({ isReady, id, result, failure, isNotShared }) {
    if (this.#failure) return
    if (isReady) {
      this.#isReady = true
      this.#started(true)
      return
    }
    const task = this.#tasks.get(id)
    this.#tasks.delete(id)
    if (this.#tasks.size === 0) this.#thread.unref()
    if (isNotShared) task?.reject(new NotShared())
    else if (failure) task?.reject(errorFromMessage(failure))
    else task?.resolve(result)
  }

  /** @param {Error} error  for the waiting callers @param {boolean} isRefusal */
  async #end (error, isRefusal) {
    if (this.#failure) return
    this.#failure = error
    this.#started(false)
    for (const { reject } of this.#tasks.values()) reject(error)
    this.#tasks.clear()
    this.#onEnd(isRefusal)
    await this.#thread.end()
  }
}

/** The pool that all calls share. */
export const sharedPool = new Pool(startThread)

/**
 * Ends the worker threads. Programs need not call this, because idle workers do not keep a process alive. Unfinished
 * work fails with BAO_WORKER_FAILED; later work starts new threads.
 *
 * @returns {Promise<void>} when they have ended
 */
export function closeWorkers () { return sharedPool.close() }
