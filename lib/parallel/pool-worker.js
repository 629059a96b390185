// One worker, as the thread sees it that gives it work. Whatever becomes of the worker, who waits for it is told.

import { fromMessage } from './threads/transfer-errors.js'
import { workerFailed } from '../core/errors.js'

/** @import { SpanJob, SpanResult, Thread, ThreadEvents } from '../core/types.js' */

/** The worker cannot have what it should hash: a file in a runtime whose threads do not share them, a Blob that cannot be sent. */
export class NotShared extends Error {}

export class PoolWorker {
  #thread
  #onEnd
  #tasks = /** @type {Map<number, { resolve: (result: SpanResult) => void, reject: (error: unknown) => void }>} */ (new Map())
  #lastId = 0
  #isReady = false
  /** What ended it, for those who wait and those who come late. */
  #failure = /** @type {Error | undefined} */ (undefined)
  /** @type {(isReady: boolean) => void} */
  #started = () => {}

  /** Does it get ready? Nobody should wait for it: some never say. @type {Promise<boolean>} */
  starting = new Promise(resolve => { this.#started = resolve })

  /**
   * @param {(events: ThreadEvents) => Thread} start  may throw
   * @param {(isRefusal: boolean) => void} onEnd  `isRefusal`: it has ended by itself before it was ready
   */
  constructor (start, onEnd) {
    this.#onEnd = onEnd
    this.#thread = start({
      message: data => this.#hear(data),
      end: cause => this.#end(workerFailed('a worker died', cause), !this.#isReady)
    })
    this.#thread.unref()
  }

  get isReady () { return this.#isReady }

  /** Spans in hand. */
  get load () { return this.#tasks.size }

  /**
   * @param {SpanJob} job
   * @returns {Promise<SpanResult>}
   * @throws {BaoError | NotShared} BAO_WORKER_FAILED { cause }, and what reading the source throws
   */
  run (job) {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure)
      const id = this.#lastId++
      this.#tasks.set(id, { resolve, reject })
      try {
        this.#thread.post({ ...job, id })
        this.#thread.ref() // while it works it keeps the process alive, and only then
      } catch (error) {
        this.#tasks.delete(id)
        reject(/** @type {Error} */ (error).name === 'DataCloneError' ? new NotShared() : error)
      }
    })
  }

  close () {
    return this.#end(workerFailed('closeWorkers() was called'), false)
  }

  /** @param {any} data  see worker.js */
  #hear ({ isReady, id, result, failure, isNotShared }) {
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
    else if (failure) task?.reject(fromMessage(failure))
    else task?.resolve(result)
  }

  /** @param {Error} error  for who waits @param {boolean} isRefusal */
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
