// Finds, makes, moves and removes the folders of a store and of LevelDB. Unless a comment says otherwise, a folder that
// was made or moved survives a power cut.

import { access, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { withRoom } from '../../../lib/source/open-files.js'

/** @param {string} path */
export const exists = path => access(path).then(() => true, () => false)

/** @param {string} path  its parent must exist @returns {Promise<boolean>} false when the folder exists already */
export async function makeFolder (path) {
  try {
    await mkdir(path)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
  await syncFolder(dirname(path))
  return true
}

/** Makes a folder and its missing parents, without syncing them. @param {string} path */
export const makeFolders = path => mkdir(path, { recursive: true })

/**
 * Checks that a path leads to a folder and not to a link, because the target of a link does not belong to the store.
 *
 * @param {string} path
 * @returns {Promise<boolean>} false when nothing is there
 * @throws {Error} when something other than a folder is there
 */
export async function assertFolder (path) {
  const stat = await lstat(path).catch(unlessMissing)
  if (stat === undefined || stat.isDirectory()) return stat !== undefined
  const fault = `${path} ${stat.isSymbolicLink() ? 'is a link' : 'is not a folder'}`
  throw Object.assign(new Error(`${fault}: the store needs a folder of its own there`), { code: 'ENOTDIR' })
}

/**
 * Checks that a folder of LevelDB contains only files and folders. LevelDB follows links, truncates files that look
 * like its own logs, and deletes files that look like its old tables.
 *
 * @param {string} path
 */
export async function assertLevel (path) {
  if (!await assertFolder(path)) return
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isFile() || entry.isDirectory()) continue
    throw new Error(`${path}/${entry.name} is neither a file nor a folder: LevelDB did not make it. Move it away`)
  }
}

/** @param {string} path */
export const removeFolder = path => rm(path, { recursive: true, force: true })

/** Returns true if the folder is missing or empty. @param {string} path */
export const isMissing = async path => (await readdir(path).catch(unlessMissing) ?? []).length === 0

/**
 * Renames a new folder. If a folder that is not empty already has the name, the new folder is removed instead.
 *
 * @param {string} from
 * @param {string} to  in the same folder
 * @param {{ sync: boolean }} options  `sync`: true to make the new name survive a power cut
 */
export async function placeFolder (from, to, { sync }) {
  try {
    await rename(from, to)
  } catch (error) {
    await removeFolder(from)
    if (await isMissing(to)) throw error
  }
  if (sync) await syncFolder(dirname(to))
}

/** Removes all folders whose names begin with a prefix. @param {string} path  of their parent @param {string} prefix */
export async function removeFoldersLike (path, prefix) {
  for (const name of await readdir(path)) if (name.startsWith(prefix)) await removeFolder(`${path}/${name}`)
}

/**
 * Renames a folder.
 *
 * @param {string} from
 * @param {string} to  in the same folder; must not exist
 */
export async function moveFolder (from, to) {
  await rename(from, to)
  await syncFolder(dirname(to))
}

/**
 * Replaces a folder with another one, and keeps the old one. An interrupted call can be repeated.
 *
 * @param {string} from @param {string} to  may be missing @param {string} old  the new path of the folder at `to`
 */
export async function replaceFolder (from, to, old) {
  if (await exists(to)) {
    await removeFolder(old)
    await rename(to, old)
    await syncFolder(dirname(old))
  }
  await rename(from, to)
  await syncFolder(dirname(to))
  await syncFolder(dirname(from))
}

/** How many files are looked at concurrently. */
const STATS_AT_ONCE = 64

/** Returns how many bytes the files of a folder take on the disk. @param {string} path  may be missing */
export async function folderLen (path) {
  const names = await readdir(path).catch(unlessMissing) ?? []
  let len = 0
  for (let i = 0; i < names.length; i += STATS_AT_ONCE) {
    const some = names.slice(i, i + STATS_AT_ONCE).map(name => lstat(`${path}/${name}`).catch(unlessMissing))
    for (const stat of await Promise.all(some)) if (stat?.isFile()) len += lenOnDisk(stat)
  }
  return len
}

/**
 * Returns the space that a file takes on the disk. Holes in it take none. Windows does not tell the number of blocks.
 *
 * @param {import('node:fs').Stats} stat
 */
const lenOnDisk = ({ blocks, size }) => process.platform === 'win32' ? size : blocks * 512

/** Makes all files of a folder survive a power cut. @param {string} path */
export async function syncFiles (path) {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = await withRoom(() => open(`${path}/${entry.name}`, 'r+'))
    await file.sync().finally(() => file.close())
  }
  await syncFolder(path)
}

/** Makes the names that were added to a folder, or removed from it, survive a power cut. @param {string} path */
export async function syncFolder (path) {
  if (process.platform === 'win32') return // Windows cannot open directories, and need not sync them.
  const folder = await withRoom(() => open(path, 'r'))
  await folder.sync().finally(() => folder.close())
}

/** @param {Error & { code?: string }} error @returns {undefined} */
export function unlessMissing (error) {
  if (error.code !== 'ENOENT') throw error
}
