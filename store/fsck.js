// A look at everything in the store: every extent and page against the roots, every record against its checksum, and what lies between.

import { toCid } from '../lib/cid.js'
import { ChunkRanges } from '../lib/ranges.js'
import { VIEWS, allBlobs, allOfId, allOfIndex, decodeRecord, hashOfKey, isHole, isKnownKind, isSoundNote } from './keys.js'
import { isCorruption } from './faults.js'
import { examine } from './examine.js'
import { isInOrder } from './order.js'
import { mend } from './mend.js'
import { nameOf } from './catalog.js'
import { PackCheck } from './pack-check.js'
import { isPackedRight } from './pack.js'
import { rangesLen } from './presence.js'
import { presentChunks } from './pages.js'
import { findRecord } from './orphan.js'
import { IdSet } from './id-set.js'
import { TagCheck } from './tag-check.js'
import { entryBatches } from './walk.js'
import { rightSmallBlobs } from './small-check.js'
import { turnsWhenDue } from '../lib/reading.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from './keys.js' */
/** @import { Catalog } from './catalog.js' */
/** @import { Databases } from './databases.js' */
/** @import { Findings } from './examine.js' */
/** @import { Locks } from './locks.js' */
/** @import { Packs } from './packs.js' */
/** @import { Presence } from './presence.js' */
/** @import { DamagedTag } from './tag-check.js' */
/** @import { ProgressOptions } from '../lib/types.js' */
/** @import { Protection } from './protection.js' */
/** @import { Quota } from './quota.js' */

/**
 * @typedef {object} DamagedBlob
 * @property {CID} cid
 * @property {number} size  bytes, to make bytes of the ranges
 * @property {ChunkRanges} data  chunks whose bytes are wrong or lost
 * @property {ChunkRanges} tree  chunks that cannot be proven any more, or that the tree does not know to be here
 * @property {number} strays  entries beside the blob's own, or not in their shape
 * @property {ChunkRanges} lost  what is to be fetched again: with `repair` it is missing now; without, what a repair would drop at most
 */

/**
 * @typedef {object} FsckReport
 * @property {boolean} isSound  was nothing found?
 * @property {number} blobs  that were looked at
 * @property {DamagedBlob[]} damaged
 * @property {{ cid: CID, isRestored: boolean }[]} records  that are damaged; `isRestored`: the blob's data was found, and has a record again
 * @property {DamagedTag[]} tags  that are damaged; `isRestored`: what they name is known from the other place where they are kept. The others are
 *   gone then: before that no garbage can be collected
 * @property {number} orphans  blobs' worth of data that no record speaks of; of a pack each blob that it lists and that has neither a record nor a hole
 * @property {number} strays  entries and files that were never written like that, lists of packs among them
 * @property {boolean} isStateDamaged
 * @property {boolean} isReadable  false when LevelDB cannot read some of its files, or does not find everything in them: `BlobStore.repair` makes it.
 *   Until then data without a record is left alone, since its record may be among what cannot be read; and where something is not found, everything is
 */

export class Fsck {
  #store
  #databases
  #catalog
  #locks
  #packs
  #presence
  #quota
  #repairs
  /** May records have been lost without a trace? One key that is wrong may hide the next. Then a whole blob that has none gets one. */
  #adopts
  #signal
  #onProgress
  #done = 0
  #total = 0
  /** @type {FsckReport} */
  #report = { isSound: true, blobs: 0, damaged: [], records: [], tags: [], orphans: 0, strays: 0, isStateDamaged: false, isReadable: true }
  /** By the names of their roots. */
  #damagedRecords = /** @type {Map<string, { cid: CID, isRestored: boolean }>} */ (new Map())
  /** Ids that records have alone; and those that two have, of which at most one is right. */
  #recorded = new IdSet()
  #shared = /** @type {Set<number>} */ (new Set())
  /** Packs that records name, or that are there. */
  #packIds = /** @type {Set<number>} */ (new Set())
  /** False when LevelDB cannot read all records: then what seems to have none may have one. */
  #isIndexWhole = true
  #isDataWhole = true
  #isInOrder = true

