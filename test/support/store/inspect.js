// Reads and changes the internals of a store: its records, keys, pages and parts.
//
// Tests use these functions, and otherwise import only the entry points of the store. So a change of the internals
// changes only this file. Unit tests of one file are the exception.
import { equals } from 'uint8arrays/equals'
import { partsOf } from '../../../store/open.js'
import { downloadBy } from '../../../exchange/download/download.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { PageEditor } from '../../../store/storage/content/tree-pages.js'
import {
  aliasKey, aliasOfKey, allAliases, allAliasesByBlob, allBlobs, allDeletions, allEvents, allOfId, allOfIndex, allTagged,
  allSharers, allUsed, blobKey, deletionKey, eventKey, extentKey, hashOfKey, idOfKey, offsetOfExtent, pathKey,
  sharerKey, stateKey, tagKey, taggedKey, tagsWith, usedKey
} from '../../../store/storage/format/keys.js'
import {
  decodeDeletion, decodeRecord, decodeState, encodeAlias, encodeDeletion, encodePath, encodeRecord, encodeSharer,
  encodeState
} from '../../../store/storage/format/records.js'
import { encodeTag } from '../../../store/storage/format/tags.js'
import { dataIds } from '../../../store/storage/level/data-ids.js'
import { VIEWS } from '../constants.js'

export { LAYOUT_VERSION } from '../../../store/storage/format/records.js'
/** Returns the string under which the store keeps a hash in its maps and sets. */
export { nameOf }

// An open store

/** Returns its databases as the store itself uses them: `index`, `data`, and `files` where there are any. */
export const databasesOf = store => partsOf(store).databases

/** Reads the record of a blob as the store itself does. */
export const recordOf = (store, root) => partsOf(store).catalog.get(root)

/** Returns the id that the next blob will get. */
export const nextIdOf = store => partsOf(store).databases.ids.next

/** Returns the ids that are under way. */
export const idsUnderWay = store => [...partsOf(store).databases.ids.underWay]

/** Returns the bytes that a store counts towards its quota. @param {number} quota  the quota in its options */
export const countedBytes = (store, quota) => partsOf(store).quota.excess(quota)

/** Returns true if a call holds this blob, or a temporary tag names it. */
export const isHeld = (store, root) => partsOf(store).protection.isHeld(nameOf(root))

/** Returns true if the store keeps anything in memory about shared files. */
export const knowsBase = (store, base) => partsOf(store).catalog.bases.knows([{ base }])

/** Writes the times of use that are still in memory. */
export const flushUses = store => partsOf(store).uses.flush()

/** Runs an action once, after the store has looked up several records and before it uses them. */
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
 * Runs an action during the next read of a range of keys: the read continues with its old entries after the action.
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

/** Lists the blobs of a store in the order of a time, in walks that keep a given number of blobs in memory. */
export const listInWalks = (store, range, options) =>
  partsOf(store).lister.byTime({ prefix: '', reverse: false, ...range }, { limit: Infinity, ...options })

/** Changes the length of the extents that a store writes. @param {number} len  bytes */
export const setExtentLen = (store, len) =>
  Object.defineProperty(partsOf(store).databases, 'extentLen', { value: len })

// Single entries of a database

/** One key of a database, with or without a value. */
class Entry {
  #level

  constructor (level, key) {
    this.#level = level
    this.key = key
  }

