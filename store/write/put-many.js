// Keeps many small blobs in few batches, so that a thousand blobs take two writes to the disk.

import { untilAborted } from '../../lib/source/async-util.js'
import { assertBytes } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { cancelSource } from '../../lib/source/source.js'
import { hash } from '../../lib/hash/hasher.js'
import { toCid } from '../../lib/hash/cid.js'
import { IncomingBlob } from './incoming-blob.js'
import { Expectation } from './expectation.js'
import { assertAlias } from './put.js'
import { contentOf } from '../storage/content/content-of.js'
import { BATCH_COUNT, BATCH_LEN, FILE_FROM, GROUP_LEN } from '../sizes.js'
import { extentKey } from '../storage/format/keys.js'
import { assertMany, inOrder, isAtHand, untilSignal } from '../../lib/async/in-order.js'
import { nameOf } from '../../lib/hash/roots.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog, Change } from '../catalog/catalog.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { Quota } from '../catalog/quota.js' */
/** @import { Uses } from '../catalog/uses.js' */
/** @import { Protection, TempTag } from '../gc/protection.js' */
/** @import { Activity } from '../storage/concurrency/activity.js' */
/** @import { Lifetime } from '../storage/concurrency/lifetime.js' */
/** @import { BlobWriter } from './put.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Many } from '../../lib/async/in-order.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Operation } from '../storage/level/safe-database.js' */
/** @import { ProgressOptions, Source } from '../../lib/core/types.js' */

/** At most this many batches are under way while the next is gathered: one is written while another is hashed. */
const BATCHES_AHEAD = 3

const NAMED = ['source', 'alias', 'expect']

/** @typedef {{ cid: CID, size: number, isNew: boolean }} PutResult */
/**
 * @typedef {{ source: Source, alias?: CID, expect?: BlobName }} NamedSource  `alias`: as for `put`; `expect`: the hash
 *   that the blob must have. The source is read even if the store has the blob
 */
/**
 * @typedef {ProgressOptions & { tag?: TempTag }} PutManyOptions  `tag`: protects each blob from the moment when it
 *   becomes visible. `onProgress` gets `baobox:put`, with the bytes of all blobs that were kept so far
 */

/** Keeps many blobs, the small ones in batches. */
export class ManyWriter {
  #activity
  #catalog
  #databases
  #life
  #locks
  #presence
  #protection
  #quota
  #uses
  #writer

  /**
   * @param {object} parts
   * @param {Activity} parts.activity
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Lifetime} parts.life
   * @param {Locks} parts.locks
   * @param {Presence} parts.presence
   * @param {Protection} parts.protection
   * @param {Quota} parts.quota
   * @param {Uses} parts.uses
   * @param {BlobWriter} parts.writer
   */
  constructor ({ activity, catalog, databases, life, locks, presence, protection, quota, uses, writer }) {
    this.#activity = activity
    this.#catalog = catalog
    this.#databases = databases
    this.#life = life
    this.#locks = locks
    this.#presence = presence
    this.#protection = protection
    this.#quota = quota
    this.#uses = uses
    this.#writer = writer
  }

  /**
   * See `Store.putMany`.
   *
   * @param {Many<Source | NamedSource>} blobs @param {PutManyOptions} options
   * @returns {AsyncGenerator<PutResult>}
   */
  putMany (blobs, options) {
    assertMany('blobs', blobs, 'sources')
    assertKnownOptions(options, ['tag', 'signal', 'onProgress'])
    if (options.tag !== undefined) this.#protection.assertMayTag(options.tag)
    return this.#putMany(blobs, options)
  }

