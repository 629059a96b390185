// BlobStore: blobs under their BLAKE3 hashes, whole or in part. What comes out is verified against the hash on its way.

import { DEFAULT_GROUP_LOG } from '../lib/core/constants.js'
import { assertInteger } from '../lib/core/bytes.js'
import { parseRoot, toCid } from '../lib/hash/cid.js'
import { toRanges } from '../lib/tree/ranges.js'
import { Activity } from './storage/concurrency/activity.js'
import { BlobReader } from './read/reader.js'
import { BlobReceiver } from './write/receive.js'
import { BlobWriter } from './write/put.js'
import { Catalog } from './catalog/catalog.js'
import { nameOf } from './catalog/roots.js'
import { Collector } from './gc/collector.js'
import { openDatabases } from './storage/opening/open.js'
import { rescueDatabases } from './storage/opening/rescue.js'
import { Evictor } from './gc/evictor.js'
import { Fsck } from './check/fsck.js'
import { Lifetime } from './storage/concurrency/lifetime.js'
import { Locks } from './storage/concurrency/locks.js'
import { Observers, observe } from './catalog/observers.js'
import { Presence } from './catalog/presence.js'
import { Protection, TempTag } from './gc/protection.js'
import { Quota } from './catalog/quota.js'
import { TagIndex, Tags } from './catalog/tags.js'
import { exportFile } from './read/export-file.js'
import { importFile } from './write/import-file.js'
import { getMany } from './read/get-many.js'
import { putMany } from './write/put-many.js'
import { closed, notFound, tagged, asStoreFull } from './storage/errors.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord, TagFormat } from './storage/format/records.js' */
/** @import { BlobState } from './catalog/observers.js' */
/** @import { GetResult } from './read/get-many.js' */
/** @import { Outboard } from '../encoder/outboard.js' */
/** @import { Databases } from './storage/databases.js' */
/** @import { DatabasePair } from './storage/level/levels.js' */
/** @import { GcOptions } from './gc/collector.js' */
/** @import { FsckReport } from './check/fsck.js' */
/** @import { ProgressOptions, Source } from '../lib/core/types.js' */
/** @import { ChunkRanges, RangesLike } from '../lib/tree/ranges.js' */

/** @typedef {CID | string | Uint8Array} BlobName  a CID in any form, 64 hexadecimal digits, or the 32-byte hash */

/**
 * @typedef {object} StoreOptions
 * @property {'sync' | 'process'} [durability]  what a resolved write survives: `sync` (unless told) a power cut, `process` the end of the process
 * @property {boolean} [verify]  check what is read against the hash; true unless told
 * @property {number} [quota]  bytes of blobs that there may be. When more come, blobs that nothing protects make room, those that were not used
 *   for the longest time first
 * @property {boolean} [create]  make a store where there is none; true unless told. Otherwise STORE_ABSENT { location }, and nothing is made
 * @property {number} [wait]  milliseconds to try again while it is open elsewhere; none unless told
 * @property {AbortSignal} [signal]  ends the waiting, and the opening: after a crash it takes as long as there are blobs
 */

/**
 * @typedef {object} PutOptions
 * @property {string | TempTag} [tag]  protects the blob from the moment on in which it can be seen: a name, as for `tags.set`, or a temporary tag
 * @property {TagFormat} [format]  of the tag: `raw` unless told
 * @property {AbortSignal} [signal]
 * @property {ProgressOptions['onProgress']} [onProgress]  gets `baobox:put`
 */

/**
 * @typedef {object} BlobStat
 * @property {CID} cid
 * @property {number} size  bytes; a claim unless `sizeProven`
 * @property {boolean} sizeProven
 * @property {boolean} complete  is every byte here?
 * @property {Date} created
 * @property {Date} lastUsed
 */

/** @typedef {{ start?: number, end?: number, verify?: boolean, signal?: AbortSignal }} GetOptions  bytes; `end` is not included, and may lie beyond the end */

/**
 * Everything that the parts of one open store share. A store makes one context and passes it whole, so a part may use
 * every other part, but not before all of them are made.
 */
