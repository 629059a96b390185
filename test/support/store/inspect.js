// Shows and changes what a store keeps inside: its records, keys, pages and parts.
//
// Tests use these functions and import nothing of the store but its entry points, so that a change of its internals
// changes this file alone. The unit test of a file is the exception.
import { equals } from 'uint8arrays/equals'
import { partsOf } from '../../../store/open.js'
import { downloadBy } from '../../../exchange/download/download.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { PageEditor } from '../../../store/storage/content/tree-pages.js'
import {
  aliasKey, aliasOfKey, allAliases, allAliasesByBlob, allBlobs, allDoomed, allEvents, allOfId, allOfIndex, allTagged,
  allSharers, allUsed, blobKey, doomedKey, extentKey, hashOfKey, idOfKey, offsetOfExtent, pathKey, sharerKey, stateKey,
  tagKey, taggedKey, tagsWith, usedKey
} from '../../../store/storage/format/keys.js'
import {
  decodeDoomed, decodeRecord, decodeState, encodeAlias, encodeDoomed, encodePath, encodeRecord, encodeSharer,
  encodeState
} from '../../../store/storage/format/records.js'
import { encodeTag } from '../../../store/storage/format/tags.js'
import { dataIds } from '../../../store/storage/level/data-ids.js'
import { VIEWS } from '../constants.js'

export { LAYOUT_VERSION } from '../../../store/storage/format/records.js'
/** The string by which the store knows a hash in its maps and sets. */
export { nameOf }

// A store that is open

/** Its databases, as the store itself uses them: `index`, `data`, and `files` where there are any. */
export const databasesOf = store => partsOf(store).databases

/** The record of a blob, as the store itself reads it. */
export const recordOf = (store, root) => partsOf(store).catalog.get(root)

/** The id that the next blob is given. */
export const nextIdOf = store => partsOf(store).databases.ids.next

/** The ids under which a call may be writing data that has no record yet. */
export const idsUnderWay = store => [...partsOf(store).databases.ids.underWay]

/** Bytes that a store with a quota counts. @param {number} quota  the one that it was opened with */
export const countedBytes = (store, quota) => partsOf(store).quota.excess(quota)

/** Does a call that goes on protect this blob from garbage collection? */
export const isHeld = (store, root) => partsOf(store).protection.isHeld(nameOf(root))

/** Is anything remembered of a file that several blobs share? */
export const knowsBase = (store, base) => partsOf(store).catalog.bases.knows([{ base }])

/** Writes the times of use that are only in memory. */
export const flushUses = store => partsOf(store).uses.flush()

/** Runs an action once, after the store has looked several records up and before it uses them. */
export function afterNextLookup (store, action) {
  const { catalog } = partsOf(store)
  const { findMany } = catalog
  catalog.findMany = async roots => {
    const found = await findMany.call(catalog, roots)
    delete catalog.findMany
    await action()
    return found
  }
}

/**
 * Holds back what the next look at a range of keys finds, until an action has ended.
 *
 * @param {object} level @param {{ gte: Uint8Array }} range @param {() => Promise<unknown>} action
 */
export function afterNextRead (level, { gte }, action) {
  const { iterator } = level
  let isDone = false
  let done
  level.iterator = function (options) {
    const entries = iterator.call(this, options)
    if (isDone || options.gte === undefined || !equals(options.gte, gte)) return entries
    isDone = true
    for (const read of ['next', 'nextv']) {
      const own = entries[read]
      entries[read] = async (...args) => {
        const found = await own.apply(entries, args)
        await (done ??= action())
        return found
      }
    }
    return entries
  }
}

/** The blobs of a store in the order of a time, found in walks that keep so many of them in memory. */
export const listInWalks = (store, range, options) =>
  partsOf(store).lister.byTime({ prefix: '', reverse: false, ...range }, { limit: Infinity, ...options })

