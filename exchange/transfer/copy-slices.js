// Copies those chunks of a blob that another store lacks, as slices. Leaves out chunks that are damaged in the source.

import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { BaoError } from '../../lib/core/errors.js'
import { ChunkRanges, rangesLen } from '../../lib/tree/ranges.js'
import { isLoss, unlessLoss } from './chosen-blobs.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Store } from '../../store/interface.js' */

/** How many times the copy of a blob is begun again because the blob was replaced during a read. */
const MAX_CHANGES = 3

/**
 * @param {Store} from @param {Store} to @param {CID} cid
 * @param {{ signal?: AbortSignal, onCopied: (len: number) => void }} options  `onCopied` gets the number of bytes of a
 *   slice that the other store lacked
 * @returns {Promise<{ copied: number, error: unknown }>} `copied`: bytes that the other store lacked; `error`: the
 *   error of the last failed read of the source, or null
 * @throws all errors except those that mean that bytes of this blob are lost
 */
export async function copySlices (from, to, cid, { signal, onCopied }) {
  let failure = /** @type {unknown} */ (null)
  let damaged = ChunkRanges.none
  let copied = 0
  let changes = 0
  for (let hasMore = true; hasMore;) {
    const stat = await statOf(from, cid)
    if (stat === undefined) break // The blob was deleted.
    const wanted = (await to.missing(cid, stat.present)).intersect(stat.present).difference(damaged)
    if (wanted.isEmpty) break
    const { received, error } = await copySlice(from, to, cid, wanted, signal)
    onCopied(received)
    copied += received
    const found = damagedChunks(error).difference(damaged)
    damaged = damaged.union(found)
    failure = error ?? failure
    if (error === null) hasMore = received > 0
    else hasMore = !found.isEmpty || (isChanged(error) && ++changes <= MAX_CHANGES)
  }
  return { copied, error: failure }
}

/**
 * @param {Store} from @param {Store} to @param {CID} cid @param {ChunkRanges} ranges
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ received: number, error: unknown }>} `received`: bytes that the other store lacked; `error`: the
 *   error of reading the source, or null
 */
async function copySlice (from, to, cid, ranges, signal) {
  let error = /** @type {unknown} */ (null)
  /** @param {AsyncIterable<Uint8Array>} slice */
  const watched = async function * (slice) {
    try {
      yield * slice
    } catch (failure) {
      error = failure
      throw failure
    }
  }
  const before = await presentLen(to, cid)
  try {
    const slice = watched(from.slice(cid, ranges, { reuse: true, signal }))
    const { received } = await to.receive(cid, slice, ranges, { signal })
    return { received, error }
  } catch (failure) {
    signal?.throwIfAborted()
    // If the source does not verify what it reads, the other store notices the damage.
    if (!isUnproven(failure) && (failure !== error || !isLoss(failure))) throw failure
    return { received: await presentLen(to, cid) - before, error: failure }
  }
}

/** Counts the bytes that a store has of a blob. @param {Store} store @param {CID} cid */
async function presentLen (store, cid) {
  const stat = await statOf(store, cid)
  return stat === undefined ? 0 : rangesLen(stat.present, stat.size)
}

/**
 * Returns what the store knows about a blob. Returns undefined when the store does not have the blob, or the record of
 * the blob is damaged.
 *
 * @param {Store} store
 * @param {CID} cid
 */
const statOf = (store, cid) => store.stat(cid).catch(unlessLoss)

/** True if an error says that bytes are not those of the blob. @param {unknown} error @returns {error is BaoError} */
export const isUnproven = error => error instanceof BaoError && error.code.startsWith('BAO_')

/** @param {unknown} error */
const isChanged = error => error instanceof BaoError && error.code === 'STORE_CHANGED'

/** Returns the chunks that an error says are damaged or missing. @param {unknown} error */
function damagedChunks (error) {
  if (!(error instanceof BaoError)) return ChunkRanges.none
  const { start, len, ranges } = error
  if (ranges !== undefined) return ranges
  if (error.code !== 'STORE_CORRUPT' || start === undefined || !len) return ChunkRanges.none
  return ChunkRanges.fromBytes(start, start + len).roundToGroups(DEFAULT_GROUP_LOG)
}
