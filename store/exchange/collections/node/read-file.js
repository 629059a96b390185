// Reads small files that do not belong to the store: a regular file, or nothing.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { openRegular } from '#disk'
import { NOT_READ } from '../../../storage/content/read-pace.js'
import { NOT_REGULAR } from '../../../storage/errors.js'

/** @import { Pace } from '../../../storage/content/read-pace.js' */

/** Windows has none of the last three: see store/storage/disk/regular-file.js. */
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants

/**
 * @param {string} path @param {number} size  bytes that it had a moment ago
 * @param {number} max  bytes
 * @param {Pace} pace
 * @returns {Promise<Uint8Array<ArrayBuffer> | undefined>} fresh; undefined when it has more than `max` bytes by now
 * @throws {Error} of the system, or with one of the codes of `isNoFile` when something else is there by now
 */
export async function readSmallFile (path, size, max, pace) {
  const bytes = await pace.read(() => readNow(path, size + 1), () => readLater(path, size + 1))
  if (bytes.length <= size) return bytes
  const more = await readLater(path, max + 1) // it has grown
  return more.length > max ? undefined : more.slice()
}

/** @param {string} path @param {number} len  bytes, at most */
function readNow (path, len) {
  if (O_NOFOLLOW === undefined) return NOT_READ
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
  try {
    if (!fstatSync(fd).isFile()) throw Object.assign(new Error(`${path} is not a regular file`), { code: NOT_REGULAR })
    const bytes = new Uint8Array(len)
    let got = 0
    for (let more; got < len && (more = readSync(fd, bytes, got, len - got, null)) > 0;) got += more
    return bytes.subarray(0, got)
  } finally {
    closeSync(fd)
  }
}

/** @param {string} path @param {number} len  bytes, at most */
async function readLater (path, len) {
  const handle = await openRegular(path)
  try {
    const bytes = new Uint8Array(len)
    let got = 0
    for (let more; got < len && (more = (await handle.read(bytes, got, len - got, null)).bytesRead) > 0;) got += more
    return bytes.subarray(0, got)
  } finally {
    await handle.close()
  }
}