export class StoreContext {
  activity = new Activity()
  locks = new Locks()
  observers = new Observers()
  protection = new Protection()

  /** @param {Databases} databases @param {{ verifies: boolean, quota?: number }} options  see `StoreOptions` */
  constructor (databases, { verifies, quota }) {
    this.databases = databases
    /** Are bytes compared with the hash when they are read? */
    this.verifies = verifies
    this.life = new Lifetime(() => databases.ready)
    this.quota = new Quota(quota)
    this.presence = new Presence(databases.data)
    this.catalog = new Catalog(this)
    this.tags = new TagIndex(this)
    this.reader = new BlobReader(this)
    this.writer = new BlobWriter(this)
    this.receiver = new BlobReceiver(this)
    this.collector = new Collector(this)
    this.evictor = new Evictor(this)
    this.catalog.subscribe(this.presence, this.quota, this.observers, this.protection)
  }
}

/**
 * The context of a store, for modules that are built upon a store, and for tests.
 *
 * @type {(store: BlobStore) => StoreContext}
 */
export let contextOf

export class BlobStore {
  static {
    contextOf = store => store.#context
  }

  #context
  #closing = /** @type {Promise<void> | undefined} */ (undefined)
  /** Names under which blobs are protected from garbage collection. @type {Tags} */
  tags

