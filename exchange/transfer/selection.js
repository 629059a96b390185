// Chooses the blobs of a store that are transferred: all of them, or those that names and tags lead to.

import { HASH_LEN } from '../../lib/core/constants.js'
import { BaoError } from '../../lib/core/errors.js'
import { concat } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { assertName } from '../../store/catalog/names/tag-target.js'
import { LOOKUP_COUNT } from '../../store/read/get-many.js'
import { assertMany, untilSignal } from '../../lib/async/in-order.js'
import { tagNotFound } from '../../store/storage/errors.js'

/** @import { BlobName } from '../../store/blob-store.js' */
/** @import { StoreContext } from '../../store/store-context.js' */
/** @import { BlobRecord } from '../../store/storage/format/records.js' */
/** @import { Tag } from '../../store/storage/format/tags.js' */
/** @import { Many } from '../../lib/async/in-order.js' */
/** @import { ExportOptions } from './export.js' */

/**
 * @typedef {object} SelectionOptions  Default: all blobs and all tags
 * @property {Iterable<BlobName> | AsyncIterable<BlobName>} [cids]  these blobs
 * @property {Iterable<string>} [tags]  names of tags: transfer these tags and the blobs that they name; if a blob is a
 *   sequence of hashes, its members, too
 * @property {boolean} [recursive]  are `cids` sequences of hashes (or collections), whose members are also transferred?
 *   Default: false
 * @property {AbortSignal} [signal]
 */

/** @typedef {{ root: Uint8Array, isSequence: boolean }} ChosenRoot  `isSequence`: are its members chosen, too? */
/** @typedef {ChosenRoot & { record?: BlobRecord }} Chosen  `record`: undefined when the store does not have the blob */

/** @param {SelectionOptions} options @throws {TypeError} */
export function assertSelection ({ cids, tags, recursive }) {
  if (recursive && cids === undefined) throw new TypeError('"recursive" goes with "cids"')
  if (cids !== undefined) assertMany('cids', cids, 'CIDs')
  if (tags === undefined) return
  assertMany('tags', tags, 'names of tags')
  if (Symbol.iterator in tags && typeof tags !== 'string') return
  throw new TypeError('"tags" expected an iterable of names, not an asynchronous one')
}

/**
 * Checks the options of an export. Here, because export.js loads packages.
 *
 * @param {ExportOptions} options @throws {TypeError}
 */
export function assertExportOptions (options) {
  assertKnownOptions(options, ['format', 'hashers', 'cids', 'tags', 'recursive', 'signal', 'onProgress'])
  const { format = 'car', hashers = [] } = options
  if (format !== 'car') throw new TypeError(`"format" expected 'car', got '${format}'`)
  assertMany('hashers', hashers, 'hash functions')
  assertSelection(options)
}

/**
 * Returns the tags to transfer.
 *
 * @param {StoreContext} store @param {SelectionOptions} options
 * @returns {Promise<Tag[]>}
 * @throws {import('../../lib/core/errors.js').BaoError} STORE_TAG_NOT_FOUND { tag }, STORE_CORRUPT { tag }
 */
export async function chosenTags ({ tags: index }, { cids, tags }) {
  const chosen = /** @type {Tag[]} */ ([])
  if (tags === undefined) {
    if (cids === undefined) for await (const tag of index.list('')) chosen.push(tag)
    return chosen
  }
  for (const name of tags) {
    assertName('tags', name)
    const tag = await index.get(name)
    if (tag === undefined) throw tagNotFound(name)
    chosen.push(tag)
  }
  return chosen
}

/**
 * Gives the blobs to transfer, in batches. A blob comes more than once when several tags or names lead to it.
 *
 * @param {StoreContext} store
 * @param {SelectionOptions & { onSequence?: (root: Uint8Array) => void }} options  `onSequence`: called with each
 *   sequence among `cids` before its members are given
 * @param {Tag[]} tags  the result of `chosenTags`
 * @param {(error: unknown) => void} onUnreadable  called when damage hides blobs: for a damaged sequence of hashes; and
 *   for a damaged record, after all others were given. May throw the error
 * @returns {AsyncGenerator<Chosen[]>}
 */
export async function * chosenBlobs (store, options, tags, onUnreadable) {
  const { cids, tags: names, signal } = options
  if (cids === undefined && names === undefined) {
    for await (const batch of untilUnreadable(store.catalog.recordBatches(), onUnreadable, signal)) {
      yield batch.map(blob => ({ ...blob, isSequence: false }))
    }
    return
  }
  let roots = /** @type {ChosenRoot[]} */ ([])
  for await (const root of chosenRoots(store, options, tags, onUnreadable)) {
    roots.push(root)
    if (roots.length < LOOKUP_COUNT) continue
    yield await lookedUp(store, roots)
    roots = []
  }
  if (roots.length > 0) yield await lookedUp(store, roots)
}

/**
 * @template T
 * @param {AsyncIterable<T>} items @param {(error: unknown) => void} onUnreadable @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<T>}
 */
async function * untilUnreadable (items, onUnreadable, signal) {
  try {
    for await (const item of items) {
      signal?.throwIfAborted()
      yield item
    }
  } catch (error) {
    if (!(error instanceof BaoError) || !LOSSES.has(error.code)) throw error
    onUnreadable(error)
  }
}

/** Codes of errors that say that one blob cannot be read as it is. They say nothing about other blobs. */
export const LOSSES = new Set(['STORE_CORRUPT', 'STORE_MISSING', 'STORE_CHANGED', 'STORE_NOT_FOUND'])

/** @param {StoreContext} store @param {ChosenRoot[]} roots @returns {Promise<Chosen[]>} */
async function lookedUp ({ catalog }, roots) {
  const found = await catalog.findMany(roots.map(({ root }) => root))
  return roots.map((chosen, i) => ({ ...chosen, record: found[i].record }))
}

/**
 * @param {StoreContext} store @param {SelectionOptions & { onSequence?: (root: Uint8Array) => void }} options
 * @param {Tag[]} tags @param {(error: unknown) => void} onUnreadable
 * @returns {AsyncGenerator<ChosenRoot>} each sequence before its members
 */
async function * chosenRoots (store, { cids = [], recursive = false, onSequence, signal }, tags, onUnreadable) {
  for await (const cid of untilSignal(/** @type {Many<BlobName>} */ (cids), signal)) {
    const root = parseRoot(cid, 'cids')
    if (recursive) onSequence?.(root)
    yield { root, isSequence: recursive }
    if (recursive) yield * untilUnreadable(membersOf(store, root, signal), onUnreadable)
  }
  for (const tag of tags) {
    const root = await store.tags.blobOf(tag)
    if (root === undefined) continue
    const isSequence = tag.format === 'hashseq'
    yield { root, isSequence }
    if (isSequence) yield * untilUnreadable(membersOf(store, root, signal), onUnreadable)
  }
}

/**
 * Gives the members of a sequence that is present, whole or in part. Bytes after the last whole hash name nothing.
 *
 * @param {StoreContext} store @param {Uint8Array} root @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<ChosenRoot>}
 */
async function * membersOf ({ access, catalog }, root, signal) {
  const { record } = await catalog.find(root)
  if (record === undefined) return
  let rest = new Uint8Array(0)
  for await (const piece of access.present(root, record, signal)) {
    const bytes = concat([rest, piece])
    const end = bytes.length - bytes.length % HASH_LEN
    for (let at = 0; at < end; at += HASH_LEN) yield { root: bytes.slice(at, at + HASH_LEN), isSequence: false }
    rest = bytes.slice(end)
  }
}
