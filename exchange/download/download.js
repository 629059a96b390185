// Downloads a blob, parts of it, or a sequence of hashes and its members into a store. Checks the options, and protects
// the blobs until the download ends.

import { MirrorBook } from '../../verifier/mirrors/mirror-book.js'
import { systemClock } from '../../verifier/mirrors/patience.js'
import { assertInteger, assertOptions, describe } from '../../lib/core/bytes.js'
import { BaoError } from '../../lib/core/errors.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { HASHSEQ, parseRoot, toCid } from '../../lib/hash/cid.js'
import { HASH_LEN } from '../../lib/core/constants.js'
import { eitherOf } from '../../lib/source/async-util.js'
import { ChunkRanges, toRanges } from '../../lib/tree/ranges.js'
import { assertName, assertStore, assertWritable } from '../../store/interface.js'
import { BlobDownload } from './blob/blob-download.js'
import { Downloader } from './downloader.js'
import { DownloadProgress } from './progress.js'
import { MemberDownloads } from './members/member-downloads.js'
import { protectByTag } from './part-tag.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Clock } from '../../verifier/mirrors/patience.js' */
/** @import { MirrorLike } from '../../verifier/mirrors/mirror.js' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { RangesLike } from '../../lib/tree/ranges.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { MirrorReport } from '../../verifier/mirrors/mirror-record.js' */
/** @import { Session } from './work.js' */
/** @import { WholeMember } from './members/member-downloads.js' */
/** @import { DownloadEvent } from './progress.js' */

/**
 * @typedef {object} DownloadOptions
 * @property {Iterable<MirrorLike> | AsyncIterable<MirrorLike>} from  mirrors, as `mirrorOf` takes them. An async
 *   iterable may yield more of them while the download is running
 * @property {RangesLike} [ranges]  the wanted ranges of the blob, in whole chunk groups; default: everything
 * @property {boolean} [recursive]  true if the blob is a sequence of hashes, for example a collection, and its members
 *   are wanted, too. Then mirrors must be able to give any blob: URLs need `{cid}` or `{hex}` in them. Default: false
 * @property {string} [tag]  the name of a tag that the blob gets when the download succeeds. With `recursive`, the tag
 *   protects the members, too. Until then, a tag called `NAME.part` protects the received data from `gc`, even after a
 *   crash. If that name is taken by another tag, for example that of a download of another blob, the tag is called
 *   `NAME.part2`, and so on
 * @property {number} [maxMembers]  the maximum number of members; default: 4 194 304 (2^22)
 * @property {number} [parallel]  how many mirrors are asked at the same time; default: 4
 * @property {number} [retries]  how many times a mirror is asked again after failures in a row; default: 3
 * @property {number} [stall]  milliseconds within which a mirror must send 16 KiB; default: 15 000
 * @property {number} [maxDuplicates]  how many mirrors the servers may add to `from`, by `Link: <...>; rel=duplicate`
 *   (RFC 6249). With `recursive`, none are added, because each of these URLs has only one blob. Default: 4; 0 for none
 * @property {number} [maxUnverified]  bytes of a blob that may be written before any of them is verified, if the whole
 *   blob is wanted and no server can prove parts of it. Default: 1 GiB. Members are never written unverified. If no
 *   server can prove parts of a member, it must have at most 16 MiB, and is verified in memory
 * @property {AbortSignal} [signal]
 * @property {(event: DownloadEvent) => void} [onProgress]  called with `baobox:download` events
 * @property {(member: WholeMember) => void} [onMember]  called with each member once, when the member is whole, in any
 *   order, even with members that the store had before
 */
/**
 * @typedef {object} DownloadResult
 * @property {CID} cid
 * @property {number} size  bytes of the blob, proven
 * @property {number} received  bytes that were missing before, including those of members
 * @property {boolean} complete  true if the store has the whole blob now, and all members if they were wanted
 * @property {number} [members]  the number of members, if they were wanted
 * @property {MirrorReport[]} mirrors  the bytes and the last error of each mirror
 */

