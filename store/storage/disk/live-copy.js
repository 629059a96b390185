// Copies a LevelDB that another process may be writing to, without touching it.
//
// LevelDB appends to its logs and its manifest, and never writes to a finished table. The manifest says which tables
// and logs are in use. So if CURRENT and the manifest did not change while the files were copied, the copy is the
// database of one moment. The end of its last log may be torn, as after a crash.

import { constants, copyFile, mkdir, mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { unlessMissing } from './folders.js'

/** How often copying is tried, because the manifest must not change during it. Each table is copied only once. */
const TRIES = 100
/** Milliseconds from one try to the next. */
const PAUSE = 10

/** The name of a folder with such a copy begins with this prefix and the id of the process. */
const COPY_PREFIX = 'baobox-read-only-'

/** The files to copy. The file LOCK must not be opened, because closing it would end a lock of this process. */
const TABLE = /^\d+\.(ldb|sst)$/
const GROWING = /^(\d+\.log|MANIFEST-\d+|CURRENT)$/

/**
 * Makes a folder for copies, which only this user can read.
 *
 * @param {string} [parent]  default: the folder of the system for temporary files
 */
export const makeCopyFolder = (parent = tmpdir()) => mkdtemp(join(resolve(parent), `${COPY_PREFIX}${process.pid}-`))

/**
 * @param {string} from  a folder of LevelDB @param {string} to  the folder of the copy, which this function makes
 *   @param {AbortSignal} [signal]
 * @throws {Error} when `from` is not a database, or changed faster than it could be copied
 */
export async function copyLive (from, to, signal) {
  await mkdir(to)
  const copied = /** @type {Map<string, number>} */ (new Map())
  for (let tries = 1; tries <= TRIES; tries++) {
    signal?.throwIfAborted()
    const before = await versionOf(from)
    const isWhole = await copyFiles(from, to, copied, signal)
    if (isWhole && before !== undefined && before === await versionOf(from)) return
    if (before === undefined && tries > 1) throw new Error(`${from} lacks the file CURRENT, or the manifest it names`)
    await new Promise(_resolve => setTimeout(_resolve, PAUSE))
  }
  throw new Error(`${from} changed faster than it could be copied`)
}

/**
 * Returns a string that changes with every change of the manifest; undefined when the folder has no database.
 *
 * @param {string} path
 */
async function versionOf (path) {
  const current = await readFile(`${path}/CURRENT`, 'utf8').catch(unlessMissing)
  const manifest = current && await stat(`${path}/${current.trim()}`).catch(unlessMissing)
  return manifest && `${current} ${manifest.ino} ${manifest.size}`
}

/**
 * Copies the tables that were not copied yet, and copies all other files again.
 *
 * @param {string} from @param {string} to
 * @param {Map<string, number>} copied  lengths of the tables that were copied
 * @param {AbortSignal} [signal]
 * @returns {Promise<boolean>} false when a file was deleted before it could be copied
 */
async function copyFiles (from, to, copied, signal) {
  for (const name of await readdir(to)) if (GROWING.test(name)) await rm(`${to}/${name}`)
  for (const name of await readdir(from)) {
    signal?.throwIfAborted()
    if (!TABLE.test(name) && !GROWING.test(name)) continue
    const file = await stat(`${from}/${name}`).catch(unlessMissing)
    if (file === undefined) return false
    if (TABLE.test(name) && copied.get(name) === file.size) continue
    // The copy shares the blocks of the file if the file system can do that.
    const isThere = await copyFile(`${from}/${name}`, `${to}/${name}`, constants.COPYFILE_FICLONE)
      .then(() => true, unlessMissing)
    if (!isThere) return false
    copied.set(name, file.size)
  }
  return true
}

/**
 * Returns the names, lengths and times of the files of databases. They change with every write.
 *
 * @param {string[]} paths
 * @returns {Promise<string>}
 */
export async function stampOf (paths) {
  const stamps = /** @type {string[]} */ ([])
  for (const path of paths) {
    for (const name of (await readdir(path).catch(unlessMissing) ?? []).sort()) {
      if (!TABLE.test(name) && !GROWING.test(name)) continue
      const file = await stat(`${path}/${name}`).catch(unlessMissing)
      stamps.push(`${path}/${name} ${file?.ino} ${file?.size} ${file?.mtimeMs}`)
    }
  }
  return stamps.join('\n')
}
