// The interface of a store: the calls that a guest may make, wherever the store keeps its bytes. A guest imports only
// this file of the store. The guest's caller passes the store to the guest, which checks it for methods, not for a
// class.
//
// Rules for every call. `cid` names a blob by a CID of BLAKE3 in any form, by 64 hexadecimal digits or by the 32-byte
// hash. Ranges are `{ start, end }` in bytes or `ChunkRanges`. Returned memory belongs to the caller, unless a call
// says that it is borrowed. A wrong argument is a TypeError or a RangeError, and an unknown option is a TypeError, also
// for calls that have no options (`NoOptions`): calls that return a promise reject with this error, and all other calls
// throw it immediately. After `close`, every call fails with STORE_CLOSED.

import { describe } from '../lib/core/bytes.js'
import { readOnlyError } from './storage/errors.js'

export { isNoFile } from '../lib/source/open-files.js'
export { checkedListOptions } from './catalog/calls/list.js'
export { areSameTags, tagInfoOf, tagsFrom } from './catalog/names/tags.js'
export { assertName, assertWellFormed, checkedTagListOptions, tagFrom } from './catalog/names/tag-target.js'
export {
  blockNotFound, blockTooLong, changed, closedError, corrupt, damagedAlias, damagedRecord, damagedTag, mismatch,
  missing, notFound, readOnlyError, sizeMismatch, tagNotFound, tagged, unknownLayout
} from './storage/errors.js'
export { PUT_OPTIONS, assertAlias, assertNoTagProperties } from './write/put.js'
export { RECEIVE_OPTIONS } from './write/receive/receive.js'
export { isMiss } from './read/supplies.js'
export { sourceOf } from './read/source.js'
export { BATCH_COUNT, BATCH_LEN, FILE_FROM, GROUP_LEN, LOOKUP_COUNT, LOOKUP_LEN } from './sizes.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../lib/hash/cid.js' */
/** @import { Many } from '../lib/async/in-order.js' */
/** @import { ProgressOptions, RandomAccess, Source } from '../lib/core/types.js' */
/** @import { ChunkRanges, RangesLike } from '../lib/tree/ranges.js' */
/** @import { Outboard } from '../encoder/outboard.js' */
/** @import { Aliases } from './catalog/names/aliases.js' */
/** @import { TagFormat } from './storage/format/tags.js' */
/** @import { StoreInfo } from './catalog/calls/census.js' */
/** @import { ListOptions } from './catalog/calls/list.js' */
/** @import { BlobDetails, BlobStat, ListedBlob } from './catalog/calls/lookups.js' */
/** @import { StoreEvent } from './catalog/events/watch.js' */
/** @import { Tags } from './catalog/names/tags.js' */
/** @import { FsckReport } from './check/fsck.js' */
/** @import { GcOptions } from './gc/collector.js' */
/** @import { TempTag } from './gc/protection.js' */
/** @import { GetManyOptions, GetResult } from './read/get-many.js' */
/** @import { Deleted } from './catalog/calls/deleter.js' */
/** @import { ReadOptions } from './read/reader.js' */
/** @import { HasOptions } from './read/reads.js' */
/** @import { OutboardOptions, OutboardRange, SliceOptions } from './read/slice-reader.js' */
/** @import { PutOptions } from './write/put.js' */
/** @import { NamedSource, PutManyOptions, PutResult } from './write/put-many.js' */
/** @import { ReceiveOptions } from './write/receive/receive.js' */

/** @typedef {import('./catalog/calls/list.js').CheckedListOptions} CheckedListOptions */
/** @typedef {Record<string, never>} NoOptions  of a call that has none: each one is a TypeError */

/**
 * @typedef {object} WholeOutboard
 * @property {(cid: BlobName, options?: OutboardOptions) => Promise<Outboard>} outboard  Reads the outboard of a whole
 *   blob in pre-order, and verifies it. At group log 4, the result is 1/256 as long as the blob, and is held in memory.
 *   Throws what `get` throws.
 */
/**
 * @typedef {object} OutboardPart
 * @property {(cid: BlobName, options: OutboardOptions & OutboardRange) => AsyncGenerator<Uint8Array<ArrayBuffer>>}
 *   outboard  Yields a range of the outboard's bytes, piece by piece. It verifies each pair first.
 */

