// Checks the blobs of a bucket: reads all their bytes, and compares them with their hashes. With `repair`, it puts
// damaged blobs again.

import { BaoError } from '../../../lib/core/errors.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { parseRoot, toCid } from '../../../lib/hash/cid.js'
import { assertMany } from '../../../lib/async/in-order.js'
import { isEmptyRoot } from '../../../lib/hash/roots.js'
import { fetchVerified } from '../../../verifier/mirrors/fetch-verified.js'
import { parseBlobKey } from '../layout.js'
import { bucketMirror } from '../mirror.js'

/** @import { BlobStore, DamagedBlob, FsckOptions, FsckReport } from '../../../store/index.js' */
/** @import { Bucket } from '../bucket.js' */
/** @import { BucketLister } from './lister.js' */
/** @import { Placements } from './placements.js' */
/** @import { BucketTags } from './tags.js' */

/**
 * @typedef {object} CheckParts
 * @property {Bucket} bucket
 * @property {BucketLister} lister
 * @property {BlobStore} local
 * @property {Placements} placements
 * @property {BucketTags} tags
 */

/** Errors that say that a blob is damaged, besides those of the verifier. */
const OF_DAMAGE = ['BUCKET_INVALID', 'FETCH_CHANGED', 'FETCH_REFUSED', 'STORE_NOT_FOUND']

/**
 * See `Store.fsck`. All chunks of a damaged blob are in `lost` unless the blob was put again: its bytes are neither in
 * the bucket nor in the local store.
 *
 * @param {CheckParts} parts @param {FsckOptions} options @param {AbortSignal} signal
 * @returns {Promise<FsckReport>}
 */
export async function checkBlobs (parts, { repair = false, cids, onProgress }, signal) {
  const damaged = /** @type {DamagedBlob[]} */ ([])
  let blobs = 0
  let done = 0
  for await (const root of cids === undefined ? listed(parts, signal) : named(cids)) {
    const fault = await faultOf(parts, root, signal)
    if (fault === undefined) continue
    blobs++
    done += fault.size
    onProgress?.({ type: 'baobox:fsck', detail: { done, unit: 'bytes' } })
    if (!fault.isDamaged) continue
    const isRepaired = repair && await parts.placements.replace(root, () => bytesOf(parts, root, signal), signal)
    const all = ChunkRanges.all.canonical(fault.size)
    const lost = isRepaired ? ChunkRanges.none : all
    damaged.push({ cid: toCid(root), size: fault.size, data: all, tree: all, strays: 0, lost, isUnreadable: false })
  }
  const names = cids === undefined ? await parts.tags.damaged(signal) : []
  const tags = names.map(name => ({ name, isRestored: false }))
  const isSound = damaged.length === 0 && tags.length === 0
  return { isSound, blobs, damaged, records: [], tags, orphans: 0, strays: 0, isStateDamaged: false, isReadable: true }
}

/** @param {CheckParts} parts @param {AbortSignal} signal */
async function * listed ({ lister }, signal) {
  for await (const { cid, complete } of lister.list({}, signal)) if (complete) yield parseRoot(cid)
}

/** @param {Iterable<import('../../../store/index.js').BlobName>} cids */
async function * named (cids) {
  assertMany('cids', cids, 'CIDs')
  for (const cid of cids) {
    const root = parseRoot(cid, 'cids')
    if (!isEmptyRoot(root)) yield root
  }
}

/**
 * Reads a whole blob, and drops the bytes.
 *
 * @param {CheckParts} parts @param {Uint8Array} root @param {AbortSignal} signal
 * @returns {Promise<{ size: number, isDamaged: boolean } | undefined>} `size`: bytes that were right. Undefined if the
 *   bucket does not have the blob
 */
async function faultOf ({ bucket, placements }, root, signal) {
  let size = 0
  try {
    const { body } = await fetchVerified(bucketMirror(bucket), { cid: root, retries: 0, signal })
    const reader = /** @type {ReadableStream<Uint8Array>} */ (body).getReader()
    for (let read; !(read = await reader.read()).done;) size += read.value.length
    return { size, isDamaged: false }
  } catch (error) {
    signal.throwIfAborted()
    placements.forget(root) // It may have been deleted since.
    const placement = await placements.find(root, signal)
    if (placement === undefined && isAbsence(error)) return undefined
    if (!isDamage(error)) throw error
    return { size: placement?.size ?? size, isDamaged: true }
  }
}

/** @param {unknown} error  of `fetchVerified` @returns {unknown} that of the only mirror */
const errorOfMirror = error => error instanceof BaoError && error.code === 'FETCH_EXHAUSTED'
  ? /** @type {AggregateError} */ (error.cause).errors[0]
  : error

/** @param {unknown} error */
function isAbsence (error) {
  const own = errorOfMirror(error)
  return own instanceof BaoError && own.code === 'STORE_NOT_FOUND'
}

/** @param {unknown} error */
function isDamage (error) {
  const own = errorOfMirror(error)
  return own instanceof BaoError && (own.code.startsWith('BAO_') || OF_DAMAGE.includes(own.code))
}

/**
 * Yields the bytes of a blob from objects whose size may be right, though the outboard is not. The caller hashes them.
 *
 * @param {CheckParts} parts @param {Uint8Array} root @param {AbortSignal} signal
 * @returns {AsyncGenerator<AsyncGenerator<Uint8Array>>}
 */
async function * bytesOf ({ bucket, placements }, root, signal) {
  for (const { key } of await placements.allKeys(root, signal)) {
    if (parseBlobKey(key)?.kind !== 'bytes') continue
    const object = await bucket.get(key, undefined, { signal })
    if (object !== undefined) yield object.body
  }
}