  /** @param {Databases} databases @param {{ verify: boolean, quota?: number }} options */
  constructor (databases, { verify, quota }) {
    this.#context = new StoreContext(databases, { verifies: verify, quota })
    this.tags = new Tags(this.#context.tags, this.#context.life)
  }

  /**
   * @param {string | DatabasePair} where  a directory, made when missing (in a browser: a name); or two levels `{ index, data }`,
   *   which the store then owns
   * @param {StoreOptions} [options]
   * @returns {Promise<BlobStore>}
   * @throws {BaoError} STORE_LOCKED { location } when it is open elsewhere, STORE_ABSENT, STORE_VERSION, STORE_OPEN_FAILED
   */
  static async open (where, { durability = 'sync', verify = true, quota, create = true, wait = 0, signal } = {}) {
    if (durability !== 'sync' && durability !== 'process') throw new TypeError(`"durability" expected 'sync' or 'process', got '${durability}'`)
    if (quota !== undefined) assertInteger('quota', quota)
    if (wait !== Infinity) assertInteger('wait', wait)
    const store = new BlobStore(await openDatabases(where, { sync: durability === 'sync', create, wait, signal }), { verify, quota })
    try {
      await store.#context.evictor.start()
    } catch (error) {
      await store.close()
      throw error
    }
    return store
  }

  /**
   * Rescues a store that cannot be opened, or whose databases LevelDB cannot read (`isReadable`). Everything that can be read
   * of them is copied to new databases, which need as much space, and take the old ones' place. Then every record and byte is
   * verified, and the store repaired, as `fsck({ repair: true })` does. A whole blob without a record gets one, so deleted
   * blobs may be back.
   *
   * The store must not be open, and cannot be opened meanwhile. When a rescue was interrupted, call it again: nothing is lost,
   * and the store cannot be opened before.
   *
   * @param {string} location
   * @param {ProgressOptions} [options]  `onProgress` gets `baobox:fsck`
   * @returns {Promise<FsckReport>} what was found in the new databases. Of what LevelDB could not read there may be no trace
   * @throws {BaoError} STORE_LOCKED, STORE_OPEN_FAILED, STORE_VERSION, STORE_FULL
   */
  static async rescue (location, options) {
    return rescueDatabases(location, async databases => {
      const store = new BlobStore(databases, { verify: true })
      try {
        return await new Fsck(store.#context, { ...options, repair: true, adopts: true }).run()
      } finally {
        await store.close()
      }
    }, options?.signal)
  }

  /**
   * Keeps a blob. Memory stays bounded however long it is; until it is whole nobody sees it, and a failure leaves nothing.
   *
   * @param {Source} source
   * @param {PutOptions} [options]
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} `isNew`: it was not here before
   * @throws {BaoError} STORE_FULL { wanted, got } when the quota leaves no room: then nothing else had to go, unless something came to be protected
   *   meanwhile; STORE_CORRUPT when, under a quota, it cannot be told what a damaged tag or sequence protects
   */
  put (source, options = {}) {
    return this.#whileOpen(() => this.#context.writer.put(source, options))
  }

  /**
   * Keeps many blobs. Small ones go in batches, two writes to the disk each, and memory stays bounded; longer ones as by `put`. Under a quota all go one by
   * one.
   *
   * @param {Iterable<Source> | AsyncIterable<Source>} blobs  bytes, mostly; they are copied, or kept before the next are asked for
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<{ cid: CID, size: number, isNew: boolean }>} one for each, in the same order, when it is kept. When something
   *   fails, what came before has been kept, and nothing more is once the failure is told. Who stops before the end may leave up to three batches more
   */
  putMany (blobs, options = {}) {
    return putMany(this.#context, blobs, options)
  }

  /**
   * Many blobs, each in one piece of memory and verified. Small ones are read in batches.
   *
   * @param {Iterable<BlobName> | AsyncIterable<BlobName>} cids
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<GetResult>} `{ cid, bytes }` for each, in the same order; or `{ cid, error }`, with what `bytes` would throw
   */
  getMany (cids, options = {}) {
    return getMany(this.#context, cids, options)
  }

  /**
   * The bytes of a blob, piece by piece, each verified before it is given.
   *
   * @param {BlobName} cid
   * @param {GetOptions & { reuse?: boolean }} [options]  `reuse`: pieces are lent until the next one is asked for, then their memory is used again
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces, unless told to `reuse` their memory
   * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }, STORE_CORRUPT { cid, start, len }
   */
  get (cid, options) {
    return this.#context.reader.get(cid, options)
  }

  /**
   * The same, in one piece of memory.
   *
   * @param {BlobName} cid
   * @param {GetOptions} [range]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh
   */
  bytes (cid, range) {
    return this.#context.reader.bytes(cid, range)
  }

  /**
   * The same, as a web stream of bytes.
   *
   * @param {BlobName} cid
   * @param {GetOptions} [range]
   * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
   */
  stream (cid, range) {
    const pieces = this.get(cid, { ...range, reuse: false })
    return new ReadableStream({
      async pull (controller) {
        const { done, value } = await pieces.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel () { await pieces.return(undefined) }
    })
  }

  /**
   * Puts a file. In a browser there are none: give the File to `put`.
   *
   * @param {string | URL} path
   * @param {PutOptions & { mode?: 'copy' | 'reference' }} [options]  `copy`, unless told, keeps the bytes as `put` does. `reference` keeps the tree alone
   *   and reads the file whenever the bytes are wanted: they are verified in any case, so a file that was changed is STORE_CORRUPT { cid, start, len },
   *   and one that is gone STORE_MISSING { cid, ranges }. Nobody but the caller deletes it
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>}
   */
  importFile (path, options = {}) {
    return this.#whileOpen(() => importFile(this.#context, path, options))
  }

  /**
   * Writes a whole blob to a file, which is replaced once all of it is there and verified: what fails or is called off leaves it as it was.
   *
   * @param {BlobName} cid
   * @param {string | URL} path
   * @param {ProgressOptions} [options]  `onProgress` gets `baobox:export`
   * @returns {Promise<{ size: number }>}
   * @throws {BaoError} as `get`
   */
  exportFile (cid, path, options = {}) {
    return this.#whileOpen(() => exportFile(this.#context, cid, path, options))
  }

  /** Is the whole blob here? @param {BlobName} cid */
  async has (cid) {
    const root = parseRoot(cid, 'cid')
    return this.#whileOpen(async () => (await this.#context.catalog.record(root))?.complete ?? false)
  }

  /**
   * What is known of a blob, and which chunks are here.
   *
   * @param {BlobName} cid
   * @returns {Promise<BlobStat & { present: ChunkRanges }>}
   * @throws {BaoError} STORE_NOT_FOUND { cid }
   */
  async stat (cid) {
    const root = parseRoot(cid, 'cid')
    return this.#whileOpen(async () => {
      const record = await this.#context.catalog.record(root)
      if (record === undefined) throw notFound(root)
      const lastUsed = await this.#context.catalog.uses.lastUse(root, record)
      return { ...described(root, record, lastUsed), present: await this.#context.presence.of(record) }
    })
  }

  /**
   * All blobs, whole or in part, in the order of their hashes.
   *
   * @param {{ prefix?: string }} [options]  `prefix`: of the hash, in hexadecimal digits
   * @returns {AsyncGenerator<BlobStat>}
   */
  list ({ prefix = '' } = {}) {
    return this.#context.life.each(() => this.#list(prefix))
  }

  /** @param {string} prefix */
  async * #list (prefix) {
    if (typeof prefix !== 'string' || !/^[0-9a-f]{0,64}$/i.test(prefix)) throw new TypeError('"prefix" expected up to 64 hexadecimal digits')
    const hexPrefix = prefix.toLowerCase()
    const times = this.#context.catalog.uses.inOrder(hexPrefix)
    try {
      for await (const batch of this.#context.catalog.recordBatches(hexPrefix)) {
        for (const { root, record } of batch) {
          yield described(root, record, await times.of(root, record))
          this.#context.life.assertOpen()
        }
      }
    } finally {
      await times.close()
    }
  }

  /**
   * Forgets a blob, whole or in part. Who is reading it gets the rest, or STORE_NOT_FOUND.
   *
   * @param {BlobName} cid
   * @param {{ force?: boolean }} [options]  `force`: also when it has tags. They stay, and name a blob that is not here
   * @returns {Promise<boolean>} was it here?
   * @throws {BaoError} STORE_TAGGED { cid, tag } when a tag names it. (That a tagged sequence has it among its members is not looked at.)
   */
  async delete (cid, { force = false } = {}) {
    const root = parseRoot(cid, 'cid')
    return this.#whileOpen(() => this.#context.locks.run(nameOf(root), async () => {
      const { isThere, record } = await this.#context.catalog.look(root)
      if (!isThere || record?.size === 0) return false
      const { isTagged, name } = await this.#context.tags.tagOf(root)
      if (isTagged && !force) throw tagged(root, name)
      await this.#context.catalog.remove(root, record)
      return true
    }))
  }