/**
 * @typedef {object} StoreCalls
 *
 * @property {(source: Source, options?: PutOptions) => Promise<PutResult>} put  Keeps a blob. Memory stays bounded
 *   however long the blob is. The blob becomes visible when it is complete; a failed call leaves nothing behind.
 *   `isNew` in the result: true if the store did not have the whole blob before. Throws STORE_FULL { wanted, got } when
 *   the blob does not fit the quota; then nothing was deleted, unless blobs became protected during the call. Throws
 *   STORE_CORRUPT when the store has a quota, and damage hides which blobs a tag or sequence protects; CID_MISMATCH {
 *   cid, actual } when the bytes are not those that `expect` names; SIZE_MISMATCH { wanted, got } at the first byte
 *   beyond `size`, or at the end when there are too few bytes.
 *
 * @property {(blobs: Many<Source | NamedSource>, options?: PutManyOptions) => AsyncGenerator<PutResult>} putMany  Keeps
 *   many blobs. It writes small ones in batches, with two writes to the disk for each batch, and memory stays bounded.
 *   It keeps longer ones, and all blobs in a store with a quota, one by one as `put` does. `blobs` are usually bytes;
 *   each is copied or kept before the next one is asked for. It yields one result for each blob, in the same order,
 *   when the blob is kept. When a blob fails, the blobs before it are kept, and no other blob is kept once the failure
 *   is thrown. When a caller stops before the end, up to three more batches may have been kept. Throws what `put`
 *   throws.
 *
 * @property {(cid: BlobName, ranges?: RangesLike, options?: ReadOptions) => AsyncGenerator<Uint8Array<ArrayBuffer>>}
 *   get  Reads a blob piece by piece, and verifies each piece before the caller gets it. `ranges` are read one after
 *   the other; default: the whole blob. With `reuse`, a piece is borrowed until the next piece. Throws STORE_NOT_FOUND
 *   { cid }, STORE_MISSING { cid, ranges }, STORE_CORRUPT { cid, start, len }.
 *
 * @property {(cids: Many<BlobName>, options?: GetManyOptions) => AsyncGenerator<GetResult>} getMany  Reads many blobs,
 *   each into one piece of memory, and verifies them. It reads small ones in batches. It yields `{ cid, bytes }` for
 *   each CID, in the same order, or `{ cid, error }` with the error that `bytes` would throw.
 *
 * @property {(cid: BlobName, ranges?: RangesLike, options?: ReadOptions) =>
 *   Promise<Uint8Array<ArrayBuffer>>} bytes  Reads a blob, or a part of it, in one piece of memory, as `get` does.
 *
 * @property {(cid: BlobName, ranges?: RangesLike, options?: ReadOptions) =>
 *   ReadableStream<Uint8Array<ArrayBuffer>>} stream  Reads a blob, or a part of it, as a web stream of bytes.
 *
 * @property {(cid: BlobName, options?: { signal?: AbortSignal }) => Promise<RandomAccess>} source  Opens a blob for
 *   libraries that read files at any offset. Each read is one of `bytes`, so the bytes are verified, and with `supply`
 *   the store fetches those that it lacks. It resolves to `{ size, read(start, end, signal) }`, which needs no closing.
 *   `size` is proven. `read` resolves to fresh bytes, in a buffer that has no others; bytes beyond the end of the blob
 *   are left out. `signal`: only for this call. Throws STORE_NOT_FOUND { cid }; STORE_MISSING { cid, ranges } when the
 *   size of a partial blob is not proven.
 *
 * @property {(cid: BlobName, ranges?: RangesLike, options?: SliceOptions) => AsyncGenerator<Uint8Array<ArrayBuffer>>}
 *   slice  Yields a slice that proves ranges of a blob: the header, then pairs and bytes. The chunks must be present.
 *   `ranges`: default: the whole blob. With `reuse`, a piece is borrowed until the next piece. Throws what `get`
 *   throws.
 *
 * @property {(cid: BlobName, source: Source, ranges?: RangesLike, options?: ReceiveOptions) =>
 *   Promise<{ received: number, complete: boolean }>} receive  Keeps those chunk groups (16 KiB) of which a slice at
 *   group log 4 proves all bytes. It verifies them before it writes them. When the slice fails, the groups that it has
 *   proven before the fault stay. `ranges`: the ranges that the slice proves; default: the whole blob. `received`:
 *   bytes that were missing before; `complete`: true if the blob is complete now. Throws what `SliceVerifier` throws,
 *   and STORE_FULL as `put` does.
 *
 * @property {(cid: BlobName, ranges?: RangesLike) => Promise<ChunkRanges>} missing  Finds the missing chunks of a blob,
 *   in whole chunk groups, because the store never keeps a part of a group. `ranges`: where to look. Default: the whole
 *   blob.
 *
 * @property {(cid: BlobName, options?: HasOptions) => Promise<boolean>} has  Returns true if the store has the whole
 *   blob. It does not look at the members of a sequence. With `supply: true`, a store that can fetch what it lacks asks
 *   for the first missing group and for the end of the blob, and keeps the group. It returns true if it gets them: then
 *   `stat` has the proven size. It returns false if the blob is nowhere. If it cannot ask, or gets wrong bytes, it
 *   throws STORE_NOT_FOUND or STORE_MISSING, whose `cause` says why.
 *
 * @property {(cid: BlobName, options?: NoOptions) => Promise<BlobStat & BlobDetails>} stat  Returns the size and state
 *   of a blob, and which of its chunks are present. Throws STORE_NOT_FOUND { cid }.
 *
 * @property {(cids: Iterable<BlobName>, options?: NoOptions) => Promise<(BlobStat | undefined)[]>} statMany  Returns
 *   the size and state of several blobs, in the order of `cids`, with one lookup in the index for all. A result is
 *   undefined if the store does not have the blob, or the blob's record is damaged; `stat` tells these cases apart. All
 *   results are in memory together.
 *
 * @property {(options?: ListOptions) => AsyncGenerator<ListedBlob>} list  Lists all blobs, whole or in part, in the
 *   order of their hashes, or by a time (see `order`). Throws STORE_CORRUPT { cid } for a damaged record, after it has
 *   yielded all others; STORE_NOT_FOUND { cid } when it lists by a time and the store lacks the blob `after`.
 *
 * @property {(cid: BlobName, options?: { force?: boolean }) => Promise<Deleted>} delete  Deletes a blob, whole or in
 *   part. Readers that have already begun get the rest, or STORE_NOT_FOUND. `force`: delete the blob even if it has
 *   tags; the tags stay, and name a blob that the store does not have. Default: false. The result says how many blobs
 *   were deleted: none if the store did not have the blob. Throws STORE_TAGGED { cid, tag } when a tag names the blob;
 *   a tagged sequence that has it as a member does not count.
 *
 * @property {(cids: Many<BlobName>, options?: ProgressOptions & { force?: boolean }) =>
 *   Promise<Deleted>} deleteMany  Deletes blobs, a thousand of them in one write. It ignores blobs that the store does
 *   not have. `force`: as for `delete`. `onProgress` gets `baobox:delete`, with the number of handled CIDs. The result
 *   counts the deleted blobs and their bytes. Throws STORE_TAGGED { cid, tag } when a tag names one of them; the blobs
 *   before that one are deleted.
 *
 * @property {(cid: BlobName, options?: NoOptions) => Promise<CID | undefined>} resolve  Finds the BLAKE3 CID of the
 *   blob that the store has under a name, whole or in part. The name may be an alias: a CID of another hash function.
 *   The other calls take BLAKE3 names only, so pass them the result. Undefined when the store does not have a blob
 *   under the name. Throws STORE_CORRUPT { cid } when damage hides which blob it is.
 *
 * @property {Pick<Tags, keyof Tags>} tags  Names that protect blobs from garbage collection.
 *
 * @property {(cid?: BlobName, options?: { format?: TagFormat }) => TempTag} tempTag  Makes a tag that lasts as long as
 *   the process, for blobs that are tagged later or used only for a while. Call its `release`, or declare it with
 *   `await using`. `cid`: a blob to protect. The tag's `add` protects more blobs, and `put` takes the tag as an option.
 *   `format`: as for `tags.set`.
 *
 * @property {Pick<Aliases, keyof Aliases>} aliases  Names of blobs by other hash functions.
 *
 * @property {(options?: GcOptions) => Promise<{ blobs: number, bytes: number }>} gc  Deletes every blob, whole or in
 *   part, that nothing protects. A tag, temporary or not, protects the blob that it names, unless it is weak; with the
 *   format `hashseq`, it protects the members, too. Puts, receives and reads protect their blobs while they run. The
 *   store may be used during the call. An interrupted call has deleted some of the blobs. The result counts the deleted
 *   blobs and their bytes. Throws STORE_CORRUPT when tags, or a tagged sequence of hashes, cannot be read, or the index
 *   may have lost records. Damage then hides which blobs are protected, and nothing is deleted.
 *
 * @property {(options?: FsckOptions) => Promise<FsckReport>} fsck  Checks everything in the store: each extent and each
 *   page of a tree against the blob's root, each record, and all other entries and files. The store may be used during
 *   the call. It reports damage instead of throwing it.
 *
 *       const { damaged } = await store.fsck({ repair: true })
 *       for (const { cid } of damaged) {
 *         const missing = await store.missing(cid)
 *         await store.receive(cid, await fetchSlice(cid, missing), missing)
 *       }
 *
 * @property {(options?: { signal?: AbortSignal }) => Promise<StoreInfo>} info  Counts the blobs, bytes and tags of the
 *   store. If anything has changed since the last call, it walks through the index, which takes about 3 s for a million
 *   blobs. It asks the system for the sizes of the store's files, too. Damaged records and tags do not count.
 *
 * @property {(options?: { after?: string, signal?: AbortSignal }) => AsyncGenerator<StoreEvent>} watch  Yields the
 *   changes of the blobs and tags of this store: from now on, or after a point that `watch` or `info` has given. It
 *   reads the log of changes in the index, which is as durable as the changes. The log keeps its last 4 MiB, about a
 *   hundred thousand events. The generator never ends by itself. Throws WATCH_GAP when changes after the point are no
 *   longer in the log, because the caller was too slow, a write has failed, or the store was rescued.
 *
 * @property {() => Promise<void>} close  Ends all calls that are under way, and closes the store. Puts and receives
 *   that are under way fail with STORE_CLOSED; groups that were already received are kept.
 *
 * @property {AbortSignal} closing  aborted when `close` is called, with STORE_CLOSED as its reason. `close` waits for
 *   the calls of the store that are under way, but not for guests
 * @property {string | undefined} location  where the store is, as the caller who opened it has named it; undefined when
 *   it has no name
 * @property {boolean} isReadOnly  true if calls that write fail with STORE_READ_ONLY
 * @property {number | undefined} quota  bytes of blobs that the store may keep; undefined for no limit
 * @property {boolean} verifies  true if the store compares what it reads with the hash, unless a call says otherwise
 * @property {boolean} syncReads  true if small reads may block this thread where that is quicker
 */

