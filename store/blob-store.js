// The blob store: keeps blobs under their BLAKE3 hashes, whole or in part, and verifies every byte that it gives.

import { assertKnownOptions } from '../lib/core/options.js'
import { deleteBlob, deleteMany } from './catalog/calls/delete.js'
import { list } from './catalog/calls/list.js'
import { resolve } from './catalog/calls/resolve.js'
import { has, missing, stat, statMany } from './catalog/calls/stat.js'
import { rescueDatabases } from './storage/opening/rescue.js'
import { setContext } from './context-of.js'
import { StoreContext } from './store-context.js'
import { Fsck } from './check/fsck.js'
import { watch } from './catalog/events/watch.js'
import { observe } from './catalog/events/observers.js'
import { TempTag } from './gc/protection.js'
import { Aliases } from './catalog/names/aliases.js'
import { Tags } from './catalog/names/tags.js'
import { EXPORT_OPTIONS, exportFile } from './read/export-file.js'
import { IMPORT_OPTIONS, importFile } from './write/import/import-file.js'
import { PUT_OPTIONS } from './write/put.js'
import { COMPOSE_OPTIONS, compose } from './write/compose/compose.js'
import { getMany } from './read/get-many.js'
import { putMany } from './write/put-many.js'
import { RECEIVE_OPTIONS } from './write/receive/receive.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Store } from './interface.js' */
/** @import { BlobState } from './catalog/events/observers.js' */
/** @import { ExportFileOptions } from './read/export-file.js' */
/** @import { OutboardOptions, OutboardSpan } from './read/slice-reader.js' */
/** @import { StoreOptions } from './store-context.js' */
/** @import { PutResult } from './write/put-many.js' */
/** @import { BlobPart, ComposeOptions } from './write/compose/compose.js' */
/** @import { ImportFileOptions } from './write/import/import-file.js' */
/** @import { Outboard } from '../encoder/outboard.js' */
/** @import { DatabasePair } from './storage/level/levels.js' */
/** @import { FsckReport } from './check/fsck.js' */
/** @import { ProgressOptions, Source } from '../lib/core/types.js' */

/** @typedef {CID | string | Uint8Array} BlobName  a CID in any form, 64 hexadecimal digits, or the 32-byte hash */

/** @implements {Store} */
export class BlobStore {
  #context
  /** @type {Tags} */
  tags
  /** @type {Aliases} */
  aliases

  /** Not for callers: use `BlobStore.open`. @param {StoreContext} context */
  constructor (context) {
    if (!(context instanceof StoreContext)) {
      throw new TypeError('a BlobStore cannot be constructed: use "await BlobStore.open(location)"')
    }
    this.#context = context
    setContext(this, context)
    this.tags = new Tags(context.tags, context.life)
    this.aliases = new Aliases(context)
  }

