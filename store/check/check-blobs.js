// Checks the bytes and the trees of blobs, and repairs them.

import { ChunkRanges, rangesLen } from '../../lib/tree/ranges.js'
import { toCid } from '../../lib/hash/cid.js'
import { createYielder } from '../../lib/source/async-util.js'
import { nameOf } from '../../lib/hash/roots.js'
import { presentChunks } from '../storage/content/tree-pages.js'
import { IdSet } from '../storage/level/id-set.js'
import { inspectBlob } from './blob/inspect-blob.js'
import { SharedBytesCheck } from './check-sharers.js'
import { rightSmallBlobs } from './check-small.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { Findings } from './blob/inspect-blob.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Repairs } from './blob/repairs.js' */

/**
 * @typedef {object} DamagedBlob
 * @property {CID} cid
 * @property {number} size  bytes of the blob. It is needed to convert the ranges to bytes
 * @property {ChunkRanges} data  chunks whose bytes are wrong or lost
 * @property {ChunkRanges} tree  chunks that can no longer be proven, or that are stored without a mark in the tree
 * @property {number} strays  how many entries under the blob's id do not belong to it, or have a wrong shape
 * @property {ChunkRanges} lost  chunks to fetch again. With `repair`, they are missing now; without it, a repair would
 *   drop at most these
 * @property {boolean} isUnreadable  true if the system cannot read the blob's file, for lack of permission or because
 *   the disk fails. The bytes may be right, so `repair` drops none of them
 */

/**
 * @typedef {object} BlobCheckParts
 * @property {Catalog} catalog
 * @property {Databases} databases
 * @property {Locks} locks
 * @property {Presence} presence
 * @property {Repairs} repairs
 */

export class BlobCheck {
  blobs = 0
  damaged = /** @type {DamagedBlob[]} */ ([])
  /** True if the database has skipped entries that it cannot read. */
  isUnreadable = false
  /** True to repair damage. */
  repairs
  #parts
  #isIdShared
  #signal
  #onProgress
  /** Bytes that were checked so far, and bytes of all blobs. */
  #done = 0
  #total = 0

  /**
   * @param {BlobCheckParts} parts
   * @param {ProgressOptions & { repair: boolean, isIdShared: (id: number) => boolean }} options  `isIdShared`:
   *   returns true if two records have this id
   */
  constructor (parts, { repair, isIdShared, signal, onProgress }) {
    this.#parts = parts
    this.repairs = repair
    this.#isIdShared = isIdShared
    this.#signal = signal
    this.#onProgress = onProgress
  }

  /** Adds the bytes of a blob that will be checked to the total for progress. @param {BlobRecord} record */
  async expect (record) {
    const { data } = this.#parts.databases
    this.#total += record.complete ? record.size : rangesLen(await presentChunks(data, record), record.size)
  }

  /**
   * @param {AsyncIterable<{ root: Uint8Array, record?: BlobRecord }[]>} batches  all blobs
   * @param {number} limit  ids from this one on are new, and are not checked
   */
  async checkAll (batches, limit) {
    const alone = await this.#idsOfOneExtent(limit)
    const sharers = new SharedBytesCheck(this.#parts.databases)
    const yieldWhenDue = createYielder(this.#signal)
    for await (const batch of batches) {
      const right = await rightSmallBlobs(this.#parts.databases, batch, id => alone.has(id))
      for (const blob of batch) {
        const { root, record } = blob
        if (record !== undefined && !sharers.addIfSharer(root, record)) await this.check(root, record, right.has(blob))
      }
      await yieldWhenDue()
    }
    await sharers.run(({ root, record }, isRight) => this.check(root, record, isRight))
  }

  /**
   * Finds the ids that have one extent and nothing else, as small blobs do.
   *
   * @param {number} limit  ids from this one on are new
   */
  async #idsOfOneExtent (limit) {
    const alone = new IdSet()
    for await (const { id, isAlone } of this.#parts.databases.dataIds(0)) {
      this.#signal?.throwIfAborted()
      if (id !== undefined && id < limit && isAlone) alone.add(id)
    }
    return alone
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record
   * @param {boolean} isRight  true if the blob is known to be right
   * @returns {Promise<boolean>} true if it is right
   */
  async check (root, record, isRight) {
    this.blobs++
    if (isRight) {
      this.#done += record.size
      this.#tell(this.#done)
      return true
    }
    const before = this.#done
    const findings = await this.#inspect(root, record, true)
    if (findings.isUnreadable) this.isUnreadable = true
    this.#done = before + rangesLen(findings.expected, record.size)
    // A call may have changed or deleted the blob during the check, so inspect it again under its lock.
    if (!findings.isSound) await this.#parts.locks.run(nameOf(root), () => this.#checkAgain(root))
    return findings.isSound
  }

  /**
   * Inspects a blob again, repairs it if the check repairs, and reports it. The caller holds the blob's lock.
   *
   * @param {Uint8Array} root
   */
  async #checkAgain (root) {
    const { record } = await this.#parts.catalog.find(root)
    if (record === undefined) return
    const { isSound, expected, right, data, tree, strays, isFileUnreadable } = await this.#inspect(root, record, false)
    if (isSound) return
    const kept = isFileUnreadable ? undefined : this.repairs ? await this.repair(root, record, right) : right
    const lost = kept === undefined ? ChunkRanges.none : expected.union(tree).difference(kept)
    const isUnreadable = kept === undefined
    this.damaged.push({ cid: toCid(root), size: record.size, data, tree, strays, lost, isUnreadable })
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record
   * @param {ChunkRanges} [before]  the right chunks before the repair
   * @returns {Promise<ChunkRanges | undefined>} what `Repairs.repair` returns
   */
  async repair (root, record, before) {
    const { catalog, presence, repairs } = this.#parts
    // Do not delete data that belongs to another blob.
    if (before?.isEmpty && this.#isIdShared(record.id)) {
      await catalog.commit([{ ...await catalog.removal(root), gained: 0 - await presence.len(record) }])
      return before
    }
    return repairs.repair(root, record, { signal: this.#signal })
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {boolean} isTold @returns {Promise<Findings>} */
  #inspect (root, record, isTold) {
    const before = this.#done
    return inspectBlob(this.#parts.databases, root, record, {
      signal: this.#signal,
      onProgress: isTold ? ({ detail: { done } }) => this.#tell(before + done) : undefined
    })
  }

  /** @param {number} done  bytes */
  #tell (done) { this.#onProgress?.({ type: 'baobox:fsck', detail: { done, total: this.#total, unit: 'bytes' } }) }
}
