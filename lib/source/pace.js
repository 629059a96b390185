// Chooses between synchronous reads and reads through the thread pool. A page-cache hit takes 3-10 us synchronously,
// 15-60 us through the pool, but a disk access must not block the event loop. The pace adds up the time that
// synchronous reads have saved. When the sum gets negative, reads use the thread pool until they have made up for the
// loss.

import { YIELD_INTERVAL_MS, yieldToEventLoop } from './async-util.js'
import { isTooMany } from './open-files.js'

/** How many milliseconds a read through the thread pool costs this thread. */
const THREAD_MS = 0.02
/**
 * The maximum number of milliseconds that count as saved. After a few slow reads have used them up, reads go to the
 * thread pool.
 */
const MOST_SAVED_MS = 1
/**
 * The maximum number of milliseconds that count as lost. When later reads have made up for them, a read is synchronous
 * again.
 */
const MOST_LOST_MS = 4

/** The result of `now` when it cannot read synchronously. */
export const NOT_READ = Symbol('not read')

export class Pace {
  /** How many milliseconds synchronous reads have saved; negative if they have lost time. */
  #saved = 0
  #isSyncAllowed

  /** @param {{ isSyncAllowed?: boolean }} [options]  default: true */
  constructor ({ isSyncAllowed = true } = {}) {
    this.#isSyncAllowed = isSyncAllowed
  }

  get isSyncAllowed () { return this.#isSyncAllowed }

  /**
   * @template T
   * @param {() => T | typeof NOT_READ} now  reads synchronously
   * @param {() => Promise<T>} later  reads through the thread pool. It is also called when `now` fails because too many
   *   files are open
   * @returns {T | Promise<T>}
   */
  read (now, later) {
    if (!this.#isSyncAllowed) return later()
    const begun = performance.now()
    const due = yieldDueAt(begun)
    if (due !== undefined) return due.then(() => this.read(now, later))
    if (this.#saved < 0) {
      this.#saved += THREAD_MS
      return later()
    }
    let saved = THREAD_MS
    try {
      const read = now()
      if (read !== NOT_READ) return /** @type {T} */ (read)
      saved = 0
    } catch (error) {
      if (!isTooMany(error)) throw error
    } finally {
      saved += this.#saved - (performance.now() - begun)
      this.#saved = Math.max(-MOST_LOST_MS, Math.min(saved, MOST_SAVED_MS))
    }
    return later()
  }
}

/**
 * `since`: the time at which the first read after the last yield to the event loop began. `next`: the next yield.
 *
 * @type {{ since: number, next: Promise<void> } | undefined}
 */
let interval

/**
 * If a yield to the event loop is due, returns it, so that a read can wait for it. Without yields, synchronous reads
 * would block timers. All reads wait for the same yield, so that none is delayed more than the others.
 *
 * @param {number} now @returns {Promise<void> | undefined}
 */
function yieldDueAt (now) {
  if (interval !== undefined) return now - interval.since >= YIELD_INTERVAL_MS ? interval.next : undefined
  interval = { since: now, next: yieldToEventLoop().then(() => { interval = undefined }) }
}