  get closing () { return this.#context.life.closing }

  get location () { return this.#context.location }

  get isReadOnly () { return this.#context.databases.isReadOnly }

  get quota () { return this.#context.quota.isLimited ? this.#context.quota.limit : undefined }

  get verifies () { return this.#context.verifies }

  get syncReads () { return this.#context.syncReads }

  /**
   * @param {string | DatabasePair} where  a directory, created when it is missing (in a browser: a name); or two levels
   *   `{ index, data }`, which belong to the store from then on
   * @param {StoreOptions} [options]
   * @returns {Promise<BlobStore>}
   * @throws {BaoError} STORE_LOCKED { location } when it is open elsewhere, STORE_ABSENT, STORE_VERSION,
   *   STORE_OPEN_FAILED
   */
  static async open (where, options = {}) {
    return new BlobStore(await StoreContext.open(where, options))
  }

  /**
   * Rescues a store that cannot be opened, or whose databases are damaged (`isReadable`). It copies everything that can
   * be read of a damaged database to a new one, which needs as much space, and then replaces the old one. A single
   * flipped bit in a block of LevelDB is corrected. After that it verifies every record and byte, and repairs the store
   * as `fsck({ repair: true })` does. A whole blob without a record gets one, so deleted blobs may be back. When the
   * index is lost, data that is no whole blob stays, and counts in `orphans`; the next repair deletes it.
   *
   * The store must not be open, and cannot be opened meanwhile. When a rescue was interrupted, call it again: nothing
   * is lost, and until then the store cannot be opened.
   *
   * @param {string} location
   * @param {ProgressOptions} [options]  `onProgress` gets `baobox:fsck`
   * @returns {Promise<FsckReport>} what the check of the new databases has found, and `lostBytes`
   * @throws {BaoError} STORE_LOCKED, STORE_OPEN_FAILED, STORE_VERSION, STORE_FULL
   */
  static async rescue (location, options) {
    assertKnownOptions(options, ['signal', 'onProgress'])
    return rescueDatabases(location, async (databases, lostBytes) => {
      const context = new StoreContext(databases)
      try {
        await context.catalog.log.begin()
        const report = await new Fsck(context, { ...options, repair: true, adopts: true }).run()
        return { ...report, lostBytes }
      } finally {
        await context.close()
      }
    }, options?.signal)
  }

  /** @type {Store['put']} */
  put (source, options = {}) {
    return this.#run(() => this.#context.writer.put(source, options), options, PUT_OPTIONS)
  }

  /**
   * Keeps a blob that consists of all bytes of another one, followed by appended bytes. The other blob stays. When that
   * is longer than 1 MiB, both share a file, and the store hashes and writes only the appended bytes. It works like
   * `compose` when the other blob is shorter, is already the beginning of another one, or is a reference.
   *
   * @param {BlobName} cid  of a whole blob
   * @param {Source} source  the bytes to append
   * @param {ComposeOptions} [options]  as for `compose`. `onProgress` gets `baobox:append`
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} about the new blob, as for `put`
   * @throws {BaoError} as `put`; STORE_NOT_FOUND { cid }, also when the blob was deleted meanwhile; STORE_MISSING
   *   { cid, ranges } when only a part of it is present; STORE_CORRUPT { cid, start, len } when it is damaged
   */
  append (cid, source, options = {}) {
    return this.#run(() => this.#context.appender.append(cid, source, options), options, COMPOSE_OPTIONS)
  }

  /** @type {Store['putMany']} */
  putMany (blobs, options = {}) { return putMany(this.#context, blobs, options) }

  /**
   * Makes a blob of parts, in their order: bytes of blobs that the store has, and new bytes. Whole chunk groups (16
   * KiB) that keep their offset also keep their tree, whichever blob they come from; `verify` says whether their bytes
   * are compared with it. All blobs stay, and are protected meanwhile as by a tag. A failure leaves nothing.
   *
   * @param {Iterable<BlobPart> | AsyncIterable<BlobPart>} parts  `{ cid, start, end }`, of which all bytes are present,
   *   or `{ source }`. All parts are asked for before the first is read. Without any, the result is the empty blob
   * @param {ComposeOptions} [options]  as for `put`; `onProgress` gets `baobox:compose`, in bytes of the new blob
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} as `put`
   * @throws {BaoError} as `put`; STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }; STORE_CORRUPT { cid, start,
   *   len } when a blob is damaged. RangeError when a part goes beyond the end of its blob
   */
  compose (parts, options = {}) {
    return this.#run(() => compose(this.#context, parts, options), options, COMPOSE_OPTIONS)
  }

  /** @type {Store['getMany']} */
  getMany (cids, options = {}) { return getMany(this.#context, cids, options) }

  /** @type {Store['get']} */
  get (cid, range, options) { return this.#context.reader.get(cid, range, options) }

  /** @type {Store['bytes']} */
  bytes (cid, range, options) { return this.#context.reader.bytes(cid, range, options) }

  /** @type {Store['stream']} */
  stream (cid, range, options) {
    const pieces = this.get(cid, range, { ...options, reuse: false })
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
   * Puts a file. Browsers have no files: give the File to `put` there.
   *
   * @param {string | URL} path
   * @param {ImportFileOptions} [options]
   * @returns {Promise<PutResult>}
   */
  importFile (path, options = {}) {
    return this.#run(() => importFile(this.#context, path, options), options, IMPORT_OPTIONS)
  }

  /**
   * Writes a whole blob to a file. The file is replaced after all of the blob was written and verified; a failure
   * leaves the file as it was.
   *
   * @param {BlobName} cid
   * @param {string | URL} path
   * @param {ExportFileOptions} [options]
   * @returns {Promise<{ size: number }>}
   * @throws {BaoError} as `get`; STORE_TAGGED { cid, tag } for `move` when a tag names the blob
   */
  exportFile (cid, path, options = {}) {
    return this.#run(() => exportFile(this.#context, cid, path, options), options, EXPORT_OPTIONS)
  }

  /** @type {Store['resolve']} */
  resolve (cid) { return this.#run(() => resolve(this.#context, cid)) }

  /** @type {Store['has']} */
  has (cid) { return this.#run(() => has(this.#context, cid)) }

  /** @type {Store['stat']} */
  stat (cid) { return this.#run(() => stat(this.#context, cid)) }

  /** @type {Store['statMany']} */
  statMany (cids) { return this.#run(() => statMany(this.#context, cids)) }

  /** @type {Store['info']} */
  info (options = {}) { return this.#run(() => this.#context.census.info(options), options, ['signal']) }

  /** @type {Store['list']} */
  list (options = {}) {
    const blobs = list(this.#context, options)
    return this.#context.life.each(() => blobs)
  }

  /** @type {Store['delete']} */
  delete (cid, options = {}) {
    return this.#run(() => deleteBlob(this.#context, cid, options), options, ['force'])
  }

  /** @type {Store['deleteMany']} */
  deleteMany (cids, options = {}) {
    return this.#run(() => deleteMany(this.#context, cids, options), options, ['force', 'signal', 'onProgress'])
  }

  /** @type {Store['tempTag']} */
  tempTag (cid, options) {
    this.#context.life.assertOpen()
    const tag = new TempTag(this.#context.protection)
    if (cid !== undefined) tag.add(cid, options)
    return tag
  }

  /** @type {Store['gc']} */
  gc (options = {}) {
    return this.#run(() => this.#context.collector.gc(options), options, ['dryRun', 'onBlob', 'signal', 'onProgress'])
  }

  /**
   * Deletes orphans that no tag claims, and gives back to the disk the space of deleted blobs. Without this call,
   * LevelDB gives it back later, when it rewrites its files.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<void>}
   * @throws {BaoError} STORE_FULL; STORE_CORRUPT when the index may have lost records
   */
  compact (options = {}) {
    return this.#run(() => this.#context.collector.compact(options), options, ['signal'])
  }

  /** @type {Store['slice']} */
  slice (cid, ranges, options) { return this.#context.slices.slice(cid, ranges, options) }

  /** @type {Store['receive']} */
  receive (cid, source, ranges, options = {}) {
    return this.#run(() => this.#context.receiver.receive(cid, source, ranges, options), options, RECEIVE_OPTIONS)
  }

  /** @type {Store['missing']} */
  missing (cid, ranges) { return this.#run(() => missing(this.#context, cid, ranges)) }

  /** @type {Store['fsck']} */
  fsck (options = {}) {
    return this.#run(() => {
      const { repair = false, ...rest } = options
      const run = async () => {
        if (repair) this.#context.databases.assertWritable()
        return new Fsck(this.#context, { repair, ...rest }).run()
      }
      // A collection would delete data that a repair is about to give a record.
      return repair ? this.#context.locks.run('gc', run) : run()
    }, options, ['repair', 'cids', 'signal', 'onProgress'])
  }

  /**
   * Tells what is present of a blob: now, and again whenever that has changed. It ends when the blob is complete. Slow
   * callers miss the states in between.
   *
   * @param {BlobName} cid  of any blob, even if nothing of it is present
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<BlobState>} `{ size, sizeProven, complete, present }`, as `stat` returns them; without
   *   `size` when nothing is present
   */
  observe (cid, options = {}) {
    return observe(this.#context, cid, options)
  }

  /** @type {Store['watch']} */
  watch (options = {}) { return watch(this.#context, options) }

  /**
   * @overload @param {BlobName} cid @param {OutboardOptions & OutboardSpan} options
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  /**
   * @overload @param {BlobName} cid @param {OutboardOptions} [options]
   * @returns {Promise<Outboard>}
   */
  /**
   * See `Store.outboard`.
   *
   * @param {BlobName} cid @param {OutboardOptions & { start?: number, end?: number }} [options]
   * @returns {Promise<Outboard> | AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  outboard (cid, options = {}) {
    const { slices } = this.#context
    if (options?.start === undefined && options?.end === undefined) return slices.outboard(cid, options)
    return slices.outboardPieces(cid, /** @type {OutboardOptions & OutboardSpan} */ (options))
  }

  /** @type {Store['close']} */
  close () { return this.#context.close() }

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
    return this.#context.life.run(() => {
      assertKnownOptions(options, known)
      return work()
    })
  }
}
