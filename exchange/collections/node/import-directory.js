// Puts a folder into a store: its files, and a collection that names them. The names have the form that sendme gives
// them: relative to the parent of the folder, with `/`, sorted by their bytes. Links and empty folders are left out.

import { describe } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { fromCid, toCid } from '../../../lib/hash/cid.js'
import { inOrder } from '../../../lib/async/in-order.js'
import { realPath } from '../../../lib/source/paths.node.js'
import { CheckedFile, toPieces } from '../../../lib/source/source.js'
import { BATCH_COUNT, BATCH_LEN, FILE_FROM, GROUP_LEN, assertStore } from '../../../store/interface.js'
import { PUT_COLLECTION_OPTIONS, putCollection } from '../put-collection.js'
import { KnownFiles } from './known-files.js'
import { asChange, assertFound, paceBeside, readSmallFile } from './found-file.js'
import { UnsafeNames } from './unsafe-names.js'
import { assertTop, walkFolder } from './walk-folder.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Pace } from '../../../lib/source/pace.js' */
/** @import { BlobStat, BlobStore, PutResult, TempTag } from '../../../store/index.js' */
/** @import { Store } from '../../../store/interface.js' */
/** @import { CollectionEntry } from '../collection.js' */
/** @import { PutCollectionOptions } from '../put-collection.js' */
/** @import { FoundFile, LeaveOut } from './walk-folder.js' */
/** @import { SelectionOptions } from './patterns.js' */

/**
 * @typedef {Store & Partial<Pick<BlobStore, 'importFile' | 'exportFile'>>} FolderStore  any store; only some have the
 *   optional methods
 */
/**
 * @typedef {object} ImportRules
 * @property {'copy' | 'reference'} [mode]  `reference`: of files above 16 KiB, keep only the trees, as `importFile`
 *   does. Default: `copy`
 * @property {string} [top]  the first part of all names; the empty string for none. Default: the folder's own name
 * @property {string | URL} [known]  path of a regular file that remembers which files were imported. It is made when it
 *   is missing. A file of the folder is not read again if its size, times and inode are the same as at the last import,
 *   and the store has it in the way that `mode` asks for. Default: all files are read
 * @property {(event: DirectoryEvent) => void} [onProgress]  called with a `baobox:import` event for every file
 * @property {(event: { name: string, error: Error }) => void} [onError]  gets the error of each file or folder that
 *   cannot be read, or whose name cannot be kept. These are left out. Default: the first error ends the import
 */
/** @typedef {PutCollectionOptions & SelectionOptions & ImportRules} ImportDirectoryOptions */
/**
 * @typedef {{ type: string, detail: { done: number, unit: 'bytes', files: number, name: string } }} DirectoryEvent
 *   bytes and files so far, and the name of the last file
 */
/**
 * @typedef {object} ImportDirectoryResult
 * @property {CID} cid  the CID of the collection
 * @property {number} length  how many files
 * @property {number} size  bytes of all files
 * @property {number} unread  how many files were not read because they had not changed
 * @property {{ count: number, names: string[] }} unsafe  names that `exportDirectory` will refuse, because some system
 *   does not allow them or takes two of them for the same: their number, and the first ten
 * @property {boolean} isNew  true if the store lacked the collection before
 */

const OPTIONS = [...PUT_COLLECTION_OPTIONS, 'include', 'ignore', 'mode', 'top', 'known', 'onProgress', 'onError']
/** The maximum number of files that are looked up together. The small ones among them are read at the same time. */
const LOOKUP_FILES = 16
/** How many long files are put at the same time. */
const LONG_AHEAD = 2

/**
 * Keeps the files of a folder, and a collection that names them. The members are protected during the call, and after
 * it by the tag `tag`. After a failure, files that were already kept stay, without protection.
 *
 * @param {FolderStore} store  if it lacks `importFile`, long files are read piece by piece
 * @param {string | URL} path  the path of a folder, or of one file
 * @param {ImportDirectoryOptions} [options]
 * @returns {Promise<ImportDirectoryResult>}
 * @throws {import('../../../lib/core/errors.js').BaoError} PATH_UNSAFE { entry } for a name that is not text or has a
 *   `\`; BAO_SOURCE_CHANGED { location } when a file is replaced before it is read, when a long file changes while it
 *   is read, or when a link replaces a folder; the errors of `store.put`
 */
