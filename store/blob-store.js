// The blob store: keeps blobs under their BLAKE3 hashes, whole or in part, and verifies every byte that it gives.

import { assertKnownOptions } from '../lib/core/options.js'
import { deleteBlob, deleteMany } from './catalog/calls/delete.js'
import { list } from './catalog/calls/list.js'
import { resolve } from './catalog/calls/resolve.js'
import { has, missing, stat } from './catalog/calls/stat.js'
import { pathIn } from './storage/opening/open.js'
import { rescueDatabases } from './storage/opening/rescue.js'
import { setContext } from './context-of.js'
import { StoreContext } from './store-context.js'
import { Fsck } from './check/fsck.js'
import { watch } from './catalog/events/watch.js'
import { observe } from './catalog/events/observers.js'
import { TempTag } from './gc/protection.js'
import { Tags } from './catalog/names/tags.js'
import { exportFile } from './read/export-file.js'
import { importFile } from './write/import/import-file.js'
import { PUT_OPTIONS } from './write/put.js'
import { concat } from './write/grow/concat.js'
import { GROW_OPTIONS, splice } from './write/grow/splice.js'
import { getMany } from './read/get-many.js'
import { putMany } from './write/put-many.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { TagFormat } from './storage/format/tags.js' */
/** @import { StoreInfo } from './catalog/calls/info.js' */
/** @import { ListOptions } from './catalog/calls/list.js' */
/** @import { BlobStat } from './catalog/calls/stat.js' */
/** @import { StoreEvent } from './catalog/events/watch.js' */
/** @import { BlobState } from './catalog/events/observers.js' */
/** @import { Deleted } from './catalog/calls/delete.js' */
/** @import { GetResult } from './read/get-many.js' */
/** @import { ReadOptions } from './read/reader.js' */
/** @import { SliceOptions } from './read/slice-reader.js' */
/** @import { StoreOptions } from './store-context.js' */
/** @import { PutOptions } from './write/put.js' */
/** @import { PutManyOptions, PutResult } from './write/put-many.js' */
/** @import { GrowOptions, SpliceChange } from './write/grow/splice.js' */
/** @import { Outboard } from '../encoder/outboard.js' */
/** @import { DatabasePair } from './storage/level/levels.js' */
/** @import { GcOptions } from './gc/collector.js' */
/** @import { FsckReport } from './check/fsck.js' */
/** @import { ProgressOptions, Source } from '../lib/core/types.js' */
/** @import { ChunkRanges, RangesLike } from '../lib/tree/ranges.js' */

/** @typedef {CID | string | Uint8Array} BlobName  a CID in any form, 64 hexadecimal digits, or the 32-byte hash */

export class BlobStore {
  #context
  /** Tags: names that protect blobs from garbage collection. @type {Tags} */
  tags

  /** Not for callers: use `BlobStore.open`. @param {StoreContext} context */
  constructor (context) {
    if (!(context instanceof StoreContext)) {
      throw new TypeError('a BlobStore cannot be constructed: use "await BlobStore.open(location)"')
    }
    this.#context = context
    setContext(this, context)
    this.tags = new Tags(context.tags, context.life)
  }

