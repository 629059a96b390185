// Downloads a blob, parts of it, or a sequence of hashes and its members into a store: the options of the call, and
// what protects the blobs meanwhile.

import { DEFAULT_RETRIES, DEFAULT_STALL } from '../../../verifier/mirrors/relay.js'
import { assertInteger, describe } from '../../../lib/core/bytes.js'
import { BaoError } from '../../../lib/core/errors.js'
import { HASHSEQ, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { systemClock } from '../../../verifier/mirrors/patience.js'
import { ChunkRanges, toRanges } from '../../../lib/tree/ranges.js'
import { BlobDownload } from './blob-download.js'
import { Downloader } from './downloader.js'
import { DownloadProgress } from './progress.js'
import { MemberDownloads } from './members.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Clock } from '../../../verifier/mirrors/patience.js' */
/** @import { MirrorLike } from '../../../verifier/mirrors/mirror.js' */
/** @import { BlobName } from '../../../lib/hash/cid.js' */
/** @import { RangesLike } from '../../../lib/tree/ranges.js' */
/** @import { StoreContext } from '../store-context.js' */
/** @import { MirrorReport } from '../../../verifier/mirrors/health.js' */
/** @import { DownloadTerms } from './downloader.js' */
/** @import { WholeMember } from './members.js' */
/** @import { DownloadEvent } from './progress.js' */

/**
 * @typedef {object} DownloadOptions
 * @property {Iterable<MirrorLike> | AsyncIterable<MirrorLike>} from  mirrors, as `mirrorOf` takes them. An async
 *   iterable may give more of them while the download runs
 * @property {RangesLike} [ranges]  what is wanted of the blob, in whole chunk groups; default: everything
 * @property {boolean} [recursive]  is the blob a sequence of hashes (also a collection) whose members are wanted, too?
 *   Mirrors must be able to give any blob then: URLs need `{cid}` or `{hex}` in them. Default: false
 * @property {number} [maxMembers]  how many of them there may be; default: 4 194 304 (2^22)
 * @property {number} [parallel]  how many mirrors are asked at once; default: 4
 * @property {number} [retries]  how often a mirror is asked again after failures in a row; default: 3
 * @property {number} [stall]  milliseconds in which a mirror must bring 16 KiB; default: 15 000
 * @property {AbortSignal} [signal]
 * @property {(event: DownloadEvent) => void} [onProgress]  gets `baobox:download`
 * @property {(member: WholeMember) => void} [onMember]  gets each member once, in no certain order, when it is whole;
 *   also those that were there
 */
/**
 * @typedef {object} DownloadResult
 * @property {CID} cid
 * @property {number} size  bytes of the blob, proven
 * @property {number} received  bytes that were missing before, also those of members
 * @property {boolean} complete  has the store the whole blob now, and all members if they were wanted?
 * @property {number} [members]  how many there are, if they were wanted
 * @property {MirrorReport[]} mirrors  what each has brought, and the last error of each
 */

/** @typedef {Omit<DownloadOptions, 'ranges' | 'recursive' | 'maxMembers' | 'onMember'>} FileDownloadOptions */

/** Of one whole blob. */
export const BLOB_OPTIONS = ['from', 'parallel', 'retries', 'stall', 'signal', 'onProgress']
export const DOWNLOAD_OPTIONS = [...BLOB_OPTIONS, 'ranges', 'recursive', 'maxMembers', 'onMember']
const DEFAULT_PARALLEL = 4
const DEFAULT_MAX_MEMBERS = 2 ** 22

/**
 * See `BlobStore.download`.
 *
 * @param {StoreContext} store
 * @param {BlobName} cid @param {DownloadOptions} options
 * @param {Clock} [clock]
 * @returns {Promise<DownloadResult>}
 */
export async function download (store, cid, options, clock = systemClock) {
  const { from, ranges, recursive = false, maxMembers = DEFAULT_MAX_MEMBERS, signal, onProgress, onMember } = options
  const { parallel = DEFAULT_PARALLEL, retries = DEFAULT_RETRIES, stall = DEFAULT_STALL } = options
  const root = parseRoot(cid, 'cid')
  const wanted = toRanges(ranges)
  if (recursive && ranges !== undefined) throw new TypeError('"recursive" excludes "ranges"')
  assertInteger('maxMembers', maxMembers)
  assertInteger('parallel', parallel, 1)
  assertInteger('retries', retries)
  assertInteger('stall', stall, 1)
  if (typeof from !== 'object' || from === null || !(Symbol.iterator in from || Symbol.asyncIterator in from)) {
    throw new TypeError(`"from" expected an array or another iterable of mirrors, got ${describe(from)}`)
  }
  const closing = new AbortController()
  const either = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal])
  const progress = new DownloadProgress({ onProgress, clock })
  const terms = { from, anyBlob: recursive, parallel, retries, stall, progress, clock, signal: either }
  return store.activity.run(async () => {
    either.throwIfAborted()
    const release = recursive ? store.protection.tag(root, 'hashseq') : store.protection.use(root)
    try {
      if (recursive) return await downloadSequence(store, terms, root, { maxMembers, onMember })
      return await downloadBlob(store, terms, root, wanted)
    } finally {
      release()
    }
  }, reason => closing.abort(reason))
}