  /**
   * @param {Many<Source | NamedSource>} blobs @param {PutManyOptions} options
   * @returns {AsyncGenerator<PutResult>}
   */
  async * #putMany (blobs, options) {
    let done = 0
    for await (const result of this.#results(blobs, options)) {
      yield result
      done += result.size
      options.onProgress?.({ type: 'baobox:put', detail: { done, unit: 'bytes' } })
    }
  }

  /**
   * @param {Many<Source | NamedSource>} blobs @param {PutManyOptions} options
   * @returns {AsyncGenerator<PutResult>}
   */
  async * #results (blobs, { tag, signal }) {
    /** @param {Source | NamedSource} blob @param {Promise<unknown>[]} [before]  what it waits for */
    const putOne = async (blob, before = []) => {
      const { source, alias, expect } = isNamed(blob) ? blob : { source: blob }
      await Promise.all(before).catch(error => {
        cancelSource(source)
        throw error
      })
      return this.#life.run(() => this.#writer.put(source, { alias, expect, alwaysRead: true, tag, signal }))
    }
    if (this.#quota.isLimited) {
      // If there is too little space for a blob, no later blob may be kept. So put the blobs one by one.
      for await (const source of untilSignal(blobs, signal)) yield await putOne(source)
      return
    }
    /**
     * Keeps a batch. A long blob waits for all batches that are under way.
     *
     * @param {PutBatch} batch @param {Promise<unknown>[]} before
     */
    const keep = async (batch, before) => {
      if ('small' in batch) {
        const { small, roots, aliases } = batch
        const kept = await this.#life.run(() => this.keep(small, { roots, aliases, tag }))
        batch.release() // not after a failure, because a write may still read this memory
        return kept
      }
      return [await putOne(batch.blob, before)]
    }
    // A long blob is not copied, so keep it before asking for the next one. An async iterable may take a long time to
    // yield more blobs, so few results should wait for them.
    const aheadOf = (/** @type {PutBatch} */ batch) => 'blob' in batch ? 0 : isAtHand(blobs) ? BATCHES_AHEAD : 1
    const batches = batchesOf(this.#databases, blobs, signal)
    for await (const results of inOrder(batches, aheadOf, keep)) for (const result of results) yield result
  }

  /**
   * Keeps a batch of small blobs. It is not for stores with a quota, which may have space for only a part of the batch.
   *
   * @param {Uint8Array[]} batch  at most 1 MiB each. They are not copied, so the caller must not change this memory
   * @param {object} [options]
   * @param {(Uint8Array | undefined)[]} [options.roots]  the hashes of the blobs that were already hashed
   * @param {(Uint8Array | undefined)[]} [options.aliases]  for each blob, the multihash under which it is put;
   *   undefined if it is put under its own name
   * @param {TempTag} [options.tag]  protects the blobs
   * @returns {Promise<PutResult[]>}
   */
  async keep (batch, { roots = [], aliases = [], tag } = {}) {
    this.#life.assertOpen()
    return this.#activity.run(async () => {
      const databases = this.#databases
      const id = await databases.ids.newIds(batch.length)
      const releaseIds = () => databases.ids.release(id, batch.length)
      let release = () => {}
      let isWriting = false
      try {
        const blobs = /** @type {BatchBlob[]} */ ([])
        for (const [i, bytes] of batch.entries()) {
          if (bytes.length <= GROUP_LEN) blobs.push(smallBlob(databases, id + i, bytes, roots[i]))
          else blobs.push(await treeBlob(databases, id + i, bytes))
        }
        for (const { root } of blobs) tag?.add(root)
        const names = blobs.map(({ name }) => name)
        release = this.#protection.useAll(names)
        isWriting = true
        const kept = await this.#locks.runAll(names, () => this.#keepBlobs(blobs, aliases))
        releaseIds()
        return kept
      } catch (error) {
        // Data or records may have reached the disk, so the ids still count as under way.
        if (isWriting) this.#activity.noteLeftovers()
        else releaseIds()
        throw error
      } finally {
        release()
      }
    })
  }

  /**
   * Keeps the blobs of a batch. The caller holds the locks of all of them.
   *
   * @param {BatchBlob[]} blobs @param {(Uint8Array | undefined)[]} aliases
   * @returns {Promise<PutResult[]>}
   */
  async #keepBlobs (blobs, aliases) {
    const looks = await this.#catalog.findMany(blobs.map(({ root }) => root))
    const distinct = eachOnce(this.#databases, blobs, looks, aliases)
    await this.#write([...distinct.values()].filter(({ isWritten }) => isWritten))
    const results = []
    for (const [i, { root, name, id, size }] of blobs.entries()) {
      const { record, before, isWritten } = /** @type {DistinctBlob} */ (distinct.get(name))
      const isNew = record.id === id && !before?.complete
      // A record that was just written already has all its names.
      if (!isWritten && before !== undefined) await this.#catalog.putAgain(root, before, aliases[i])
      else if (!isNew) this.#uses.touch(root)
      results.push({ cid: toCid(root), size, isNew })
    }
    return results
  }

  /** Writes the data, and then the records that name it. @param {DistinctBlob[]} distinct */
  async #write (distinct) {
    if (distinct.length === 0) return
    const puts = /** @type {Operation[]} */ ([])
    const changes = /** @type {Change[]} */ ([])
    for (const { root, before, record, aliases, puts: ownPuts } of distinct) {
      puts.push(...ownPuts)
      const lenBefore = before === undefined ? 0 : await this.#presence.len(before)
      changes.push({ root, before, after: record, gained: record.size - lenBefore, aliases })
    }
    await this.#databases.data.batch(puts, this.#databases.syncBatch)
    await this.#catalog.commit(changes)
  }
}

