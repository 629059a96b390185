// Gives the bytes of a file of the store to a file of the caller without copying them, where the file system can do
// that.

import { constants } from 'node:fs'
import { copyFile, link, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { absolute, openRegular } from '../../../lib/source/paths.node.js'
import { syncFolder } from './folders.js'

/** Characters of the final name that the temporary name has, at most, because systems limit a name to 255 bytes. */
const SHOWN_NAME_LEN = 50

/**
 * Makes a file under a temporary name, and lets it replace the target when the caller finds it right.
 *
 * @param {string} from  path of a file of the store
 * @param {string | URL} to
 * @param {object} options
 * @param {'link' | 'reflink'} options.mode  `link`: the target is the same file under another name; `reflink`: it
 *   shares the blocks until one of the files is written to, and is a plain copy where the disk cannot do that
 * @param {boolean} options.sync  does the target survive a power cut?
 * @param {(path: string) => Promise<boolean>} options.isRight  looks at the file before it gets its name
 * @returns {Promise<boolean>} false when the file could not be made, or is not right: the target is as it was
 */
export async function shareFile (from, to, { mode, sync, isRight }) {
  const target = absolute(to)
  const shown = basename(target).slice(0, SHOWN_NAME_LEN)
  const name = join(dirname(target), `.${shown}.${crypto.randomUUID()}.part`)
  try {
    if (!await made(from, name, mode)) return false
    if (!await isRight(name)) return false
    if (sync && mode === 'reflink') await syncFile(name)
    await rename(name, target)
    if (sync) await syncFolder(dirname(target))
    return true
  } finally {
    await rm(name, { force: true }) // It is still there when the target was the same file already.
  }
}

/** @param {string} from @param {string} to @param {'link' | 'reflink'} mode */
async function made (from, to, mode) {
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