export async function importDirectory (store, path, options = {}) {
  assertStore(store)
  assertKnownOptions(options, OPTIONS)
  const { include, ignore, mode = 'copy', top, known: knownPath, onProgress, onError, ...collectionOptions } = options
  const { signal } = collectionOptions
  if (mode !== 'copy' && mode !== 'reference') {
    throw new TypeError(`"mode" expected 'copy' or 'reference', got '${mode}'`)
  }
  if (mode === 'reference' && store.importFile === undefined) {
    throw new TypeError('"mode" expected \'copy\': only a store in a directory can refer to files')
  }
  assertTop(top)
  if (onError !== undefined && typeof onError !== 'function') {
    throw new TypeError(`"onError" expected a function, got ${describe(onError)}`)
  }
  const leaveOut = (/** @type {string} */ name, /** @type {unknown} */ error) => {
    if (onError === undefined || !isOfFile(error)) throw error
    onError({ name, error: /** @type {Error} */ (error) })
  }
  const location = store.location && await realPath(store.location)
  const pace = paceBeside(store)
  const hold = store.tempTag()
  /** @type {KnownFiles | undefined} */
  let known
  try {
    known = knownPath === undefined ? undefined : await KnownFiles.open(knownPath, signal)
    // The store and the file of known hashes are left out if they are in the folder.
    const isLeftOut = (/** @type {string} */ file) => file === location || known?.isOwn(file) === true
    const files = walkFolder(path, { include, ignore, top, signal, leaveOut }, pace, isLeftOut)
    const importing = new Importing({ store, hold, known, mode, pace, signal, leaveOut, onProgress })
    const { cid, length, isNew } = await putCollection(store, importing.entries(files), collectionOptions)
    await known?.commit()
    const { size, unread, unsafe: { count, names } } = importing
    return { cid, length, size, unread, unsafe: { count, names }, isNew }
  } catch (error) {
    await known?.discard()
    throw error
  } finally {
    hold.release()
  }
}

/** @typedef {{ file: FoundFile, root: Uint8Array, size: number, isUnread: boolean, bytes?: undefined }} Stored */
/** @typedef {Stored | { file: FoundFile, root?: undefined, bytes: Uint8Array }} Loaded  `bytes`: not put yet */

/**
 * @typedef {object} ImportTerms
 * @property {FolderStore} store
 * @property {TempTag} hold
 * @property {KnownFiles} [known]
 * @property {'copy' | 'reference'} mode
 * @property {Pace} pace
 * @property {AbortSignal} [signal]
 * @property {LeaveOut} leaveOut
 * @property {(event: DirectoryEvent) => void} [onProgress]
 */

/**
 * One import. It puts small files in batches with `putMany`, and longer files one by one. Entries keep the order of the
 * files.
 */
class Importing {
  #terms
  #files = 0
  size = 0
  unread = 0
  unsafe = new UnsafeNames()

  /** @param {ImportTerms} terms */
  constructor (terms) {
    this.#terms = terms
  }

  /**
   * Yields the entries for `putCollection`. Nothing is read or put until it asks for the next entry: then this walks
   * on, reads and puts some files, and yields their entries.
   *
   * @param {AsyncIterable<FoundFile>} files @returns {AsyncGenerator<CollectionEntry>} in the same order
   */
  async * entries (files) {
    const aheadOf = (/** @type {FoundFile[]} */ lookup) => lookup.some(isLong) ? LONG_AHEAD : 1
    const loaded = inOrder(lookupsOf(files), aheadOf, lookup => this.#loadAll(lookup))
    for await (const batch of inOrder(batchesOf(loaded), () => 1, batch => this.#keep(batch))) {
      for (const stored of batch) yield await this.#entryOf(stored)
    }
  }

  /** Puts the small files of a batch. @param {Loaded[]} batch @returns {Promise<Stored[]>} */
  async #keep (batch) {
    const { store, hold, signal } = this.#terms
    const small = batch.flatMap(({ bytes }) => bytes ?? [])
    const puts = /** @type {PutResult[]} */ ([])
    for await (const put of store.putMany(small, { tag: hold, signal })) puts.push(put)
    return batch.map(loaded => {
      if (loaded.root !== undefined) return loaded
      const { cid, size } = /** @type {PutResult} */ (puts.shift())
      return { file: loaded.file, root: fromCid(cid), size, isUnread: false }
    })
  }

  /** @param {Stored} stored @returns {Promise<CollectionEntry>} */
  async #entryOf ({ file, root, size, isUnread }) {
    const { known, onProgress } = this.#terms
    await known?.note(file, root)
    this.unsafe.note(file.name)
    this.#files++
    this.size += size
    if (isUnread) this.unread++
    const detail = { done: this.size, unit: /** @type {const} */ ('bytes'), files: this.#files, name: file.name }
    onProgress?.({ type: 'baobox:import', detail })
    return [file.name, toCid(root)]
  }

  /** @param {FoundFile[]} files  of one lookup @returns {Promise<Loaded[]>} */
  async #loadAll (files) {
    const { store, hold, known, leaveOut } = this.#terms
    const roots = await Promise.all(files.map(file => known?.find(file)))
    for (const root of roots) if (root !== undefined) hold.add(root) // before the lookup, so that found blobs are kept
    const stats = await store.statMany(roots.flatMap(root => root ?? []))
    const loading = files.map((file, i) => this.#load(file, roots[i] && stats.shift()))
    const loaded = /** @type {Loaded[]} */ ([])
    for (const [i, result] of (await Promise.allSettled(loading)).entries()) {
      if (result.status === 'fulfilled') loaded.push(result.value)
      else leaveOut(files[i].name, result.reason)
    }
    return loaded
  }

  /**
   * @param {FoundFile} file
   * @param {BlobStat} [stat]  the stat of the blob that was made from the file at the last import, if the file has not
   *   changed
   * @returns {Promise<Loaded>}
   */
  async #load (file, stat) {
    const { mode, pace } = this.#terms
    const size = Number(file.stat.size)
    if (stat !== undefined && await this.#isStored(stat, file)) {
      return { file, root: fromCid(stat.cid), size, isUnread: true }
    }
    const isReference = mode === 'reference' && size > GROUP_LEN
    const bytes = isReference || isLong(file) ? undefined : await readSmallFile(file, FILE_FROM, pace)
    if (bytes !== undefined) return { file, bytes }
    const put = await this.#putLong(file, isReference ? mode : 'copy').catch(error => { throw asChange(error, file) })
    return { file, root: fromCid(put.cid), size: put.size, isUnread: false }
  }

