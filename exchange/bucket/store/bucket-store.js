// A store in a bucket, for any number of processes on any machines. A local store of each process holds what is being
// put, and what was read. docs/decisions/0046 has the protocol, and 0049 the reasons for the rest.

import { BlobStore } from '../../../store/index.js'
import { RECEIVE_OPTIONS, checkedListOptions, notFound, sourceOf } from '../../../store/interface.js'
import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { BaoError } from '../../../lib/core/errors.js'
import { assertInteger, describe } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { assertMany, eachOf, inOrder, untilSignal } from '../../../lib/async/in-order.js'
import { Locks } from '../../../lib/async/locks.js'
import { cancelSource } from '../../../lib/source/source.js'
import { ChunkRanges, toRanges } from '../../../lib/tree/ranges.js'
import { multihashOf, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { isEmptyRoot, nameOf } from '../../../lib/hash/roots.js'
import { systemClock } from '../../../verifier/mirrors/patience.js'
import { fromMirrors } from '../../download/from-mirrors.js'
import { assertBucket } from '../bucket.js'
import { keyOf } from '../layout.js'
import { bucketMirror } from '../mirror.js'
import { readReference, unlessInvalid } from '../reference.js'
import { BucketAliases } from './aliases.js'
import { Calls } from './calls.js'
import { BucketCollector } from './collector.js'
import { Epochs } from './epochs.js'
import { checkBlobs } from './fsck.js'
import { LayoutFile } from './layout-file.js'
import { BucketLister } from './lister.js'
import { PartialBlobs } from './partial.js'
import { Placements } from './placements.js'
import { BucketWriter } from './put.js'
import { StoredOutboards } from './stored-outboards.js'
import { BucketTags } from './tags.js'
import { Versions } from './versions.js'

/** @import { Store } from '../../../store/interface.js' */
/** @import { BlobName, BlobStat, StoreOptions } from '../../../store/index.js' */
/** @import { Many } from '../../../lib/async/in-order.js' */
/** @import { Bucket } from '../bucket.js' */
/** @import { Placement } from './placements.js' */

/**
 * @typedef {object} BucketStoreOptions
 * @property {string | URL | import('../../../store/index.js').DatabasePair} local  where the local store is, as
 *   `BlobStore.open` takes it: a directory; in a browser, a name; or two levels. It holds a blob while it is put or
 *   received, and keeps what was read. It can be deleted at any time when the store is closed; then only blobs that
 *   were received in part are lost
 * @property {number} [quota]  bytes of blobs in the local store. It must have space for all blobs that are put at the
 *   same time. `putMany` needs the space of two of its blobs. Default: no limit
 * @property {StoreOptions['durability']} [durability]  that of the local store. Default: `process`
 * @property {number} [untaggedTtl]  milliseconds for which `gc` keeps a blob without a tag after it was uploaded. A
 *   put of a blob that is there already does not begin anew, so give it a tag. Default: a day
 * @property {boolean} [exclusive]  true if no other process writes to the bucket while this store is open: a promise of
 *   the caller, with which unsafe buckets can be written to. Default: false
 * @property {boolean} [readOnly]  true if calls that write should fail with STORE_READ_ONLY. The local store is written
 *   all the same. Default: false
 * @property {AbortSignal} [signal]  ends the opening
 */

const OPTIONS = ['local', 'quota', 'durability', 'untaggedTtl', 'exclusive', 'readOnly', 'signal']
const DAY_MS = 24 * 60 * 60 * 1000
/** How many blobs are looked up at the same time. */
const PARALLEL = 128
/** How many CIDs of `deleteMany` share an epoch. */
const BATCH_BLOBS = 1000

/** @implements {Store} */
export class BucketStore {
  #bucket
  #calls
  #collector
  #lister
  #local
  #outboards
  #partial
  #placements
  #writer
  /** @type {BucketTags} */
  tags
  /** @type {BucketAliases} */
  aliases
  /** @type {boolean} */
  isReadOnly
  hasOwnNames = true

  /**
   * Callers use `BucketStore.open` instead.
   *
   * @param {Bucket} bucket @param {BlobStore} local
   * @param {{ untaggedTtl: number, exclusive: boolean, readOnly: boolean }} options
   */
  constructor (bucket, local, { untaggedTtl, exclusive, readOnly }) {
    if (!(local instanceof BlobStore)) {
      throw new TypeError('a BucketStore cannot be constructed: use "await BucketStore.open(bucket, { local })"')
    }
    /** @type {Calls} */
    const calls = new Calls(signal => file.prepare(signal))
    const file = new LayoutFile(bucket, { exclusive, readOnly, run: work => calls.run(work) })
    const epochs = new Epochs(bucket, work => calls.run(work))
    const placements = new Placements({ bucket, epochs, local, locks: new Locks() })
    const partial = new PartialBlobs(local)
    const deleteBlob = async (/** @type {Uint8Array} */ root, /** @type {AbortSignal} */ signal) => {
      const { blobs, refusal } = await this.#collector.delete([root], { force: false }, signal)
      if (refusal !== undefined) throw refusal
      return blobs > 0
    }
    const aliases = new BucketAliases({ bucket, calls, deleteBlob, local, placements })
    const versions = new Versions(bucket, systemClock)
    const now = () => epochs.now
    const tags = new BucketTags({ aliases, bucket, calls, local, now, placements, versions })
    this.#bucket = bucket
    this.#calls = calls
    this.#local = local
    this.#partial = partial
    this.#placements = placements
    this.#writer = new BucketWriter({ aliases, calls, local, partial, placements, tags })
    this.#outboards = new StoredOutboards({ bucket, calls, local, placements })
    this.#lister = new BucketLister({ bucket, partial })
    this.#collector = new BucketCollector({ bucket, epochs, local, partial, placements, tags, untaggedTtl })
    this.aliases = aliases
    this.tags = tags
    this.isReadOnly = readOnly
  }

  /**
   * Opens a store in a bucket. Any number of processes may have it open. Nothing is written to the bucket before the
   * first call that writes.
   *
   *     const store = await BucketStore.open(s3({ bucket: 'blobs' }), { local: '/var/cache/blobs' })
   *
   * @param {Bucket} bucket
   * @param {BucketStoreOptions} options
   * @returns {Promise<BucketStore>}
   * @throws {BaoError} what `BlobStore.open` throws for the local store
   */
  static async open (bucket, options) {
    assertBucket(bucket)
    assertKnownOptions(options, OPTIONS)
    const { local: where, quota, durability = 'process', untaggedTtl = DAY_MS, signal, ...rest } = options ?? {}
    const { exclusive = false, readOnly = false } = rest
    if (where === undefined) {
      throw new TypeError('"local" expected a directory or two levels { index, data }, got undefined')
    }
    assertInteger('untaggedTtl', untaggedTtl)
    for (const [name, value] of Object.entries({ exclusive, readOnly })) {
      if (typeof value !== 'boolean') throw new TypeError(`"${name}" expected a boolean, got ${describe(value)}`)
    }
    const supply = fromMirrors([bucketMirror(bucket)])
    const local = await BlobStore.open(where, { quota, durability, supply, maxMissAge: 0, signal })
    return new BucketStore(bucket, local, { untaggedTtl, exclusive, readOnly })
  }

  get closing () { return this.#calls.closing }

  get location () { return this.#bucket.location }

  /** That of the local store. */
  get quota () { return this.#local.quota }

  get verifies () { return this.#local.verifies }

  get syncReads () { return this.#local.syncReads }

  /** @type {Store['put']} */
  put (source, options) { return this.#writer.put(source, options) }

  /** @type {Store['putMany']} */
  putMany (blobs, options) { return this.#writer.putMany(blobs, options) }

  /** @type {Store['get']} */
  get (cid, ranges, options) { return this.#local.get(cid, ranges, withoutHops(options)) }

  /** @type {Store['getMany']} */
  getMany (cids, options) { return this.#local.getMany(cids, options) }

  /** @type {Store['bytes']} */
  bytes (cid, ranges, options) { return this.#local.bytes(cid, ranges, withoutHops(options)) }

  /** @type {Store['stream']} */
  stream (cid, ranges, options) { return this.#local.stream(cid, ranges, withoutHops(options)) }

  /** @type {Store['source']} */
  source (cid, options) { return sourceOf(this, cid, options) }

  /** @type {Store['slice']} */
  slice (cid, ranges, options) { return this.#local.slice(cid, ranges, withoutHops(options)) }

  /**
   * See `Store.outboard`. At group log 4, it reads the outboard in the bucket, and of the blob only the end.
   *
   * @type {BlobStore['outboard']}
   */
  outboard = (/** @type {BlobName} */ cid, /** @type {any} */ options = {}) => {
    const own = withoutHops(options)
    return /** @type {any} */ (options?.range === undefined
      ? this.#outboards.whole(cid, own)
      : this.#outboards.part(cid, own))
  }

  /**
   * See `Store.url`. There is none, either, if the bucket has no such URLs, or an adopted object has changed.
   *
   * @param {BlobName} cid @param {number} seconds  at most a week
   * @param {import('../../../store/interface.js').BlobUrlOptions} [options]
   * @returns {Promise<string | undefined>}
   */
  url (cid, seconds, options = {}) {
    return this.#calls.run(async signal => {
      assertKnownOptions(options, ['type', 'disposition', 'signal'])
      const { type, disposition } = options
      const placement = await this.#placements.find(parseRoot(cid, 'cid'), signal)
      const key = placement && await this.#readableKey(placement, signal)
      return key === undefined ? undefined : this.#bucket.url(key, seconds, { type, disposition })
    }, options?.signal)
  }

  /** The key of the bytes of a blob. @param {Placement} placement @param {AbortSignal} signal */
  async #readableKey ({ main }, signal) {
    if (main.kind !== 'reference') return keyOf(main)
    const reference = await unlessInvalid(readReference(this.#bucket, keyOf(main), signal))
    const object = reference && await this.#bucket.head(reference.key, { signal })
    return object?.etag === reference?.etag ? reference?.key : undefined
  }

  /** @type {Store['receive']} */
  async receive (cid, source, ranges, options = {}) {
    let isRead = false
    const work = async (/** @type {AbortSignal} */ signal) => {
      const root = parseRoot(cid, 'cid')
      toRanges(ranges)
      assertKnownOptions(options, RECEIVE_OPTIONS)
      // Another process may have deleted it since it was seen.
      if (!await this.#partial.has(root) &&
          (isEmptyRoot(root) || await this.#writer.keepKnown(root, {}, signal) !== undefined)) {
        return { received: 0, complete: true }
      }
      isRead = true
      const result = await this.#partial.protect(root, () =>
        this.#local.receive(root, source, ranges, { ...options, signal }))
      if (result.complete) await this.#upload(root, signal)
      return result
    }
    try {
      return await this.#calls.write(work, options?.signal)
    } finally {
      if (!isRead) cancelSource(source)
    }
  }

  /** Uploads a blob that was received whole. @param {Uint8Array} root @param {AbortSignal} signal */
  async #upload (root, signal) {
    await this.#placements.keep([root], { required: root, signal })
    await this.#partial.end(root)
  }

  /** @type {Store['missing']} */
  missing (cid, ranges) {
    return this.#calls.run(async signal => {
      const root = parseRoot(cid, 'cid')
      const wanted = toRanges(ranges)
      if (await this.#placements.has(root, signal)) return ChunkRanges.none
      if (!await this.#partial.has(root)) return wanted.roundToGroups(DEFAULT_GROUP_LOG)
      // The upload after the last slice may have failed. Callers who learn that nothing is missing would not try again.
      if (!this.isReadOnly && await this.#local.has(root)) await this.#upload(root, signal)
      return this.#local.missing(root, wanted)
    })
  }

  /** @type {Store['has']} */
  has (cid, options = {}) {
    return this.#calls.run(signal => {
      assertKnownOptions(options, ['supply', 'hops', 'signal'])
      return this.#placements.has(parseRoot(cid, 'cid'), signal)
    }, options?.signal)
  }

  /** @type {Store['stat']} */
  stat (cid, options = {}) {
    return this.#calls.run(async signal => {
      assertKnownOptions(options, [])
      const root = parseRoot(cid, 'cid')
      const placement = isEmptyRoot(root) ? undefined : await this.#placements.find(root, signal)
      if (placement === undefined) {
        return isEmptyRoot(root) ? this.#local.stat(root) : this.#partial.details(root)
      }
      await this.#local.has(root, { supply: true, signal }) // It proves the size.
      const [stat] = await this.#statMany([root], signal)
      if (stat === undefined) throw notFound(root)
      return { ...stat, lastUsed: stat.created, present: ChunkRanges.all.canonical(stat.size), names: 0 }
    })
  }

  /** @type {Store['statMany']} */
  statMany (cids, options = {}) {
    return this.#calls.run(async signal => {
      assertKnownOptions(options, [])
      assertMany('cids', cids, 'CIDs')
      return this.#statMany([...cids].map(cid => parseRoot(cid, 'cid')), signal)
    })
  }

  /** @param {Uint8Array[]} roots @param {AbortSignal} signal @returns {Promise<(BlobStat | undefined)[]>} */
  async #statMany (roots, signal) {
    const here = await this.#local.statMany(roots)
    const stats = []
    const finding = inOrder(eachOf(roots.entries()), () => PARALLEL - 1, async ([i, root]) => {
      if (isEmptyRoot(root)) return here[i]
      const placement = await this.#placements.find(root, signal)
      return placement === undefined ? this.#partial.stat(root) : statOf(root, placement, here[i])
    })
    for await (const stat of finding) stats.push(stat)
    return stats
  }

  /** @type {Store['list']} */
  list (options = {}) {
    const checked = checkedListOptions(options)
    return this.#calls.each(signal => this.#lister.list(checked, signal))
  }

  /** @type {Store['delete']} */
  delete (cid, options = {}) { return this.deleteMany([cid], options) }

  /** @type {Store['deleteMany']} */
  deleteMany (cids, options = {}) {
    return this.#calls.write(async signal => {
      assertKnownOptions(options, ['force', 'signal', 'onProgress'])
      assertMany('cids', cids, 'CIDs')
      const { force = false, onProgress } = options
      const deleted = { blobs: 0, bytes: 0 }
      let done = 0
      for await (const batch of batches(untilSignal(cids, signal))) {
        const { refusal, ...counts } = await this.#collector.delete(batch, { force }, signal)
        add(deleted, counts)
        const kept = refusal && nameOf(parseRoot(/** @type {BlobName} */ (refusal.cid)))
        for (const root of batch) {
          if (nameOf(root) === kept) throw refusal
          add(deleted, await this.#partial.delete(root))
        }
        onProgress?.({ type: 'baobox:delete', detail: { done: done += batch.length, unit: 'cids' } })
      }
      return deleted
    }, options?.signal)
  }

  /** @type {Store['resolve']} */
  async resolve (cid, options = {}) {
    assertKnownOptions(options, [])
    const found = await this.aliases.resolve(cid)
    if (found !== undefined || multihashOf(cid) !== undefined) return found
    const root = parseRoot(cid, 'cid')
    return isEmptyRoot(root) || await this.#partial.stat(root) !== undefined ? toCid(root) : undefined
  }

  /** @type {Store['tempTag']} */
  tempTag (cid, options) {
    this.#calls.assertOpen()
    return this.#local.tempTag(cid, options)
  }

  /** @type {Store['gc']} */
  gc (options = {}) {
    return this.#calls.write(signal => {
      assertKnownOptions(options, ['dryRun', 'compact', 'onBlob', 'signal', 'onProgress'])
      return this.#collector.gc(options, signal)
    }, options?.signal)
  }

  /** @type {Store['fsck']} */
  fsck (options = {}) {
    const check = (/** @type {AbortSignal} */ signal) => {
      assertKnownOptions(options, ['repair', 'cids', 'signal', 'onProgress'])
      const parts = { bucket: this.#bucket, lister: this.#lister, local: this.#local, tags: this.tags }
      return checkBlobs({ ...parts, placements: this.#placements }, options, signal)
    }
    return options.repair ? this.#calls.write(check, options?.signal) : this.#calls.run(check, options?.signal)
  }

  /** @type {Store['info']} */
  info (options = {}) {
    return this.#calls.run(async signal => {
      assertKnownOptions(options, ['signal'])
      const counts = { blobs: 0, partial: 0, bytes: 0 }
      for await (const { size, complete } of this.#lister.list({}, signal)) {
        counts.blobs++
        if (complete) counts.bytes += size
        else counts.partial++
      }
      return { ...counts, tags: await this.tags.count(signal), point: '', quota: this.quota }
    }, options?.signal)
  }

  /** @type {Store['watch']} */
  async * watch () {
    this.#calls.assertOpen()
    const { location } = this.#bucket
    const text = `${location} keeps no log of changes, so they cannot be watched`
    throw new BaoError('STORE_UNSUPPORTED', text, { location })
  }

  /** @type {Store['close']} */
  async close () {
    await this.#calls.close()
    await this.#local.close()
  }

  async [Symbol.asyncDispose] () { await this.close() }
}

/**
 * Sets the number of hops to 0: a bucket does not pass a read on, so it is read however many stores have done so. The
 * local store refuses a wrong number.
 *
 * @template {{ hops?: number }} T
 * @param {T} [options] @returns {T | undefined}
 */
function withoutHops (options) {
  if (options === undefined || !Number.isSafeInteger(options.hops) || Number(options.hops) < 0) return options
  return { ...options, hops: 0 }
}

/**
 * @param {Uint8Array} root @param {Placement} placement @param {BlobStat} [here]  of the local store
 * @returns {BlobStat}
 */
function statOf (root, { main, size, modified = new Date(0) }, here) {
  return {
    cid: toCid(root),
    size: here?.sizeProven ? here.size : size,
    sizeProven: here?.sizeProven ?? false,
    complete: true,
    isReference: main.kind === 'reference',
    isAliasOnly: false,
    isDamaged: false,
    created: modified
  }
}

/** @param {{ blobs: number, bytes: number }} sum @param {{ blobs: number, bytes: number }} more */
function add (sum, { blobs, bytes }) {
  sum.blobs += blobs
  sum.bytes += bytes
}

/** @param {Many<BlobName>} cids @returns {AsyncGenerator<Uint8Array[]>} */
async function * batches (cids) {
  let batch = []
  for await (const cid of cids) {
    const root = parseRoot(cid, 'cid')
    if (!isEmptyRoot(root)) batch.push(root)
    if (batch.length < BATCH_BLOBS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
