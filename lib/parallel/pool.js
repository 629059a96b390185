// The workers of this process: started when they are first wanted, and kept for the next call.

import { PoolWorker } from './pool-worker.js'
import * as threads from '#threads'

/** @import { Thread, ThreadEvents } from '../core/types.js' */

// With types of their own: those of `#threads` are not found in the package.

/** How many threads run at the same time. @returns {number} */
export const parallelism = () => threads.parallelism()

/** Starts one. It throws where threads are refused. @param {ThreadEvents} events @returns {Thread} */
export const startThread = events => threads.startThread(events)

/**
 * Bytes of work that pay for starting workers. Measured on two cores in fresh processes, where the start takes some 40 ms from this thread:
 * a file of 128 MiB is hashed in 90 ms on one thread and in 131 on two that must be started first, 256 MiB in 161 and 187, 512 MiB in
 * 281 and 232. More cores only gain sooner.
 */
const START_LEN = 1 << 28

export class Pool {
  #start
  #workers = /** @type {Set<PoolWorker>} */ (new Set())
  /** How many workers can be had here. It shows when one could not be started: then nobody tries again. */
  #limit = Infinity
  /** Bytes of work so far that would have gone to workers, had there been any. */
  #missed = 0

  /** @param {(events: ThreadEvents) => Thread} start  may throw */
  constructor (start) {
    this.#start = start
  }

  get isRefused () { return this.#limit === 0 }

  /** Is there a worker that need not be started first? */
  get isWarm () { return [...this.#workers].some(worker => worker.isReady) }

  /**
   * Are workers worth it for so much work? Those that run already are. Else they are started as soon as there was enough to do that they
   * would have paid for themselves: at once for a long source, and for a number of shorter ones.
   *
   * @param {number} size  bytes
   */
  isWorth (size) {
    this.#missed += size
    return this.isWarm || this.#missed >= START_LEN
  }

  /**
   * The workers that have least to do. As many are started as are missing.
   *
   * @param {number} count  fewer come where fewer can be had
   */
  take (count) {
    while (this.#workers.size < Math.min(count, this.#limit)) this.#add()
    return [...this.#workers].sort((a, b) => a.load - b.load).slice(0, count)
  }

  /** Ends all workers. What they have in hand fails with BAO_WORKER_FAILED; the next call starts others. */
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
      this.#limit = this.#workers.size // by a policy, or for want of memory
    }
  }
}

/** Serves everybody. */
export const sharedPool = new Pool(startThread)

/**
 * Ends the threads that hash. Nobody has to: idle ones do not keep a process alive. What they have in hand fails with BAO_WORKER_FAILED; later
 * work starts new ones.
 *
 * @returns {Promise<void>} when they have ended
 */
export const closeWorkers = () => sharedPool.close()