  /** @returns {Promise<Uint8Array | undefined>} a copy of the value; undefined when there is none */
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
/** The time of the last use of a blob. */
export const usedEntry = (index, root) => new Entry(index, usedKey(root))
/** The note that the data of an id is being deleted. */
export const deletionEntry = (index, id) => new Entry(index, deletionKey(id))
/** The path of the file of a reference. */
export const pathEntry = (index, id) => new Entry(index, pathKey(id))
/** The two entries of a tag: under its name, and beside the blob that it names. */
export const tagEntry = (index, name) => new Entry(index, tagKey(name))
export const tagOfBlobEntry = (index, root, name) => new Entry(index, taggedKey(root, name))
/** The two entries of an alias: under its multihash, and beside its blob. */
export const aliasEntry = (index, multihash) => new Entry(index, aliasKey(multihash))
export const aliasOfBlobEntry = (index, root, multihash) => new Entry(index, aliasOfKey(root, multihash))
/** The index entry of a sharer. @param {number} size  the blob's size */
export const sharerEntry = (index, base, size) => new Entry(index, sharerKey(base, size))
/** An extent. @param {number} offset  bytes, whole chunks */
export const extentEntry = (data, id, offset) => new Entry(data, extentKey(id, offset))

/** Ranges of keys in an index: everything, all records, all tags, and all tags beside their blobs. */
export const indexKeys = allOfIndex
export const blobKeys = allBlobs
export const tagKeys = tagsWith('')
export const taggedKeys = allTagged

/** Keys of a record, a time of use and a deletion with a wrong length. @param {number} len  bytes */
export const malformedKeys = len =>
  [allBlobs, allUsed, allDeletions].map(({ gte: [kind] }) => new Uint8Array(len).fill(kind))

// Damage to a blob of an open store

/**
 * Flips a bit of a stored byte of a blob.
 *
 * @param {number} at  offset in the blob, in bytes
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
 * @param {number} share  a number from 0 to 1 that chooses the page, and the place in it
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

/** Bytes at the start of a page that mark the present groups. */
const MARKS_LEN = 8

const entriesOfId = async (data, id) =>
  (await data.iterator({ ...allOfId(id), ...VIEWS }).all()).map(([key, value]) =>
    ({ key, value: new Uint8Array(value), offset: offsetOfExtent(key) }))

// Decoded entries

/** @returns {Promise<object | undefined>} undefined when the record is missing or damaged */
export async function readRecord (index, root) {
  const stored = await recordEntry(index, root).read()
  return stored && decodeRecord(root, stored)
}

/** Writes a record, right or wrong, with a right checksum. */
export const writeRecord = (index, root, record) => recordEntry(index, root).write(encodeRecord(root, record))

/** @param {object} changes  new values of some fields of the record */
export const changeRecord = async (index, root, changes) =>
  writeRecord(index, root, { ...await readRecord(index, root), ...changes })

/** Overwrites a record with zeros of the same length, and so with a wrong checksum. */
export const damageRecord = (index, root) => recordEntry(index, root).write(new Uint8Array(33))

export const readState = async index => decodeState(await stateEntry(index).read())

/** @param {object} changes  new values of some fields of the state; of all of them if the state is damaged */
export const changeState = async (index, changes) =>
  stateEntry(index).write(encodeState({ ...await readState(index), ...changes }))

/** Writes the entry of a sharer, right or wrong, with a right checksum. */
export function writeSharer (index, { base, size, root, id }) {
  const key = sharerKey(base, size)
  return index.put(key, encodeSharer(key, { root, id }), VIEWS)
}

/** Notes that the data of an id is being deleted. */
export const noteDeletion = (index, id) => deletionEntry(index, id).write(encodeDeletion([id]))

/** @param {string} path  the file that has the bytes of an id */
export const writePath = (index, id, path) => pathEntry(index, id).write(encodePath(id, path))

/** Writes both entries of a tag, right or wrong, with right checksums. */
export async function writeTag (index, tag) {
  for (const [key, value] of Object.values(encodeTag(tag))) await index.put(key, value, VIEWS)
}

/** Gives a blob an alias. @param {Uint8Array} multihash */
export async function writeAlias (index, root, multihash) {
  await aliasEntry(index, multihash).write(encodeAlias(multihash, { root, isForgotten: false }))
  await aliasOfBlobEntry(index, root, multihash).write(new Uint8Array(0))
}

// All entries of one kind

/** Returns the records of all blobs. */
export const recordsIn = async index =>
  (await entriesBetween(index, allBlobs)).map(([key, value]) => decodeRecord(hashOfKey(key), value))

/** Returns the ids in the notes of deletions; undefined for a damaged note. */
export const deletionsIn = async index =>
  (await entriesBetween(index, allDeletions)).flatMap(([key, value]) => decodeDeletion(key, value))

/** Returns the keys of both entries of all aliases in an index. */
export const aliasKeysIn = async index =>
  (await Promise.all(
    [allAliases, allAliasesByBlob].map(range => entriesBetween(index, range))
  )).flat().map(([key]) => key)

/** Returns the entries of the log of changes, in their order. */
export const eventEntries = async index => (await entriesBetween(index, allEvents)).map(([key, value]) =>
  ({ value: new Uint8Array(value), put: bytes => index.put(key, bytes, VIEWS) }))

/** Adds an entry to the log of changes. @param {number} position  any safe integer */
export const putEvent = (index, position, value) => index.put(eventKey(position), value, VIEWS)

/** Removes both entries of all tags, also damaged ones. */
export async function clearTags (index) {
  for (const range of [tagsWith(''), allTagged]) await index.clear({ ...range, ...VIEWS })
}

/** Returns the ids that have anything in the data database. */
export const idsIn = async data => [...new Set((await data.keys(VIEWS).all()).map(idOfKey))]

/** Returns the same ids as the store finds them. `isAlone`: true if an id has only one entry. */
export async function scannedIdsIn (data) {
  const ids = []
  for await (const { id, isAlone } of dataIds(data, 0)) ids.push({ id, isAlone })
  return ids
}

/** Returns those of the ids that no record names. */
export const idsWithout = (ids, records) =>
  ids.filter(id => !records.some(record => record.id === id || record.base === id))

/**
 * Returns all entries of the data database. Extents have an offset in bytes, pages have none. Values are copies,
 * because a level may return its own memory.
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
 * Remembers all entries of a store's levels.
 *
 * @returns {Promise<() => Promise<void>>} restores exactly these entries
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

/** Returns true if an entry of the data database is a page of a tree, and not an extent. */
export const isPage = ({ key }) => isPageKey(key)

const entriesBetween = (level, range) => level.iterator({ ...range, ...VIEWS }).all()

// Calls of a store to its databases

/** Returns true if an operation of a batch writes the record of a blob. */
export const writesRecord = ({ type, key }) => type === 'put' && key[0] === allBlobs.gte[0]

/** Returns true if an operation of a batch deletes the record of this blob. */
export const deletesRecord = ({ type, key }, root) => type === 'del' && isRecordKey(key, root)

export const isRecordKey = (key, root) => equals(key, blobKey(root))

/** Returns true for the key of a sharer's entry. */
export const isSharerKey = ([kind]) => kind === allSharers.gte[0]

/** Returns true for the key of a page in the data database. */
export const isPageKey = key => offsetOfExtent(key) === undefined

/**
 * Makes the pages of a tree.
 *
 * @param {number} id
 * @param {Uint8Array} pairs
 * @param {{ node: number, at: number }[]} places  the nodes of the pairs, and their offsets in `pairs`
 * @returns {{ key: Uint8Array, value: Uint8Array }[]} entries of the data database
 */
export function pagesOf (id, pairs, places) {
  const editor = new PageEditor(id)
  for (const { node, at } of places) editor.setPair(node, pairs, at)
  return editor.take()
}

/** `download` with another clock. */
export { downloadBy }

/** Counts the keys that a store reads from its data database from now on. @returns {{ count: number }} */
export const countReads = store => countCalls(partsOf(store).databases.data, 'get')

/** Counts how often a store compacts its databases from now on. @returns {{ count: number }} */
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