/**
 * @typedef {object} OptionalCalls  what only some stores have
 * @property {boolean} [hasOwnNames]  true if each blob has its own name besides its aliases, however it was put
 * @property {(cid: BlobName, seconds: number, options?: BlobUrlOptions) => Promise<string | undefined>} [url]  Makes a
 *   URL from which anybody can read the whole blob or a range of it for so many seconds, unverified. Undefined if there
 *   is none, for example because the store lacks the blob.
 */
/**
 * @typedef {object} BlobUrlOptions  headers that the server of the URL should answer with, if it can
 * @property {string} [type]  Content-Type
 * @property {string} [disposition]  Content-Disposition
 * @property {AbortSignal} [signal]
 */

/** @typedef {StoreCalls & WholeOutboard & OutboardPart & OptionalCalls} Store */

/**
 * @typedef {object} FsckOwnOptions
 * @property {boolean} [repair]  compute lost pairs again; drop damaged groups, so that they are missing and can be
 *   received; delete data that no record names. It does none of this while the store is unreadable (see `isReadable`).
 *   Default: false
 * @property {Iterable<BlobName>} [cids]  check only these blobs, if the store has them, and nothing else. Default:
 *   everything
 */
/** @typedef {ProgressOptions & FsckOwnOptions} FsckOptions  `onProgress` gets `baobox:fsck` */

