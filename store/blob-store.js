// The blob store: keeps blobs under their BLAKE3 hashes, whole or in part, and verifies every byte that it returns.

import { assertKnownOptions } from '../lib/core/options.js'
import { Aliases } from './catalog/names/aliases.js'
import { Tags } from './catalog/names/tags.js'
import { TempTag } from './gc/protection.js'
import { keepParts, openStore, rescueStore } from './open.js'
import { assertHops } from './read/reads.js'
import { sourceOf } from './read/source.js'
import { Lifetime } from './storage/concurrency/lifetime.js'
import { PUT_OPTIONS } from './write/put.js'
import { RECEIVE_OPTIONS } from './write/receive/receive.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Store } from './interface.js' */
/** @import { BlobState } from './catalog/events/observers.js' */
/** @import { ExportFileOptions } from './read/export-file.js' */
/** @import { OutboardOptions, OutboardRange } from './read/slice-reader.js' */
/** @import { StoreOptions, StoreParts } from './open.js' */
/** @import { PutResult } from './write/put-many.js' */
/** @import { BlobPart, ComposeOptions } from './write/compose/compose.js' */
/** @import { ImportFileOptions } from './write/import/import-file.js' */
/** @import { Outboard } from '../encoder/outboard.js' */
/** @import { DatabasePair } from './storage/level/levels.js' */
/** @import { FsckReport } from './check/fsck.js' */
/** @import { ProgressOptions, RandomAccess, Source } from '../lib/core/types.js' */
/** @import { RangeLike } from '../lib/tree/ranges.js' */

/** @typedef {CID | string | Uint8Array} BlobName  a CID in any form, 64 hexadecimal digits, or the 32-byte hash */

/** @implements {Store} */
export class BlobStore {
  #parts
  /** @type {Tags} */
  tags
  /** @type {Aliases} */
  aliases

  /** Callers use `BlobStore.open` instead. @param {StoreParts} parts */
  constructor (parts) {
    if (!(parts?.life instanceof Lifetime)) {
      throw new TypeError('a BlobStore cannot be constructed: use "await BlobStore.open(location)"')
    }
    const { aliases, catalog, databases, life, locks, presence, tags } = parts
    this.#parts = parts
    keepParts(this, parts)
    this.tags = new Tags(tags, life)
    this.aliases = new Aliases({ aliases, catalog, databases, life, locks, presence, tags })
  }

