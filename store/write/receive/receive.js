// Receives slices, and stores the groups that they prove. Three stages run side by side: (1) verify the next piece, (2)
// write the groups of earlier pieces, (3) sync the file, and mark the groups that stage 2 has written: the pages of the
// blob then say that they are present. Each marking also commits the record of the blob.

import { Background } from '../../storage/concurrency/activity.js'
import { eitherOf } from '../../../lib/source/async-util.js'
import { chunkCount } from '../../../lib/tree/geometry.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { toPieces } from '../../../lib/source/source.js'
import { toRanges, rangesLen } from '../../../lib/tree/ranges.js'
import { IncomingSlice } from './incoming-slice.js'
import { PendingRecords } from './pending-records.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { contentOf } from '../../storage/content/content-of.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { ProvenBatch } from './proven-groups.js' */
/** @import { Locks } from '../../../lib/async/locks.js' */
/** @import { Catalog } from '../../catalog/catalog.js' */
/** @import { Presence } from '../../catalog/presence.js' */
/** @import { Quota, Reservation } from '../../catalog/quota.js' */
/** @import { Uses } from '../../catalog/uses.js' */
/** @import { DamageNotes } from '../../check/damage-notes.js' */
/** @import { Evictor } from '../../gc/evictor.js' */
/** @import { Protection } from '../../gc/protection.js' */
/** @import { Activity } from '../../storage/concurrency/activity.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { SliceVerifier } from '../../../verifier/slice/slice.js' */
/** @import { ProgressOptions, Source } from '../../../lib/core/types.js' */
/** @import { ChunkRanges, RangesLike } from '../../../lib/tree/ranges.js' */

/** How many bytes are written to a file before the file is synced and their groups are marked. */
const MARK_LEN = 1 << 24
/** Bytes wait at most about this many milliseconds to be marked, because each piece checks how long they waited. */
const MARK_MS = 1000

/**
 * @typedef {object} ReceiveOwnOptions
 * @property {number} [size]  the length of the blob, for slices without a header
 * @property {(len: number) => void} [onKept]  called each time bytes are marked as present, with how many of them were
 *   missing before
 */
/** @typedef {ProgressOptions & ReceiveOwnOptions} ReceiveOptions  `onProgress` gets `baobox:receive` */

/** The names of all options in `ReceiveOptions`. */
export const RECEIVE_OPTIONS = ['size', 'onKept', 'signal', 'onProgress']

/**
 * Says how to store proven data.
 *
 * @typedef {object} KeepOptions
 * @property {boolean} [isLast]  true for the last call, which syncs with the durability `sync`. Default: false
 * @property {boolean} [hasFailed]  true if the slice has failed. Then groups that cannot be written are given up, so
 *   that the rest can be marked. Default: false
 */

export class BlobReceiver {
  #activity
  #catalog
  #damage
  #databases
  #evictor
  #locks
  #pending
  #presence
  #protection
  #quota
  #uses

  /**
   * @param {object} parts
   * @param {Activity} parts.activity
   * @param {Catalog} parts.catalog
   * @param {DamageNotes} parts.damage
   * @param {Databases} parts.databases
   * @param {Evictor} parts.evictor
   * @param {Locks} parts.locks
   * @param {Presence} parts.presence
   * @param {Protection} parts.protection
   * @param {Quota} parts.quota
   * @param {Uses} parts.uses
   */
  constructor ({ activity, catalog, damage, databases, evictor, locks, presence, protection, quota, uses }) {
    this.#activity = activity
    this.#catalog = catalog
    this.#damage = damage
    this.#databases = databases
    this.#evictor = evictor
    this.#locks = locks
    this.#pending = new PendingRecords({ activity, catalog, databases })
    this.#presence = presence
    this.#protection = protection
    this.#quota = quota
    this.#uses = uses
  }