  /**
   * @param {{ databases: Databases, catalog: Catalog, locks: Locks, packs: Packs, presence: Presence, protection: Protection, quota: Quota }} store
   * @param {ProgressOptions & { repair: boolean, adopts?: boolean }} options  see `BlobStore.fsck`. `adopts`: records may have been lost
   *   without a trace
   */
  constructor (store, { repair, adopts = false, signal, onProgress }) {
    const { databases, catalog, locks, packs, presence, quota } = store
    this.#store = store
    this.#databases = databases
    this.#catalog = catalog
    this.#locks = locks
    this.#packs = packs
    this.#presence = presence
    this.#quota = quota
    this.#repairs = repair
    this.#adopts = adopts
    this.#signal = signal
    this.#onProgress = onProgress
  }

  /** @returns {Promise<FsckReport>} */
  async run () {
    this.#signal?.throwIfAborted()
    // What comes in from now on is not looked at: it may be there before its record is.
    const limit = this.#databases.ids.next
    const underWay = new Set(this.#databases.ids.underWay)
    await this.#checkOrder()
    await this.#checkState()
    await this.#count()
    await this.#checkTags()
    await this.#checkBlobs(limit)
    const wasSettled = (/** @type {number} */ id) => id < limit && !underWay.has(id)
    await this.#checkPacks(wasSettled)
    await this.#checkOrphans(wasSettled)
    await this.#dropRecords()
    if (this.#repairs) await this.#packs.tidyAll() // what was in doubt may have kept one from being written anew
    const report = this.#report
    report.records = [...this.#damagedRecords.values()]
    report.isReadable = this.#isIndexWhole && this.#isDataWhole && this.#isInOrder
    report.isSound = report.isReadable && report.damaged.length + report.records.length + report.tags.length + report.orphans + report.strays === 0 && !report.isStateDamaged
    return report
  }

  /** What LevelDB has and does not find is not lost: `BlobStore.repair` brings it back, unless it was dropped before. */
  async #checkOrder () {
    const { index, data } = this.#databases
    this.#isInOrder = await isInOrder(index, this.#signal) && await isInOrder(data, this.#signal)
    this.#repairs &&= this.#isInOrder
  }

  async #checkState () {
    this.#report.isStateDamaged = !await this.#databases.ids.isStateSound()
    if (this.#report.isStateDamaged && this.#repairs) await this.#databases.ids.mendState()
  }

  /** Looks through the index: how much there is to do, which ids have records, and what is not in order. */
  async #count () {
    const { index, data } = this.#databases
    for await (const batch of this.#entryBatches(allOfIndex)) {
      for (const [key, value] of batch) {
        const isSound = isSoundNote(key, value)
        // What a hole was can be told from its pack.
        if (!isKnownKind(key) || (!isSound && !isHole(key))) this.#adopts = true
        if (!isSound) await this.#stray(() => index.del(key, VIEWS))
      }
    }
    for await (const batch of this.#recordBatches()) {
      for (const { root, record } of batch) {
        if (record === undefined) {
          this.#adopts = true
          this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored: false })
          continue
        }
        if (record.home === 'pack') this.#seePack(record.id)
        else if (!this.#recorded.add(record.id)) this.#shared.add(record.id)
        this.#total += record.complete ? record.size : rangesLen(await presentChunks(data, record), record.size)
      }
    }
  }