  get closing () { return this.#parts.life.closing }

  get location () { return this.#parts.location }

  get isReadOnly () { return this.#parts.databases.isReadOnly }

  get quota () { return this.#parts.quota.isLimited ? this.#parts.quota.limit : undefined }

  get verifies () { return this.#parts.verifies }

  get syncReads () { return this.#parts.syncReads }

  /**
   * Opens a store, and makes it if there is none. A store can be open only once, in one process.
   *
   * @param {string | URL | DatabasePair} where  the path of a directory, which is made if it does not exist; in a
   *   browser, a name; or two levels `{ index, data }`, which belong to the store from then on
   * @param {StoreOptions} [options]
   * @returns {Promise<BlobStore>}
   * @throws {BaoError} STORE_LOCKED { location } when the store is open elsewhere; STORE_ABSENT, STORE_VERSION,
   *   STORE_OPEN_FAILED
   */
  static async open (where, options = {}) {
    return new BlobStore(await openStore(where, options))
  }

  /**
   * Rescues a store that cannot be opened, or whose databases are damaged (`isReadable` in the report of `fsck` is
   * false). It copies everything that it can read from a damaged database to a new one, which needs as much space as
   * the old one, and then replaces the old one. It corrects a single flipped bit in a block of LevelDB. Then it
   * verifies all records and bytes, and repairs the store as `fsck({ repair: true })` does. A whole blob without a
   * record gets one, so deleted blobs may return. When the index is lost, data that is not a whole blob stays and
   * counts in `orphans`; the next repair deletes it.
   *
   * The store must not be open. While the rescue runs, it can be opened only with `readOnly`. An interrupted rescue
   * does not lose anything, but until another call has finished it, the store can be opened only with `readOnly`.
   *
   * @param {string | URL} location  as for `open`
   * @param {ProgressOptions} [options]  `onProgress` gets `baobox:fsck`
   * @returns {Promise<FsckReport>} the findings in the new databases, and `lostBytes`
   * @throws {BaoError} STORE_LOCKED, STORE_OPEN_FAILED, STORE_VERSION, STORE_FULL
   */
  static async rescue (location, options = {}) {
    assertKnownOptions(options, ['signal', 'onProgress'])
    return rescueStore(location, options)
  }

  /** @type {Store['put']} */
  put (source, options = {}) {
    return this.#run(() => this.#parts.writer.put(source, options), options, PUT_OPTIONS)
  }

  /**
   * Makes a blob that has all bytes of another one, followed by appended bytes. The old blob stays. If it is longer
   * than 1 MiB, both blobs share a file, and the store hashes and writes only the appended bytes. If it is shorter, was
   * already extended, or is a reference, the call copies its bytes, as `compose` does.
   *
   * @param {BlobName} cid  a whole blob
   * @param {Source} source  the bytes to append
   * @param {ComposeOptions} [options]  those of `compose`. `onProgress` gets `baobox:append`
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} about the new blob, as for `put`
   * @throws {BaoError} what `put` throws; STORE_NOT_FOUND { cid } when the old blob is not in the store, or is deleted
   *   during the call; STORE_MISSING { cid, ranges } when only a part of it is present; STORE_CORRUPT { cid, start, len
   *   } when it is damaged
   */
  append (cid, source, options = {}) {
    return this.#run(async () => (await this.#parts.rareParts()).appender.append(cid, source, options))
  }

  /** @type {Store['putMany']} */
  putMany (blobs, options = {}) { return this.#parts.manyWriter.putMany(blobs, options) }

  /**
   * Makes a blob from parts, in the given order: bytes of blobs that the store has, and new bytes. If a whole chunk
   * group (16 KiB) has the same offset in its old blob and in the new one, the call reuses its part of the tree, and
   * `verify` says whether its bytes are compared with that. The old blobs stay, and the call protects them as a tag
   * does. A failed call leaves nothing behind.
   *
   * @param {Iterable<BlobPart> | AsyncIterable<BlobPart>} parts  `{ cid, start, end }`, all bytes of which must be
   *   present, or `{ source }`. The call takes all parts before it reads the first one. Without parts, it makes the
   *   empty blob
   * @param {ComposeOptions} [options]  those of `put`. `onProgress` gets `baobox:compose`, in bytes of the new blob
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} about the new blob, as for `put`
   * @throws {BaoError} what `put` throws; STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }; STORE_CORRUPT { cid,
   *   start, len } when a blob is damaged; RangeError when a part goes beyond the end of its blob
   */
  compose (parts, options = {}) {
    return this.#run(async () => (await this.#parts.rareParts()).compose(parts, options))
  }

  /** @type {Store['getMany']} */
  getMany (cids, options = {}) { return this.#parts.manyReader.getMany(cids, options) }

  /** @type {Store['get']} */
  get (cid, ranges, options) { return this.#parts.reader.get(cid, ranges, options) }

  /** @type {Store['bytes']} */
  bytes (cid, ranges, options) { return this.#parts.reader.bytes(cid, ranges, options) }

  /** @type {Store['source']} */
  source (cid, options) { return sourceOf(this, cid, options) }

  /** @type {Store['stream']} */
  stream (cid, ranges, options) {
    const pieces = this.get(cid, ranges, { ...options, reuse: false })
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
   * Puts a file. In browsers, pass a `File` to `put` instead.
   *
   * @param {string | URL} path
   * @param {ImportFileOptions} [options]
   * @returns {Promise<PutResult>}
   */
  importFile (path, options = {}) {
    return this.#run(async () => (await this.#parts.rareParts()).importer.importFile(path, options))
  }

  /**
   * Writes a whole blob to a file. An existing file is replaced only after the whole blob is written and verified; a
   * failed call leaves it as it was.
   *
   * @param {BlobName} cid
   * @param {string | URL} path
   * @param {ExportFileOptions} [options]
   * @returns {Promise<{ size: number }>}
   * @throws {BaoError} what `get` throws; STORE_TAGGED { cid, tag } for `move` when a tag names the blob
   */
  exportFile (cid, path, options = {}) {
    return this.#run(async () => (await this.#parts.rareParts()).exporter.exportFile(cid, path, options))
  }

  /** @type {Store['resolve']} */
  resolve (cid, options) { return this.#run(() => this.#parts.lookups.resolve(cid), options) }

  /** @type {Store['has']} */
  has (cid, options = {}) {
    const { lookups, reads } = this.#parts
    return this.#run(() => {
      assertHops(options)
      return options.supply ? reads.canGive(cid, options) : lookups.has(cid)
    }, options, ['supply', 'hops', 'signal'])
  }

  /** @type {Store['stat']} */
  stat (cid, options) { return this.#run(() => this.#parts.lookups.stat(cid), options) }

  /** @type {Store['statMany']} */
  statMany (cids, options) { return this.#run(() => this.#parts.lookups.statMany(cids), options) }

  /** @type {Store['info']} */
  info (options = {}) { return this.#run(() => this.#parts.census.info(options), options, ['signal']) }

  /** @type {Store['list']} */
  list (options = {}) { return this.#parts.lister.list(options) }

  /** @type {Store['delete']} */
  delete (cid, options = {}) {
    return this.#run(() => this.#parts.deleter.delete(cid, options), options, ['force'])
  }

  /** @type {Store['deleteMany']} */
  deleteMany (cids, options = {}) {
    return this.#run(() => this.#parts.deleter.deleteMany(cids, options), options, ['force', 'signal', 'onProgress'])
  }

  /** @type {Store['tempTag']} */
  tempTag (cid, options) {
    this.#parts.life.assertOpen()
    const tag = new TempTag(this.#parts.protection)
    if (cid !== undefined) tag.add(cid, options)
    return tag
  }

  /** @type {Store['gc']} */
  gc (options = {}) {
    return this.#run(async () => (await this.#parts.rareParts()).collector.gc(options))
  }

  /**
   * Deletes orphans that no tag claims, and gives the space of deleted blobs back to the disk. Without this call,
   * LevelDB gives the space back later, when it rewrites its files.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<void>}
   * @throws {BaoError} STORE_FULL; STORE_CORRUPT when the index may have lost records
   */
  compact (options = {}) {
    const run = async () => (await this.#parts.rareParts()).collector.compact(options)
    return this.#run(run, options, ['signal'])
  }

  /** @type {Store['slice']} */
  slice (cid, ranges, options) { return this.#parts.slices.slice(cid, ranges, options) }

  /** @type {Store['receive']} */
  receive (cid, source, ranges, options = {}) {
    return this.#run(() => this.#parts.receiver.receive(cid, source, ranges, options), options, RECEIVE_OPTIONS)
  }

  /** @type {Store['missing']} */
  missing (cid, ranges) { return this.#run(() => this.#parts.lookups.missing(cid, ranges)) }

  /** @type {Store['fsck']} */
  fsck (options = {}) {
    const run = async () => (await this.#parts.rareParts()).fsck.run(options)
    return this.#run(run, options, ['repair', 'cids', 'signal', 'onProgress'])
  }

  /**
   * Yields the state of a blob: now, and again after each change. It ends when the blob is complete. A slow caller
   * misses the states before the latest one.
   *
   * @param {BlobName} cid  any blob, even one of which the store has nothing
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<BlobState>} `{ size, sizeProven, complete, present }`, as `stat` returns them; without
   *   `size` when nothing is present
   */
  observe (cid, options = {}) {
    return this.#parts.observers.observe(cid, options)
  }

  /** @type {Store['watch']} */
  watch (options = {}) { return this.#parts.watcher.watch(options) }

  /**
   * Yields a range of the bytes of an outboard. It verifies each pair first.
   *
   * @overload @param {BlobName} cid @param {OutboardOptions & OutboardRange} options
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  /**
   * Reads the outboard of a whole blob in pre-order, and verifies it.
   *
   * @overload @param {BlobName} cid @param {OutboardOptions} [options]
   * @returns {Promise<Outboard>}
   */
  /**
   * See `Store.outboard`.
   *
   * @param {BlobName} cid @param {OutboardOptions & { range?: RangeLike }} [options]
   * @returns {Promise<Outboard> | AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  outboard (cid, options = {}) {
    const { slices } = this.#parts
    if (options?.range === undefined) return slices.outboard(cid, options)
    return slices.outboardPieces(cid, /** @type {OutboardOptions & OutboardRange} */ (options))
  }

  /** @type {Store['close']} */
  close () { return this.#parts.close() }

  async [Symbol.asyncDispose] () { await this.close() }

  /**
   * Runs a call while the store is open.
   *
   * @template T
   * @param {() => Promise<T>} work
   * @param {object} [options]  the options that the caller has given
   * @param {string[]} [known]  names of the options that the call knows
   * @returns {Promise<T>}
   */
  #run (work, options, known = []) {
    return this.#parts.life.run(() => {
      assertKnownOptions(options, known)
      return work()
    })
  }
}
