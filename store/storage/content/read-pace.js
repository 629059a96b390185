// Whether a small read may be done on this thread. Most find their bytes in memory, and then take 3 to 10 us; to have another thread read them
// costs 15 to 60 us, and more of this thread's time than the read itself. Where a disk has to be waited for it is the other way round. So what reads
// here save is added up, and what they lose is taken off: when more has been lost, reads go through threads until that has made up for it.

import { YIELD_INTERVAL_MS, yieldToEventLoop } from '../../../lib/source/async-util.js'

/** @import { BlobFolder } from '../disk/blob-folder.js' */
/** @import { Database } from '../level/database.js' */

/** Milliseconds that going through a thread costs. */
const THREAD_MS = 0.02
/** What may have been saved, and then lost without harm: a few reads that were slow for whatever reason. */
const MOST_SAVED_MS = 1
/** What may have been lost, and has to be made up for: then a read here is tried again, however slow the last ones were. */
const MOST_LOST_MS = 4

/** What `now` gives when it could not read here. */
export const NOT_READ = Symbol('not read')

export class Pace {
  /** Milliseconds, less than none when more was lost. */
  #saved = 0

  /**
   * @template T
   * @param {() => T | typeof NOT_READ} now  reads here
   * @param {() => Promise<T>} later  reads through a thread
   * @returns {T | Promise<T>}
   */
  read (now, later) {
    const begun = performance.now()
    const due = turnDueAt(begun)
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
    } finally {
      saved += this.#saved - (performance.now() - begun)
      this.#saved = Math.max(-MOST_LOST_MS, Math.min(saved, MOST_SAVED_MS))
    }
    return later()
  }
}

/**
 * A value that is small and mostly in memory: it is read on this thread where the database can do that, as long as it is quick.
 *
 * @param {Database} database @param {Uint8Array} key @param {object} options  for the database
 * @returns {Promise<Uint8Array | undefined>}
 */
export const getSmall = async (database, key, options) => getSoon(database, key, options)

/**
 * The same, and at once where it can be.
 *
 * @param {Database} database @param {Uint8Array} key @param {object} options  for the database
 * @returns {Uint8Array | undefined | Promise<Uint8Array | undefined>}
 */
export function getSoon (database, key, options) {
  const later = () => database.get(key, options)
  if (!database.canReadNow) return later()
  return paceOf(database).read(() => database.getSync(key, options), later)
}

/** Bytes of a file that are read on this thread, at most. */
const MAX_LEN_NOW = 5 << 14

/**
 * The same of bytes in a file of the store.
 *
 * @param {BlobFolder} files @param {number} id @param {number} start @param {number} end
 * @returns {Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>} fresh; fewer where the file ends before
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
  // What has to go through a thread anyway makes up for nothing.
  if (end - start > MAX_LEN_NOW || !files.isOpen(id)) return later()
  return paceOf(files).read(() => files.readNow(id, start, end) ?? NOT_READ, later)
}

const paces = /** @type {WeakMap<Database | BlobFolder, Pace>} */ (new WeakMap())

/** @param {Database | BlobFolder} place */
function paceOf (place) {
  const known = paces.get(place)
  if (known !== undefined) return known
  const pace = new Pace()
  paces.set(place, pace)
  return pace
}

/** When the first read since the event loop had its turn began, and the next turn. @type {{ since: number, next: Promise<void> } | undefined} */
let turns

/**
 * Who does nothing but read what is at hand would starve timers and everybody else. All wait for the same turn, so that none of them is behind the
 * others after it.
 *
 * @param {number} now @returns {Promise<void> | undefined}
 */
function turnDueAt (now) {
  if (turns !== undefined) return now - turns.since >= YIELD_INTERVAL_MS ? turns.next : undefined
  turns = { since: now, next: yieldToEventLoop().then(() => { turns = undefined }) }
}
