// Many small blobs in few batches: two writes to the disk keep a thousand of them, and two reads give them back.

import { BaoError } from '../../lib/core/errors.js'
import { abortable, createYielder, untilAborted } from '../../lib/source/async-util.js'
import { areEqual, assertBytes, describe } from '../../lib/core/bytes.js'
import { hash } from '../../lib/hash/hasher.js'
import { parseRoot, toCid } from '../../lib/hash/cid.js'
import { FILE_FROM, IncomingBlob } from './blob-builder.js'
import { CELL_LEN } from '../storage/content/extents.js'
import { GROUP_LEN } from '../storage/content/tree-pages.js'
import { VIEWS, extentKey } from '../storage/format/keys.js'
import { nameOf } from '../catalog/roots.js'
import { readable } from '../storage/errors.js'
import { isKept } from '../catalog/presence.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName, StoreContext } from '../blob-store.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Change } from '../catalog/catalog.js' */
/** @import { Operation } from '../storage/level/database.js' */
/** @import { Source } from '../../lib/core/types.js' */

/** What one batch has at most. */
export const BATCH_COUNT = 1024
export const BATCH_LEN = 1 << 22
/** Batches that are being written while the next is gathered: as one waits for the disk twice, there is another that needs the processor. */
const PUT_AHEAD = 3
/** How long blobs may be that are looked up together: in one extent, of whatever database. */
const LOOKUP_LEN = CELL_LEN / 4
export const LOOKUP_COUNT = BATCH_LEN / LOOKUP_LEN

/** @template T @typedef {Iterable<T> | AsyncIterable<T>} Many */
/** @typedef {{ cid: CID, size: number, isNew: boolean }} PutResult */
/** @typedef {{ cid: CID, bytes: Uint8Array<ArrayBuffer>, error?: undefined } | { cid: CID, bytes?: undefined, error: BaoError }} GetResult */

/**
 * See `BlobStore.putMany`.
 *
 * @param {StoreContext} store @param {Many<Source>} blobs @param {{ signal?: AbortSignal }} options
 * @returns {AsyncGenerator<PutResult>}
 */
export async function * putMany (store, blobs, { signal }) {
  assertMany('blobs', blobs, 'sources')
  /** @param {Source} source */
  const putOne = source => store.life.run(() => store.writer.put(source, { signal }))
  if (store.quota.isLimited) {
    // Each may be the one that there is no room for, and what stands behind that one must not be kept.
    for await (const source of untilSignal(blobs, signal)) yield await putOne(source)
    return
  }
  /** A long one waits for all that is under way before it. @param {PutBatch} batch @param {Promise<unknown>[]} before */
  const keep = async (batch, before) => {
    if ('small' in batch) {
      const kept = await store.life.run(() => keepMany(store, batch.small))
      batch.release() // when it failed, somebody may still look at it
      return kept
    }
    await Promise.all(before)
    return [await putOne(batch.source)]
  }
  // A long one is not copied, so the next is not asked for before it has been kept. Who gives them by and by is to hear of each soon.
  const aheadOf = (/** @type {PutBatch} */ batch) => 'source' in batch ? 0 : isAtHand(blobs) ? PUT_AHEAD : 1
  for await (const results of overlapping(batchesOf(store.databases, blobs, signal), aheadOf, keep)) for (const result of results) yield result
}

/**
 * Begins something with each item, and gives what comes of it, in order. When that is a failure, or the items end with one, all that came before is given
 * first, and nothing is under way any more when the failure is told.
 *
 * @template Item, Result
 * @param {AsyncIterable<Item>} items
 * @param {(item: Item) => number} aheadOf  how many of what has been begun, up to this one, may be under way when the next is asked for
 * @param {(item: Item, before: Promise<Result>[]) => Promise<Result>} begin  `before`: what is still under way
 * @returns {AsyncGenerator<Result>}
 */