/** @typedef {Omit<DownloadOptions, 'ranges' | 'recursive' | 'tag' | 'maxMembers' | 'onMember'>} FileDownloadOptions */

/** The options for downloading one whole blob. */
export const BLOB_OPTIONS = [
  'from', 'parallel', 'retries', 'stall', 'maxDuplicates', 'maxUnverified', 'signal', 'onProgress'
]
const DOWNLOAD_OPTIONS = [...BLOB_OPTIONS, 'ranges', 'recursive', 'tag', 'maxMembers', 'onMember']
const DEFAULT_PARALLEL = 4
const DEFAULT_MAX_MEMBERS = 2 ** 22
/**
 * The same number as the default limit of an upload to a handler. A liar can make the store write this many bytes,
 * which are then deleted.
 */
const DEFAULT_MAX_UNVERIFIED = 2 ** 30

/**
 * Downloads a blob, or parts of it, from many mirrors at the same time. Fast mirrors fetch more, and mirrors race for
 * the last parts. A mirror that lies is dropped. A mirror that fails or stalls is asked again later, and the verified
 * part of its answer is kept. After an interruption, the next call downloads only what is still missing.
 *
 * With `recursive`, the blob is a sequence of hashes, or a collection, and its members are downloaded, too: in their
 * order, many at a time, each from any mirror that has it. Until the call ends, all of them are protected from `gc`.
 *
 * @param {Store} store
 * @param {BlobName} cid
 * @param {DownloadOptions} options  `from`: the mirrors. `onProgress` gets `baobox:download`
 * @returns {Promise<DownloadResult>}
 * @throws {BaoError} FETCH_EXHAUSTED, whose `cause` is an AggregateError, when no mirror is left; STORE_FULL, as for
 *   `put`; with `recursive`, FETCH_MEMBERS_MISSING { cid, members } when the store has all other members,
 *   HASHSEQ_INVALID { cid, len }, and HASHSEQ_TOO_LONG { cid, len } for a sequence with more than `maxMembers`, before
 *   any of it is fetched. Received data is kept
 */
export async function download (store, cid, options) {
  assertOptions('options', options, '{ from, ... }')
  assertKnownOptions(options, DOWNLOAD_OPTIONS)
  assertStore(store)
  return downloadBy(systemClock, store, cid, options)
}

/**
 * @param {Clock} clock
 * @param {Store} store @param {BlobName} cid @param {DownloadOptions} options
 * @returns {Promise<DownloadResult>}
 */
export async function downloadBy (clock, store, cid, options) {
  store.closing.throwIfAborted()
  const root = parseRoot(cid, 'cid')
  const { from, wanted, recursive, tag, parallel, maxMembers, maxUnverified, onMember, ...rest } = checked(options)
  const { retries, stall, maxDuplicates, signal, onProgress } = rest
  const progress = new DownloadProgress({ clock, onProgress })
  const book = new MirrorBook({ retries, stall, maxDuplicates, clock, progress })
  if (recursive) book.maxDuplicates = 0 // Each URL that a server names has only one blob.
  assertWritable(store)
  signal?.throwIfAborted()
  const ending = eitherOf(signal, store.closing)
  const format = recursive ? 'hashseq' : 'raw'
  const held = store.tempTag(root, { format })
  const work = async () => {
    const downloader = new Downloader(book, { from, anyBlob: recursive, parallel, signal: ending })
    const session = { store, book, progress, signal: downloader.signal }
    try {
      return recursive
        ? await downloadSequence(downloader, session, root, { maxMembers, maxUnverified, onMember })
        : await downloadBlob(downloader, session, { root, wanted, maxUnverified })
    } finally {
      await downloader.end()
    }
  }
  try {
    return tag === undefined ? await work() : await protectByTag(store, { name: tag, root, format }, work)
  } finally {
    held.release()
  }
}

/**
 * Checks the options that no part of the download checks, and sets their defaults.
 *
 * @param {DownloadOptions} options
 */
