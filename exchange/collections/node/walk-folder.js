// Finds the files of a folder, in the order of the names that they have in a collection. It does not follow links. It
// leaves out everything that is neither a file nor a folder, and folders that interrupted exports have left.

import { lstatSync } from 'node:fs'
import { lstat, readdir, realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { absolute } from '../../../lib/source/paths.node.js'
import { sourceChanged } from '../../../lib/core/errors.js'
import { describe } from '../../../lib/core/bytes.js'
import { withRoom } from '../../../lib/source/open-files.js'
import { compareNames, unsafe } from '../safe-names.js'
import { isSame, isStagingName } from './staging.js'
import { selectionOf } from './patterns.js'

/** @import { BigIntStats } from 'node:fs' */
/** @import { Pace } from '../../../lib/source/pace.js' */
/** @import { SelectionOptions } from './patterns.js' */

/**
 * @typedef {SelectionOptions & { top?: string, signal?: AbortSignal }} WalkOptions  `top`: the first part of all names;
 *   the empty string for none. Default: the name of the folder itself
 */

/**
 * @typedef {object} FoundFile
 * @property {string} name  in a collection
 * @property {string} path  on the disk
 * @property {BigIntStats} stat
 */

/**
 * Yields the files below a folder, or a single file.
 *
 * @param {string | URL} location @param {WalkOptions} options
 * @param {Pace} pace
 * @param {(path: string) => boolean} isLeftOut  returns true for a file or folder to leave out
 * @returns {AsyncGenerator<FoundFile>} sorted by the bytes of their names
 * @throws {import('../../../lib/core/errors.js').BaoError} PATH_UNSAFE { entry } for a name that is not text
 */
export async function * walkFolder (location, options, pace, isLeftOut) {
  const selection = selectionOf(options)
  const path = await realpath(absolute(location))
  const prefix = prefixOf(path, options.top)
  const stat = await lstat(path, { bigint: true })
  if (stat.isFile()) {
    const name = prefix.slice(0, -1) || basename(path)
    assertPortable(name)
    if (selection.hasFile(basename(path))) yield { name, path, stat }
    return
  }
  if (!stat.isDirectory()) throw new TypeError(`"path" expected a folder or a file, got ${path}`)
  const folders = [await openFolder(path, '')] // the last one is the deepest
  while (folders.length > 0) {
    options.signal?.throwIfAborted()
    const folder = folders[folders.length - 1]
    const entry = folder.left.pop()
    if (entry === undefined) {
      folders.pop()
      continue
    }
    const inner = join(path, entry.relative)
    if (isLeftOut(inner)) continue
    if (entry.isFolder) {
      if (selection.entersFolder(entry.relative)) folders.push(await openFolder(inner, `${entry.relative}/`, folder))
    } else if (selection.hasFile(entry.relative)) {
      const name = prefix + entry.relative
      assertPortable(name)
      const stat = await statOf(inner, pace).catch(error => { throw isNoText(error, name) ? noText(name) : error })
      if (stat.isFile()) yield { name, path: inner, stat }
    }
  }
}

/** @param {string} path @param {Pace} pace @returns {Promise<BigIntStats>} */
const statOf = async (path, pace) =>
  pace.read(() => lstatSync(path, { bigint: true }), () => lstat(path, { bigint: true }))

/** @param {string} path @param {string} [top]  the first part of all names @returns {string} */
export const prefixOf = (path, top = basename(path)) => top === '' ? '' : `${top}/`

/** @param {unknown} top  from a caller @throws {TypeError} */
export function assertTop (top) {
  if (top !== undefined && typeof top !== 'string') throw new TypeError(`"top" expected a name, got ${describe(top)}`)
}

/**
 * @typedef {object} OpenFolder
 * @property {string} path
 * @property {BigIntStats} stat
 * @property {{ relative: string, isFolder: boolean }[]} left  the entries still to be visited, in reverse order
 */

/**
 * Reads a folder, and checks that no link has replaced the folder or one above it. If one of the folders above was
 * replaced, the path of the folder directly above leads elsewhere, too. So it is enough to look at that one path, which
 * takes one step; resolving the path would take a step for each folder.
 *
 * @param {string} path @param {string} prefix  of its entries' paths, from the folder where the walk began
 * @param {OpenFolder} [above]  default: the walk begins here
 * @returns {Promise<OpenFolder>}
 * @throws {import('../../../lib/core/errors.js').BaoError} BAO_SOURCE_CHANGED { location } if a link has replaced it
 */
async function openFolder (path, prefix, above) {
  const left = await entriesOf(path, prefix)
  const stat = await lstat(path, { bigint: true })
  const isBelow = above === undefined || isSame(await lstat(above.path, { bigint: true }), above.stat)
  if (!stat.isDirectory() || !isBelow) throw sourceChanged(path)
  return { path, stat, left }
}

/** @param {string} path @param {string} prefix @returns {Promise<OpenFolder['left']>} */
async function entriesOf (path, prefix) {
  const found = /** @type {{ relative: string, isFolder: boolean, key: string }[]} */ ([])
  const entries = await withRoom(() => readdir(path, { withFileTypes: true })).catch(error => {
    throw error.code === 'ENOTDIR' ? sourceChanged(path) : error
  })
  for (const entry of entries) {
    const isFolder = entry.isDirectory()
    if (isFolder ? isStagingName(entry.name) : !entry.isFile()) continue
    // The slash after the name of a folder makes this order that of whole paths.
    found.push({ relative: prefix + entry.name, isFolder, key: isFolder ? `${entry.name}/` : entry.name })
  }
  found.sort((a, b) => compareNames(b.key, a.key))
  const twice = found.find(({ key }, i) => key === found[i + 1]?.key)
  if (twice !== undefined) throw noText(twice.relative)
  return found
}

/** @param {string} name  on the disk, with `/` @throws {import('../../../lib/core/errors.js').BaoError} */
function assertPortable (name) {
  if (name.includes('\\')) throw unsafe(name, 'it has a separator inside a part')
  if (/\p{Surrogate}/u.test(name)) throw noText(name)
}

/** Node.js replaces bytes that are not UTF-8 with this character, after which the name does not lead to the file. */
const REPLACEMENT = '\ufffd'

/** @param {unknown} error  the error of `lstat` for a file @param {string} name  on the disk */
const isNoText = (error, name) =>
  name.includes(REPLACEMENT) && /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT'

/** @param {string} name */
const noText = name => unsafe(name, 'it is not text on the disk')