async function * overlapping (items, aheadOf, begin) {
  const underWay = /** @type {Promise<Result>[]} */ ([])
  const failures = /** @type {unknown[]} */ ([])
  const yieldWhenDue = createYielder() // databases in memory never give way themselves
  try {
    for await (const item of beforeFailure(items, failures)) {
      const result = begin(item, [...underWay])
      result.catch(() => {}) // whoever awaits it is told
      underWay.push(result)
      while (underWay.length > aheadOf(item)) yield await /** @type {Promise<Result>} */ (underWay.shift())
      await yieldWhenDue()
    }
    while (underWay.length > 0) yield await /** @type {Promise<Result>} */ (underWay.shift())
  } catch (error) {
    await Promise.allSettled(underWay)
    throw error
  }
  if (failures.length > 0) throw failures[0]
}

/** Items, until they end or fail. @template T @param {AsyncIterable<T>} items @param {unknown[]} failures  gets the failure */
async function * beforeFailure (items, failures) {
  try {
    yield * items
  } catch (failure) {
    failures.push(failure)
  }
}

/** @param {string} name @param {unknown} many @param {string} what */
function assertMany (name, many, what) {
  if (typeof many !== 'object' || many === null || !(Symbol.asyncIterator in many || Symbol.iterator in many) || many instanceof Uint8Array) {
    throw new TypeError(`"${name}" expected an iterable of ${what}, got ${describe(many)}`)
  }
}

/** @template T @param {Many<T>} items @param {AbortSignal} [signal] @returns {AsyncGenerator<T>} */
async function * untilSignal (items, signal) {
  for await (const item of signal === undefined ? items : abortable(items, signal)) {
    signal?.throwIfAborted()
    yield item
  }
}

/** Are they there already, as in an array? @template T @param {Many<T>} items @returns {items is Iterable<T>} */
const isAtHand = items => !(Symbol.asyncIterator in items)

/** @typedef {{ small: Uint8Array[], release: () => void } | { source: Source }} PutBatch  `release`: to be called when they are kept */

/**
 * Small blobs by the batch, copied; others as they are. What came before a failure is given first.
 *
 * @param {Databases} databases @param {Many<Source>} blobs @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<PutBatch>}
 */
async function * batchesOf (databases, blobs, signal) {
  const gathering = new Gathering(databases)
  try {
    if (isAtHand(blobs)) {
      for (const source of blobs) {
        // Bytes that are at hand are not waited for, which would take a tenth of the time that they need to be kept.
        const blob = source instanceof Uint8Array ? source : await untilAborted(source, signal)
        signal?.throwIfAborted()
        for (const batch of gathering.add(blob)) yield batch
      }
    } else {
      for await (const source of untilSignal(blobs, signal)) for (const batch of gathering.add(source)) yield batch
    }
    signal?.throwIfAborted()
  } catch (failure) {
    for (const batch of gathering.taken()) yield batch
    throw failure
  }
  for (const batch of gathering.taken()) yield batch
}

/** Gathers small blobs until there is a batch of them. */
class Gathering {
  #batches
  #memory
  #small = /** @type {Uint8Array[]} */ ([])
  #len = 0

  /** @param {Databases} databases  that they are for */
  constructor (databases) {
    this.#batches = databases.batchMemory()
    this.#memory = this.#batches.take()
  }

  /** @param {Source} source  the next @returns {PutBatch[]} what is to be kept now: often nothing */
  add (source) {
    if (!(source instanceof Uint8Array) || source.length > FILE_FROM) return [...this.taken(), { source }]
    assertBytes('blob', source)
    const copy = this.#memory.allocate(source.length)
    copy.set(source)
    this.#small.push(copy)
    this.#len += source.length
    return this.#small.length === BATCH_COUNT || this.#len >= BATCH_LEN ? this.taken() : NONE
  }

