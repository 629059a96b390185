// Decides between synchronous and threaded reads. A page-cache hit takes 3-10 us synchronously, 15-60 us through
// the thread pool; a disk access must not block the event loop. The time saved is tracked; when it goes negative,
// reads use the thread pool until that has made up for the loss. The option `syncReads: false` of a store turns
// synchronous reads off.

import { YIELD_INTERVAL_MS, yieldToEventLoop } from '../../../lib/source/async-util.js'
import { isTooMany } from '../../../lib/source/open-files.js'

/** @import { BlobFolder } from '../disk/blob-folder.js' */
/** @import { SafeDatabase } from '../level/safe-database.js' */

/** Milliseconds that a read through the thread pool costs this thread. */
const THREAD_MS = 0.02
/** Milliseconds that count as saved, at most. A few slow reads may use them up before others go to the thread pool. */
const MOST_SAVED_MS = 1
/** Milliseconds that count as lost, at most. When later reads have made up for them, one is synchronous again. */
const MOST_LOST_MS = 4

/** What `now` returns when it cannot read synchronously. */
export const NOT_READ = Symbol('not read')

export class Pace {
  /** Milliseconds that synchronous reads have saved; negative when they have lost more. */
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
   * @param {() => Promise<T>} later  reads through the thread pool; also called when `now` finds too many files open
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
 * Reads a small value that is mostly in memory. It reads synchronously where the database can, as long as that is fast.
 *
 * @param {SafeDatabase} database @param {Uint8Array} key @param {object} options  for the database
 * @returns {Promise<Uint8Array | undefined>}
 */
export const getSmall = async (database, key, options) => getSoon(database, key, options)

/**
 * Does the same as `getSmall`, and returns the value without a promise when it was read synchronously.
 *
 * @param {SafeDatabase} database @param {Uint8Array} key @param {object} options  for the database
 * @returns {Uint8Array | undefined | Promise<Uint8Array | undefined>}
 */
export function getSoon (database, key, options) {
  const later = () => database.get(key, options)
  if (!database.canReadNow) return later()
  return paceOf(database).read(() => database.getSync(key, options), later)
}

/** Longest read of a file that may be synchronous, in bytes. */
const MAX_LEN_NOW = 5 << 14

/**
 * Reads bytes of a file of the store, synchronously as long as that is fast.
 *
 * @param {BlobFolder} files @param {number} id @param {number} start @param {number} end
 * @returns {Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>} fresh; fewer when the file ends before `end`
 */
export function readSoon (files, id, start, end) {
  const later = async () => {
    const file = files.reader(id)
    try {
      return await file.read(start, end)
    } finally {
      file.release()
    }
  }
  // A read that cannot be synchronous does not change what counts as saved or lost.
  if (end - start > MAX_LEN_NOW || !files.isOpen(id)) return later()
  return paceOf(files).read(() => files.readNow(id, start, end) ?? NOT_READ, later)
}

/** Makes all later reads of a place go through the thread pool. @param {SafeDatabase | BlobFolder} [place] */
export function forbidSyncReads (place) {
  if (place !== undefined) paces.set(place, new Pace({ isSyncAllowed: false }))
}

/**
 * Returns a pace for files that do not belong to the store. It is synchronous only where the store's reads may be.
 *
 * @param {SafeDatabase} place  of the store
 */
export const paceBeside = place => new Pace({ isSyncAllowed: paceOf(place).isSyncAllowed })

const paces = /** @type {WeakMap<SafeDatabase | BlobFolder, Pace>} */ (new WeakMap())

/** @param {SafeDatabase | BlobFolder} place */
function paceOf (place) {
  const known = paces.get(place)
  if (known !== undefined) return known
  const pace = new Pace()
  paces.set(place, pace)
  return pace
}

/**
 * `since`: when the first read began after the last yield to the event loop. `next`: the next yield.
 *
 * @type {{ since: number, next: Promise<void> } | undefined}
 */
let interval

/**
 * Returns the yield to the event loop that a read must wait for, if one is due: synchronous reads alone would starve
 * timers. All reads wait for the same yield, so that none falls behind the others.
 *
 * @param {number} now @returns {Promise<void> | undefined}
 */
function yieldDueAt (now) {
  if (interval !== undefined) return now - interval.since >= YIELD_INTERVAL_MS ? interval.next : undefined
  interval = { since: now, next: yieldToEventLoop().then(() => { interval = undefined }) }
}
