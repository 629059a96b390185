// Looks for, makes, moves, links and removes the folders of a store and of LevelDB. A folder that was made or moved
// stays so after a power cut.

import {
  access, copyFile, link, lstat, mkdir, open, readFile, readdir, realpath, rename, rm, stat
} from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Asked before anything is opened, because opening makes what is not there. @param {string} location */
export const isStoreAt = async location => await exists(`${location}/index/CURRENT`) || isHeadless(`${location}/index`)

/** Is this a directory of LevelDB that has lost the file which says what the others are? @param {string} path */
export async function isHeadless (path) {
  const names = await readdir(path).catch(() => /** @type {string[]} */ ([]))
  return !names.includes('CURRENT') && names.some(name => /\.(ldb|sst|log)$|^MANIFEST-/.test(name))
}

/** @param {string} path */
export const exists = path => access(path).then(() => true, () => false)

/** @param {string} path @returns {Promise<boolean | undefined>} undefined when nothing is there */
export const isFolder = async path => (await stat(path).catch(unlessMissing))?.isDirectory()

/** One name for what has several. @param {string} path  of what need not be there */
export const realPath = path => realpath(path).catch(() => resolve(path))

/** @param {string | URL} path */
export const absolute = path => resolve(path instanceof URL ? fileURLToPath(path) : path)

/** @param {string} path */
export const readText = path => readFile(path, 'utf8')

/** @param {string} path  in a folder that is there @returns {Promise<boolean>} false when it was there */
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

/**
 * Links are not followed: what is behind one is not the store's.
 *
 * @param {string} path
 * @returns {Promise<boolean>} false when nothing is there
 * @throws {Error} when something else than a folder is there
 */
export async function assertFolder (path) {
  const stat = await lstat(path).catch(unlessMissing)
  if (stat === undefined || stat.isDirectory()) return stat !== undefined
  const what = `${path} ${stat.isSymbolicLink() ? 'is a link' : 'is no folder'}`
  throw Object.assign(new Error(`${what}: the store needs a folder of its own there`), { code: 'ENOTDIR' })
}

/**
 * The same for a folder of LevelDB, which follows links, truncates what it takes for its own logs, and deletes what
 * it takes for old tables: nothing but
 * files and folders may be in it.
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

/** Is there no folder, or nothing in it? @param {string} path */
export const isMissing = async path => (await readdir(path).catch(unlessMissing) ?? []).length === 0

/**
 * Gives a folder its name, unless a folder with anything in it has that by now: then it is removed.
 *
 * @param {string} from
 * @param {string} to  beside it
 * @param {{ sync: boolean }} options  `sync`: it outlasts a power cut
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

/** Removes what was left of drafts. @param {string} path  of a folder @param {string} prefix  of their names */
export async function removeFoldersLike (path, prefix) {
  for (const name of await readdir(path)) if (name.startsWith(prefix)) await removeFolder(`${path}/${name}`)
}

/**
 * Renames a folder, and makes that outlast a power cut.
 *
 * @param {string} from
 * @param {string} to  beside it; nothing is there
 */
export async function moveFolder (from, to) {
  await rename(from, to)
  await syncFolder(dirname(to))
}

/**
 * Puts a folder in the place of another one, which is kept. When this was interrupted, it can be done again.
 *
 * @param {string} from @param {string} to  may be missing @param {string} old  what stood at `to`
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

/**
 * Makes a folder with links to the files of another one; with copies where the system has no links. As LevelDB
 * replaces files and never writes to them again, what it does in the one folder does not change the files of the
 * other.
 *
 * @param {string} from  may be missing
 * @param {string} to  is made
 * @param {string[]} except  names of files to leave out
 */
export async function linkFiles (from, to, except) {
  await mkdir(to)
  for (const entry of await readdir(from, { withFileTypes: true }).catch(unlessMissing) ?? []) {
    if (!entry.isFile() || except.includes(entry.name)) continue
    const [source, target] = [`${from}/${entry.name}`, `${to}/${entry.name}`]
    await link(source, target).catch(() => copyFile(source, target))
  }
}

/**
 * Gives a file another name, which takes the place of a file that has it. When this was interrupted, it can be done
 * again.
 *
 * @param {string} from @param {string} to
 * @returns {Promise<boolean>} false where the system has no links
 */
export async function linkFile (from, to) {
  const name = `${from}.link`
  await rm(name, { force: true })
  try {
    await link(from, name)
  } catch {
    return false
  }
  await rename(name, to)
  await syncFolder(dirname(to))
  return true
}

/** Files whose sizes are asked for at the same time. */
const STATS_AT_ONCE = 64

/** Bytes that the files of a folder take on the disk. @param {string} path  may be missing */
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
 * Parts of a file that were never written take no blocks. Windows does not tell.
 *
 * @param {import('node:fs').Stats} stat
 */
const lenOnDisk = ({ blocks, size }) => process.platform === 'win32' ? size : blocks * 512

/** Makes all files of a folder outlast a power cut. @param {string} path */
export async function syncFiles (path) {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = await open(`${path}/${entry.name}`, 'r+')
    await file.sync().finally(() => file.close())
  }
  await syncFolder(path)
}

/** Makes what was put into a folder, or taken out, outlast a power cut. @param {string} path */
export async function syncFolder (path) {
  if (process.platform === 'win32') return // directories cannot be opened there, and need not
  const folder = await open(path, 'r')
  await folder.sync().finally(() => folder.close())
}

/** @param {Error & { code?: string }} error @returns {undefined} */
export function unlessMissing (error) {
  if (error.code !== 'ENOENT') throw error
}