  /**
   * @param {string | URL | DatabasePair} where  the path of a directory, which is made when it is missing (in a
   *   browser: a name); or two levels `{ index, data }`, which belong to the store from then on
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
   * @param {string | URL} location  as for `open`
   * @param {ProgressOptions} [options]  `onProgress` gets `baobox:fsck`
   * @returns {Promise<FsckReport>} what the check of the new databases has found, and `lostBytes`
   * @throws {BaoError} STORE_LOCKED, STORE_OPEN_FAILED, STORE_VERSION, STORE_FULL
   */
  static async rescue (location, options) {
    assertKnownOptions(options, ['signal', 'onProgress'])
    return rescueDatabases(pathIn(location), async (databases, lostBytes) => {
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

  /**
   * Keeps a blob. Memory stays bounded however long the blob is. The blob becomes visible when it is complete; a
   * failure leaves nothing.
   *
   * @param {Source} source
   * @param {PutOptions} [options]
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} `isNew`: the store did not have the whole blob
   *   before
   * @throws {BaoError} STORE_FULL { wanted, got } when the blob does not fit the quota: then nothing was deleted,
   *   unless blobs became protected meanwhile; STORE_CORRUPT when, under a quota, damage hides what a tag or sequence
   *   protects; CID_MISMATCH { cid, actual } when the bytes are not those that `expect` names; SIZE_MISMATCH { wanted,
   *   got } at the first byte beyond `size`, or at the end when there are too few
   */
  put (source, options = {}) {
    return this.#run(() => this.#context.writer.put(source, options), options, PUT_OPTIONS)
  }

  /**
   * Keeps a blob that consists of all bytes of another one, followed by appended bytes. The other blob stays. When that
   * is longer than 1 MiB, both share a file, and the store hashes and writes only the appended bytes. It works like
   * `splice` when the other blob is shorter, is already the beginning of another one, or is a reference.
   *
   * @param {BlobName} cid  of a whole blob
   * @param {Source} source  the bytes to append
   * @param {GrowOptions} [options]  as for `splice`. `onProgress` gets `baobox:append`
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} about the new blob, as for `put`
   * @throws {BaoError} as `put`; STORE_NOT_FOUND { cid }, also when the blob was deleted meanwhile; STORE_MISSING
   *   { cid, ranges } when only a part of it is present; STORE_CORRUPT { cid, start, len } when it is damaged
   */
  append (cid, source, options = {}) {
    return this.#run(() => this.#context.appender.append(cid, source, options), options, GROW_OPTIONS)
  }

  /**
   * Keeps many blobs. Small ones are written in batches, with two writes to the disk each, and memory stays bounded.
   * Longer ones are kept as by `put`. Under a quota every blob is kept by itself.
   *
   * @param {Iterable<Source> | AsyncIterable<Source>} blobs  usually bytes. Each blob is copied or kept before the next
   *   one is asked for
   * @param {PutManyOptions} [options]
   * @returns {AsyncGenerator<PutResult>} one result for each blob, in the same order, when the blob is kept. After a
   *   failure the blobs before it are kept, and no other blob is kept once the failure is thrown. When a caller stops
   *   before the end, up to three more batches may have been kept
   */
  putMany (blobs, options = {}) {
    return putMany(this.#context, blobs, options)
  }

  /**
   * Makes a blob from one that the store has, by replacing the bytes from `start` to `end`. Whole chunk groups (16 KiB)
   * that keep their position also keep their tree; `verify` says whether their bytes are compared with it. The old blob
   * stays, and is protected meanwhile as by a tag. A failure leaves nothing.
   *
   * @param {BlobName} cid  of a blob of which all bytes to keep are present
   * @param {SpliceChange} change
   * @param {GrowOptions} [options]  as for `put`; `onProgress` gets `baobox:splice`, in bytes of the new blob
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} as `put`
   * @throws {BaoError} as `put`; STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }; STORE_CORRUPT { cid, start,
   *   len } when the blob is damaged. RangeError when `end` lies beyond the end of the blob
   */
  splice (cid, change, options = {}) {
    return this.#run(() => splice(this.#context, cid, change, options), options, GROW_OPTIONS)
  }

  /**
   * Makes one blob of several, one after the other. The first keeps its tree. All blobs stay, and are protected
   * meanwhile as by a tag. A failure leaves nothing.
   *
   * @param {Iterable<BlobName> | AsyncIterable<BlobName>} cids  of whole blobs; without any, the result is the empty
   *   blob
   * @param {GrowOptions} [options]  as for `put`; `onProgress` gets `baobox:concat`, in bytes of the new blob
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} as `put`
   * @throws {BaoError} as `splice`
   */
  concat (cids, options = {}) {
    return this.#run(() => concat(this.#context, cids, options), options, GROW_OPTIONS)
  }

  /**
   * Reads many blobs, each into one piece of memory, and verifies them. Small ones are read in batches.
   *
   * @param {Iterable<BlobName> | AsyncIterable<BlobName>} cids
   * @param {ProgressOptions} [options]  `onProgress` gets `baobox:get`, with the bytes of all blobs that were given
   * @returns {AsyncGenerator<GetResult>} `{ cid, bytes }` for each CID, in the same order; or `{ cid, error }` with the
   *   error that `bytes` would throw
   */
  getMany (cids, options = {}) {
    return getMany(this.#context, cids, options)
  }

  /**
   * Reads a blob piece by piece. Each piece is verified before the caller gets it.
   *
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]  in bytes or chunks; the bytes of several come one after the other. Default: the whole
   *   blob
   * @param {ReadOptions} [options]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the caller's own pieces; borrowed until the next piece with
   *   `reuse`
   * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }, STORE_CORRUPT { cid, start, len }
   */
  get (cid, ranges, options) {
    return this.#context.reader.get(cid, ranges, options)
  }

  /**
   * Reads a blob, or a part of it, in one piece of memory.
   *
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]  as for `get`
   * @param {ReadOptions} [options]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} the caller's own bytes
   * @throws {BaoError} as `get`
   */
  bytes (cid, ranges, options) {
    return this.#context.reader.bytes(cid, ranges, options)
  }

  /**
   * Reads a blob, or a part of it, as a web stream of bytes.
   *
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]  as for `get`
   * @param {ReadOptions} [options]
   * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
   */
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
   * Puts a file. Browsers have no files: give the File to `put` there.
   *
   * @param {string | URL} path
   * @param {PutOptions & { mode?: 'copy' | 'reference' }} [options]  `copy` keeps the bytes as `put` does, or shares
   *   the blocks of a file above 1 MiB where the file system can do that.
   *   `reference` keeps only the tree, and reads the file whenever a caller wants the bytes. They are always verified,
   *   so reading a changed file throws STORE_CORRUPT { cid, start, len }, and reading a missing one STORE_MISSING
   *   { cid, ranges }. The store never deletes the file. Default: `copy`
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>}
   */
  importFile (path, options = {}) {
    return this.#run(() => importFile(this.#context, path, options), options, [...PUT_OPTIONS, 'mode'])
  }

  /**
   * Writes a whole blob to a file. The file is replaced after all of the blob was written and verified; a failure
   * leaves the file as it was.
   *
   * @param {BlobName} cid
   * @param {string | URL} path
   * @param {ProgressOptions} [options]  `onProgress` gets `baobox:export`
   * @returns {Promise<{ size: number }>}
   * @throws {BaoError} as `get`
   */
  exportFile (cid, path, options = {}) {
    return this.#run(() => exportFile(this.#context, cid, path, options), options, ['signal', 'onProgress'])
  }

  /**
   * Finds the BLAKE3 CID of the blob that the store has under a name, whole or in part. The other calls take BLAKE3
   * names only: give them this CID.
   *
   * @param {BlobName} cid  or a CID of another hash function, under which the blockstore has kept a block
   * @returns {Promise<CID | undefined>} undefined when the store has no such blob
   * @throws {BaoError} STORE_CORRUPT { cid } when damage hides which blob it is
   */
  resolve (cid) { return this.#run(() => resolve(this.#context, cid)) }

  /** Does the store have the whole blob? @param {BlobName} cid */
  has (cid) { return this.#run(() => has(this.#context, cid)) }

  /**
   * Says what the store knows of a blob, and which of its chunks are present.
   *
   * @param {BlobName} cid
   * @returns {Promise<BlobStat & { present: ChunkRanges }>}
   * @throws {BaoError} STORE_NOT_FOUND { cid }
   */
  stat (cid) { return this.#run(() => stat(this.#context, cid)) }

  /**
   * Counts what is in the store. Unless nothing has changed since the last call, it walks through the index, which
   * takes about 3 s for a million blobs. It also asks for the sizes of the store's files.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<StoreInfo>} damaged records and tags do not count
   */
  info (options = {}) { return this.#run(() => this.#context.census.info(options), options, ['signal']) }

  /**
   * Lists all blobs, whole or in part, in the order of their hashes, or of a time.
   *
   * @param {ListOptions} [options]
   * @returns {AsyncGenerator<BlobStat>}
   * @throws {BaoError} STORE_CORRUPT { cid } for a damaged record, after all others were given; STORE_NOT_FOUND { cid }
   *   for `after`, in the order of a time
   */
  list (options = {}) {
    const blobs = list(this.#context, options)
    return this.#context.life.each(() => blobs)
  }

  /**
   * Deletes a blob, whole or in part. Readers that have already begun get the rest, or STORE_NOT_FOUND.
   *
   * @param {BlobName} cid
   * @param {{ force?: boolean }} [options]  `force`: delete the blob even if it has tags? The tags stay, and name a
   *   blob that the store does not have. Default: false
   * @returns {Promise<Deleted>} no blobs if the store did not have it
   * @throws {BaoError} STORE_TAGGED { cid, tag } when a tag names it. A tagged sequence that has it as a member does
   *   not count
   */
  delete (cid, options = {}) {
    return this.#run(() => deleteBlob(this.#context, cid, options), options, ['force'])
  }

  /**
   * Deletes blobs, a thousand of them in one write.
   *
   * @param {Iterable<BlobName> | AsyncIterable<BlobName>} cids  blobs that the store does not have are ignored
   * @param {ProgressOptions & { force?: boolean }} [options]  `force`: as for `delete`. `onProgress` gets
   *   `baobox:delete`, with the number of CIDs that were looked at
   * @returns {Promise<Deleted>} what was deleted
   * @throws {BaoError} STORE_TAGGED { cid, tag } when a tag names one of them; the blobs before that one are deleted
   */
  deleteMany (cids, options = {}) {
    return this.#run(() => deleteMany(this.#context, cids, options), options, ['force', 'signal', 'onProgress'])
  }

  /**
   * Makes a tag that lasts as long as the process, for blobs that are tagged later or used only for a while. Call its
   * `release`, or declare it with `await using`.
   *
   * @param {BlobName} [cid]  a blob to protect. `add` of the tag takes more of them, and `put` takes the tag as an
   *   option
   * @param {{ format?: TagFormat }} [options]  as for `tags.set`
   */
  tempTag (cid, options) {
    this.#context.life.assertOpen()
    const tag = new TempTag(this.#context.protection)
    if (cid !== undefined) tag.add(cid, options)
    return tag
  }

  /**
   * Deletes every blob, whole or in part, that nothing protects. A blob is protected by a tag, temporary or not, that
   * names it or a sequence of hashes with it as a member; and while it is being put, received or read. The store may be
   * used meanwhile. An interrupted call has deleted some of the blobs.
   *
   * @param {GcOptions} [options]
   * @returns {Promise<{ blobs: number, bytes: number }>} what was deleted
   * @throws {BaoError} STORE_CORRUPT when tags, or a tagged sequence of hashes, cannot be read, or the index may have
   *   lost records: damage then hides what is protected, and nothing is deleted
   */
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

  /**
   * Gives a slice that proves ranges of a blob: the length, then pairs and bytes.
   *
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]  chunks that must be present. Default: the whole blob
   * @param {SliceOptions} [options]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the caller's own pieces; borrowed until the next piece with
   *   `reuse`
   * @throws {BaoError} as `get`
   */
  slice (cid, ranges, options) {
    return this.#context.slices.slice(cid, ranges, options)
  }

  /**
   * Keeps what a slice proves. It verifies first, and then writes. What was kept stays when the rest fails. Only whole
   * chunk groups (16 KiB) are kept.
   *
   * @param {BlobName} cid
   * @param {Source} source  the slice, at group log 4
   * @param {RangesLike} [ranges]  the ranges that the slice proves. Default: the whole blob
   * @param {ProgressOptions & { size?: number }} [options]  `size`: the length of the blob, for slices without the
   *   length in front. `onProgress` gets `baobox:receive`
   * @returns {Promise<{ received: number, complete: boolean }>} `received`: bytes that were missing before; `complete`:
   *   is the blob complete now?
   * @throws {BaoError} as `SliceVerifier`, after what came before has been kept; and STORE_FULL as `put`
   */
  receive (cid, source, ranges, options = {}) {
    const { receiver } = this.#context
    return this.#run(() => receiver.receive(cid, source, ranges, options), options, ['size', 'signal', 'onProgress'])
  }

  /**
   * Finds what is missing of a blob, in whole chunk groups: the store keeps no part of a group.
   *
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]  where to look. Default: the whole blob
   * @returns {Promise<ChunkRanges>}
   */
  missing (cid, ranges) { return this.#run(() => missing(this.#context, cid, ranges)) }

  /**
   * Checks everything in the store: each extent and page of the tree against the roots, each record, and whatever lies
   * beside them. The store may be used meanwhile. Damage is reported and not thrown.
   *
   *     const { damaged } = await store.fsck({ repair: true })
   *     for (const { cid } of damaged) {
   *       const missing = await store.missing(cid)
   *       await store.receive(cid, await fetchSlice(cid, missing), missing)
   *     }
   *
   * @param {ProgressOptions & { repair?: boolean, cids?: Iterable<BlobName> }} [options]  `repair`: compute again what
   *   can be computed; drop what is damaged, so that it is missing and can be received; delete data that no record
   *   names. It does none of this while the store is not readable (see `isReadable`). Default: false. `cids`: check
   *   only those of these blobs that the store has, and nothing beside them. Default: everything. `onProgress` gets
   *   `baobox:fsck`
   * @returns {Promise<FsckReport>}
   */
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

  /**
   * Tells what becomes of the blobs and tags of this store: from now on, or after a point that `watch` or `info` gave.
   * It reads the log of changes in the index, which is as durable as the changes. The log keeps its last 4 MiB, about
   * 100 000 events. The generator never ends by itself.
   *
   * @param {{ after?: string, signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<StoreEvent>}
   * @throws {BaoError} WATCH_GAP when changes after the point are not in the log any more, because the caller was too
   *   slow; or when a write has failed, or the store was rescued
   */
  watch (options = {}) { return watch(this.#context, options) }

  /**
   * Reads the outboard of a whole blob, at group log 4 and in pre-order, and verifies it.
   *
   * @param {BlobName} cid
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Outboard>} in memory of its own: 1/256 of the size
   * @throws {BaoError} as `get`
   */
  outboard (cid, options) {
    return this.#context.slices.outboard(cid, options)
  }

  /**
   * Ends all calls that are under way, and closes the databases. Every later call fails with STORE_CLOSED, and so do
   * puts and receives that are under way. What was received is kept.
   */
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