/**
 * @typedef {object} SmallBatch
 * @property {Uint8Array[]} small
 * @property {(Uint8Array | undefined)[]} roots  of blobs that were compared with `expect`
 * @property {(Uint8Array | undefined)[]} aliases  multihashes
 * @property {() => void} release  lets later batches reuse the memory
 */
/** @typedef {SmallBatch | { blob: Source | NamedSource }} PutBatch */

/**
 * True for a source with names. What is no source at all is refused where it is read.
 *
 * @param {Source | NamedSource} blob
 * @returns {blob is NamedSource}
 * @throws {TypeError} for a name that is not known
 */
function isNamed (blob) {
  if (typeof blob !== 'object' || blob === null || !('source' in blob)) return false
  assertKnownOptions(blob, NAMED)
  return true
}

/**
 * Yields copies of small blobs in batches, and other blobs as they are. When the iterable fails, this first yields the
 * blobs before the failure.
 *
 * @param {Databases} databases @param {Many<Source | NamedSource>} blobs @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<PutBatch>}
 */
async function * batchesOf (databases, blobs, signal) {
  const gatherer = new BatchGatherer(databases)
  try {
    if (isAtHand(blobs)) {
      for (const source of blobs) {
        // Do not await bytes that are in memory, because awaiting takes a tenth of the time that keeping them takes.
        const blob = isPromise(source) ? await untilAborted(source, signal) : source
        signal?.throwIfAborted()
        for (const batch of gatherer.add(blob)) yield batch
      }
    } else {
      for await (const source of untilSignal(blobs, signal)) for (const batch of gatherer.add(source)) yield batch
    }
    signal?.throwIfAborted()
  } catch (failure) {
    for (const batch of gatherer.taken()) yield batch
    throw failure
  }
  for (const batch of gatherer.taken()) yield batch
}

/** @param {unknown} item  of an iterable, which may hold promises */
const isPromise = item => typeof item === 'object' && item !== null && 'then' in item

/** Copies small blobs, and gathers the copies in batches. */
class BatchGatherer {
  #batches
  #memory
  #small = /** @type {Uint8Array[]} */ ([])
  #roots = /** @type {(Uint8Array | undefined)[]} */ ([])
  #aliases = /** @type {(Uint8Array | undefined)[]} */ ([])
  #len = 0

  /** @param {Databases} databases  where the batches will be written */
  constructor (databases) {
    this.#batches = databases.batchMemory()
    this.#memory = this.#batches.take()
  }

  /** @param {Source | NamedSource} blob  the next blob @returns {PutBatch[]} batches to keep now: usually none */
  add (blob) {
    const { source: bytes, alias, expect } = blob instanceof Uint8Array || !isNamed(blob) ? { source: blob } : blob
    if (!(bytes instanceof Uint8Array) || bytes.length > FILE_FROM) return [...this.taken(), { blob }]
    assertBytes('blob', bytes)
    const multihash = alias === undefined ? undefined : assertAlias(alias)
    const copy = this.#memory.allocate(bytes.length)
    copy.set(bytes)
    this.#roots.push(expect === undefined ? undefined : expectedRoot(copy, expect))
    this.#small.push(copy)
    this.#aliases.push(multihash)
    this.#len += bytes.length
    return this.#small.length === BATCH_COUNT || this.#len >= BATCH_LEN ? this.taken() : NONE
  }

