// Many small blobs in few batches: two writes to the disk keep a thousand of them, and two reads give them back.

import { BaoError } from '../lib/errors.js'
import { abortable } from '../lib/reading.js'
import { areEqual, describe } from '../lib/bytes.js'
import { hash } from '../lib/hasher.js'
import { parseRoot, toCid } from '../lib/cid.js'
import { FILE_FROM, IncomingBlob } from './incoming.js'
import { CELL_LEN } from './extents.js'
import { GROUP_LEN } from './pages.js'
import { VIEWS, extentKey } from './keys.js'
import { nameOf } from './catalog.js'
import { readable } from './faults.js'
import { isKept } from './presence.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName, StoreParts } from './blobs.js' */
/** @import { BlobReader } from './reader.js' */
/** @import { BlobRecord } from './keys.js' */
/** @import { BlobWriter } from './writer.js' */
/** @import { Operation } from './catalog.js' */
/** @import { Source } from '../lib/types.js' */

/** What one batch has at most. */
export const BATCH_COUNT = 1024
export const BATCH_LEN = 1 << 22
/** Bytes of memory that the small blobs of a batch have together; or some of them, so that none keeps much. */
const MEMORY_LEN = 1 << 18
/** Blobs that are looked up together: all of them may be as long as a cell. */
export const LOOKUP_COUNT = BATCH_LEN / CELL_LEN

/** @template T @typedef {Iterable<T> | AsyncIterable<T>} Many */
/** @typedef {{ cid: CID, size: number, isNew: boolean }} PutResult */
/** @typedef {{ cid: CID, bytes: Uint8Array<ArrayBuffer>, error?: undefined } | { cid: CID, bytes?: undefined, error: BaoError }} GetResult */

/**
 * See `BlobStore.putMany`.
 *
 * @param {StoreParts & { writer: BlobWriter }} store @param {Many<Source>} blobs @param {{ signal?: AbortSignal }} options
 * @returns {AsyncGenerator<PutResult>}
 */
export async function * putMany (store, blobs, { signal }) {
  assertMany('blobs', blobs, 'sources')
  /** @param {Source} source */
  const putOne = source => store.life.run(() => store.writer.put(source, { signal }))
  // Under a quota each may be the one that there is no room for, and what stands behind that one must not be kept.
  if (store.quota.isLimited) for await (const source of untilSignal(blobs, signal)) yield await putOne(source)
  else yield * putBatches(store, batchesOf(blobs, signal), putOne)
}

/**
 * While one batch is being written the next is gathered, and begun if it is a small one.
 *
 * @param {StoreParts & { writer: BlobWriter }} store @param {AsyncIterable<PutBatch>} batches @param {(source: Source) => Promise<PutResult>} putOne
 * @returns {AsyncGenerator<PutResult>}
 */
async function * putBatches (store, batches, putOne) {
  const swap = oneAhead(/** @type {PutResult[]} */ ([]))
  const nothing = async () => []
  try {
    for await (const batch of batches) {
      if ('failure' in batch) {
        for (const result of await swap(nothing)) yield result // what came before has been kept
        throw batch.failure
      }
      /** @param {Promise<unknown>} before */
      const keep = async before => {
        if ('small' in batch) return store.life.run(() => keepMany(store, batch.small))
        await before
        return [await putOne(batch.source)]
      }
      // Not `yield *`, which takes several turns for each.
      for (const result of await swap(keep)) yield result
    }
    for (const result of await swap(nothing)) yield result
  } catch (error) {
    await swap(nothing).catch(() => {}) // nothing is kept once this has been thrown
    throw error
  }
}

/**
 * Lets one thing be under way while another is in the caller's hands.
 *
 * @template T @param {T} first
 * @returns {(next: (before: Promise<T>) => Promise<T>) => Promise<T>} begins the next, and gives what the one before comes to
 */
