// Opens regular files and nothing else. Others may have put something else at a path: a link to a file of theirs, a
// pipe, a device, a folder.

import { constants } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { NOT_REGULAR } from '../errors.js'

/** @import { FileHandle } from 'node:fs/promises' */

/**
 * Windows has none of these. `O_NONBLOCK`: no pipe is waited for. `O_NOCTTY`: no terminal becomes the one of this
 * process.
 */
const { O_NOFOLLOW, O_NONBLOCK = 0, O_NOCTTY = 0, O_RDONLY, O_RDWR } = constants

/**
 * Opens a file that is there. Nothing is read or written before it is known to be a regular file.
 *
 * @param {string} path
 * @param {{ writes?: boolean, follows?: boolean }} [options]  `writes`: open it for writing, too; `follows`: the path
 *   may be a link to the file
 * @returns {Promise<FileHandle>}
 * @throws {Error} with one of the codes of `isNoFile` when something else than a regular file is there
 */
export async function openRegular (path, { writes = false, follows = false } = {}) {
  // To open a pipe for writing would wake its reader. And on Windows nothing but this look refuses links.
  if (!follows && (writes || O_NOFOLLOW === undefined)) assertRegular(path, await lstat(path))
  const noFollow = follows ? 0 : O_NOFOLLOW ?? 0
  const handle = await open(path, (writes ? O_RDWR : O_RDONLY) | noFollow | O_NONBLOCK | O_NOCTTY)
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
