// Downloads a blob, or parts of it, into a store: the options of the call, and what protects the blob meanwhile.

import { DEFAULT_RETRIES, DEFAULT_STALL } from '../../../verifier/mirrors/relay.js'
import { assertInteger, describe } from '../../../lib/core/bytes.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { systemClock } from '../../../verifier/mirrors/patience.js'
import { toRanges } from '../../../lib/tree/ranges.js'
import { Downloader } from './downloader.js'

/** @import { Clock } from '../../../verifier/mirrors/patience.js' */
/** @import { MirrorLike } from '../../../verifier/mirrors/mirror.js' */
/** @import { BlobName } from '../../../lib/hash/cid.js' */
/** @import { RangesLike } from '../../../lib/tree/ranges.js' */
/** @import { StoreContext } from '../store-context.js' */
/** @import { DownloadResult } from './downloader.js' */
/** @import { DownloadEvent } from './progress.js' */

/**
 * @typedef {object} DownloadOptions
 * @property {Iterable<MirrorLike> | AsyncIterable<MirrorLike>} from  mirrors, as `mirrorOf` takes them. An async
 *   iterable may give more of them while the download runs
 * @property {RangesLike} [ranges]  what is wanted of the blob, in whole chunk groups; default: everything
 * @property {number} [parallel]  how many mirrors are asked at once; default: 4
 * @property {number} [retries]  how often a mirror is asked again after failures in a row; default: 3
 * @property {number} [stall]  milliseconds in which a mirror must bring 16 KiB; default: 15 000
 * @property {AbortSignal} [signal]
 * @property {(event: DownloadEvent) => void} [onProgress]  gets `baobox:download`
 */

export const DOWNLOAD_OPTIONS = ['from', 'ranges', 'parallel', 'retries', 'stall', 'signal', 'onProgress']
const DEFAULT_PARALLEL = 4

/**
 * See `BlobStore.download`.
 *
 * @param {StoreContext} store
 * @param {BlobName} cid @param {DownloadOptions} options
 * @param {Clock} [clock]
 * @returns {Promise<DownloadResult>}
 */
export async function download (store, cid, options, clock = systemClock) {
  const { from, ranges, parallel = DEFAULT_PARALLEL, signal, onProgress } = options
  const { retries = DEFAULT_RETRIES, stall = DEFAULT_STALL } = options
  const root = parseRoot(cid, 'cid')
  const wanted = toRanges(ranges)
  assertInteger('parallel', parallel, 1)
  assertInteger('retries', retries)
  assertInteger('stall', stall, 1)
  if (typeof from !== 'object' || from === null || !(Symbol.iterator in from || Symbol.asyncIterator in from)) {
    throw new TypeError(`"from" expected an array or another iterable of mirrors, got ${describe(from)}`)
  }
  const closing = new AbortController()
  const either = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal])
  const terms = { root, wanted, from, parallel, retries, stall, onProgress, clock, signal: either }
  return store.activity.run(async () => {
    either.throwIfAborted()
    const release = store.protection.use(root)
    try {
      return await new Downloader(store, terms).run()
    } finally {
      release()
    }
  }, reason => closing.abort(reason))
}
