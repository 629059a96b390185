// Receives slices. Three things go on at a time: a piece is verified; groups that were verified before are written to
// their places; and groups that were written before that are recorded, once the disk has them.

import { Background, eitherOf } from '../storage/concurrency/activity.js'
import { chunkCount } from '../../lib/tree/geometry.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { toPieces } from '../../lib/source/source.js'
import { toRanges } from '../../lib/tree/ranges.js'
import { IncomingSlice } from './incoming-slice.js'
import { PendingRecords } from './pending-records.js'
import { nameOf } from '../catalog/roots.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Batch } from './proven-groups.js' */
/** @import { StoreContext } from '../blob-store.js' */
/** @import { Reservation } from '../catalog/quota.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { SliceVerifier } from '../../verifier/slice/slice.js' */
/** @import { ProgressOptions, Source } from '../../lib/core/types.js' */
/** @import { ChunkRanges, RangesLike } from '../../lib/tree/ranges.js' */

/** Bytes that are written before they are recorded, where the disk must have them first. */
const RECORD_LEN = 1 << 24
/** Milliseconds after which what has come is recorded, when the next piece comes. */
const RECORD_MS = 1000

/**
 * How what has been proven is kept.
 *
 * @typedef {object} Keeping
 * @property {boolean} [isLast]  nothing more comes: it is to outlast a power cut, if the store promises that
 * @property {boolean} [hasFailed]  what cannot be written is given up, so that the rest can be recorded
 */

