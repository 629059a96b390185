// Makes a file of the caller from a file of the store without copying the bytes, if the file system can do that.

import { constants } from 'node:fs'
import { copyFile, link, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { absolute, openRegular } from '../../../lib/source/paths.node.js'
import { syncFolder } from './folders.js'

/** The temporary name has at most this many characters of the final one, because systems limit a name to 255 bytes. */
const SHOWN_NAME_LEN = 50

/**
 * Makes a file under a temporary name, and replaces the target with it if `isRight` accepts it.
 *
 * @param {string} from  path of a file of the store
 * @param {string | URL} to
 * @param {object} options
 * @param {'link' | 'reflink'} options.mode  `link`: the target is the same file under another name; `reflink`: the
 *   target shares blocks with the file until one of the two is written to, or is a plain copy if the file system cannot
 *   do that
 * @param {boolean} options.sync  true to make the target survive a power cut
 * @param {(path: string) => Promise<boolean>} options.isRight  checks the file before it gets its final name
 * @returns {Promise<boolean>} false when the file could not be made, or is not right. Then the target is as it was
 */
export async function shareFile (from, to, { mode, sync, isRight }) {
  const target = absolute(to)
  const shown = basename(target).slice(0, SHOWN_NAME_LEN)
  const name = join(dirname(target), `.${shown}.${crypto.randomUUID()}.part`)
  try {
    if (!await tryToMake(from, name, mode)) return false
    if (!await isRight(name)) return false
    if (sync && mode === 'reflink') await syncFile(name)
    await rename(name, target)
    if (sync) await syncFolder(dirname(target))
    return true
  } finally {
    await rm(name, { force: true }) // If the target is already the same file, `rename` leaves this name in place.
  }
}

/** @param {string} from @param {string} to @param {'link' | 'reflink'} mode */
async function tryToMake (from, to, mode) {
  try {
    if (mode === 'link') await link(from, to)
    else await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    return true
  } catch {
    return false // another disk, or no links: the caller copies the blob, which reports any other fault
  }
}

/** @param {string} path */
async function syncFile (path) {
  const file = await openRegular(path, { writes: true })
  await file.sync().finally(() => file.close())
}