  /**
   * A tag that lives as long as the process, for what is to be tagged later or only used for a while. Release it, or say `await using`.
   *
   * @param {BlobName} [cid]  `add` takes more of them, and `put` takes the tag
   * @param {{ format?: TagFormat }} [options]  as for `tags.set`
   */
  tempTag (cid, options) {
    this.#context.life.assertOpen()
    const tag = new TempTag(this.#context.protection)
    if (cid !== undefined) tag.add(cid, options)
    return tag
  }

  /**
   * Forgets every blob, whole or in part, that nothing protects: no tag, temporary or not, names it or a sequence of hashes that it is a member
   * of, and it is not being put, received or read. The store may be used meanwhile. Interrupted, it has forgotten some of them.
   *
   * @param {GcOptions} [options]
   * @returns {Promise<{ blobs: number, bytes: number }>} what is gone
   * @throws {BaoError} STORE_CORRUPT when tags, or a sequence of hashes that is tagged, cannot be read: then it cannot be told what is protected
   */
  gc (options) {
    return this.#whileOpen(() => this.#context.collector.gc(options))
  }

  /**
   * Deletes data that no record names, and gives back to the disk what deleted blobs have taken there. Without this LevelDB does the latter later, as it
   * rewrites its files.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<void>}
   * @throws {BaoError} STORE_FULL
   */
  compact (options) {
    return this.#whileOpen(() => this.#context.collector.compact(options))
  }

  /**
   * A slice that proves these ranges of a blob, from whatever is here of it: the length, then pairs and bytes at group log 4.
   *
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]  everything unless told
   * @param {{ header?: boolean, reuse?: boolean, signal?: AbortSignal }} [options]  `header`: begin with the length; true unless told. `reuse`: as for `get`
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces, unless told to `reuse` their memory
   * @throws {BaoError} as `get`
   */
  slice (cid, ranges, options) {
    return this.#context.reader.slice(cid, ranges, options)
  }

  /**
   * Keeps what a slice proves: verified first, then written, window by window. What has been kept stays, also when the rest fails.
   * The unit that is kept is the chunk group (16 KiB).
   *
   * @param {BlobName} cid
   * @param {Source} source  the slice, at group log 4
   * @param {RangesLike} [ranges]  of what: everything unless told
   * @param {ProgressOptions & { size?: number }} [options]  `size`: of the blob, for slices without the length in front.
   *   `onProgress` gets `baobox:receive`
   * @returns {Promise<{ received: number, complete: boolean }>} bytes that were not here before; whether the blob is whole now
   * @throws {BaoError} as `SliceVerifier`, after what came before has been kept; and STORE_FULL as `put`
   */
  receive (cid, source, ranges, options) {
    return this.#whileOpen(() => this.#context.receiver.receive(cid, source, ranges, options))
  }

  /**
   * What is not here of a blob: whole chunk groups, since none is kept in part.
   *
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]  of these; everything unless told
   * @returns {Promise<ChunkRanges>}
   */
  async missing (cid, ranges) {
    const root = parseRoot(cid, 'cid')
    const wanted = toRanges(ranges)
    return this.#whileOpen(async () => {
      const record = await this.#context.catalog.record(root)
      return record === undefined ? wanted.roundToGroups(DEFAULT_GROUP_LOG) : this.#context.presence.missing(record, wanted)
    })
  }

  /**
   * Looks at everything that is kept: each extent and page of the tree against the roots, each record, and what lies beside them. May run
   * while the store is used. What is damaged is in the report; nothing is thrown because of it.
   *
   *     const { damaged } = await store.fsck({ repair: true })
   *     for (const { cid } of damaged) await store.receive(cid, await fetchSlice(cid, await store.missing(cid)), await store.missing(cid))
   *
   * @param {ProgressOptions & { repair?: boolean }} [options]  `repair`: works out again what can be, and drops what is damaged, so that it is
   *   missing and can be received; deletes data that no record speaks of. None of that while the store is not readable (see `isReadable`).
   *   `onProgress` gets `baobox:fsck`
   * @returns {Promise<FsckReport>}
   */
  fsck ({ repair = false, signal, onProgress } = {}) {
    const run = () => new Fsck(this.#context, { repair, signal, onProgress }).run()
    // A collection would delete data that a repair is about to give a record.
    return this.#whileOpen(() => repair ? this.#context.locks.run('gc', run) : run())
  }

  /**
   * What is here of a blob: now, and whenever that has changed. It ends when the blob is whole. Who is slow misses what lies between.
   *
   * @param {BlobName} cid  that of a blob of which nothing is here, too
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<BlobState>} `{ size, sizeProven, complete, present }`, as `stat` says it; without `size` when nothing is here
   */
  observe (cid, options = {}) {
    return observe(this.#context, cid, options)
  }

  /**
   * The outboard of a whole blob, at group log 4 and in pre-order, verified.
   *
   * @param {BlobName} cid
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Outboard>} in memory of its own: 1/256 of the size
   * @throws {BaoError} as `get`
   */
  outboard (cid, options) {
    return this.#context.reader.outboard(cid, options)
  }

  /**
   * Ends what is under way and lets go of the databases. Every later call fails with STORE_CLOSED. So does what is being put or received; what has been
   * received is kept.
   */
  close () {
    this.#context.life.end()
    this.#context.observers.end()
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close () {
    try {
      await this.#context.activity.end(closed())
      await this.#context.catalog.uses.flush().finally(() => this.#context.databases.close(this.#context.activity.isClean))
    } catch (error) {
      throw asStoreFull(error)
    }
  }

  async [Symbol.asyncDispose] () { await this.close() }

  /** @template T @param {() => Promise<T>} work */
  #whileOpen (work) { return this.#context.life.run(work) }
}

/**
 * @param {Uint8Array} root @param {BlobRecord} record @param {number} lastUsed  milliseconds since 1970
 * @returns {BlobStat}
 */
const described = (root, { size, sizeProven, complete, created }, lastUsed) =>
  ({ cid: toCid(root), size, sizeProven, complete, created: new Date(created), lastUsed: new Date(lastUsed) })
