// Writes the files that a collection or manifest names. It first checks all names and members. Then it writes the files
// below a new folder, and moves them to their places when all of them are complete. So it does not replace or change
// anything in the target, except with `update`, and does not follow links there.

import { lstat, mkdir, realpath, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { areEqual } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { fromCid, parseRoot } from '../../../lib/hash/cid.js'
import { inOrder } from '../../../lib/async/in-order.js'
import { absolute } from '../../../lib/source/paths.node.js'
import { assertStore, missing } from '../../../store/interface.js'
import { entryBatches } from '../get-collection.js'
import { SafeNames } from '../safe-names.js'
import { filesIn, findManifest } from '../web/stored-manifest.js'
import { MemberWriter } from './member-writer.js'
import { OutdatedFiles } from './outdated.js'
import { Staging, pathExists } from './staging.js'

/** @import { BaoError } from '../../../lib/core/errors.js' */
/** @import { BlobName } from '../../../lib/hash/cid.js' */
/** @import { Store } from '../../../store/interface.js' */
/** @import { CollectionEntry } from '../collection.js' */
/** @import { DirectoryEvent, FolderStore } from './import-directory.js' */
/** @import { ExportMode, Member } from './member-writer.js' */

/**
 * @typedef {object} ExportDirectoryOptions
 * @property {ExportMode} [mode]  how files above 1 MiB get their bytes, if the store and the system can do that.
 *   `reflink`: they share the disk's blocks with the store until one of the two is changed. `link`: they are the
 *   store's own files under other names, so do not change them. Each file is verified. Default: `copy`
 * @property {boolean} [update]  true: bring the folder up to date. Files with the right bytes stay as they are, other
 *   files are replaced one by one, and files that are not of the collection stay. A new file gets the permissions of
 *   the file that it replaces, unless it is a link to the store's own file. If something else is where a file or folder
 *   is needed, the call fails with PATH_EXISTS. After an error, each file is the old one or the new one. Default: false
 * @property {AbortSignal} [signal]
 * @property {(event: DirectoryEvent) => void} [onProgress]  called with a `baobox:export` event for every file
 */

/** @typedef {() => Iterable<CollectionEntry[]> | AsyncIterable<CollectionEntry[]>} ReadFiles  names and their blobs */

/** The number of files that are written at the same time. */
const WRITES_AHEAD = 8

/**
 * Writes the files that a collection or manifest names, below a folder: `path/top/file`. The folder must not have an
 * entry with the first part of any name. If another process makes such an entry during the call, the entry is not
 * replaced. A failure leaves the folder as it was.
 *
 * @param {FolderStore} store
 * @param {BlobName} cid  the CID of the collection, of the manifest, or of the sequence that `putManifest` has kept
 *   with it
 * @param {string | URL} path  the path of a folder, which is made when it is missing
 * @param {ExportDirectoryOptions} [options]
 * @returns {Promise<{ length: number, size: number }>} how many files, and their bytes
 * @throws {BaoError} PATH_UNSAFE { entry } when a name could lead out of the folder, or to the file of another name;
 *   PATH_EXISTS { location }; PATH_MOVED { location } when another process moves the files before they are complete;
 *   COLLECTION_INVALID; the errors of `getManifest` and `store.get`
 */
export async function exportDirectory (store, cid, path, options = {}) {
  assertStore(store)
  assertKnownOptions(options, ['mode', 'update', 'signal', 'onProgress'])
  const { mode = 'copy', update = false, signal } = options
  if (!['copy', 'reflink', 'link'].includes(mode)) {
    throw new TypeError(`"mode" expected 'copy', 'reflink' or 'link', got '${mode}'`)
  }
  const root = parseRoot(cid, 'cid')
  const target = absolute(path)
  const manifest = await findManifest(store, root, { signal })
  // A tag can protect the members of a sequence, but not the blobs of a manifest if `cid` is that of the manifest
  // itself.
  const isManifest = manifest !== undefined && areEqual(root, 0, fromCid(manifest.cid))
  const hold = store.tempTag(root, { format: isManifest ? 'raw' : 'hashseq' })
  try {
    const files = manifest && [await filesIn(store, manifest)]
    const readFiles = () => files ?? entryBatches(store, root, signal)
    const tops = await checked(store, readFiles)
    const topmost = await mkdir(target, { recursive: true })
    try {
      if (!update) await assertAbsent(target, tops)
      // Files are compared only if no link leads to them, so the path of the folder must not contain one.
      const place = update ? await realpath(target) : target
      const outdated = update ? new OutdatedFiles(store, place, signal) : undefined
      return await exportTo(place, async staging => {
        const { names, ...done } = await writeAll(store, readFiles, staging.path, { ...options, mode, outdated })
        await (update ? staging.replace(names) : staging.place(tops))
        return done
      })
    } catch (error) {
      if (topmost !== undefined) await removeMade(target, topmost)
      throw error
    }
  } finally {
    hold.release()
  }
}

/**
 * Removes the folders that were made, from the target up to the topmost, unless they have entries.
 *
 * @param {string} target @param {string} topmost
 */
async function removeMade (target, topmost) {
  for (let path = target; path.length >= topmost.length; path = dirname(path)) await rmdir(path).catch(() => {})
}

/**
 * Checks all names and members.
 *
 * @param {Store} store @param {ReadFiles} readFiles
 * @returns {Promise<string[]>} the names of the files and folders to make in the target itself
 * @throws {BaoError} PATH_UNSAFE { entry }, STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }, STORE_CORRUPT
 */
async function checked (store, readFiles) {
  const names = new SafeNames({ isForWindows: process.platform === 'win32' })
  for await (const batch of readFiles()) {
    for (const [name] of batch) names.add(name)
    for (const { cid, size, complete } of await membersOf(store, batch)) {
      if (!complete) throw missing(fromCid(cid), size, await store.missing(cid))
    }
  }
  return [...names.tops]
}

/**
 * Checks the target before anything is written. Files that appear there later are found when the files are placed.
 *
 * @param {string} target @param {string[]} tops
 * @throws {BaoError} PATH_EXISTS { location }
 */
async function assertAbsent (target, tops) {
  for (const top of tops) {
    const location = join(target, top)
    // A link whose target is missing also takes the name.
    const isThere = await lstat(location).then(() => true, error => {
      if (error.code === 'ENOENT') return false
      throw error
    })
    if (isThere) throw pathExists(location)
  }
}

/**
 * @template T
 * @param {string} target
 * @param {(staging: Staging) => Promise<T>} write  writes all files to an empty folder, and moves them to their places
 * @returns {Promise<T>}
 */
async function exportTo (target, write) {
  const staging = await Staging.make(target)
  try {
    const result = await write(staging)
    await staging.remove()
    return result
  } catch (error) {
    await staging.remove().catch(() => {}) // the first error says more
    throw error
  }
}

/**
 * @param {FolderStore} store @param {ReadFiles} readFiles @param {string} folder
 * @param {ExportDirectoryOptions & { mode: ExportMode, outdated?: OutdatedFiles }} options  `outdated`: the files that
 *   must be written; default: all
 * @returns {Promise<{ length: number, size: number, names: string[] }>} `names`: of the outdated files
 */
async function writeAll (store, readFiles, folder, { mode, outdated, signal, onProgress }) {
  const writer = new MemberWriter(store, folder, { mode, signal })
  const done = { length: 0, size: 0 }
  const names = /** @type {string[]} */ ([])
  const write = async (/** @type {Member} */ member) => {
    signal?.throwIfAborted()
    if (outdated !== undefined && !await outdated.has(member)) return member
    if (outdated !== undefined) names.push(member.name)
    return writer.write(member)
  }
  async function * members () {
    for await (const batch of readFiles()) for (const member of await membersOf(store, batch)) yield member
  }
  for await (const { name, size } of inOrder(members(), () => WRITES_AHEAD, write)) {
    done.length++
    done.size += size
    onProgress?.({ type: 'baobox:export', detail: { done: done.size, unit: 'bytes', files: done.length, name } })
  }
  return { ...done, names }
}

/**
 * @param {Store} store @param {CollectionEntry[]} entries
 * @returns {Promise<(Member & { complete: boolean })[]>}
 * @throws {BaoError} STORE_NOT_FOUND { cid }, or STORE_CORRUPT for a damaged record
 */
async function membersOf (store, entries) {
  const stats = await store.statMany(entries.map(([, cid]) => cid))
  const members = []
  for (const [i, [name, cid]] of entries.entries()) {
    const { size, complete } = stats[i] ?? await store.stat(cid) // throws the error that says why
    members.push({ name, cid, size, complete })
  }
  return members
}