  /**
   * @param {CID | string | Uint8Array} cid @param {Source} source @param {RangesLike} [ranges]
   * @param {ReceiveOptions} [options]  see `Store.receive`
   */
  receive (cid, source, ranges, { size, signal, onProgress, onKept } = {}) {
    const failing = new AbortController()
    return this.#activity.run(async () => {
      const root = parseRoot(cid, 'cid')
      const slice = new IncomingSlice(this.#databases, { cid: root, ranges: toRanges(ranges), size }, onKept)
      const { verifier, groups } = slice
      const writing = new Background(error => failing.abort(error))
      const marking = new Background(error => failing.abort(error))
      const isLate = () => !marking.isBusy && performance.now() - groups.oldestSince >= MARK_MS
      /** @param {KeepOptions} options */
      const keep = async options => {
        groups.take()
        const waitsForDisk = await this.#write(slice, options)
        const isDue = options.isLast || groups.waiting >= MARK_LEN || isLate()
        if (waitsForDisk && isDue) await marking.begin(() => this.#markSynced(slice, options))
      }
      const release = this.#protection.use(root)
      try {
        for await (const piece of toPieces(source, { signal: eitherOf(signal, failing.signal) })) {
          verifier.write(piece)
          if (groups.isFull || (isLate() && !writing.isBusy)) await writing.begin(() => keep({}))
          onProgress?.({ type: 'baobox:receive', detail: { done: verifier.bytesRead, unit: 'bytes' } })
          if (verifier.done) break
        }
        verifier.end()
        await writing.begin(() => keep({ isLast: true }))
        await writing.end()
        await marking.end()
      } catch (error) {
        // A failure of the background work aborts the loop. Then throw that failure, because it is the cause.
        const first = failing.signal.aborted && !signal?.aborted ? failing.signal.reason : error
        await this.#keepProven(slice, { writing, marking, keep }).catch(() => {})
        await this.#end(slice, release).catch(() => {})
        throw first
      }
      await this.#end(slice, release)
      return { received: slice.len, complete: slice.complete }
    }, reason => failing.abort(reason))
  }