  /** A pack has come up: it is to be opened anew. @param {number} id */
  #seePack (id) {
    if (this.#packIds.has(id)) return
    this.#packIds.add(id)
    this.#databases.packs?.forget(id) // what is open may not be there any more
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
    const way = turnsWhenDue(this.#signal)
    for await (const batch of this.#recordBatches()) {
      const right = await rightSmallBlobs(this.#databases.data, batch, id => alone.has(id))
      for (const blob of batch) {
        if (blob.record !== undefined) await this.#checkBlob(blob.root, blob.record, right.has(blob))
      }
      await way()
    }
  }

  /**
   * Small blobs are under such ids, if there is nothing beside them.
   *
   * @param {number} limit  ids from there on are new
   */
  async #idsOfOneExtent (limit) {
    const alone = new IdSet()
    for await (const { id, isAlone } of this.#databases.dataIds(0)) {
      this.#signal?.throwIfAborted()
      if (id !== undefined && id < limit && isAlone) alone.add(id)
    }
    return alone
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {boolean} isRight  is that known? */
  async #checkBlob (root, record, isRight) {
    this.#report.blobs++
    if (isRight || (record.home === 'pack' && await isPackedRight(this.#databases, root, record))) {
      this.#done += record.size
      this.#tell(this.#done)
      return
    }
    const before = this.#done
    const findings = await this.#examine(root, record, true)
    if (findings.isUnreadable) this.#isDataWhole = false
    this.#done = before + rangesLen(findings.expected, record.size)
    // It may have been changed or deleted meanwhile: what does not move is looked at.
    if (!findings.isSound) await this.#locks.run(nameOf(root), () => this.#settle(root))
  }

  /** Looks at a blob again, and puts it right. Under the blob's lock. @param {Uint8Array} root */
  async #settle (root) {
    const { record } = await this.#catalog.look(root)
    if (record === undefined) return
    const { isSound, expected, right, data, tree, strays } = await this.#examine(root, record, false)
    if (isSound) return
    const kept = this.#repairs ? await this.#mend(root, record, right) : right
    this.#report.damaged.push({ cid: toCid(root), size: record.size, data, tree, strays, lost: expected.union(tree).difference(kept) })
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record
   * @param {ChunkRanges} [before]  what is right of it
   * @returns {Promise<ChunkRanges>} what is here of the blob now
   */
  async #mend (root, record, before) {
    const len = await this.#presence.len(root, record)
    this.#presence.forget(root)
    // Data that is another blob's is not this one's to delete.
    if (before?.isEmpty && this.#shared.has(record.id)) {
      await this.#catalog.remove(root)
      this.#quota.add(-len)
      return before
    }
    if (record.home === 'pack') return this.#drop(root, record)
    // Where there are no files, nothing is in one: what is received from now on goes elsewhere.
    const isReachable = record.home === 'extents' || this.#databases.files !== undefined
    const { record: after, right } = await mend(this.#databases, root, isReachable ? record : { ...record, home: 'extents' }, { signal: this.#signal })
    this.#quota.add(await this.#presence.len(root, after) - len)
    // Of a size that nobody has proven nothing is left when no byte is.
    if (right.isEmpty && !record.sizeProven) await this.#catalog.remove(root, record)
    else if (after.complete !== record.complete || after.sizeProven !== record.sizeProven || after.home !== record.home) await this.#catalog.write(root, after, { sync: true })
    return right
  }

  /**
   * Of a blob of a pack nothing can be right when something is wrong. Its size is a claim again, and what is received goes elsewhere.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @returns {Promise<ChunkRanges>} none
   */
  async #drop (root, record) {
    const { isNameless, created, size } = record
    const { ids } = this.#databases
    const id = await ids.newId()
    await this.#catalog.write(root, { id, size, sizeProven: false, complete: false, home: 'extents', created, isNameless }, { sync: true, replaces: record })
    ids.settle(id)
    this.#quota.add(-size)
    return ChunkRanges.none
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {boolean} isTold @returns {Promise<Findings>} */
  #examine (root, record, isTold) {
    const before = this.#done
    return examine(this.#databases, root, record, {
      signal: this.#signal,
      onProgress: isTold ? ({ detail: { done } }) => this.#tell(before + done) : undefined
    })
  }

  /** @param {number} done  bytes */
  #tell (done) { this.#onProgress?.({ type: 'baobox:fsck', detail: { done, total: this.#total } }) }

  /** @param {(id: number) => boolean} wasSettled  see below */
  async #checkPacks (wasSettled) {
    const check = new PackCheck(this.#store, {
      adopts: this.#adopts,
      isElsewhere: id => this.#recorded.has(id),
      records: () => this.#records(),
      isIndexWhole: () => this.#isIndexWhole,
      takeLost: (found, remove) => this.#takeLost(found, remove),
      stray: remove => this.#stray(remove)
    })
    for (const id of await this.#databases.packs?.ids() ?? []) {
      this.#signal?.throwIfAborted()
      this.#seePack(id)
      if (wasSettled(id)) await this.#packs.alone(() => check.run(id))
    }
  }

  /** @param {(id: number) => boolean} wasSettled  had everything that is under the id a record, if it is ever to have one, when the records were looked through? */
  async #checkOrphans (wasSettled) {
    const { data, files } = this.#databases
    const withFile = new Set(await files?.ids())
    for await (const { id, key } of this.#databases.dataIds(0, () => { this.#isDataWhole = false })) {
      this.#signal?.throwIfAborted()
      if (id === undefined) await this.#stray(() => data.del(key, VIEWS))
      else if (this.#recorded.has(id) || !wasSettled(id)) withFile.delete(id)
      else if (this.#packIds.has(id)) await this.#stray(() => data.clear({ ...allOfId(id), ...VIEWS }))
      else await this.#takeOrphan(id, withFile.delete(id))
    }
    for (const id of withFile) {
      if (this.#recorded.has(id) || !wasSettled(id)) continue
      if (this.#packIds.has(id)) await this.#stray(async () => files?.remove(id))
      else await this.#takeOrphan(id, true)
    }
  }

  /** @param {number} id @param {boolean} hasFile */
  async #takeOrphan (id, hasFile) {
    if (await this.#databases.isGoing(id)) return
    const found = await findRecord(this.#databases, this.#catalog, id, { hasFile, adopts: this.#adopts })
    await this.#takeLost(found, () => this.#databases.deleteDoomed([{ id }]))
  }

  /** @param {{ root: Uint8Array, record: BlobRecord } | undefined} found  whose it is, if that is known @param {() => Promise<void>} remove */
  async #takeLost (found, remove) {
    if (found !== undefined && this.#repairs && await this.#restore(found)) return
    if (found !== undefined && !this.#repairs && this.#damagedRecords.has(nameOf(found.root))) return
    this.#report.orphans++
    if (!this.#repairs || !this.#isIndexWhole) return
    await remove().catch(error => {
      if (!isCorruption(error)) throw error
      this.#isDataWhole = false
    })
  }

  /**
   * Gives a blob its record back.
   *
   * @param {{ root: Uint8Array, record: BlobRecord }} found @returns {Promise<boolean>} false when that was not its data, or it has a record by now that is as good
   */
  #restore ({ root, record }) {
    return this.#locks.run(nameOf(root), async () => {
      const { record: before } = await this.#catalog.look(root)
      if (before !== undefined && (before.complete || !record.complete)) return false
      const lenBefore = before === undefined ? 0 : await this.#presence.len(root, before)
      await this.#catalog.write(root, record, { sync: true, replaces: before })
      this.#presence.forget(root)
      this.#quota.add(await this.#presence.len(root, record) - lenBefore)
      const isRestored = record.home === 'pack' || !(await this.#mend(root, record)).isEmpty
      this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored })
      return true
    })
  }

  /** Those whose data was not found. */
  async #dropRecords () {
    if (!this.#repairs || !this.#isIndexWhole) return
    for (const { cid, isRestored } of this.#damagedRecords.values()) {
      if (isRestored) continue
      const root = cid.multihash.digest
      await this.#locks.run(nameOf(root), async () => {
        const { isThere, record } = await this.#catalog.look(root)
        if (isThere && record === undefined) await this.#catalog.remove(root)
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
    for await (const batch of entryBatches(this.#databases.index, range, () => { this.#isIndexWhole = false })) {
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
