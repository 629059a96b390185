// Checks everything in a store: every extent and page against the roots, every record against its checksum, and
// whatever lies beside them. With `repair` it repairs what it can.

import { parseRoot, toCid } from '../../lib/hash/cid.js'
import { assertMany } from '../storage/concurrency/in-order.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { allBlobs, allOfIndex, hashOfKey, isKnownKind } from '../storage/format/keys.js'
import { decodeRecord, isWellFormed } from '../storage/format/records.js'
import { isCorruption, isOfSystem } from '../storage/errors.js'
import { inspectBlob } from './blob/inspect-blob.js'
import { isInOrder } from '../storage/level/order.js'
import { settleBlob } from './blob/settle-blob.js'
import { nameOf } from '../catalog/roots.js'
import { rangesLen } from '../catalog/presence.js'
import { presentChunks } from '../storage/content/tree-pages.js'
import { findRecord } from './find-owner.js'
import { IdSet } from '../storage/level/id-set.js'
import { TagCheck } from './check-tags.js'
import { readEntries } from '../storage/level/entries.js'
import { rightSmallBlobs } from './check-small.js'
import { createYielder } from '../../lib/source/async-util.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Findings } from './blob/inspect-blob.js' */
/** @import { DamagedTag } from './check-tags.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { BlobName } from '../blob-store.js' */
/** @import { StoreContext } from '../exchange/store-context.js' */
/** @import { SafeDatabase } from '../storage/level/safe-database.js' */

/**
 * @typedef {object} DamagedBlob
 * @property {CID} cid
 * @property {number} size  bytes, to make bytes of the ranges
 * @property {ChunkRanges} data  chunks whose bytes are wrong or lost
 * @property {ChunkRanges} tree  chunks that cannot be proven any more, or that are present without a mark in the tree
 * @property {number} strays  entries beside the blob's own, or not in their shape
 * @property {ChunkRanges} lost  what is to be fetched again: with `repair` it is missing now; without, what a repair
 *   would drop at most
 * @property {boolean} isUnreadable  could the system not read its file, for lack of permission or because the disk
 *   fails? The bytes may be right, so `repair` drops nothing of it
 */

/**
 * @typedef {object} FsckReport
 * @property {boolean} isSound  was nothing found?
 * @property {number} blobs  that were looked at
 * @property {DamagedBlob[]} damaged
 * @property {{ cid: CID, isRestored: boolean }[]} records  that are damaged; `isRestored`: the blob's data was found,
 *   and has a record again
 * @property {DamagedTag[]} tags  that are damaged; `isRestored`: what they name is known from the other place where
 *   they are kept. With `repair` the others are deleted; until then no garbage can be collected
 * @property {number} orphans  ids with data that no record names
 * @property {number} strays  entries and files that no store writes. A link, a folder or a device that has the name
 *   of a file of the store stays where it is, with `repair`, too
 * @property {boolean} isStateDamaged
 * @property {boolean} isReadable  false when LevelDB cannot read some of its files, or does not find everything in
 *   them: call `BlobStore.rescue` then. Before that a repair leaves data without a record alone, since the record may
 *   be what cannot be read; and where LevelDB does not find something, it leaves everything alone
 */

