// Chooses the blobs of a store to transfer: all of them, or those that names and tags lead to.

import { compare } from 'uint8arrays/compare'
import { HASH_LEN } from '../../lib/core/constants.js'
import { BaoError } from '../../lib/core/errors.js'
import { concat } from '../../lib/core/bytes.js'
import { multihashOf, parseRoot, toCid } from '../../lib/hash/cid.js'
import { assertMany, untilSignal } from '../../lib/async/in-order.js'
import { LOOKUP_COUNT, assertName, isMiss, tagNotFound } from '../../store/interface.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { Many } from '../../lib/async/in-order.js' */
/** @import { BlobStat, TagInfo } from '../../store/index.js' */
/** @import { Store } from '../../store/interface.js' */

/**
 * @typedef {object} SelectionOptions  Default: all blobs and all tags
 * @property {Iterable<BlobName> | AsyncIterable<BlobName>} [cids]  these blobs
 * @property {Iterable<string>} [tags]  names of tags: transfer these tags, the blobs that they name, and the members of
 *   those blobs that are sequences of hashes
 * @property {boolean} [recursive]  true if the members of the sequences of hashes (or collections) in `cids` should be
 *   transferred, too. Default: false
 * @property {AbortSignal} [signal]
 */

/** @typedef {{ cid: CID, isSequence: boolean }} ChosenName  `isSequence`: true if its members are chosen, too */
/**
 * @typedef {ChosenName & { stat?: BlobStat, aliases: CID[] }} Chosen  `stat`: undefined when the store does not have
 *   the blob
 */
/**
 * @typedef {object} ChoiceOptions
 * @property {TagInfo[]} tags  the result of `chosenTags`
 * @property {boolean} [deleted]  true to include forgotten aliases. Default: false
 * @property {(cid: CID) => void} [onSequence]  called with each sequence among `cids` before its members are yielded
 * @property {(error: unknown) => void} onUnreadable  called when damage hides blobs: for a damaged sequence of hashes,
 *   and for a damaged record, after all other blobs. It may throw the error
 */

/** @param {SelectionOptions} options @throws {TypeError} */
export function assertSelection ({ cids, tags, recursive }) {
  if (recursive && cids === undefined) throw new TypeError('"recursive" goes with "cids"')
  if (cids !== undefined) assertMany('cids', cids, 'CIDs')
  if (tags === undefined) return
  assertMany('tags', tags, 'names of tags')
  if (Symbol.iterator in tags && typeof tags !== 'string') return
  throw new TypeError('"tags" expected an iterable of names, not an asynchronous one')
}

/** @param {SelectionOptions} options */
export const isAll = ({ cids, tags }) => cids === undefined && tags === undefined

/**
 * Returns the tags to transfer.
 *
 * @param {Store} store @param {SelectionOptions} options
 * @returns {Promise<TagInfo[]>}
 * @throws {BaoError} STORE_TAG_NOT_FOUND { tag }, STORE_CORRUPT { tag }
 */
export async function chosenTags (store, { cids, tags }) {
  const chosen = /** @type {TagInfo[]} */ ([])
  if (isAll({ cids, tags })) for await (const tag of store.tags.list()) chosen.push(tag)
  for (const name of tags ?? []) {
    assertName('tags', name)
    const tag = await store.tags.get(name)
    if (tag === undefined) throw tagNotFound(name)
    chosen.push(tag)
  }
  return chosen
}

/**
 * The blob that a tag leads to.
 *
 * @param {Store} store @param {TagInfo} tag
 * @returns {Promise<CID | undefined>} undefined for an alias without a blob
 */
export const blobOf = async (store, { cid }) => multihashOf(cid) === undefined ? cid : store.resolve(cid)

/** True if a blob is kept under its own CID, too. @param {Chosen} blob */
export const hasOwnName = ({ stat, aliases }) => !stat?.isAliasOnly || aliases.length === 0

/**
 * Yields the blobs to transfer, in batches. Yields a blob more than once if several tags or names lead to it.
 *
 * @param {Store} store @param {SelectionOptions} options @param {ChoiceOptions} choice
 * @returns {AsyncGenerator<Chosen[]>}
 */
export async function * chosenBlobs (store, options, { tags, deleted = false, onSequence, onUnreadable }) {
  if (isAll(options)) {
    const aliases = new AliasesInOrder(store, deleted)
    try {
      for await (const stats of untilUnreadable(inBatches(store.list()), onUnreadable, options.signal)) {
        const batch = /** @type {Chosen[]} */ ([])
        for (const stat of stats) {
          const found = aliases.of(stat)
          const names = found instanceof Promise ? await found : found
          batch.push({ cid: stat.cid, stat, aliases: names, isSequence: false })
        }
        yield batch
      }
    } finally {
      await aliases.close()
    }
    return
  }
  for await (const names of inBatches(chosenNames(store, options, tags, { onSequence, onUnreadable }))) {
    const stats = await store.statMany(names.map(({ cid }) => cid))
    yield await Promise.all(names.map(async (name, i) => {
      const stat = stats[i]
      return { ...name, stat, aliases: stat === undefined ? [] : await store.aliases.of(name.cid, { deleted }) }
    }))
  }
}

/**
 * Finds the aliases of blobs without a lookup for each blob. The caller must ask for all blobs, in the order of their
 * hashes.
 */