  /** What is left. @returns {PutBatch[]} */
  taken () {
    if (this.#small.length === 0) return NONE
    const batch = { small: this.#small, release: this.#memory.release }
    this.#small = []
    this.#len = 0
    this.#memory = this.#batches.take()
    return [batch]
  }
}

/** @type {PutBatch[]} */
const NONE = []

/**
 * @typedef {object} NewBlob
 * @property {Uint8Array} root
 * @property {string} name  of the root
 * @property {number} id  of this blob alone
 * @property {number} size  bytes
 * @property {Operation[]} puts  all its data
 */

/**
 * Keeps a batch of small blobs. Not under a quota, which may have room for some of them only.
 *
 * @param {StoreContext} store
 * @param {Uint8Array[]} batch  at most 1 MiB each, kept as they are: nobody else may write to them
 * @param {(Uint8Array | undefined)[]} [aliases]  the multihashes under which they are put, unless under their own names
 * @returns {Promise<PutResult[]>}
 */
export async function keepMany (store, batch, aliases = []) {
  const { activity, databases, life, locks, protection } = store
  life.assertOpen()
  return activity.run(async () => {
    const id = await databases.ids.newIds(batch.length)
    const blobs = /** @type {NewBlob[]} */ ([])
    for (const [i, bytes] of batch.entries()) {
      const isSmall = bytes.length <= GROUP_LEN
      blobs.push(isSmall ? smallBlob(databases, id + i, bytes) : await treeBlob(databases, id + i, bytes))
    }
    const names = blobs.map(({ name }) => name)
    const release = protection.useAll(names)
    try {
      const kept = await locks.runAll(names, () => keepBlobs(store, blobs, aliases))
      databases.ids.settle(id, batch.length)
      return kept
    } catch (error) {
      activity.leave() // some may have come to the disk, data or records: their ids are not settled
      throw error
    } finally {
      release()
    }
  })
}

/**
 * Under the locks of all of them.
 *
 * @param {StoreContext} store @param {NewBlob[]} blobs @param {(Uint8Array | undefined)[]} aliases
 * @returns {Promise<PutResult[]>}
 */
async function keepBlobs (store, blobs, aliases) {
  const { catalog } = store
  const contents = eachOnce(blobs, await catalog.lookMany(blobs.map(({ root }) => root)), aliases)
  await write(store, [...contents.values()].filter(({ isWritten }) => isWritten))
  const results = []
  for (const [i, { root, name, id, size }] of blobs.entries()) {
    const { record, before, isWritten } = /** @type {Content} */ (contents.get(name))
    const isNew = record.id === id && !before?.complete
    // The record that was written has all the names.
    if (!isWritten && before !== undefined) await catalog.putAgain(root, before, aliases[i])
    else if (!isNew) catalog.uses.touch(root)
    results.push({ cid: toCid(root), size, isNew })
  }
  return results
}

/**
 * Of one blob, or of several that are the same.
 *
 * @typedef {object} Content
 * @property {Uint8Array} root
 * @property {BlobRecord} [before]  the record so far
 * @property {BlobRecord} record  the record that it is to have
 * @property {boolean} isWritten  false when the store has the blob already
 * @property {Uint8Array[]} aliases  multihashes that are to lead to it
 * @property {Operation[]} puts  all its data
 */

/**
 * Blobs of a batch may be the same: the first of them is kept, under the names of all.
 *
 * @param {NewBlob[]} blobs @param {{ isThere: boolean, record?: BlobRecord }[]} looks @param {(Uint8Array | undefined)[]} aliases
 * @returns {Map<string, Content>} by name
 */
function eachOnce (blobs, looks, aliases) {
  const created = Date.now()
  const contents = /** @type {Map<string, Content>} */ (new Map())
  for (const [i, { root, name, id, size, puts }] of blobs.entries()) {
    let content = contents.get(name)
    if (content === undefined) {
      // What was being received, or had been damaged, may have been wanted under its own name.
      const { isThere, record: before } = looks[i]
      const isNameless = !isThere || before?.isNameless === true
      const isWritten = before === undefined || !isKept(before)
      /** @type {BlobRecord} */
      const record = { id, size, sizeProven: true, complete: true, home: 'extents', created, isNameless }
      content = { root, puts, before, isWritten, aliases: [], record }
      contents.set(name, content)
    }
    const alias = aliases[i]
    if (alias === undefined) content.record.isNameless = false
    else content.aliases.push(alias)
  }
  return contents
}

/** The data, and then the records that name it. @param {StoreContext} store @param {Content[]} contents */
async function write ({ databases, catalog, presence }, contents) {
  if (contents.length === 0) return
  const puts = /** @type {Operation[]} */ ([])
  const changes = /** @type {Change[]} */ ([])
  for (const { root, before, record, aliases, puts: ownPuts } of contents) {
    puts.push(...ownPuts)
    const lenBefore = before === undefined ? 0 : await presence.len(before)
    changes.push({ root, before, after: record, gained: record.size - lenBefore, aliases })
  }
  await databases.data.batch(puts, databases.syncBatch)
  await catalog.commit(changes)
}

/** A blob of one group. @param {Databases} databases @param {number} id @param {Uint8Array} bytes @returns {NewBlob} */
function smallBlob ({ allocate }, id, bytes) {
  const root = hash(bytes)
  const extent = { type: /** @type {const} */ ('put'), key: extentKey(id, 0, allocate), value: bytes }
  return { id, root, name: nameOf(root), size: bytes.length, puts: [extent] }
}

/** A blob with a tree. @param {Databases} databases @param {number} id @param {Uint8Array} bytes @returns {Promise<NewBlob>} */
async function treeBlob (databases, id, bytes) {
  const blob = new IncomingBlob(databases, id)
  await blob.write(bytes)
  const root = blob.root()
  return { id, root, name: nameOf(root), size: bytes.length, puts: blob.takePuts() }
}

/**
 * See `BlobStore.getMany`. While the blobs of one lookup are in the caller's hands the next are being read.
 *
 * @param {StoreContext} store @param {Many<BlobName>} cids @param {{ signal?: AbortSignal }} options
 * @returns {AsyncGenerator<GetResult>}
 */
export async function * getMany (store, cids, { signal }) {
  assertMany('cids', cids, 'CIDs')
  /** @param {Uint8Array[]} roots */
  const look = roots => store.life.run(() => lookSmall(store, roots))
  for await (const found of overlapping(lookupsOf(cids, signal), () => 1, look)) yield * results(store, found, signal)
}

/** @typedef {{ root: Uint8Array, record?: BlobRecord, bytes?: Uint8Array }} Found */

/** @param {Many<BlobName>} cids @param {AbortSignal} [signal] @returns {AsyncGenerator<Uint8Array[]>} */
async function * lookupsOf (cids, signal) {
  let roots = []
  try {
    for await (const cid of untilSignal(cids, signal)) {
      roots.push(parseRoot(cid, 'cid'))
      if (roots.length < LOOKUP_COUNT) continue
      yield roots
      roots = []
    }
  } catch (failure) {
    if (roots.length > 0) yield roots // what was asked for before it is given
    throw failure
  }
  if (roots.length > 0) yield roots
}

/**
 * The bytes that stand in one extent, as they are stored.
 *
 * @param {StoreContext} store @param {Uint8Array[]} roots  at most LOOKUP_COUNT
 * @returns {Promise<Found[]>}
 */
export async function lookSmall ({ databases: { data, allocate }, catalog }, roots) {
  const looked = await catalog.lookMany(roots)
  const found = looked.map(({ record }, i) => /** @type {Found} */ ({ root: roots[i], record }))
  const small = found.filter(({ record }) => record !== undefined && isInOneExtent(record))
  if (small.length === 0) return found
  const keys = small.map(({ record }) => extentKey(/** @type {BlobRecord} */ (record).id, 0, allocate))
  const values = await readable(data.getMany(keys, VIEWS)) ?? []
  for (const [i, blob] of small.entries()) blob.bytes = values[i]
  return found
}

/** @param {BlobRecord} record */
const isInOneExtent = ({ complete, home, size }) => complete && home === 'extents' && size > 0 && size <= LOOKUP_LEN

/**
 * What hashes to its name; of the rest, what a reader makes of it.
 *
 * @param {StoreContext} store @param {Found[]} found @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<GetResult>}
 */
async function * results ({ databases, catalog, reader }, found, signal) {
  for (const { root, bytes } of found) {
    signal?.throwIfAborted()
    const cid = toCid(root)
    if (bytes !== undefined && areEqual(hash(bytes), 0, root)) {
      catalog.uses.touch(root)
      yield { cid, bytes: databases.owned(bytes) }
      continue
    }
    try {
      yield { cid, bytes: await reader.bytes(root, { signal }) }
    } catch (error) {
      if (!(error instanceof BaoError) || error.code === 'STORE_CLOSED') throw error
      yield { cid, error }
    }
  }
}