  /** Returns the gathered blobs as a batch, if there are any. @returns {PutBatch[]} */
  taken () {
    if (this.#small.length === 0) return NONE
    const batch = { small: this.#small, roots: this.#roots, aliases: this.#aliases, release: this.#memory.release }
    this.#small = []
    this.#roots = []
    this.#aliases = []
    this.#len = 0
    this.#memory = this.#batches.take()
    return [batch]
  }
}

/** @type {PutBatch[]} */
const NONE = []

/**
 * @typedef {object} BatchBlob
 * @property {Uint8Array} root
 * @property {string} name  the root's name in memory
 * @property {number} id
 * @property {number} size  bytes
 * @property {Operation[]} puts  operations that write all its data
 */

/**
 * One of the different blobs of a batch.
 *
 * @typedef {object} DistinctBlob
 * @property {Uint8Array} root
 * @property {BlobRecord} [before]  the old record
 * @property {BlobRecord} record  the new record
 * @property {boolean} isWritten  true if it must be written, false if the store already has the blob
 * @property {Uint8Array[]} aliases  multihashes under which it is put
 * @property {Operation[]} puts  operations that write all its data
 */

/**
 * Joins equal blobs of a batch. The first of them is kept, under the names of all of them.
 *
 * @param {Databases} databases @param {BatchBlob[]} blobs
 * @param {{ isThere: boolean, record?: BlobRecord }[]} looks
 * @param {(Uint8Array | undefined)[]} aliases
 * @returns {Map<string, DistinctBlob>} by the names of the roots
 */
function eachOnce (databases, blobs, looks, aliases) {
  const created = Date.now()
  const distinct = /** @type {Map<string, DistinctBlob>} */ (new Map())
  for (const [i, { root, name, id, size, puts }] of blobs.entries()) {
    let blob = distinct.get(name)
    if (blob === undefined) {
      // A blob that was present in part, or damaged, keeps its own name if it had one.
      const { isThere, record: before } = looks[i]
      const isNameless = !isThere || before?.isNameless === true
      const isWritten = before === undefined || !contentOf(databases, root, before).isKept
      /** @type {BlobRecord} */
      const record = { id, size, sizeProven: true, complete: true, home: 'extents', created, isNameless }
      blob = { root, puts, before, isWritten, aliases: [], record }
      distinct.set(name, blob)
    }
    const alias = aliases[i]
    if (alias === undefined) blob.record.isNameless = false
    else blob.aliases.push(alias)
  }
  return distinct
}

/**
 * Hashes a blob. Throws unless the hash is the expected one.
 *
 * @param {Uint8Array} bytes @param {BlobName} expect @throws {BaoError} CID_MISMATCH
 */
function expectedRoot (bytes, expect) {
  const root = hash(bytes)
  new Expectation({ expect }).assertRoot(root)
  return root
}

/**
 * @param {Databases} databases @param {number} id @param {Uint8Array} bytes  at most one group
 * @param {Uint8Array} [root]  the hash, if it is known
 * @returns {BatchBlob}
 */
function smallBlob ({ allocate }, id, bytes, root = hash(bytes)) {
  const extent = { type: /** @type {const} */ ('put'), key: extentKey(id, 0, allocate), value: bytes }
  return { id, root, name: nameOf(root), size: bytes.length, puts: [extent] }
}

/**
 * Makes a blob with a tree.
 *
 * @param {Databases} databases @param {number} id @param {Uint8Array} bytes
 * @returns {Promise<BatchBlob>}
 */
async function treeBlob (databases, id, bytes) {
  const blob = new IncomingBlob(databases, id)
  await blob.write(bytes)
  const root = blob.root()
  return { id, root, name: nameOf(root), size: bytes.length, puts: blob.takePuts() }
}