/** Has a store cut what is put into extents of another length. @param {number} len  bytes */
export const setExtentLen = (store, len) =>
  Object.defineProperty(partsOf(store).databases, 'extentLen', { value: len })

// Single entries of a database

/** A place in a database, which may be empty. */
class Entry {
  #level

  constructor (level, key) {
    this.#level = level
    this.key = key
  }

  /** @returns {Promise<Uint8Array | undefined>} a copy of the value; undefined when the place is empty */
  async read () {
    const value = await this.#level.get(this.key, VIEWS)
    return value && new Uint8Array(value)
  }

  /** @param {Uint8Array} value */
  write (value) { return this.#level.put(this.key, value, VIEWS) }

  /** @param {(value: Uint8Array) => Uint8Array} by */
  async change (by) { await this.write(by(await this.read())) }

  remove () { return this.#level.del(this.key, VIEWS) }
}

export const stateEntry = index => new Entry(index, stateKey)
export const recordEntry = (index, root) => new Entry(index, blobKey(root))
/** When a blob was last used. */
export const usedEntry = (index, root) => new Entry(index, usedKey(root))
/** The note that the data of an id is being deleted. */
export const deletionEntry = (index, id) => new Entry(index, doomedKey(id))
/** The path of a file that is not the store's own. */
export const pathEntry = (index, id) => new Entry(index, pathKey(id))
/** A tag under its name, and the same tag beside the blob that it names. */
export const tagEntry = (index, name) => new Entry(index, tagKey(name))
export const tagBesideBlobEntry = (index, root, name) => new Entry(index, taggedKey(root, name))
/** An alias by its multihash; and beside the blob that it leads to. */
export const aliasEntry = (index, multihash) => new Entry(index, aliasKey(multihash))
export const aliasBesideBlobEntry = (index, root, multihash) => new Entry(index, aliasOfKey(root, multihash))
/** What the index says of a blob that shares its bytes. @param {number} size  of the blob */
export const sharerEntry = (index, base, size) => new Entry(index, sharerKey(base, size))
/** An extent. @param {number} offset  bytes, whole chunks */
export const extentEntry = (data, id, offset) => new Entry(data, extentKey(id, offset))

/** The keys of everything in an index, of all records, of all tags, and of tags beside the blobs that they name. */
export const indexKeys = allOfIndex
export const blobKeys = allBlobs
export const tagKeys = tagsWith('')
export const taggedKeys = allTagged

/** Keys of a record, a time of use and a deletion, with a length that none has. @param {number} len  bytes */
export const malformedKeys = len =>
  [allBlobs, allUsed, allDoomed].map(({ gte: [kind] }) => new Uint8Array(len).fill(kind))

// Damage to a blob of a store that is open

/**
 * Flips a bit of a stored byte of a blob.
 *
 * @param {number} at  where in the blob
 * @returns {Promise<boolean>} false when nothing is stored there
 */
export async function flipStoredByte (store, root, at) {
  const { data, files } = databasesOf(store)
  const { id, base, home } = await recordOf(store, root)
  if (home === 'file' || home === 'shared') {
    const file = base ?? id
    if ((await files.len(file) ?? 0) <= at) return false
    const reader = files.reader(file)
    const [byte] = await reader.read(at, at + 1)
    reader.release()
    const writer = await files.writer(file)
    await writer.write([Uint8Array.of(byte ^ 1)], at)
    await writer.close()
    return true
  }
  for (const { key, value, offset } of await entriesOfId(data, id)) {
    if (offset === undefined || at < offset || at >= offset + value.length) continue
    value[at - offset] ^= 1
    await data.put(key, value)
    return true
  }
  return false
}

/**
 * Flips a bit in the pairs of a stored tree.
 *
 * @param {number} share  which of its pages, and where in it: 0 to 1
 * @returns {Promise<boolean>} false when it has none
 */
export async function flipTree (store, root, share) {
  const { data } = databasesOf(store)
  const pages = (await entriesOfId(data, (await recordOf(store, root)).id)).filter(isPage)
  if (pages.length === 0) return false
  const { key, value } = pages[Math.min(pages.length - 1, Math.floor(share * pages.length))]
  const pairs = value.length - MARKS_LEN
  if (pairs === 0) return false
  value[MARKS_LEN + Math.floor(share * pairs) % pairs] ^= 1
  await data.put(key, value)
  return true
}

/** Bytes in front of a page that say which groups are present. */
const MARKS_LEN = 8

const entriesOfId = async (data, id) =>
  (await data.iterator({ ...allOfId(id), ...VIEWS }).all()).map(([key, value]) =>
    ({ key, value: new Uint8Array(value), offset: offsetOfExtent(key) }))

// What entries mean

/** @returns {Promise<object | undefined>} undefined when the record is missing or damaged */
export async function readRecord (index, root) {
  const stored = await recordEntry(index, root).read()
  return stored && decodeRecord(root, stored)
}

/** Writes a record with a right checksum, whatever it says. */
export const writeRecord = (index, root, record) => recordEntry(index, root).write(encodeRecord(root, record))

/** @param {object} changes  what becomes of some fields of the record */
export const changeRecord = async (index, root, changes) =>
  writeRecord(index, root, { ...await readRecord(index, root), ...changes })

/** Puts zeros in the place of a record. They have its length, and a wrong checksum. */
export const damageRecord = (index, root) => recordEntry(index, root).write(new Uint8Array(33))

export const readState = async index => decodeState(await stateEntry(index).read())

/** @param {object} changes  what becomes of some fields of the state; of all of them where the state is damaged */
export const changeState = async (index, changes) =>
  stateEntry(index).write(encodeState({ ...await readState(index), ...changes }))

/** Writes the entry of a blob that shares its bytes, with a right check, whatever it says. */
export function writeSharer (index, { base, size, root, id }) {
  const key = sharerKey(base, size)
  return index.put(key, encodeSharer(key, { root, id }), VIEWS)
}

/** Notes that the data of an id is being deleted. */
export const noteDeletion = (index, id) => deletionEntry(index, id).write(encodeDoomed([id]))

/** @param {string} path  of the file that the bytes of an id are in */
export const writePath = (index, id, path) => pathEntry(index, id).write(encodePath(id, path))

/** Writes a tag in both of its places, with right checks, whatever it says. */
export async function writeTag (index, tag) {
  for (const [key, value] of Object.values(encodeTag(tag))) await index.put(key, value, VIEWS)
}

/** Gives a blob another name. @param {Uint8Array} multihash */
export async function writeAlias (index, root, multihash) {
  await aliasEntry(index, multihash).write(encodeAlias(multihash, { root, isForgotten: false }))
  await aliasBesideBlobEntry(index, root, multihash).write(new Uint8Array(0))
}

// Everything of a kind

/** The records of all blobs. */
export const recordsIn = async index =>
  (await entriesBetween(index, allBlobs)).map(([key, value]) => decodeRecord(hashOfKey(key), value))

/** The ids whose data the index notes as being deleted; undefined for a damaged note. */
export const deletionsIn = async index =>
  (await entriesBetween(index, allDoomed)).flatMap(([key, value]) => decodeDoomed(key, value))

/** The keys of all aliases in an index, under their own names and beside their blobs. */
export const aliasKeysIn = async index =>
  (await Promise.all(
    [allAliases, allAliasesByBlob].map(range => entriesBetween(index, range))
  )).flat().map(([key]) => key)

/** The entries of the log of changes, in their order. */
export const eventEntries = async index => (await entriesBetween(index, allEvents)).map(([key, value]) =>
  ({ value: new Uint8Array(value), put: bytes => index.put(key, bytes, VIEWS) }))

/** Removes all tags, also damaged ones, from both of their places. */
export async function clearTags (index) {
  for (const range of [tagsWith(''), allTagged]) await index.clear({ ...range, ...VIEWS })
}

/** The ids that have anything in the data database. */
export const idsIn = async data => [...new Set((await data.keys(VIEWS).all()).map(idOfKey))]

/** The same as the store finds them: `isAlone` when an id has one entry. */
export async function scannedIdsIn (data) {
  const ids = []
  for await (const { id, isAlone } of dataIds(data, 0)) ids.push({ id, isAlone })
  return ids
}

/** The ids that no record has. */
export const idsWithout = (ids, records) =>
  ids.filter(id => !records.some(record => record.id === id || record.base === id))

/**
 * Everything in the data database. Extents have an offset in bytes, pages have none. Values are copies, because a level
 * may give the bytes that it keeps.
 */
export const entriesOf = async data => (await data.iterator(VIEWS).all()).map(([key, value]) => ({
  id: idOfKey(key),
  key,
  value: new Uint8Array(value),
  offset: offsetOfExtent(key),
  put: bytes => data.put(key, bytes, VIEWS),
  read: () => data.get(key, VIEWS),
  del: () => data.del(key, VIEWS)
}))

/**
 * Keeps what the levels of a store hold.
 *
 * @returns {Promise<() => Promise<void>>} puts it back, whatever has become of it
 */
export async function keepAll ({ index, data }) {
  const kept = await Promise.all([index, data].map(async level => {
    const entries = (await level.iterator(VIEWS).all()).map(([key, value]) => [key, new Uint8Array(value)])
    return { level, entries }
  }))
  return async () => {
    for (const { level, entries } of kept) {
      await level.clear()
      await level.batch(entries.map(([key, value]) => ({ type: 'put', key, value: new Uint8Array(value) })), VIEWS)
    }
  }
}

/** Is an entry of the data database a page of a tree, and no extent? */
export const isPage = ({ key }) => isPageKey(key)

const entriesBetween = (level, range) => level.iterator({ ...range, ...VIEWS }).all()

// Calls that a store makes to its databases

/** Does this operation of a batch write the record of a blob? */
export const writesRecord = ({ type, key }) => type === 'put' && key[0] === allBlobs.gte[0]

/** Does this operation of a batch delete the record of this blob? */
export const deletesRecord = ({ type, key }, root) => type === 'del' && isRecordKey(key, root)

export const isRecordKey = (key, root) => equals(key, blobKey(root))

/** Is this the key of the entry of a blob that shares its bytes? */
export const isSharerKey = ([kind]) => kind === allSharers.gte[0]

/** Is this a key of a page, among those of the data database? */
export const isPageKey = key => offsetOfExtent(key) === undefined

/**
 * The pages of a tree.
 *
 * @param {number} id
 * @param {Uint8Array} pairs
 * @param {{ node: number, at: number }[]} places  of the pairs: their nodes in the tree, and their offsets in `pairs`
 * @returns {{ key: Uint8Array, value: Uint8Array }[]} entries of the data database
 */
export function pagesOf (id, pairs, places) {
  const editor = new PageEditor(id)
  for (const { node, at } of places) editor.setPair(node, pairs, at)
  return editor.take()
}

/** `download` by another clock. */
export { downloadBy }

/** Counts what a store reads from its data database from now on, key by key. @returns {{ count: number }} */
export const countReads = store => countCalls(partsOf(store).databases.data, 'get')

/** Counts how often a store has its databases rewritten from now on. @returns {{ count: number }} */
export const countCompactions = store => countCalls(partsOf(store).databases, 'compact')

/** Counts how often a store looks up a record from now on. @returns {{ count: number }} */
export const countLookups = store => countCalls(partsOf(store).catalog, 'get')

function countCalls (object, name) {
  const calls = { count: 0 }
  const call = object[name]
  object[name] = function (...args) {
    calls.count++
    return call.apply(this, args)
  }
  return calls
}
