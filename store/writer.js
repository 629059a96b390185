// How blobs get into the store. Whole ones are written under a fresh id before their hash is known, and then adopted; slices are
// verified, and what they prove is kept window by window.

import { equals } from 'uint8arrays/equals'
import { chunkCount } from '../lib/tree.js'
import { parseRoot, toCid } from '../lib/cid.js'
import { toPieces } from '../lib/source.js'
import { toRanges } from '../lib/ranges.js'
import { SliceVerifier } from '../verifier/slice.js'
import { FILE_FROM, IncomingBlob } from './incoming.js'
import { IncomingSlice, Received } from './received.js'
import { TempTag } from './protection.js'
import { assertFormat, assertName } from './tag-index.js'
import { full, mismatch } from './faults.js'
import { isKept, rangesLen } from './presence.js'
import { nameOf } from './catalog.js'
import { BATCH } from './keys.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Activity } from './activity.js' */
/** @import { Catalog, Operation } from './catalog.js' */
/** @import { Databases } from './databases.js' */
/** @import { Evictor } from './evictor.js' */
/** @import { Locks } from './locks.js' */
/** @import { Presence } from './presence.js' */
/** @import { Protection } from './protection.js' */
/** @import { PutOptions } from './blobs.js' */
/** @import { Quota, Room } from './quota.js' */
/** @import { TagIndex } from './tag-index.js' */
/** @import { BlobRecord, Home, Tag } from './keys.js' */
/** @import { ProgressOptions, Source } from '../lib/types.js' */
/** @import { ChunkRanges, RangesLike } from '../lib/ranges.js' */

/** Milliseconds for which verified bytes may stay unrecorded: a process that dies loses no more than came in so long. */
const CHECKPOINT_MS = 1000
/** Bytes of verified groups that are gathered before they are written. */
const RECEIVE_BATCH_LEN = 1 << 22

/**
 * How what has been proven is kept.
 *
 * @typedef {object} Keeping
 * @property {boolean} [isLast]  nothing more comes: it is to outlast a power cut, if the store promises that
 * @property {boolean} [isLate]  it has waited long enough to be recorded
 * @property {boolean} [hasFailed]  what does not come to its file is given up, so that the rest can be recorded
 */

export class BlobWriter {
  #databases
  #catalog
  #locks
  #presence
  #protection
  #evictor
  #tags
  #quota
  /** Records of blobs of which nothing is kept yet, by id, and the slices that may bring it. */
  #begun = /** @type {Map<number, Set<IncomingSlice>>} */ (new Map())
  #activity

  /**
   * @param {{ activity: Activity, databases: Databases, catalog: Catalog, locks: Locks, presence: Presence, protection: Protection, evictor: Evictor,
   *   quota: Quota, tags: TagIndex }} store
   */
  constructor ({ activity, databases, catalog, locks, presence, protection, evictor, quota, tags }) {
    this.#activity = activity
    this.#databases = databases
    this.#catalog = catalog
    this.#locks = locks
    this.#presence = presence
    this.#protection = protection
    this.#evictor = evictor
    this.#quota = quota
    this.#tags = tags
  }