const CALLS = [
  'put', 'putMany', 'get', 'getMany', 'bytes', 'stream', 'source', 'slice', 'outboard', 'receive', 'missing', 'has',
  'stat', 'statMany', 'list', 'delete', 'deleteMany', 'resolve', 'tempTag', 'gc', 'fsck', 'info', 'watch', 'close'
]
const CALLS_OF = {
  tags: ['set', 'add', 'setMany', 'get', 'delete', 'rename', 'list'],
  aliases: ['resolve', 'resolveMany', 'of', 'add', 'delete', 'list']
}

/**
 * Throws unless the value has the methods of a store. Its class does not matter.
 *
 * @param {unknown} value
 * @param {string} [name]  the argument's name, for the message
 * @returns {asserts value is Store}
 * @throws {TypeError}
 */
export function assertStore (value, name = 'store') {
  const isStore = hasCalls(value, CALLS) &&
    Object.entries(CALLS_OF).every(([part, calls]) => hasCalls(/** @type {any} */ (value)[part], calls))
  if (!isStore) throw new TypeError(`"${name}" expected a store, got ${describe(value)}`)
}

/** @param {any} value @param {string[]} calls */
const hasCalls = (value, calls) =>
  typeof value === 'object' && value !== null && calls.every(call => typeof value[call] === 'function')

/** @param {Store} store @throws {BaoError} STORE_READ_ONLY { location } when calls that write would fail */
export function assertWritable ({ isReadOnly, location }) {
  if (isReadOnly) throw readOnlyError(location)
}