function oneAhead (first) {
  let underWay = /** @type {Promise<T>} */ (Promise.resolve(first))
  return next => {
    const before = underWay
    underWay = next(before)
    underWay.catch(() => {}) // whoever awaits it is told
    return before
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

/** @typedef {{ small: Uint8Array[] } | { source: Source } | { failure: unknown }} PutBatch */

/**
 * Small blobs by the batch, copied; others as they are; and at last what ended it, if it was a failure.
 *
 * @param {Many<Source>} blobs @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<PutBatch>}
 */
async function * batchesOf (blobs, signal) {
  let batch = /** @type {Uint8Array[]} */ ([])
  let len = 0
  // Memory is taken for many at a time: a thousand pieces of it would keep the collector busy.
  let free = new Uint8Array(0)
  /** @param {Uint8Array} bytes */
  const copyOf = bytes => {
    if (free.length < bytes.length) free = new Uint8Array(Math.max(MEMORY_LEN, bytes.length))
    const copy = free.subarray(0, bytes.length)
    copy.set(bytes)
    free = free.subarray(bytes.length)
    return copy
  }
  const taken = () => {
    const small = batch
    batch = []
    len = 0
    return { small }
  }
  try {
    for await (const source of untilSignal(blobs, signal)) {
      if (source instanceof Uint8Array && source.length <= FILE_FROM) {
        batch.push(copyOf(source))
        len += source.length
        if (batch.length === BATCH_COUNT || len >= BATCH_LEN) yield taken()
      } else {
        if (batch.length > 0) yield taken()
        yield { source }
      }
    }
  } catch (failure) {
    if (batch.length > 0) yield taken()
    yield { failure }
    return
  }
  if (batch.length > 0) yield taken()
}

/** @typedef {{ root: Uint8Array, name: string, id: number, size: number, puts: Operation[] }} SmallBlob  under an id of its own, and all its data */

/**
 * Keeps a batch of small blobs. Not under a quota, which may have room for some of them only.
 *
 * @param {StoreParts & { writer: BlobWriter }} store
 * @param {Uint8Array[]} batch  at most 1 MiB each, kept as they are: nobody else may write to them
 * @param {(Uint8Array | undefined)[]} [aliases]  the multihashes under which they are put, unless under their own names
 * @returns {Promise<PutResult[]>}
 */
export async function keepMany (store, batch, aliases = []) {
  const { databases, locks, protection, writer } = store
  return writer.whileActive(async () => {
    const id = await databases.ids.newIds(batch.length)
    const blobs = /** @type {SmallBlob[]} */ ([])
    for (const [i, bytes] of batch.entries()) {
      blobs.push(bytes.length <= GROUP_LEN ? smallBlob(id + i, bytes) : await treeBlob(databases, id + i, bytes))
    }
    const releases = blobs.map(({ root }) => protection.use(root))
    try {
      const kept = await locks.runAll(blobs.map(({ name }) => name), () => keepBlobs(store, blobs, aliases))
      databases.ids.settle(id, batch.length)
      return kept
    } catch (error) {
      writer.leave() // some may have come to the disk, data or records: their ids are not settled
      throw error
    } finally {
      for (const release of releases) release()
    }
  })
}

/**
 * Under the locks of all of them.
 *
 * @param {StoreParts & { writer: BlobWriter }} store @param {SmallBlob[]} blobs @param {(Uint8Array | undefined)[]} aliases
 * @returns {Promise<PutResult[]>}
 */
async function keepBlobs (store, blobs, aliases) {
  const { catalog, presence, protection } = store
  const contents = eachOnce(blobs, await catalog.lookMany(blobs.map(({ root }) => root)), aliases)
  await write(store, [...contents.values()].filter(({ before }) => before === undefined || !isKept(before)))
  const results = []
  for (const [i, blob] of blobs.entries()) {
    const { root, name, size } = blob
    const { first, before } = /** @type {Content} */ (contents.get(name))
    const isNew = blob === first && !before?.complete
    protection.arrived(root)
    if (isNew) presence.forget(root)
    else await noteUse(catalog, root, before, aliases[i])
    results.push({ cid: toCid(root), size, isNew })
  }
  return results
}

/**
 * @typedef {object} Content  of one blob or several
 * @property {SmallBlob} first
 * @property {BlobRecord} [before]  of the same content
 * @property {Uint8Array[]} aliases  under which it is put
 * @property {boolean} isNameless  is it put under no other name?
 */

/**
 * What there is to be kept: blobs of a batch may be the same.
 *
 * @param {SmallBlob[]} blobs @param {{ isThere: boolean, record?: BlobRecord }[]} looks @param {(Uint8Array | undefined)[]} aliases
 * @returns {Map<string, Content>} by name
 */
function eachOnce (blobs, looks, aliases) {
  const contents = /** @type {Map<string, Content>} */ (new Map())
  for (const [i, first] of blobs.entries()) {
    let content = contents.get(first.name)
    if (content === undefined) {
      // What was being received, or had been damaged, may have been wanted under its own name.
      content = { first, before: looks[i].record, aliases: [], isNameless: !looks[i].isThere }
      contents.set(first.name, content)
    }
    const alias = aliases[i]
    if (alias === undefined) content.isNameless = false
    else content.aliases.push(alias)
  }
  return contents
}

/** The data, and then the records that name it. @param {StoreParts} store @param {Content[]} contents */
async function write ({ databases, catalog }, contents) {
  if (contents.length === 0) return
  const created = Date.now()
  const puts = /** @type {Operation[]} */ ([])
  for (const { first } of contents) puts.push(...first.puts)
  await databases.data.batch(puts, databases.syncOptions)
  await catalog.writeMany(contents.map(({ first: { id, root, size }, before, aliases, isNameless }) =>
    ({ root, record: { id, size, sizeProven: true, complete: true, home: 'extents', created, isNameless }, replaces: before, aliases })))
}

/**
 * It was here already, if not under this name.
 *
 * @param {StoreParts['catalog']} catalog @param {Uint8Array} root @param {BlobRecord} [record] @param {Uint8Array} [alias]
 */
async function noteUse (catalog, root, record, alias) {
  catalog.touch(root)
  if (record?.complete) await catalog.addName(root, record, alias)
}

/** A blob of one group. @param {number} id @param {Uint8Array} bytes @returns {SmallBlob} */
function smallBlob (id, bytes) {
  const root = hash(bytes)
  return { id, root, name: nameOf(root), size: bytes.length, puts: [{ type: 'put', key: extentKey(id, 0), value: bytes }] }
}

/** A blob with a tree. @param {StoreParts['databases']} databases @param {number} id @param {Uint8Array} bytes @returns {Promise<SmallBlob>} */
async function treeBlob (databases, id, bytes) {
  const blob = new IncomingBlob(databases, id)
  await blob.write(bytes)
  const root = blob.root()
  return { id, root, name: nameOf(root), size: bytes.length, puts: blob.takePuts() }
}

/**
 * See `BlobStore.getMany`. While the blobs of one lookup are in the caller's hands the next are being read.
 *
 * @param {StoreParts & { reader: BlobReader }} store @param {Many<BlobName>} cids @param {{ signal?: AbortSignal }} options
 * @returns {AsyncGenerator<GetResult>}
 */
export async function * getMany (store, cids, { signal }) {
  assertMany('cids', cids, 'CIDs')
  const swap = oneAhead(/** @type {Found[]} */ ([]))
  for await (const roots of lookupsOf(cids, signal)) yield * results(store, await swap(() => store.life.run(() => lookSmall(store, roots))), signal)
  yield * results(store, await swap(async () => []), signal)
}

/** @typedef {{ root: Uint8Array, record?: BlobRecord, bytes?: Uint8Array }} Found */

/** @param {Many<BlobName>} cids @param {AbortSignal} [signal] @returns {AsyncGenerator<Uint8Array[]>} */
async function * lookupsOf (cids, signal) {
  let roots = []
  for await (const cid of untilSignal(cids, signal)) {
    roots.push(parseRoot(cid, 'cid'))
    if (roots.length < LOOKUP_COUNT) continue
    yield roots
    roots = []
  }
  if (roots.length > 0) yield roots
}

/**
 * The bytes that stand in one extent, as they are stored.
 *
 * @param {Pick<StoreParts, 'databases' | 'catalog'>} store @param {Uint8Array[]} roots  at most LOOKUP_COUNT
 * @returns {Promise<Found[]>}
 */
export async function lookSmall ({ databases: { data }, catalog }, roots) {
  const looked = await catalog.lookMany(roots)
  const small = looked.map(({ record }) => record?.complete && record.home === 'extents' && record.size > 0 && record.size <= CELL_LEN ? record : undefined)
  const keys = small.flatMap(record => record === undefined ? [] : [extentKey(record.id, 0)])
  const values = keys.length === 0 ? [] : await readable(data.getMany(keys, VIEWS)) ?? []
  let next = 0
  return roots.map((root, i) => ({ root, record: looked[i].record, bytes: small[i] && values[next++] }))
}

/**
 * What hashes to its name; of the rest, what a reader makes of it.
 *
 * @param {StoreParts & { reader: BlobReader }} store @param {Found[]} found @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<GetResult>}
 */
async function * results ({ catalog, reader }, found, signal) {
  for (const { root, bytes } of found) {
    signal?.throwIfAborted()
    const cid = toCid(root)
    if (bytes !== undefined && areEqual(hash(bytes), 0, root)) {
      catalog.touch(root)
      yield { cid, bytes: new Uint8Array(bytes) }
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