  /**
   * @param {Source} source @param {PutOptions} options  see `BlobStore.put`
   * @param {{ cid?: CID, alias?: Uint8Array, path?: string }} [known]  what names it: a BLAKE3 CID, which is compared; or the multihash of
   *   another function, which was. `path`: of a file that has the bytes and will keep them
   */
  put (source, { signal, onProgress, tag, format = 'raw' }, { cid, alias, path } = {}) {
    return this.#activity.run(async () => {
      assertFormat(format)
      if (tag instanceof TempTag) tag.assertOf(this.#protection)
      else if (tag !== undefined) assertName('tag', tag)
      const id = await this.#databases.ids.newId()
      const blob = new IncomingBlob(this.#databases, id, { isElsewhere: path !== undefined })
      let release = () => {}
      try {
        for await (const piece of toPieces(source, { signal, onProgress, type: 'baobox:put' })) {
          await blob.write(piece)
          if (path === undefined && blob.size > this.#quota.limit) throw full(blob.size, this.#quota.limit)
        }
        const root = blob.root()
        if (cid !== undefined && !equals(cid.multihash.digest, root)) throw mismatch(cid)
        release = this.#protection.use(root)
        if (tag instanceof TempTag) tag.add(root, { format })
        const tagging = typeof tag === 'string' ? { name: tag, root, format } : undefined
        const room = await this.#evictor.reserve(root, present => path === undefined ? blob.size - rangesLen(present, blob.size) : 0)
        try {
          return await this.#locks.run(nameOf(root), () => this.#adopt(id, root, blob, { room, tagging, alias, path, signal }))
        } finally {
          room.release()
        }
      } catch (error) {
        await this.#giveUp(id, blob)
        throw error
      } finally {
        release()
        if (!blob.mayBeRecorded) this.#databases.ids.settle(id)
      }
    })
  }

  /**
   * @param {CID | string | Uint8Array} cid @param {Source} source @param {RangesLike} [ranges]
   * @param {ProgressOptions & { size?: number }} [options]  see `BlobStore.receive`
   */
  receive (cid, source, ranges, { size, signal, onProgress } = {}) {
    return this.#activity.run(async () => {
      const root = parseRoot(cid, 'cid')
      const received = new Received()
      /** @type {SliceVerifier} */
      const verifier = new SliceVerifier({ root, ranges: toRanges(ranges), size }, {
        pair: (node, at) => received.pair(node, at),
        leaf: (start, memory, at, len) => received.leaf(start, memory, at, len, /** @type {number} */ (verifier.size))
      })
      const incoming = new IncomingSlice(this.#databases, root, received, verifier)
      let result = { received: 0, complete: false }
      /** @param {Keeping} how */
      const keep = async how => {
        const reserve = () => this.#evictor.reserve(root, present => received.lenBeyond(present))
        const room = await reserve().catch(error => {
          if (!how.hasFailed) throw error
          received.dropHeld()
          return reserve()
        })
        try {
          const { len, complete } = await this.#locks.run(nameOf(root), () => this.#keep(incoming, how))
          room.fill(len)
          result = { received: result.received + len, complete }
        } finally {
          room.release()
        }
      }
      const release = this.#protection.use(root)
      const end = async () => {
        try {
          await incoming.close()
        } finally {
          if (this.#begun.size > 0) await this.#locks.run(nameOf(root), () => this.#forgetEmpty(incoming)).catch(() => {}) // it does no harm
          release()
        }
      }
      let since = performance.now()
      try {
        for await (const piece of toPieces(source, { signal })) {
          verifier.write(piece)
          const now = performance.now()
          if (received.len === 0) since = now
          const isLate = now - since >= CHECKPOINT_MS
          if (received.heldLen >= RECEIVE_BATCH_LEN || isLate) await keep({ isLate })
          onProgress?.({ type: 'baobox:receive', detail: { done: verifier.bytesRead } })
          if (verifier.done) break
        }
        verifier.end()
        await keep({ isLast: true })
      } catch (error) {
        // What failed says nothing against what came before: that is kept, and then the failure is told, whatever else fails.
        if (verifier.error === undefined) flush(verifier)
        await keep({ isLast: true, hasFailed: true }).finally(end).catch(() => {})
        throw error
      }
      await end()
      return result
    })
  }

  /**
   * Makes a written blob one that can be seen, unless it is here already. Under the blob's lock.
   *
   * @param {number} id @param {Uint8Array} root @param {IncomingBlob} blob
   * @param {{ room: Room, tagging?: Tag, alias?: Uint8Array, path?: string, signal?: AbortSignal }} options  `tagging`: the tag that it is to have
   */
  async #adopt (id, root, blob, { room, tagging, alias, path, signal }) {
    const { isThere, record: before } = await this.#catalog.look(root)
    const result = { cid: toCid(root), size: blob.size, isNew: !before?.complete }
    if (before?.complete && (isKept(before) || path !== undefined)) {
      if (tagging !== undefined) await this.#tags.set(tagging)
      this.#protection.arrived(root)
      await this.#discard(id, blob)
      await this.#catalog.addName(root, before, alias)
      this.#catalog.touch(root)
      return result
    }
    // First the data, then the record that says it is there: the order is what makes two databases one truth.
    await blob.finish()
    signal?.throwIfAborted()
    // What was being received, or had been damaged, may have been wanted under its own name.
    const isNameless = alias !== undefined && (!isThere || before?.isNameless === true)
    const record = { id, size: blob.size, sizeProven: true, complete: true, home: blob.home, created: Date.now(), isNameless }
    const lenBefore = before === undefined ? 0 : await this.#presence.len(root, before)
    /** @param {Operation[]} [also] */
    const write = also => {
      blob.mayBeRecorded = true
      return this.#catalog.write(root, record, { sync: true, replaces: before, alias, path, also })
    }
    await (tagging === undefined ? write() : this.#tags.set(tagging, write))
    room.fill((path === undefined ? record.size : 0) - lenBefore)
    this.#protection.arrived(root)
    this.#presence.forget(root)
    blob.mayBeRecorded = false // it is
    return result
  }

  /** Leaves nothing of a blob whose put has failed. @param {number} id @param {IncomingBlob} blob */
  async #giveUp (id, blob) {
    if (!blob.mayBeRecorded) return this.#discard(id, blob)
    await blob.settle()
    this.#activity.leave()
  }

