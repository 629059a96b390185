// Puts a folder into a store: its files, and a collection that names them. Names are those that sendme gives: relative
// to the parent of the folder, with `/`, sorted by their bytes. Links and empty folders are left out.

import { realPath } from '#disk'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { fromCid, toCid } from '../../../lib/hash/cid.js'
import { inOrder } from '../../../lib/async/in-order.js'
import { isKept } from '../../../store/catalog/presence.js'
import { pathOfReference } from '../../../store/storage/content/stored-file.js'
import { GROUP_LEN } from '../../../store/storage/content/tree-pages.js'
import { paceBeside } from '../../../store/storage/content/read-pace.js'
import { FILE_FROM } from '../../../store/write/blob-builder.js'
import { BATCH_COUNT, BATCH_LEN } from '../../../store/write/put-many.js'
import { contextOf } from '../../../store/context-of.js'
import { PUT_COLLECTION_OPTIONS, putCollection } from '../put.js'
import { KnownFiles } from './known-files.js'
import { asChange, assertFound, readSmallFile } from './read-file.js'
import { UnsafeNames } from './unsafe-names.js'
import { assertTop, walkFolder } from './walk.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobStore } from '../../../store/blob-store.js' */
/** @import { TempTag } from '../../../store/gc/protection.js' */
/** @import { Pace } from '../../../lib/source/pace.js' */
/** @import { CollectionEntry } from '../collection.js' */
/** @import { ImportFileOptions } from '../../../store/write/import/import-file.js' */
/** @import { PutResult } from '../../../store/write/put-many.js' */
/** @import { PutCollectionOptions } from '../put.js' */
/** @import { FoundFile } from './walk.js' */
/** @import { SelectionOptions } from './selection.js' */

/**
 * @typedef {object} ImportRules
 * @property {'copy' | 'reference'} [mode]  `reference`: of files above 16 KiB keep only the tree, as `importFile` does.
 *   Default: `copy`
 * @property {string} [top]  what names begin with instead of the folder's own name; empty for nothing
 * @property {string} [known]  path of a regular file that remembers which files were imported; made when it is
 *   missing. Those whose size, times and inode are the same as at the last import, and which the store has as `mode`
 *   asks, are not read again. Default: all are read
 * @property {(event: DirectoryEvent) => void} [onProgress]  gets `baobox:import` for every file
 */
/** @typedef {PutCollectionOptions & SelectionOptions & ImportRules} ImportDirectoryOptions */
/**
 * @typedef {{ type: string, detail: { done: number, files: number, name: string } }} DirectoryEvent  bytes and files so
 *   far, and the name of the last
 */
/**
 * @typedef {object} ImportDirectoryResult
 * @property {CID} cid  of the collection
 * @property {number} length  how many files
 * @property {number} size  bytes of all files
 * @property {number} unread  how many files had not changed, and were not read
 * @property {{ count: number, names: string[] }} unsafe  names that `exportDirectory` will refuse, because some system
 *   takes them for something else or for one another: how many, and the first ten
 * @property {boolean} isNew  did the store lack the collection before?
 */

const OPTIONS = [...PUT_COLLECTION_OPTIONS, 'include', 'ignore', 'mode', 'top', 'known', 'onProgress']
/** Small files that are read at the same time, and longer ones that are put at the same time. */
const SMALL_AHEAD = 16
const LONG_AHEAD = 2

/**
 * Keeps the files of a folder, and a collection that names them. The members are protected while it runs, and by `tag`
 * from then on. When it fails, files that were kept stay, unprotected.
 *
 * @param {BlobStore} store
 * @param {string | URL} path  of a folder, or of one file
 * @param {ImportDirectoryOptions} [options]
 * @returns {Promise<ImportDirectoryResult>}
 * @throws {import('../../../lib/core/errors.js').BaoError} PATH_UNSAFE { entry } for a name that is no text or has a
 *   `\`; BAO_SOURCE_CHANGED { location } when a file is replaced before it is read, or a long one changes meanwhile, or
 *   a folder gives way to a link; as `store.put`
 */