  /**
   * Stores the groups that were proven before a failure. They are still right.
   *
   * @param {IncomingSlice} slice
   * @param {{ writing: Background, marking: Background, keep: (options: KeepOptions) => Promise<void> }} stages
   */
  async #keepProven (slice, { writing, marking, keep }) {
    const { groups, verifier } = slice
    // 1. Verify the rest of the buffered bytes.
    if (verifier.error === undefined) flush(verifier)
    // 2. Wait for the background work.
    await writing.waitQuietly()
    await marking.waitQuietly()
    // 3. If a sync has failed, nobody knows which bytes the disk has. So give up the bytes in files that are not
    // marked yet.
    if (slice.isUnsure) groups.cutFiled()
    // 4. Write and mark the rest.
    await keep({ isLast: true, hasFailed: true })
    await marking.end()
  }

  /**
   * Ends a slice: closes its file, releases its quota, and deletes its pending blob if no other slice needs it.
   *
   * @param {IncomingSlice} slice @param {() => void} release  ends the protection of the blob
   */
  async #end (slice, release) {
    try {
      await slice.close()
    } finally {
      slice.groups.forget()
      if (this.#pending.has(slice)) await this.#locks.run(nameOf(slice.root), () => this.#pending.leave(slice))
      release()
    }
  }

  /**
   * Writes the batches that were taken, to a file or to the database. It marks them, too, unless a file must be
   * synced first.
   *
   * @param {IncomingSlice} slice @param {KeepOptions} options
   * @returns {Promise<boolean>} true if a file must be synced before the batches can be marked
   */
  async #write (slice, options) {
    const { root, groups } = slice
    const forCopy = await this.#reserveCopy(root)
    try {
      for (const batch of groups.provenBatches) batch.reservation ??= await this.#reserve(root, batch, options)
      return await this.#locks.run(nameOf(root), async () => {
        const { provenBatches } = groups
        const record = await this.#findOrMakeRecord(slice, provenBatches, forCopy)
        if (record === undefined) return false
        const { fileId } = contentOf(this.#databases, root, record)
        const isFile = fileId !== undefined
        if (isFile) await slice.writeToFile(fileId, provenBatches, options, this.#pending.under(root, record.id))
        if (isFile && this.#databases.isSync) return true
        await this.#mark(slice, groups.takeDue(), record, options)
        return false
      })
    } finally {
      for (const reservation of forCopy) reservation.release()
    }
  }

  /**
   * Syncs the file, and then marks the groups in it.
   *
   * @param {IncomingSlice} slice @param {KeepOptions} options
   */
  async #markSynced (slice, options) {
    const batches = slice.groups.takeDue()
    await slice.sync()
    await this.#locks.run(nameOf(slice.root), async () => {
      const record = await this.#findOrMakeRecord(slice, batches)
      if (record !== undefined) await this.#mark(slice, batches, record, options)
    })
  }

  /**
   * Marks the groups of batches as present, and then commits the record. The caller holds the blob's lock.
   *
   * @param {IncomingSlice} slice
   * @param {ProvenBatch[]} batches
   * @param {BlobRecord} before
   * @param {KeepOptions} options
   */
  async #mark (slice, batches, before, { isLast = false }) {
    const { root, groups, verifier } = slice
    const catalog = this.#catalog
    const content = contentOf(this.#databases, root, before)
    const present = await this.#presence.of(before)
    const { puts, fresh, reach, lens } = await groups.operations(batches, content, present)
    const now = present.union(fresh)
    if (now.isEmpty) return groups.forget(batches)
    const after = { ...before, ...believedSize(before, verifier, present, reach) }
    after.complete = after.sizeProven && now.contains(0, chunkCount(after.size))
    after.isDamaged = !after.complete && before.isDamaged
    // Sync a complete blob before observers are told of it.
    const sync = isLast || after.complete
    // Sync the first groups before the first record, so that no record exists without groups.
    const isFirstRecord = this.#pending.isUnder(root, before.id)
    let gained = 0
    for (const len of lens.values()) gained += len
    const reservations = [...lens.keys()].flatMap(({ reservation }) => reservation ?? [])
    // A sharer's bytes count for its base as long as the base has a sharer.
    const change = { record: before, present: now, gained: content.isCounted ? gained : 0, reservations }
    await catalog.commitGroups(change, { operations: puts, sync: sync || isFirstRecord })
    await this.#pending.commit({ root, before, after, gained: 0 }, { sync, len: gained })
    slice.kept(gained)
    groups.marked(batches, before.id)
    this.#uses.touch(root)
    slice.complete = after.complete
  }

  /**
   * Reserves quota for the bytes of a batch that are not present.
   *
   * @param {Uint8Array} root @param {ProvenBatch} batch @param {KeepOptions} options
   * @returns {Promise<Reservation | undefined>} undefined when there was too little space and the batch was given up
   */
  async #reserve (root, batch, { hasFailed }) {
    try {
      return await this.#evictor.reserve(root, present => batch.lenBeyond(present))
    } catch (error) {
      if (!hasFailed) throw error
      batch.cut()
      return undefined
    }
  }

  /**
   * Reserves quota for the copy of a reference that is present in part, because its right bytes are copied first.
   *
   * @param {Uint8Array} root @returns {Promise<Reservation[]>}
   */
  async #reserveCopy (root) {
    if (!this.#quota.isLimited) return []
    const { record } = await this.#catalog.find(root)
    if (record === undefined || !this.#isPartialReference(root, record)) return []
    const len = rangesLen(await this.#presence.of(record), record.size)
    return [await this.#evictor.reserve(root, () => len)]
  }

  /**
   * Finds the record of the blob, or makes the record that it will get. The caller holds the blob's lock.
   *
   * Sets `slice.complete`. Discards the batches if they need not be marked. If the blob is already complete, tells the
   * catalog that the blob was put again.
   *
   * @param {IncomingSlice} slice
   * @param {ProvenBatch[]} batches
   * @param {Reservation[]} [forCopy]  quota that was reserved for the copy of a reference
   * @returns {Promise<BlobRecord | undefined>} undefined when the batches were discarded
   */
  async #findOrMakeRecord (slice, batches, forCopy = []) {
    const { root, groups, verifier } = slice
    let { record } = await this.#catalog.find(root)
    const hasGroups = batches.some(({ len }) => len > 0)
    if (record !== undefined && hasGroups && this.#isPartialReference(root, record)) {
      record = await this.#damage.copyReference(root, record, forCopy)
    }
    slice.complete = record?.complete ?? false
    if (record?.complete || verifier.size === undefined || (record === undefined && !hasGroups)) {
      groups.discard(batches)
      if (record?.complete) await this.#catalog.putAgain(root, record)
      return undefined
    }
    return record ?? this.#pending.recordFor(slice, verifier.size)
  }

  /** Returns true for a reference that is present in part. @param {Uint8Array} root @param {BlobRecord} record */
  #isPartialReference (root, record) {
    return !record.complete && !contentOf(this.#databases, root, record).isOurs
  }
}

/**
 * Verifies the whole groups among the buffered bytes.
 *
 * @param {SliceVerifier} verifier
 */
function flush (verifier) {
  try {
    verifier.flush()
  } catch {} // Ignore a fault that is found now: the receive fails with an earlier error.
}

/**
 * Returns the size for the record: the proven size, if there is one, otherwise the claim under which the last present
 * group was verified. All groups before that one are in subtrees of 2^n whole chunks, whose shape does not depend on
 * the size.
 *
 * @param {BlobRecord} record @param {SliceVerifier} verifier @param {ChunkRanges} present
 * @param {number} reach  index of the first chunk after the last group that was verified under the claim
 */
function believedSize ({ size, sizeProven }, verifier, present, reach) {
  if (sizeProven) return { size, sizeProven }
  const claim = /** @type {number} */ (verifier.size)
  if (verifier.sizeProven) return { size: claim, sizeProven: true }
  const isFurthest = reach > 0 && reach >= (present.boundaries.at(-1) ?? 0)
  return { size: isFurthest ? claim : size, sizeProven: false }
}
