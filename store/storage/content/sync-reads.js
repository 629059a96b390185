// Reads small values and parts of files synchronously as long as that is fast: see `Pace`. The option
// `syncReads: false` of a store turns off synchronous reads.

import { NOT_READ, Pace } from '../../../lib/source/pace.js'

/** @import { BlobFolder } from '../disk/blob-folder.js' */
/** @import { SafeDatabase } from '../level/safe-database.js' */

/**
 * Reads a small value, which is usually in memory. If the database can do that, it reads synchronously, as long as that
 * is fast.
 *
 * @param {SafeDatabase} database @param {Uint8Array} key @param {object} options  for the database
 * @returns {Uint8Array | undefined | Promise<Uint8Array | undefined>} a promise only when the read is asynchronous
 */
export function getSoon (database, key, options) {
  const later = () => database.get(key, options)
  if (!database.canReadNow) return later()
  return paceOf(database).read(() => database.getSync(key, options), later)
}

/**
 * Does the same as `getSoon`, but always returns a promise, which rejects when the read fails.
 *
 * @param {SafeDatabase} database @param {Uint8Array} key @param {object} options  for the database
 * @returns {Promise<Uint8Array | undefined>}
 */
export const getSoonAsync = async (database, key, options) => getSoon(database, key, options)

/** A synchronous read of a file has at most this many bytes. */
const MAX_LEN_NOW = 5 << 14

/**
 * Reads bytes of a file of the store, synchronously as long as that is fast.
 *
 * @param {BlobFolder} files @param {number} id @param {number} start @param {number} end
 * @returns {Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>} new memory; fewer bytes when the file ends
 *   before `end`
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
  // The pace does not learn anything from a read that cannot be synchronous.
  if (end - start > MAX_LEN_NOW || !files.isOpen(id)) return later()
  return paceOf(files).read(() => files.readNow(id, start, end) ?? NOT_READ, later)
}

/** Makes all later reads of a place go through the thread pool. @param {SafeDatabase | BlobFolder} [place] */
export function forbidSyncReads (place) {
  if (place !== undefined) paces.set(place, new Pace({ isSyncAllowed: false }))
}

const paces = /** @type {WeakMap<SafeDatabase | BlobFolder, Pace>} */ (new WeakMap())

/** @param {SafeDatabase | BlobFolder} place */
function paceOf (place) {
  const known = paces.get(place)
  if (known !== undefined) return known
  const pace = new Pace()
  paces.set(place, pace)
  return pace
}