export async function importDirectory (store, path, options = {}) {
  const { databases } = contextOf(store)
  assertKnownOptions(options, OPTIONS)
  const { include, ignore, mode = 'copy', top, known: knownPath, onProgress, ...collectionOptions } = options
  const { signal } = collectionOptions
  if (mode !== 'copy' && mode !== 'reference') {
    throw new TypeError(`"mode" expected 'copy' or 'reference', got '${mode}'`)
  }
  assertTop(top)
  const location = await realPath(databases.location)
  const pace = paceBeside(databases.data)
  const hold = store.tempTag()
  /** @type {KnownFiles | undefined} */
  let known
  try {
    known = knownPath === undefined ? undefined : await KnownFiles.open(knownPath, signal)
    // When the store or the file of known hashes lies in the folder, it is left out.
    const isLeftOut = (/** @type {string} */ file) => file === location || known?.isOwn(file) === true
    const files = walkFolder(path, { include, ignore, top, signal }, pace, isLeftOut)
    const importing = new Importing(store, { hold, known, mode, pace, signal, onProgress })
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
/** @typedef {Stored | { file: FoundFile, root?: undefined, bytes: Uint8Array }} Loaded  `bytes`: to be put */

/** @typedef {{ file: FoundFile, root?: Uint8Array }} Known  `root`: of the last import, if it has not changed since */

/**
 * @typedef {object} ImportTerms
 * @property {TempTag} hold
 * @property {KnownFiles} [known]
 * @property {'copy' | 'reference'} mode
 * @property {Pace} pace
 * @property {AbortSignal} [signal]
 * @property {(event: DirectoryEvent) => void} [onProgress]
 */

/** One import: small files go through `putMany` in batches, longer ones are put by themselves. All come in order. */
class Importing {
  #store
  #terms
  #files = 0
  size = 0
  unread = 0
  unsafe = new UnsafeNames()

  /** @param {BlobStore} store @param {ImportTerms} terms */
  constructor (store, terms) {
    this.#store = store
    this.#terms = terms
  }

  /** @param {AsyncIterable<FoundFile>} files @returns {AsyncGenerator<CollectionEntry>} in the same order */
  async * entries (files) {
    const aheadOf = (/** @type {Known} */ { file }) => isLong(file) ? LONG_AHEAD : SMALL_AHEAD
    const loaded = inOrder(this.#withKnownRoots(files), aheadOf, known => this.#load(known))
    for await (const batch of inOrder(batchesOf(loaded), () => 1, batch => this.#keep(batch))) {
      for (const stored of batch) yield await this.#entryOf(stored)
    }
  }

  /** Puts the small files of a batch. @param {Loaded[]} batch @returns {Promise<Stored[]>} */
  async #keep (batch) {
    const { hold, signal } = this.#terms
    const small = batch.flatMap(({ bytes }) => bytes ?? [])
    const puts = /** @type {PutResult[]} */ ([])
    for await (const put of this.#store.putMany(small, { tag: hold, signal })) puts.push(put)
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
    onProgress?.({ type: 'baobox:import', detail: { done: this.size, files: this.#files, name: file.name } })
    return [file.name, toCid(root)]
  }

  /** @param {AsyncIterable<FoundFile>} files @returns {AsyncGenerator<Known>} */
  async * #withKnownRoots (files) {
    for await (const file of files) yield { file, root: await this.#terms.known?.find(file) }
  }

  /** @param {Known} known @returns {Promise<Loaded>} */
  async #load ({ file, root }) {
    const { hold, mode, pace, signal } = this.#terms
    const size = Number(file.stat.size)
    if (root !== undefined) {
      hold.add(root) // before the lookup: a blob that was found must stay
      if (await this.#isStored(root, file)) return { file, root, size, isUnread: true }
    }
    const isReference = mode === 'reference' && size > GROUP_LEN
    const bytes = isReference || isLong(file) ? undefined : await readSmallFile(file, FILE_FROM, pace)
    if (bytes !== undefined) return { file, bytes }
    const put = await this.#importLong(file, { mode: isReference ? mode : 'copy', tag: hold, signal })
    return { file, root: fromCid(put.cid), size: put.size, isUnread: false }
  }

  /** @param {FoundFile} file @param {ImportFileOptions} options */
  #importLong (file, options) {
    const context = contextOf(this.#store)
    const check = (/** @type {number} */ fd) => assertFound(fd, file)
    return context.life.run(() => context.importer.importFile(file.path, { ...options, check }))
      .catch(error => { throw asChange(error, file) })
  }

  /**
   * Does the store have a file as `mode` asks? A copy serves both modes. A reference serves only if it leads to the
   * same path, because its file may have been moved.
   *
   * @param {Uint8Array} root @param {FoundFile} file
   */
  async #isStored (root, { path }) {
    const { catalog, databases } = contextOf(this.#store)
    const { record } = await catalog.find(root)
    if (record === undefined || isKept(record)) return record !== undefined
    return this.#terms.mode === 'reference' && record.complete && path === await pathOfReference(databases, record.id)
  }
}

/** @param {FoundFile} file */
const isLong = ({ stat }) => Number(stat.size) > FILE_FROM

/**
 * Gathers small files, which are put together. Other files wait only for small ones before them, and long ones for
 * none that come later.
 *
 * @param {AsyncIterable<Loaded>} files
 * @returns {AsyncGenerator<Loaded[]>}
 */
async function * batchesOf (files) {
  let batch = /** @type {Loaded[]} */ ([])
  let len = 0
  let hasSmall = false
  for await (const loaded of files) {
    batch.push(loaded)
    hasSmall ||= loaded.bytes !== undefined
    len += loaded.bytes?.length ?? 0
    if (hasSmall && !isLong(loaded.file) && batch.length < BATCH_COUNT && len < BATCH_LEN) continue
    yield batch
    batch = []
    len = 0
    hasSmall = false
  }
  if (batch.length > 0) yield batch
}