export class BlobReceiver {
  #store
  #pending

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
    this.#pending = new PendingRecords(store)
  }

  /**
   * @param {CID | string | Uint8Array} cid @param {Source} source @param {RangesLike} [ranges]
   * @param {ProgressOptions & { size?: number }} [options]  see `BlobStore.receive`
   */
  receive (cid, source, ranges, { size, signal, onProgress } = {}) {
    const failing = new AbortController()
    return this.#store.activity.run(async () => {
      const root = parseRoot(cid, 'cid')
      const slice = new IncomingSlice(this.#store.databases, { root, ranges: toRanges(ranges), size })
      const { verifier, received } = slice
      const writing = new Background(error => failing.abort(error))
      const recording = new Background(error => failing.abort(error))
      const isLate = () => !recording.isBusy && performance.now() - received.since >= RECORD_MS
      /** @param {Keeping} how */
      const keep = async how => {
        received.take()
        const waitsForDisk = await this.#write(slice, how)
        const isDue = how.isLast || received.waiting >= RECORD_LEN || isLate()
        if (waitsForDisk && isDue) await recording.begin(() => this.#recordSynced(slice, how))
      }
      const release = this.#store.protection.use(root)
      const end = async () => {
        try {
          await slice.close()
        } finally {
          received.forget()
          if (this.#pending.has(slice)) await this.#store.locks.run(nameOf(root), () => this.#pending.leave(slice))
          release()
        }
      }
      try {
        for await (const piece of toPieces(source, { signal: eitherOf(signal, failing.signal) })) {
          verifier.write(piece)
          if (received.isFull || (isLate() && !writing.isBusy)) await writing.begin(() => keep({}))
          onProgress?.({ type: 'baobox:receive', detail: { done: verifier.bytesRead } })
          if (verifier.done) break
        }
        verifier.end()
        await writing.begin(() => keep({ isLast: true }))
        await writing.end()
        await recording.end()
      } catch (error) {
        const first = failing.signal.aborted && !signal?.aborted ? failing.signal.reason : error
        // The failure does not invalidate earlier data: record it, then rethrow.
        if (verifier.error === undefined) flush(verifier)
        await writing.settle()
        await recording.settle()
        if (slice.isUnsure) received.cutFiled()
        await keep({ isLast: true, hasFailed: true }).then(() => recording.end()).finally(end).catch(() => {})
        throw first
      }
      await end()
      return { received: slice.len, complete: slice.complete }
    }, reason => failing.abort(reason))
  }

  /**
   * Writes what has been taken to where it belongs.
   *
   * @param {IncomingSlice} slice @param {Keeping} how
   * @returns {Promise<boolean>} is there anything in a file that cannot be recorded before the disk has it?
   */
  async #write (slice, how) {
    const { root, received } = slice
    for (const batch of received.batches) batch.reservation ??= await this.#reserve(root, batch, how)
    return this.#store.locks.run(nameOf(root), async () => {
      const { batches } = received
      const record = await this.#recordFor(slice, batches)
      if (record === undefined) return false
      const isFile = record.home === 'file'
      if (isFile) await slice.spill(record.id, batches, how, this.#pending.under(root, record.id))
      if (isFile && this.#store.databases.isSync) return true
      await this.#record(slice, received.due(), record, how)
      return false
    })
  }

  /**
   * Records what has been written to a file, once it is on the disk.
   *
   * @param {IncomingSlice} slice @param {Keeping} how
   */
  async #recordSynced (slice, how) {
    const batches = slice.received.due()
    await slice.sync()
    await this.#store.locks.run(nameOf(slice.root), async () => {
      const record = await this.#recordFor(slice, batches)
      if (record !== undefined) await this.#record(slice, batches, record, how)
    })
  }

  /**
   * Under the blob's lock.
   *
   * @param {IncomingSlice} slice
   * @param {Batch[]} batches  what counts from now on
   * @param {BlobRecord} before
   * @param {Keeping} how
   */
  async #record (slice, batches, before, { isLast = false }) {
    const { root, received, verifier } = slice
    const { catalog } = this.#store
    const present = await this.#store.presence.of(before)
    const { puts, fresh, reach, lens } = await received.operations(batches, this.#store.databases, before.id, present)
    const now = present.union(fresh)
    if (now.isEmpty) return received.forget(batches)
    const after = { ...before, ...believedSize(before, verifier, present, reach) }
    after.complete = after.sizeProven && now.contains(0, chunkCount(after.size))
    // Observers learn that it is complete, and may rely on that.
    const sync = isLast || after.complete
    // A power cut must not leave a record without groups.
    const isFirst = this.#pending.isUnder(root, before.id)
    let gained = 0
    for (const len of lens.values()) gained += len
    const reservations = [...lens.keys()].flatMap(({ reservation }) => reservation ?? [])
    const groups = { record: before, present: now, gained, reservations }
    await catalog.commitGroups(groups, { operations: puts, sync: sync || isFirst })
    slice.len += gained
    await this.#pending.commit({ root, before, after, gained: 0 }, { sync, len: gained })
    received.recorded(batches, before.id)
    catalog.uses.touch(root)
    slice.complete = after.complete
  }

  /** @param {Uint8Array} root @param {Batch} batch @param {Keeping} how @returns {Promise<Reservation | undefined>} */
  async #reserve (root, batch, { hasFailed }) {
    try {
      return await this.#store.evictor.reserve(root, present => batch.lenBeyond(present))
    } catch (error) {
      if (!hasFailed) throw error
      batch.cut()
      return undefined
    }
  }

  /**
   * The record for what is to be kept: what it is to be, if the blob has none. Under the blob's lock.
   *
   * @param {IncomingSlice} slice @param {Batch[]} batches
   * @returns {Promise<BlobRecord | undefined>} undefined when nothing of them is to be kept: they are forgotten
   */
  async #recordFor (slice, batches) {
    const { root, received, verifier } = slice
    const { record } = await this.#store.catalog.look(root)
    slice.complete = record?.complete ?? false
    const hasGroups = batches.some(({ len }) => len > 0)
    if (record?.complete || verifier.size === undefined || (record === undefined && !hasGroups)) {
      received.due() // nothing waits to be recorded any more
      received.forget(batches)
      if (record?.complete) await this.#store.catalog.putAgain(root, record)
      return undefined
    }
    return record ?? this.#pending.recordFor(slice, verifier.size)
  }
}

/**
 * Verifies what has come in whole. A fault that shows now lies behind the failure that is being thrown.
 *
 * @param {SliceVerifier} verifier
 */
function flush (verifier) {
  try {
    verifier.flush()
  } catch {}
}

/**
 * Which size to go by. A proven one; else the claim under which the group furthest to the right was verified:
 * everything to the left of its path hangs in perfect subtrees, whose shape is the same under any size.
 *
 * @param {BlobRecord} record @param {SliceVerifier} verifier @param {ChunkRanges} present
 * @param {number} reach  the chunk behind the last group that was verified under the claim
 */
function believedSize ({ size, sizeProven }, verifier, present, reach) {
  if (sizeProven) return { size, sizeProven }
  const claim = /** @type {number} */ (verifier.size)
  if (verifier.sizeProven) return { size: claim, sizeProven: true }
  const isFurthest = reach > 0 && reach >= (present.boundaries.at(-1) ?? 0)
  return { size: isFurthest ? claim : size, sizeProven: false }
}
