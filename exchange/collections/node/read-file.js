// Reads files that a walk has found, and no others: somebody may put a link in the place of a file, or of a folder
// above it, after the walk has looked.

import { closeSync, constants, fstatSync, openSync, readSync, readlinkSync, realpathSync } from 'node:fs'
import { openRegular } from '#disk'
import { sourceChanged } from '../../../lib/core/errors.js'
import { NOT_READ } from '../../../lib/source/pace.js'
import { isNoFile } from '../../../store/storage/errors.js'

/** @import { Pace } from '../../../lib/source/pace.js' */
/** @import { FoundFile } from './walk.js' */

/** Windows has none of the last three: see store/storage/disk/regular-file.js. */
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants

/**
 * @param {FoundFile} file @param {number} max  bytes
 * @param {Pace} pace
 * @returns {Promise<Uint8Array<ArrayBuffer> | undefined>} fresh; undefined when it has more than `max` bytes by now
 * @throws {Error} of the system
 * @throws {import('../../../lib/core/errors.js').BaoError} BAO_SOURCE_CHANGED { location } when something else has
 *   its place by now
 */
export async function readSmallFile (file, max, pace) {
  const size = Number(file.stat.size)
  try {
    const bytes = await pace.read(() => readNow(file, size + 1), () => readLater(file, size + 1))
    if (bytes.length <= size) return bytes
    const more = await readLater(file, max + 1) // it has grown
    return more.length > max ? undefined : more.slice()
  } catch (error) {
    throw asChange(error, file)
  }
}

/**
 * Throws when an open file is not the one that was found, or was found behind a link.
 *
 * @param {number} fd @param {FoundFile} file
 * @throws {import('../../../lib/core/errors.js').BaoError} BAO_SOURCE_CHANGED { location }
 */
export function assertFound (fd, { path, stat }) {
  const { dev, ino } = fstatSync(fd, { bigint: true })
  if (dev !== stat.dev || ino !== stat.ino || placeOf(fd, path) !== path) throw sourceChanged(path)
}

/**
 * Turns the error of an opening into BAO_SOURCE_CHANGED when something else than a file is in the place of the file.
 * When nothing is there, the error stays as it is.
 *
 * @param {unknown} error @param {FoundFile} file
 */
export const asChange = (error, { path }) =>
  isNoFile(error) && /** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT' ? sourceChanged(path) : error

/** Where an open file is. Linux knows it, whichever links led to it. @param {number} fd @param {string} path */
function placeOf (fd, path) {
  if (process.platform === 'linux') {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {} // no /proc, or it must not be read
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
    let got = 0
    for (let more; got < len && (more = readSync(fd, bytes, got, len - got, null)) > 0;) got += more
    return bytes.subarray(0, got)
  } finally {
    closeSync(fd)
  }
}

/** @param {FoundFile} file @param {number} len  bytes, at most */
async function readLater (file, len) {
  const handle = await openRegular(file.path)
  try {
    assertFound(handle.fd, file)
    const bytes = new Uint8Array(len)
    let got = 0
    for (let more; got < len && (more = (await handle.read(bytes, got, len - got, null)).bytesRead) > 0;) got += more
    return bytes.subarray(0, got)
  } finally {
    await handle.close()
  }
}
