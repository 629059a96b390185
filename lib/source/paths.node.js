// Resolves paths, in Node.js, Bun and Deno, and opens only regular files. The module does not trust paths, because
// another user may have put something else there: a link to another file, a pipe, a device or a folder.

import { constants } from 'node:fs'
import { lstat, open, realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NOT_REGULAR, withRoom } from './open-files.js'

/** @import { FileHandle } from 'node:fs/promises' */

/** @param {string | URL} path @returns {string} */
export const absolute = path => resolve(path instanceof URL ? fileURLToPath(path) : path)

/**
 * Resolves links, so that each file has one path.
 *
 * @param {string} path  may lead to nothing @returns {Promise<string>}
 */
export const realPath = path => realpath(path).catch(() => resolve(path))

/**
 * Windows does not have these flags. `O_NONBLOCK`: opening a pipe does not wait for its other end. `O_NOCTTY`: a
 * terminal does not become the controlling terminal of this process.
 */
const { O_NOFOLLOW, O_NONBLOCK = 0, O_NOCTTY = 0, O_RDONLY, O_RDWR } = constants

/**
 * Opens an existing file. Nothing is read or written before it is known that the file is a regular one.
 *
 * @param {string} path
 * @param {{ writes?: boolean, follows?: boolean }} [options]  `writes`: open it for writing, too; `follows`: the path
 *   may be a link to the file
 * @returns {Promise<FileHandle>}
 * @throws {Error} with one of the codes of `isNoFile` when the path leads to something other than a regular file
 */
export async function openRegular (path, { writes = false, follows = false } = {}) {
  // Opening a pipe for writing would wake its reader. On Windows, only this check refuses links.
  if (!follows && (writes || O_NOFOLLOW === undefined)) assertRegular(path, await lstat(path))
  const flags = (writes ? O_RDWR : O_RDONLY) | (follows ? 0 : O_NOFOLLOW ?? 0) | O_NONBLOCK | O_NOCTTY
  const handle = await withRoom(() => open(path, flags))
  try {
    assertRegular(path, await handle.stat())
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** @param {string} path @param {import('node:fs').Stats} stat */
function assertRegular (path, stat) {
  if (!stat.isFile()) throw Object.assign(new Error(`${path} is not a regular file`), { code: NOT_REGULAR })
}