export class Fsck {
  #store
  #repairs
  /**
   * May records have been lost without a trace? One wrong key may hide the next. Then a whole blob without a record
   * gets one.
   */
  #adopts
  /** The only blobs to be looked at, if not everything. */
  #roots
  #signal
  #onProgress
  #done = 0
  #total = 0
  /** @type {FsckReport} */
  #report = {
    isSound: true,
    isReadable: true,
    isStateDamaged: false,
    blobs: 0,
    damaged: [],
    records: [],
    tags: [],
    orphans: 0,
    strays: 0
  }

  /** By the names of their roots. */
  #damagedRecords = /** @type {Map<string, { cid: CID, isRestored: boolean }>} */ (new Map())
  /** Ids that records have; and ids that two records have, of which at most one is right. */
  #recorded = new IdSet()
  #shared = /** @type {Set<number>} */ (new Set())
  /** False when LevelDB cannot read all records: then what seems to have none may have one. */
  #isIndexWhole = true
  #isDataWhole = true
  #isInOrder = true

  /**
   * @param {StoreContext} store
   * @param {ProgressOptions & { repair: boolean, cids?: Iterable<BlobName>, adopts?: boolean }} options  see
   *   `BlobStore.fsck`. `adopts`: records may have been lost without a trace
   */
  constructor (store, { repair, cids, adopts = false, signal, onProgress }) {
    if (cids !== undefined) this.#roots = rootsOf(cids)
    this.#store = store
    this.#repairs = repair
    this.#adopts = adopts
    this.#signal = signal
    this.#onProgress = onProgress
  }

  /** @returns {Promise<FsckReport>} */
  async run () {
    this.#signal?.throwIfAborted()
    await (this.#roots === undefined ? this.#checkAll() : this.#checkSome(this.#roots))
    const report = this.#report
    report.records = [...this.#damagedRecords.values()]
    report.isReadable = this.#isIndexWhole && this.#isDataWhole && this.#isInOrder
    const { damaged, records, tags, orphans, strays } = report
    const faults = damaged.length + records.length + tags.length + orphans + strays
    report.isSound = report.isReadable && !report.isStateDamaged && faults === 0
    return report
  }

  async #checkAll () {
    // What comes in from now on is not looked at: it may be there before its record is.
    const limit = this.#store.databases.ids.next
    const underWay = new Set(this.#store.databases.ids.underWay)
    await this.#checkOrder()
    await this.#checkFolder()
    await this.#checkState()
    await this.#count()
    await this.#checkTags()
    await this.#checkBlobs(limit)
    await this.#checkOrphans(id => id < limit && !underWay.has(id))
    await this.#dropRecords()
  }

  /**
   * Looks at some blobs. A damaged record is reported, and only a look at everything can restore it.
   *
   * @param {Uint8Array[]} roots
   */
  async #checkSome (roots) {
    const { catalog, databases } = this.#store
    const blobs = /** @type {{ root: Uint8Array, record: BlobRecord }[]} */ ([])
    for (const root of roots) {
      this.#signal?.throwIfAborted()
      const { isThere, record } = await catalog.find(root)
      if (record !== undefined && record.size > 0) blobs.push({ root, record })
      else if (isThere && record === undefined) {
        this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored: false })
      }
    }
    for (const { record } of blobs) this.#total += await lenToCheck(databases.data, record)
    for (const { root, record } of blobs) await this.#checkBlob(root, record, false)
  }

  /**
   * What LevelDB has and does not find is not lost: `BlobStore.rescue` brings it back, unless it was dropped before.
   */
  async #checkOrder () {
    const { index, data } = this.#store.databases
    this.#isInOrder = await isInOrder(index, this.#signal) && await isInOrder(data, this.#signal)
    this.#repairs &&= this.#isInOrder
  }

  /**
   * What others have put where files of the store should be is counted, and left alone. Where the whole folder is not
   * the store's nothing can be repaired.
   */
  async #checkFolder () {
    const { files } = this.#store.databases
    if (files === undefined) return
    if (await files.isObstructed()) {
      this.#report.strays++
      this.#repairs = false
      return
    }
    if (this.#repairs) await files.make()
    this.#report.strays += (await files.names()).filter(({ isFile }) => !isFile).length
  }

  async #checkState () {
    this.#report.isStateDamaged = !await this.#store.databases.ids.isStateSound()
    if (this.#report.isStateDamaged && this.#repairs) await this.#store.databases.ids.rewriteState()
  }

  /** Looks through the index: how much there is to do, which ids have records, and what is not in order. */
  async #count () {
    const { index, data } = this.#store.databases
    for await (const batch of this.#entryBatches(allOfIndex)) {
      for (const [key, value] of batch) {
        const isSound = isWellFormed(key, value)
        if (!isSound || !isKnownKind(key)) this.#adopts = true
        if (!isSound) await this.#stray(() => index.del(key))
      }
    }
    for await (const batch of this.#recordBatches()) {
      for (const { root, record } of batch) {
        if (record === undefined) {
          this.#adopts = true
          this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored: false })
          continue
        }
        if (!this.#recorded.add(record.id)) this.#shared.add(record.id)
        this.#total += await lenToCheck(data, record)
      }
    }
  }

  async #checkTags () {
    const check = new TagCheck(this.#store, { repair: this.#repairs, signal: this.#signal })
    this.#report.tags = await check.run()
    this.#report.strays += check.strays
    if (check.isUnreadable) this.#isIndexWhole = false
  }

  /** @param {number} limit  ids from there on are new */
  async #checkBlobs (limit) {
    const alone = await this.#idsOfOneExtent(limit)
    const yieldWhenDue = createYielder(this.#signal)
    for await (const batch of this.#recordBatches()) {
      const right = await rightSmallBlobs(this.#store.databases.data, batch, id => alone.has(id))
      for (const blob of batch) {
        if (blob.record !== undefined) await this.#checkBlob(blob.root, blob.record, right.has(blob))
      }
      await yieldWhenDue()
    }
  }

  /**
   * Small blobs are under such ids, if there is nothing beside them.
   *
   * @param {number} limit  ids from there on are new
   */
  async #idsOfOneExtent (limit) {
    const alone = new IdSet()
    for await (const { id, isAlone } of this.#store.databases.dataIds(0)) {
      this.#signal?.throwIfAborted()
      if (id !== undefined && id < limit && isAlone) alone.add(id)
    }
    return alone
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {boolean} isRight  is that known? */
  async #checkBlob (root, record, isRight) {
    this.#report.blobs++
    if (isRight) {
      this.#done += record.size
      this.#tell(this.#done)
      return
    }
    const before = this.#done
    const findings = await this.#inspect(root, record, true)
    if (findings.isUnreadable) this.#isDataWhole = false
    this.#done = before + rangesLen(findings.expected, record.size)
    // It may have been changed or deleted meanwhile: what does not move is looked at.
    if (!findings.isSound) await this.#store.locks.run(nameOf(root), () => this.#settle(root))
  }

  /** Looks at a blob again, and puts it right. Under the blob's lock. @param {Uint8Array} root */
  async #settle (root) {
    const { record } = await this.#store.catalog.find(root)
    if (record === undefined) return
    const { isSound, expected, right, data, tree, strays, isFileUnreadable } = await this.#inspect(root, record, false)
    if (isSound) return
    const kept = isFileUnreadable ? undefined : this.#repairs ? await this.#repair(root, record, right) : right
    const lost = kept === undefined ? ChunkRanges.none : expected.union(tree).difference(kept)
    const isUnreadable = kept === undefined
    this.#report.damaged.push({ cid: toCid(root), size: record.size, data, tree, strays, lost, isUnreadable })
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record
   * @param {ChunkRanges} [before]  what is right of it
   * @returns {Promise<ChunkRanges | undefined>} as `settleBlob`
   */
  async #repair (root, record, before) {
    const { catalog, presence } = this.#store
    // Data that is another blob's is not this one's to delete.
    if (before?.isEmpty && this.#shared.has(record.id)) {
      await catalog.commit([{ ...await catalog.removal(root), gained: 0 - await presence.len(record) }])
      return before
    }
    return settleBlob(this.#store, root, record, { signal: this.#signal })
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {boolean} isTold @returns {Promise<Findings>} */
  #inspect (root, record, isTold) {
    const before = this.#done
    return inspectBlob(this.#store.databases, root, record, {
      signal: this.#signal,
      onProgress: isTold ? ({ detail: { done } }) => this.#tell(before + done) : undefined
    })
  }

  /** @param {number} done  bytes */
  #tell (done) { this.#onProgress?.({ type: 'baobox:fsck', detail: { done, total: this.#total } }) }

  /**
   * @param {(id: number) => boolean} wasSettled  had everything that is under the id a record, if it is ever to have
   *   one, when the records were looked through?
   */
  async #checkOrphans (wasSettled) {
    const { data, files } = this.#store.databases
    const withFile = new Set(await files?.ids())
    for await (const { id, key } of this.#store.databases.dataIds(0, () => { this.#isDataWhole = false })) {
      this.#signal?.throwIfAborted()
      if (id === undefined) await this.#stray(() => data.del(key))
      else if (this.#recorded.has(id) || !wasSettled(id)) withFile.delete(id)
      else await this.#takeOrphan(id, withFile.delete(id))
    }
    for (const id of withFile) if (!this.#recorded.has(id) && wasSettled(id)) await this.#takeOrphan(id, true)
  }

  /** @param {number} id @param {boolean} hasFile */
  async #takeOrphan (id, hasFile) {
    if (await this.#store.databases.isGoing(id)) return
    let found
    try {
      found = await findRecord(this.#store.databases, this.#store.catalog, id, { hasFile, adopts: this.#adopts })
    } catch (error) {
      if (!isOfSystem(error)) throw error
      this.#report.orphans++ // whose it is can be told when it can be read
      return
    }
    if (found?.isNamed) {
      this.#isIndexWhole = false
      return
    }
    if (found !== undefined && this.#repairs && await this.#restore(found)) return
    if (found !== undefined && !this.#repairs && this.#damagedRecords.has(nameOf(found.root))) return
    this.#report.orphans++
    if (!this.#repairs || !this.#isIndexWhole) return
    await this.#store.databases.deleteDoomed([{ id }]).catch(error => {
      if (!isCorruption(error)) throw error
      this.#isDataWhole = false
    })
  }

  /**
   * Gives a blob its record back.
   *
   * @param {{ root: Uint8Array, record: BlobRecord }} found
   * @returns {Promise<boolean>} false when that was not its data, or it has a record by now
   */
  #restore ({ root, record }) {
    return this.#store.locks.run(nameOf(root), async () => {
      const now = await this.#store.catalog.find(root)
      if (now.record !== undefined) return false
      await this.#store.catalog.commit([{ root, after: record, gained: await this.#store.presence.len(record) }])
      const isRestored = (await this.#repair(root, record))?.isEmpty === false
      this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored })
      return true
    })
  }

  /** Deletes damaged records whose data was not found. */
  async #dropRecords () {
    if (!this.#repairs || !this.#isIndexWhole) return
    for (const { cid, isRestored } of this.#damagedRecords.values()) {
      if (isRestored) continue
      const root = cid.multihash.digest
      await this.#store.locks.run(nameOf(root), async () => {
        const { isThere, record } = await this.#store.catalog.find(root)
        if (isThere && record === undefined) await this.#store.catalog.remove(root)
      })
    }
  }

  async * #records () { for await (const batch of this.#recordBatches()) yield * batch }

  async * #recordBatches () {
    for await (const batch of this.#entryBatches(allBlobs)) {
      yield batch.flatMap(([key, value]) => {
        const root = hashOfKey(key)
        return root === undefined ? [] : [{ root, record: decodeRecord(root, value) }]
      })
    }
  }

  /** @param {{ gte: Uint8Array, lt?: Uint8Array }} range  of the index */
  async * #entryBatches (range) {
    for await (const batch of readEntries(this.#store.databases.index, range, () => { this.#isIndexWhole = false })) {
      this.#signal?.throwIfAborted()
      yield batch
    }
  }

  /** @param {() => Promise<void>} remove */
  async #stray (remove) {
    this.#report.strays++
    if (this.#repairs) await remove()
  }
}

/** Bytes of a blob that are looked at. @param {SafeDatabase} data @param {BlobRecord} record */
const lenToCheck = async (data, record) =>
  record.complete ? record.size : rangesLen(await presentChunks(data, record), record.size)

/** Each root once. @param {Iterable<BlobName>} cids */
function rootsOf (cids) {
  assertMany('cids', cids, 'CIDs')
  const roots = new Map([...cids].map(cid => parseRoot(cid, 'cid')).map(root => [nameOf(root), root]))
  return [...roots.values()]
}