  /** @param {FoundFile} file @param {'copy' | 'reference'} mode @returns {Promise<PutResult>} */
  #putLong (file, mode) {
    const { store, hold: tag, signal } = this.#terms
    const check = (/** @type {number} */ fd) => assertFound(fd, file)
    if (store.importFile !== undefined) return store.importFile(file.path, { mode, check, tag, signal })
    return store.put(toPieces(new CheckedFile(file.path, check), { signal }), { tag, signal })
  }

  /**
   * True if the store has a file in the way that `mode` asks for. A copy satisfies both modes. A reference satisfies
   * `reference` only if it has the same path, because the file that it refers to may have been moved.
   *
   * @param {BlobStat} stat @param {FoundFile} file
   */
  async #isStored ({ cid, complete, isReference }, { path }) {
    const { store, mode } = this.#terms
    if (!complete || !isReference) return complete
    return mode === 'reference' && path === (await store.stat(cid)).path
  }
}

/** Codes of errors that concern one file or folder, and not the store. */
const OF_FILES = [
  'EACCES', 'EBUSY', 'EIO', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR', 'ENXIO', 'EPERM',
  'BAO_SOURCE_CHANGED', 'PATH_UNSAFE'
]

/** @param {unknown} error */
const isOfFile = error => error instanceof Error && 'code' in error && OF_FILES.includes(`${error.code}`)

/** @param {FoundFile} file */
const isLong = ({ stat }) => Number(stat.size) > FILE_FROM

/**
 * Gathers files that are looked up together. A lookup ends with a long file.
 *
 * @param {AsyncIterable<FoundFile>} files
 * @returns {AsyncGenerator<FoundFile[]>}
 */
async function * lookupsOf (files) {
  let lookup = /** @type {FoundFile[]} */ ([])
  for await (const file of files) {
    lookup.push(file)
    if (lookup.length < LOOKUP_FILES && !isLong(file)) continue
    yield lookup
    lookup = []
  }
  if (lookup.length > 0) yield lookup
}

/**
 * Gathers small files, so that they are put together. A batch without small files, or with a long file, does not wait
 * for later files.
 *
 * @param {AsyncIterable<Loaded[]>} lookups
 * @returns {AsyncGenerator<Loaded[]>}
 */
async function * batchesOf (lookups) {
  let batch = /** @type {Loaded[]} */ ([])
  let len = 0
  let hasSmall = false
  for await (const files of lookups) {
    for (const loaded of files) {
      batch.push(loaded)
      hasSmall ||= loaded.bytes !== undefined
      len += loaded.bytes?.length ?? 0
      if (hasSmall && !isLong(loaded.file) && batch.length < BATCH_COUNT && len < BATCH_LEN) continue
      yield batch
      batch = []
      len = 0
      hasSmall = false
    }
  }
  if (batch.length > 0) yield batch
}