function checked ({
  from, ranges, recursive = false, tag, parallel = DEFAULT_PARALLEL, maxMembers = DEFAULT_MAX_MEMBERS,
  maxUnverified = DEFAULT_MAX_UNVERIFIED, ...rest
}) {
  const wanted = toRanges(ranges)
  if (recursive && ranges !== undefined) {
    throw new TypeError('"recursive" excludes "ranges": a sequence and its members are downloaded whole')
  }
  if (tag !== undefined) assertName('tag', tag)
  assertInteger('maxMembers', maxMembers)
  assertInteger('parallel', parallel, 1)
  assertInteger('maxUnverified', maxUnverified)
  if (typeof from !== 'object' || from === null || !(Symbol.iterator in from || Symbol.asyncIterator in from)) {
    throw new TypeError(`"from" expected an array or another iterable of mirrors, got ${describe(from)}`)
  }
  // Only a whole blob can be verified at its end.
  const unverified = ranges === undefined ? maxUnverified : 0
  return { from, wanted, recursive, tag, parallel, maxMembers, maxUnverified: unverified, ...rest }
}

/**
 * @param {Downloader} downloader @param {Session} session
 * @param {{ root: Uint8Array, wanted: ChunkRanges, maxUnverified: number }} options
 * @returns {Promise<DownloadResult>}
 */
async function downloadBlob (downloader, session, options) {
  const { store, progress } = session
  const { root } = options
  const blob = new BlobDownload(session, options)
  progress.state = () => ({ ...blob.progress, mirrors: blob.reports })
  await downloader.run(blob)
  await downloader.end()
  const complete = await store.has(root)
  progress.report({ isDue: true })
  return { cid: toCid(root), size: blob.size ?? 0, received: blob.received, complete, mirrors: blob.reports }
}

/**
 * Downloads the whole sequence first, and then its members.
 *
 * @param {Downloader} downloader @param {Session} session @param {Uint8Array} root
 * @param {{ maxMembers: number, maxUnverified: number, onMember?: (member: WholeMember) => void }} options
 * @returns {Promise<DownloadResult>}
 */
async function downloadSequence (downloader, session, root, { maxMembers, maxUnverified, onMember }) {
  const { book, progress } = session
  const sequence = new BlobDownload(session, {
    root,
    wanted: ChunkRanges.all,
    maxUnverified: Math.min(maxUnverified, maxMembers * HASH_LEN),
    assertSize: size => assertSequence(root, size, maxMembers)
  })
  progress.state = () => ({ done: sequence.progress.done, mirrors: book.reports })
  await downloader.run(sequence)
  const size = sequence.size ?? 0
  const count = size / HASH_LEN
  const members = new MemberDownloads(session, { root, count, onMember })
  progress.state = () => {
    const { done, ...state } = members.progress
    return { done: size + done, ...state, mirrors: book.reports }
  }
  await downloader.run(members)
  progress.report({ isDue: true })
  const received = sequence.received + members.received
  return { cid: toCid(root, HASHSEQ), size, received, complete: true, members: count, mirrors: book.reports }
}

/**
 * @param {Uint8Array} root @param {number} len  bytes @param {number} maxMembers
 * @throws {BaoError} HASHSEQ_INVALID { cid, len }, HASHSEQ_TOO_LONG { cid, len }
 */
function assertSequence (root, len, maxMembers) {
  const cid = toCid(root, HASHSEQ)
  if (len > maxMembers * HASH_LEN) {
    const count = Math.ceil(len / HASH_LEN)
    const message = `${cid} has ${count} members, and "maxMembers" allows ${maxMembers}: raise it if that is right`
    throw new BaoError('HASHSEQ_TOO_LONG', message, { cid, len })
  }
  if (len % HASH_LEN === 0) return
  const message = `${cid} is not a sequence of hashes, because its ${len} bytes are not a multiple of ${HASH_LEN}: ` +
    'download it without "recursive", or check the CID'
  throw new BaoError('HASHSEQ_INVALID', message, { cid, len })
}