class AliasesInOrder {
  #store
  #deleted
  #all
  #next = /** @type {{ cid: CID, alias: CID } | undefined} */ (undefined)
  #hasEnded = false

  /** @param {Store} store @param {boolean} deleted  true to include forgotten aliases */
  constructor (store, deleted) {
    this.#store = store
    this.#deleted = deleted
    this.#all = store.aliases.list({ deleted })
  }

  /** @param {BlobStat} blob @returns {CID[] | Promise<CID[]>} no promise for most blobs, which have no aliases */
  of (blob) {
    const isKnown = this.#hasEnded || (this.#next !== undefined && orderOf(this.#next, blob) > 0)
    return isKnown && !blob.isAliasOnly ? [] : this.#find(blob)
  }

  /** @param {BlobStat} blob @returns {Promise<CID[]>} */
  async #find (blob) {
    const { cid, isAliasOnly } = blob
    const found = /** @type {CID[]} */ ([])
    for (let order = -1; order <= 0;) {
      this.#next ??= await this.#read()
      order = this.#next === undefined ? 1 : orderOf(this.#next, blob)
      if (order === 0) found.push(/** @type {{ alias: CID }} */ (this.#next).alias)
      if (order <= 0) this.#next = undefined
    }
    // If an alias should be there, the blob was put after the list of aliases had begun, or damage hides its aliases.
    return found.length === 0 && isAliasOnly ? this.#store.aliases.of(cid, { deleted: this.#deleted }) : found
  }

  async #read () {
    // If damage hides some aliases, the list throws after all others. Then it has ended.
    const next = this.#hasEnded ? undefined : (await this.#all.next().catch(unlessLoss))?.value
    this.#hasEnded = next === undefined
    return next
  }

  async close () { await this.#all.return(undefined) }
}

/** @param {{ cid: CID }} a @param {{ cid: CID }} b @returns {number} below 0 if the hash of `a` sorts first */
const orderOf = (a, b) => compare(a.cid.multihash.digest, b.cid.multihash.digest)

/**
 * Gathers items in batches. If the items fail, it yields those before the failure, and then throws.
 *
 * @template T
 * @param {AsyncIterable<T>} items
 * @returns {AsyncGenerator<T[]>}
 */
async function * inBatches (items) {
  let batch = /** @type {T[]} */ ([])
  try {
    for await (const item of items) {
      batch.push(item)
      if (batch.length < LOOKUP_COUNT) continue
      yield batch
      batch = []
    }
  } catch (error) {
    if (batch.length > 0) yield batch
    throw error
  }
  if (batch.length > 0) yield batch
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
    if (!isLoss(error)) throw error
    onUnreadable(error)
  }
}

const LOSSES = ['STORE_CORRUPT', 'STORE_MISSING', 'STORE_CHANGED', 'STORE_NOT_FOUND']

/**
 * True if an error only says that one blob cannot be read, so that other blobs may still be.
 *
 * @param {unknown} error @returns {error is BaoError}
 */
export const isLoss = error => error instanceof BaoError && LOSSES.includes(error.code)

/**
 * True if an error says that a blob was deleted. A store that reads from elsewhere throws the same code when it cannot
 * do so, with the reason as the cause.
 *
 * @param {unknown} error
 */
export const isGone = error => isMiss(error) && /** @type {BaoError} */ (error).code === 'STORE_NOT_FOUND'

/**
 * @param {unknown} error
 * @returns {undefined}
 * @throws the error, unless it only means that one blob cannot be read
 */
export function unlessLoss (error) {
  if (!isLoss(error)) throw error
}

/**
 * @param {Store} store @param {SelectionOptions} options @param {TagInfo[]} tags
 * @param {Pick<ChoiceOptions, 'onSequence' | 'onUnreadable'>} choice
 * @returns {AsyncGenerator<ChosenName>} each sequence before its members
 */
async function * chosenNames (store, { cids = [], recursive = false, signal }, tags, { onSequence, onUnreadable }) {
  for await (const name of untilSignal(/** @type {Many<BlobName>} */ (cids), signal)) {
    const cid = toCid(parseRoot(name, 'cids'))
    if (recursive) onSequence?.(cid)
    yield { cid, isSequence: recursive }
    if (recursive) yield * untilUnreadable(membersOf(store, cid, signal), onUnreadable)
  }
  for (const tag of tags) {
    const cid = await blobOf(store, tag)
    if (cid === undefined) continue
    const isSequence = tag.format === 'hashseq'
    yield { cid, isSequence }
    if (isSequence) yield * untilUnreadable(membersOf(store, cid, signal), onUnreadable)
  }
}

/**
 * Yields the members of a sequence that the store has, whole or in part. Ignores bytes after the last whole hash.
 *
 * @param {Store} store @param {CID} cid @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<ChosenName>}
 */
async function * membersOf (store, cid, signal) {
  if ((await store.statMany([cid]))[0] === undefined) return
  const { present } = await store.stat(cid)
  let rest = new Uint8Array(0)
  for await (const piece of store.get(cid, present, { verify: true, signal })) {
    const bytes = concat([rest, piece])
    const end = bytes.length - bytes.length % HASH_LEN
    for (let at = 0; at < end; at += HASH_LEN) {
      yield { cid: toCid(bytes.subarray(at, at + HASH_LEN)), isSequence: false }
    }
    rest = bytes.slice(end)
  }
}