  /** Deletes what was written of a blob that nobody has seen. @param {number} id @param {IncomingBlob} blob */
  async #discard (id, blob) {
    await blob.settle()
    if (!blob.isWritten) return
    try {
      await this.#databases.deleteData(id)
    } catch {
      this.#activity.leave()
    }
  }

  /**
   * Writes what a slice has proven so far. Under the blob's lock.
   *
   * @param {IncomingSlice} incoming
   * @param {Keeping} how
   * @returns {Promise<{ len: number, complete: boolean }>} bytes that were not here before; is the blob whole now?
   */
  async #keep (incoming, { isLast = false, isLate, hasFailed }) {
    const { root, received, verifier } = incoming
    const { data, syncBatch } = this.#databases
    const { record: before } = await this.#catalog.look(root)
    if (before?.complete || verifier.size === undefined || (before === undefined && received.len === 0)) {
      received.drop()
      if (before?.complete) await this.#catalog.addName(root, before)
      return { len: 0, complete: before?.complete ?? false }
    }
    const record = before ?? await this.#begin(incoming, verifier.size)
    this.#begun.get(record.id)?.add(incoming)
    if (record.home === 'file' && !(await incoming.spill(record.id, { isDue: isLast || isLate, hasFailed }))) return { len: 0, complete: false }
    const present = await this.#presence.of(root, record)
    const { puts, fresh, len, written } = await received.operations(this.#databases, record.id, present)
    await data.batch(puts, isLast ? syncBatch : BATCH)
    const now = present.union(fresh)
    const after = { ...record, ...believedSize(record, verifier, present, fresh) }
    after.complete = after.sizeProven && now.contains(0, chunkCount(after.size))
    await this.#catalog.write(root, after, { sync: isLast })
    written()
    if (!now.isEmpty) this.#begun.delete(record.id)
    this.#protection.arrived(root)
    this.#catalog.touch(root)
    if (after.complete) this.#presence.forget(root)
    else this.#presence.remember(root, now)
    return { len, complete: after.complete }
  }

  /** The record of a blob of which nothing was here. @param {IncomingSlice} incoming @param {number} size  a claim @returns {Promise<BlobRecord>} */
  async #begin (incoming, size) {
    /** @type {Home} */
    const home = this.#databases.files !== undefined && size > FILE_FROM ? 'file' : 'extents'
    const record = { id: await this.#databases.ids.newId(), size, sizeProven: false, complete: false, home, created: Date.now() }
    this.#begun.set(record.id, new Set([incoming]))
    // Data without a record would be swept away after a crash.
    await this.#catalog.write(incoming.root, record, { sync: false }).finally(() => this.#databases.ids.settle(record.id))
    return record
  }

  /** Leaves no record of which nothing has come, unless another slice may still bring it. Under the blob's lock. @param {IncomingSlice} incoming */
  async #forgetEmpty (incoming) {
    const { root } = incoming
    for (const [id, slices] of this.#begun) {
      if (!slices.delete(incoming) || slices.size > 0) continue
      this.#begun.delete(id)
      const { record } = await this.#catalog.look(root)
      if (record?.id === id && !record.complete && (await this.#presence.of(root, record)).isEmpty) await this.#catalog.remove(root, record)
    }
  }
}

/** Looks at what is complete. A fault that shows now came behind the failure that is being told already. @param {SliceVerifier} verifier */
function flush (verifier) {
  try {
    verifier.flush()
  } catch {}
}

/**
 * Which size to go by. A proven one; else the claim under which the group furthest to the right was verified: everything to the left of its
 * path hangs in perfect subtrees, whose shape is the same under any size.
 *
 * @param {BlobRecord} record @param {SliceVerifier} verifier @param {ChunkRanges} present @param {ChunkRanges} fresh
 */
function believedSize ({ size, sizeProven }, verifier, present, fresh) {
  if (sizeProven) return { size, sizeProven }
  const claim = /** @type {number} */ (verifier.size)
  if (verifier.sizeProven) return { size: claim, sizeProven: true }
  const isFurther = (fresh.boundaries.at(-1) ?? 0) > (present.boundaries.at(-1) ?? 0)
  return { size: isFurther ? claim : size, sizeProven: false }
}
