// Copies what another store lacks of one blob, as slices. Bytes that are damaged in the source are left out.

import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { BaoError } from '../../lib/core/errors.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { LOSSES } from './chosen-blobs.js'

/** @import { StoreContext } from '../../store/store-context.js' */
/** @import { BlobRecord } from '../../store/storage/format/records.js' */

/** How often the copy of a blob begins again because the blob was replaced while it was read. */
const MAX_CHANGES = 3

/**
 * @param {StoreContext} from @param {StoreContext} to @param {Uint8Array} root
 * @param {{ signal?: AbortSignal, onCopied: (len: number) => void }} options  `onCopied` gets the bytes of each slice
 *   that the other store lacked
 * @returns {Promise<{ copied: number, error: unknown }>} `copied`: bytes that the other store lacked; `error`: why a
 *   read of the source failed last, or null
 * @throws whatever does not mean that bytes of this blob are lost
 */
export async function copySlices (from, to, root, { signal, onCopied }) {
  let failure = /** @type {unknown} */ (null)
  let damaged = ChunkRanges.none
  let copied = 0
  let changes = 0
  for (let hasMore = true; hasMore;) {
    const { record } = await from.catalog.find(root)
    if (record === undefined) break // The blob was deleted meanwhile.
    const wanted = (await lacking(from, to, root, record)).difference(damaged)
    if (wanted.isEmpty) break
    const { received, error } = await copySlice(from, to, root, wanted, signal)
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
 * The chunks that are present in one store and missing in the other.
 *
 * @param {StoreContext} from @param {StoreContext} to @param {Uint8Array} root @param {BlobRecord} record
 */
async function lacking (from, to, root, record) {
  const present = record.complete ? ChunkRanges.all : await from.presence.of(record)
  const { record: there } = await to.catalog.find(root)
  return there === undefined ? present : (await to.presence.missing(there, present)).intersect(present)
}

/**
 * @param {StoreContext} from @param {StoreContext} to @param {Uint8Array} root @param {ChunkRanges} ranges
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ received: number, error: unknown }>} `received`: bytes that the other store lacked; `error`: why
 *   reading the source has failed, or null
 */
async function copySlice (from, to, root, ranges, signal) {
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
  const before = await presentLen(to, root)
  try {
    const slice = watched(from.slices.slice(root, ranges, { reuse: true, signal }))
    const { received } = await to.receiver.receive(root, slice, ranges, { signal })
    return { received, error }
  } catch (failure) {
    signal?.throwIfAborted()
    // If the source does not verify what it reads, the other store notices the damage.
    const isDamage = failure instanceof BaoError && failure.code.startsWith('BAO_')
    if (!isDamage && (failure !== error || !isLoss(failure))) throw failure
    return { received: await presentLen(to, root) - before, error: failure }
  }
}

/** Counts the bytes that a store has of a blob. @param {StoreContext} store @param {Uint8Array} root */
async function presentLen ({ catalog, presence }, root) {
  const { record } = await catalog.find(root)
  return record === undefined ? 0 : presence.len(record)
}

/**
 * Does an error say that a blob, or a part of it, cannot be read?
 *
 * @param {unknown} error @returns {error is BaoError}
 */
export const isLoss = error => error instanceof BaoError && (LOSSES.has(error.code) || error.code.startsWith('BAO_'))

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
