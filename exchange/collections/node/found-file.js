// Reads files that a walk has found. Makes sure that they are the same files, because another process may have put a
// link in the place of a file, or of a folder above the file, after the walk.

import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync } from 'node:fs'
import { openFile, readIntoSync } from '#files'
import { areEqual } from '../../../lib/core/bytes.js'
import { sourceChanged } from '../../../lib/core/errors.js'
import { HASH_MODE } from '../../../lib/engine/mode.js'
import { fromCid } from '../../../lib/hash/cid.js'
import { hash } from '../../../lib/hash/hasher.js'
import { hashSource } from '../../../lib/parallel/hash-source.js'
import { isNoFile } from '../../../lib/source/open-files.js'
import { NOT_READ, Pace } from '../../../lib/source/pace.js'
import { CheckedFile } from '../../../lib/source/source.js'
import { FILE_FROM } from '../../../store/interface.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Store } from '../../../store/interface.js' */
/** @import { FoundFile } from './walk-folder.js' */

/** Windows does not have the last three: see lib/source/paths.node.js. */
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants

/**
 * Makes a pace for reading files while a store is in use. It allows synchronous reads only if the store does.
 *
 * @param {Store} store
 */
export const paceBeside = ({ syncReads }) => new Pace({ isSyncAllowed: syncReads !== false })

/**
 * @param {FoundFile} file @param {number} max  bytes
 * @param {Pace} pace
 * @returns {Promise<Uint8Array<ArrayBuffer> | undefined>} fresh; undefined if the file now has more than `max` bytes
 * @throws {Error} of the system
 * @throws {import('../../../lib/core/errors.js').BaoError} BAO_SOURCE_CHANGED { location } when something else is now
 *   in the place of the file
 */
export async function readSmallFile (file, max, pace) {
  const size = Number(file.stat.size)
  try {
    const bytes = await pace.read(() => readNow(file, size + 1), () => readLater(file, size + 1))
    if (bytes.length <= size) return bytes
    const more = await readLater(file, max + 1) // the file has grown
    return more.length > max ? undefined : more.slice()
  } catch (error) {
    throw asChange(error, file)
  }
}

/**
 * True if a file has the bytes of a blob.
 *
 * @param {FoundFile} file @param {CID} cid @param {Pace} pace @param {AbortSignal} [signal]
 * @returns {Promise<boolean>}
 */
export async function hasHash (file, cid, pace, signal) {
  const bytes = Number(file.stat.size) > FILE_FROM ? undefined : await readSmallFile(file, FILE_FROM, pace)
  const root = bytes === undefined ? await hashLong(file, signal) : hash(bytes)
  return areEqual(root, 0, fromCid(cid))
}

/** @param {FoundFile} file @param {AbortSignal} [signal] */
async function hashLong (file, signal) {
  const source = new CheckedFile(file.path, fd => assertFound(fd, file))
  return (await hashSource(source, { mode: HASH_MODE, type: 'baobox:hash', signal })).root
}

/**
 * Throws when an open file is not the one that was found, or when a link led to it.
 *
 * @param {number} fd @param {FoundFile} file
 * @throws {import('../../../lib/core/errors.js').BaoError} BAO_SOURCE_CHANGED { location }
 */
export function assertFound (fd, { path, stat }) {
  const { dev, ino } = fstatSync(fd, { bigint: true })
  if (dev !== stat.dev || ino !== stat.ino || placeOf(fd, path) !== path) throw sourceChanged(path)
}

/**
 * Turns the error of opening a file into BAO_SOURCE_CHANGED if something other than a file is in its place. If nothing
 * is there, the error stays as it is.
 *
 * @param {unknown} error @param {FoundFile} file
 */
export const asChange = (error, { path }) =>
  isNoFile(error) && /** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT' ? sourceChanged(path) : error

/**
 * The real path of an open file. Linux knows it even if links led to the file.
 *
 * @param {number} fd @param {string} path
 */
function placeOf (fd, path) {
  if (process.platform === 'linux') {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {} // there is no /proc, or the process may not read it
  }
  return realpathSync.native(path)
}

/** @param {FoundFile} file @param {number} len  bytes, at most */
function readNow (file, len) {
  if (O_NOFOLLOW === undefined) return NOT_READ
  const fd = openSync(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
  try {
    assertFound(fd, file)
    const bytes = new Uint8Array(len)
    return bytes.subarray(0, readIntoSync(fd, bytes, 0))
  } finally {
    closeSync(fd)
  }
}

/** @param {FoundFile} file @param {number} len  bytes, at most */
async function readLater (file, len) {
  const open = await openFile(file.path, fd => assertFound(fd, file))
  try {
    return await open.read(0, len)
  } finally {
    await open.close()
  }
}
