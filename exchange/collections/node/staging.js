// Makes files and folders appear in a target folder when all of them are complete. They are written to a new folder
// inside the target. Then they are placed by calls that fail if the path is taken, so nothing is ever replaced. If one
// of them cannot be placed, those that were already placed are taken back, unless another process has changed them
// since.

import { constants } from 'node:fs'
import { chmod, copyFile, link, lstat, mkdir, mkdtemp, readdir, rename, rm, rmdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { BaoError } from '../../../lib/core/errors.js'

/** @import { BigIntStats } from 'node:fs' */
/** @typedef {{ from: string, to: string, stat: BigIntStats }} Placed  `stat`: the stat at the time of placing */

const PREFIX = '.baobox-export-'
const NAME = /^\.baobox-export-[0-9A-Za-z]{6}$/
const EXACT = /** @type {const} */ ({ bigint: true })
/**
 * The error codes that systems use when a folder cannot be placed because something other than an empty folder is
 * there.
 */
const TAKEN = ['EEXIST', 'ENOTEMPTY', 'ENOTDIR']

/** True for the name of a folder that a killed export may have left. @param {string} name */
export const isStagingName = name => NAME.test(name)

/** @param {string} location  the path that is taken @returns {BaoError} */
export const pathExists = location =>
  new BaoError('PATH_EXISTS', `${location} already exists, and would be replaced: choose another folder, or bring ` +
    'this one up to date with "update" (--update)', { location })

/** @param {string} location @param {'file' | 'folder'} kind  that is needed there @returns {BaoError} */
export const pathTaken = (location, kind) =>
  new BaoError('PATH_EXISTS', `${location} is no ${kind}, and the export needs a ${kind} there`, { location })

export class Staging {
  #target
  #stat
  #placed = /** @type {Placed[]} */ ([])

  /**
   * Call `Staging.make` instead.
   *
   * @param {string} target @param {string} path @param {BigIntStats} stat  the stat of the path
   */
  constructor (target, path, stat) {
    this.#target = target
    this.#stat = stat
    /** The path of the folder to write to. */
    this.path = path
  }

  /** @param {string} target  path of the folder in which the files will appear */
  static async make (target) {
    const path = await mkdtemp(join(target, PREFIX))
    return new Staging(target, path, await lstat(path, EXACT))
  }

  /**
   * Moves the written files and folders to their places. The caller must not write anything after this.
   *
   * @param {Iterable<string>} names  the names of the files and folders at the top of the new folder
   * @throws {BaoError} PATH_EXISTS { location }; PATH_MOVED { location } when the folder at `path` is not the one that
   *   was made. After an error, the target is as it was, except for changes by others
   */
  async place (names) {
    await this.#assertThere()
    const began = await this.#touch()
    try {
      for (const name of names) await this.#placeOne(join(this.path, name), join(this.#target, name))
    } catch (error) {
      for (const placed of this.#placed.reverse()) {
        await takeBack(placed, began).catch(() => {}) // the first error says more
      }
      throw error
    }
  }

  /**
   * Moves the written files to their places one by one, where they replace other files and get their permissions. The
   * caller must not write anything after this.
   *
   * @param {Iterable<string>} names  of files, with `/`
   * @throws {BaoError} PATH_EXISTS { location } when something other than a file or folder is in the way; PATH_MOVED.
   *   Files that were moved before stay in their places
   */
  async replace (names) {
    await this.#assertThere()
    for (const name of names) {
      const parts = name.split('/')
      for (let i = 1; i < parts.length; i++) await makeFolder(join(this.#target, ...parts.slice(0, i)))
      const [from, to] = [join(this.path, ...parts), join(this.#target, ...parts)]
      const stat = await lstat(to).catch(() => undefined)
      if (stat !== undefined) {
        if (!stat.isFile()) throw pathTaken(to, 'file')
        const { mode, nlink } = await lstat(from)
        // A file with a second name is the store's.
        if (mode !== stat.mode && nlink === 1) await chmod(from, stat.mode & 0o777)
      }
      await rename(from, to)
    }
  }

  /** Deletes the new folder and its content, unless another folder is in its place. */
  async remove () {
    if (await this.#isThere()) await rm(this.path, { recursive: true, force: true })
  }

  /** @throws {BaoError} PATH_MOVED { location } */
  async #assertThere () {
    if (await this.#isThere()) return
    const message = `${this.path} was moved or replaced while files were written to it`
    throw new BaoError('PATH_MOVED', message, { location: this.path })
  }

  /** True if the folder at the path is the one that was made. */
  async #isThere () {
    const stat = await lstat(this.path, EXACT).catch(() => undefined)
    return stat !== undefined && isSame(stat, this.#stat)
  }

  /** @returns {Promise<bigint>} the current time by the clock of the file system, in nanoseconds */
  async #touch () {
    const now = new Date()
    await utimes(this.path, now, now)
    return changeOf(await lstat(this.path, EXACT))
  }

  /** @param {string} from @param {string} to */
  async #placeOne (from, to) {
    const stat = await lstat(from, EXACT)
    try {
      if (stat.isDirectory()) await placeFolder(from, to)
      else if (!await tryToLink(from, to)) {
        await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
        this.#placed.push({ from, to, stat: await lstat(to, EXACT) })
        return rm(from)
      }
    } catch (error) {
      throw TAKEN.includes(codeOf(error)) ? pathExists(to) : error
    }
    this.#placed.push({ from, to, stat })
  }
}

/** Makes a folder, unless it is there. A link to a folder is none. @param {string} path */
async function makeFolder (path) {
  try {
    await mkdir(path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    if (!(await lstat(path)).isDirectory()) throw pathTaken(path, 'folder')
  }
}

/**
 * Moves a folder to a free path. A rename alone would replace files and empty folders.
 *
 * @param {string} from @param {string} to
 */
async function placeFolder (from, to) {
  await mkdir(to)
  // Windows renames only to a free path. Other systems replace an empty folder.
  if (process.platform === 'win32') {
    await rmdir(to)
    return rename(from, to)
  }
  await rename(from, to).catch(async error => {
    await rmdir(to).catch(() => {}) // another process may have put something there
    throw error
  })
}

/**
 * Gives a file a second name, which must be free.
 *
 * @param {string} from @param {string} to
 * @returns {Promise<boolean>} false if the file system has no links
 */
async function tryToLink (from, to) {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error
    return false
  }
}

/**
 * Takes back a placed file or folder, unless another one is there now or another process has changed it.
 *
 * @param {Placed} placed @param {bigint} began  when placing began, in nanoseconds
 */
async function takeBack ({ from, to, stat }, began) {
  const now = await lstat(to, EXACT)
  if (!isSame(now, stat) || now.size !== stat.size || now.mtimeNs !== stat.mtimeNs) return
  if (!now.isDirectory()) await rm(to)
  else if (!await hasChangedSince(to, began)) await rename(to, from)
}

/** True if anything below a folder has changed since a time. @param {string} folder @param {bigint} time  in ns */
async function hasChangedSince (folder, time) {
  const folders = [folder]
  for (let path; (path = folders.pop()) !== undefined;) {
    for (const name of await readdir(path)) {
      const inner = join(path, name)
      const stat = await lstat(inner, EXACT)
      if (changeOf(stat) > time) return true
      if (stat.isDirectory()) folders.push(inner)
    }
  }
  return false
}

/**
 * The time of the last change, in nanoseconds. Deno returns `ctime`, which programs cannot set, only in seconds.
 *
 * @param {BigIntStats} stat
 */
const changeOf = ({ ctimeNs, mtimeNs }) => ctimeNs > mtimeNs ? ctimeNs : mtimeNs

/** True if both stats are those of the same file or folder. @param {BigIntStats} a @param {BigIntStats} b */
export const isSame = (a, b) => a.dev === b.dev && a.ino === b.ino

/** @param {unknown} error */
const codeOf = error => /** @type {NodeJS.ErrnoException} */ (error).code ?? ''