/**
 * @param {StoreContext} store @param {DownloadTerms} terms @param {Uint8Array} root @param {ChunkRanges} wanted
 * @returns {Promise<DownloadResult>}
 */
async function downloadBlob (store, terms, root, wanted) {
  const { progress } = terms
  const downloader = new Downloader(terms)
  const blob = new BlobDownload(store, terms, downloader.signal, { root, wanted })
  progress.state = () => ({ ...blob.progress, mirrors: blob.reports(downloader.mirrors) })
  try {
    await downloader.run(blob)
  } finally {
    await downloader.end()
  }
  const { complete = false } = await store.catalog.get(root) ?? {}
  progress.report({ isDue: true })
  const mirrors = blob.reports(downloader.mirrors)
  return { cid: toCid(root), size: blob.size ?? 0, received: blob.received, complete, mirrors }
}

/**
 * The sequence comes first, whole, and then its members.
 *
 * @param {StoreContext} store @param {DownloadTerms} terms @param {Uint8Array} root
 * @param {{ maxMembers: number, onMember?: (member: WholeMember) => void }} options
 * @returns {Promise<DownloadResult>}
 */
async function downloadSequence (store, terms, root, { maxMembers, onMember }) {
  const { progress } = terms
  const downloader = new Downloader(terms)
  const reports = () => downloader.mirrors.map(({ report }) => report)
  const assertSize = (/** @type {number} */ size) => assertSequence(root, size, maxMembers)
  const sequence = new BlobDownload(store, terms, downloader.signal, { root, wanted: ChunkRanges.all, assertSize })
  progress.state = () => ({ done: sequence.progress.done, mirrors: reports() })
  try {
    await downloader.run(sequence)
    const size = sequence.size ?? 0
    const count = size / HASH_LEN
    const members = new MemberDownloads(store, terms, downloader.signal, { root, count, onMember })
    progress.state = () => {
      const { done, ...state } = members.progress
      return { done: size + done, ...state, mirrors: reports() }
    }
    await downloader.run(members)
    progress.report({ isDue: true })
    const received = sequence.received + members.received
    return { cid: toCid(root, HASHSEQ), size, received, complete: true, members: count, mirrors: reports() }
  } finally {
    await downloader.end()
  }
}

/**
 * @param {Uint8Array} root @param {number} len  bytes @param {number} maxMembers
 * @throws {BaoError} HASHSEQ_INVALID { cid, len }, HASHSEQ_TOO_LONG { cid, len }
 */
function assertSequence (root, len, maxMembers) {
  const cid = toCid(root, HASHSEQ)
  if (len > maxMembers * HASH_LEN) {
    throw new BaoError('HASHSEQ_TOO_LONG', `${cid} has more than ${maxMembers} members`, { cid, len })
  }
  if (len % HASH_LEN === 0) return
  const message = `${cid} is no sequence of hashes: ${len} bytes are no multiple of 32`
  throw new BaoError('HASHSEQ_INVALID', message, { cid, len })
}
