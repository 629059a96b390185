// Checks everything in a store: every extent and page against the root of its blob, every record against its checksum,
// and all other entries and files. With `repair`, it repairs the damage as far as possible.

import { BaoError } from '../../lib/core/errors.js'
import { parseRoot, toCid } from '../../lib/hash/cid.js'
import { assertMany } from '../../lib/async/in-order.js'
import { VIEWS, allBlobs, allOfIndex, allUsed, hashOfKey, isKnownKind, usedKey } from '../storage/format/keys.js'
import { decodeRecord, idsOf, isWellFormed } from '../storage/format/records.js'
import { isCorruption, isOfSystem, orIfUnreadable } from '../storage/errors.js'
import { isInOrder } from '../storage/level/order.js'
import { nameOf } from '../../lib/hash/roots.js'
import { findRecord } from './identify-data.js'
import { IdSet } from '../storage/level/id-set.js'
import { TagCheck } from './check-tags.js'
import { readEntries } from '../storage/level/entries.js'
import { BlobCheck } from './check-blobs.js'
import { SharerCheck } from './check-sharers.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { DamagedBlob } from './check-blobs.js' */
/** @import { DamagedTag } from './check-tags.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { BlobName } from '../blob-store.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { TagIndex } from '../catalog/names/tag-index.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Repairs } from './blob/repairs.js' */
/** @import { Losses } from './identify-data.js' */
/** @import { ClaimFinder } from './claims.js' */
/** @import { OrphanRestorer, Restoration } from './restore-orphans.js' */

/**
 * @typedef {object} FsckReport
 * @property {boolean} isSound  true if the check has found nothing wrong
 * @property {number} blobs  how many blobs were checked
 * @property {DamagedBlob[]} damaged
 * @property {{ cid: CID, isRestored: boolean }[]} records  damaged records; `isRestored`: the repair has found the
 *   blob's data, and written a new record for it
 * @property {DamagedTag[]} tags  damaged tags; `isRestored`: the repair has restored the tag from its other entry. It
 *   deletes tags that it cannot restore. Until then, no garbage can be collected
 * @property {number} orphans  ids with data that no record names. A repair deletes the data, unless a tag claims the
 *   data or damage hides which data tags claim. When the state was damaged, only the next repair deletes it
 * @property {number} strays  entries and files that no store writes, missing entries of blobs that share a file, and
 *   times of use of blobs that have no record. A link, folder or device with the name of a file of the store stays in
 *   its place, even with `repair`
 * @property {boolean} isStateDamaged  true if the index may have lost records: it lacks its state, or there is data
 *   under an id that it has not given out. Then a repair gives every whole blob a record
 * @property {boolean} isReadable  false if files of LevelDB are damaged, or LevelDB does not find every entry in them:
 *   call `BlobStore.rescue` then. When a checksum is wrong, nothing else was checked. When LevelDB does not find an
 *   entry, a repair changes nothing. In other cases, it repairs everything except data without a record, because an
 *   unreadable record may name that data
 * @property {number} [lostBytes]  after a rescue, and of a damaged store that was opened with `readOnly`: unreadable
 *   bytes in LevelDB's files, which may have held records and tags. Undefined after an interrupted rescue
 */

/**
 * @typedef {object} FsckOwnParts
 * @property {Catalog} catalog
 * @property {Databases} databases
 * @property {Locks} locks
 * @property {Presence} presence
 * @property {TagIndex} tags
 */

/** @typedef {FsckOwnParts & { claims: ClaimFinder, repairs: Repairs, restorer: OrphanRestorer }} FsckParts */

/**
 * @typedef {ProgressOptions & { repair?: boolean, cids?: Iterable<BlobName>, losses?: Losses }} CheckOptions  see
 *   `Store.fsck`. `losses`: the losses that are known before the check. Default: `none`
 */

export class Fsck {
  #parts

  /** @param {FsckParts} parts */
  constructor (parts) {
    this.#parts = parts
  }

  /** @param {CheckOptions} [options] @returns {Promise<FsckReport>} */
  run ({ repair = false, ...options } = {}) {
    const { databases, locks } = this.#parts
    const run = async () => {
      if (repair) databases.assertWritable()
      return new StoreCheck(this.#parts, { repair, ...options }).run()
    }
    // A collection must not delete data for which the repair is about to write a record.
    return repair ? locks.run('gc', run) : run()
  }
}

/** One check of a store. */
class StoreCheck {
  #parts
  #repairs
  /**
   * What the index may have lost. One wrong key may hide the next one. Unless this is `none`, a repair gives a record
   * to each whole blob without one.
   */
  #losses
  /** The blobs to check; undefined for everything in the store. */
  #roots
  #signal
  #blobs
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

  /** Damaged records, by the names of their roots. */
  #damagedRecords = /** @type {Map<string, { cid: CID, isRestored: boolean }>} */ (new Map())
  /** Ids that records name. */
  #recorded = new IdSet()
  /** Ids that two records name. At most one of the two is right. */
  #recordedTwice = /** @type {Set<number>} */ (new Set())
  /** Ids with data that no record names, not even a damaged one. */
  #orphans = /** @type {Set<number>} */ (new Set())
  /**
   * Ids whose data no damaged record has named, or whose data is all wrong. The data is deleted once all claims are
   * known.
   */
  #unclaimed = /** @type {Set<number>} */ (new Set())
  /** False if LevelDB cannot read all records. Then data without a readable record may have a record. */
  #isIndexWhole = true
  /** False if LevelDB cannot read all data. */
  #isDataWhole = true
  /** False if the system could not read data that a damaged record may have named. */
  #areOwnersKnown = true
  /** False if LevelDB's files are damaged, or LevelDB does not find every entry in them. */
  #isInOrder = true

  /** @param {FsckParts} parts @param {CheckOptions & { repair: boolean }} options */
  constructor (parts, { repair, cids, losses = 'none', signal, onProgress }) {
    if (cids !== undefined) this.#roots = rootsOf(cids)
    this.#parts = parts
    this.#repairs = repair
    this.#losses = losses
    this.#signal = signal
    const isIdShared = (/** @type {number} */ id) => this.#recordedTwice.has(id)
    const { catalog, databases, locks, presence, repairs } = parts
    const checked = { catalog, databases, locks, presence, repairs }
    this.#blobs = new BlobCheck(checked, { repair, isIdShared, signal, onProgress })
  }

  /** @returns {Promise<FsckReport>} */
  async run () {
    this.#signal?.throwIfAborted()
    await (this.#roots === undefined ? this.#checkAll() : this.#checkSome(this.#roots))
    const report = this.#report
    report.blobs = this.#blobs.blobs
    report.orphans = this.#orphans.size
    report.damaged = this.#blobs.damaged
    report.records = [...this.#damagedRecords.values()]
    const isDataWhole = this.#isDataWhole && !this.#blobs.isUnreadable
    const { lostBytes } = this.#parts.databases
    if (lostBytes > 0) report.lostBytes = lostBytes
    report.isReadable = this.#isIndexWhole && isDataWhole && this.#isInOrder && lostBytes === 0
    const { damaged, records, tags, orphans, strays } = report
    const faults = damaged.length + records.length + tags.length + orphans + strays
    report.isSound = report.isReadable && !report.isStateDamaged && faults === 0
    return report
  }

  async #checkAll () {
    if (!await this.#checkFiles()) return
    // Data that is written from now on is not checked, because its record may be written later.
    const limit = this.#parts.databases.ids.next
    const underWay = new Set(this.#parts.databases.ids.underWay)
    await this.#checkOrder()
    await this.#checkFolder()
    await this.#checkState()
    await this.#count()
    await this.#checkSharers()
    await this.#checkTags()
    await this.#blobs.checkAll(this.#recordBatches(), limit)
    await this.#checkOrphans(id => id < limit && !underWay.has(id))
    await this.#dropRecords()
    await this.#checkUses()
    await this.#repairState()
  }

  /**
   * Checks some blobs. It reports damaged records, but only a check of everything can restore them.
   *
   * @param {Uint8Array[]} roots
   */
  async #checkSome (roots) {
    const { catalog } = this.#parts
    const blobs = /** @type {{ root: Uint8Array, record: BlobRecord }[]} */ ([])
    for (const root of roots) {
      this.#signal?.throwIfAborted()
      const { isThere, record } = await catalog.find(root)
      if (record !== undefined && record.size > 0) blobs.push({ root, record })
      else if (isThere && record === undefined) {
        this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored: false })
      }
    }
    for (const { record } of blobs) await this.#blobs.expect(record)
    for (const { root, record } of blobs) await this.#blobs.check(root, record, false)
  }

  /**
   * Checks LevelDB's files. When one is damaged, the check must not read anything through LevelDB, which might end the
   * process.
   *
   * @returns {Promise<boolean>} true if they are sound
   */
  async #checkFiles () {
    try {
      await this.#parts.databases.assertTablesSound({ checksOrder: true, signal: this.#signal })
      return true
    } catch (error) {
      if (!(error instanceof BaoError) || error.code !== 'STORE_CORRUPT') throw error
      this.#isInOrder = false
      return false
    }
  }

  /**
   * Checks that LevelDB finds the entries in its files. Entries that it does not find are not lost: `BlobStore.rescue`
   * brings them back, unless a repair drops them first.
   */
  async #checkOrder () {
    const { index, data } = this.#parts.databases
    this.#isInOrder = await isInOrder(index, this.#signal) && await isInOrder(data, this.#signal)
    if (!this.#isInOrder) this.#leaveAll()
  }

  /**
   * Counts links, folders and devices that have the names of blob files, and leaves them alone. When the folder itself
   * does not belong to the store, nothing can be repaired.
   */
  async #checkFolder () {
    const { files } = this.#parts.databases
    if (files === undefined) return
    if (await files.isObstructed()) {
      this.#report.strays++
      return this.#leaveAll()
    }
    if (this.#repairs) await files.make()
    this.#report.strays += (await files.names()).filter(({ isFile }) => !isFile).length
  }

  /** Turns off all repairs from now on. */
  #leaveAll () { this.#repairs = this.#blobs.repairs = false }

  /** Checks the state of the index. If it is damaged, any data may belong to a lost record. */
  async #checkState () {
    this.#report.isStateDamaged = !await this.#parts.databases.ids.isStateSound()
    if (this.#report.isStateDamaged) this.#losses = 'state'
  }

  #hasLostRecords () { if (this.#losses === 'none') this.#losses = 'records' }

  /** Writes a new state if it was damaged and the check has seen all data. */
  async #repairState () {
    const mayWrite = this.#repairs && this.#isIndexWhole && this.#isDataWhole && !this.#blobs.isUnreadable
    if (this.#report.isStateDamaged && mayWrite) await this.#parts.databases.ids.rewriteState()
  }

  /** Walks through the index: finds stray entries and the ids that records name, and adds up the total for progress. */
  async #count () {
    for await (const batch of this.#entryBatches(allOfIndex)) {
      for (const [key, value] of batch) {
        const isSound = isWellFormed(key, value)
        if (!isSound || !isKnownKind(key)) this.#hasLostRecords()
        if (!isSound) await this.#stray(() => this.#parts.catalog.removeStray(key))
      }
    }
    for await (const batch of this.#recordBatches()) {
      for (const { root, record } of batch) {
        if (record === undefined) {
          this.#hasLostRecords()
          this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored: false })
          continue
        }
        if (this.#recorded.has(record.id)) this.#recordedTwice.add(record.id)
        for (const id of idsOf(record)) this.#recorded.add(id)
        await this.#blobs.expect(record)
      }
    }
  }

  /** Checks the entries of blobs that share a file. */
  async #checkSharers () {
    const options = { repair: this.#repairs, losses: this.#losses, signal: this.#signal }
    const { catalog, claims, databases, locks } = this.#parts
    const check = new SharerCheck({ catalog, claims, databases, locks }, options)
    await check.run()
    for await (const { root, record } of this.#records()) {
      if (record !== undefined) await check.checkRecord(root, record)
    }
    if (this.#isIndexWhole && !check.isUnreadable && !this.#report.isStateDamaged) await check.cutOff()
    for (const { root, record } of check.lost) {
      for (const id of idsOf(record)) this.#recorded.add(id)
      this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored: this.#repairs })
    }
    this.#report.strays += check.strays
    if (check.isUnreadable) this.#isIndexWhole = false
  }

  async #checkTags () {
    const { catalog, databases, locks, tags } = this.#parts
    const check = new TagCheck({ catalog, databases, locks, tags }, { repair: this.#repairs, signal: this.#signal })
    this.#report.tags = await check.run()
    this.#report.strays += check.strays
    if (check.isUnreadable) this.#isIndexWhole = false
  }

  /**
   * @param {(id: number) => boolean} isOld  returns true if no call could write a record for this id after the check
   *   had begun
   */
  async #checkOrphans (isOld) {
    const { data, files } = this.#parts.databases
    if (this.#repairs) await this.#parts.databases.deletePostponed()
    const isOrphan = (/** @type {number} */ id) => !this.#recorded.has(id) && isOld(id)
    const orphans = new Map((await files?.ids() ?? []).filter(isOrphan).map(id => [id, true]))
    for await (const { id, key } of this.#parts.databases.dataIds(0, () => { this.#isDataWhole = false })) {
      this.#signal?.throwIfAborted()
      if (id === undefined) await this.#stray(() => data.del(key))
      else if (isOrphan(id) && !orphans.has(id)) orphans.set(id, false)
    }
    const { restored, kept, fault } = await this.#restoreClaimed(orphans)
    for (const [id, hasFile] of orphans) if (!restored.has(id)) await this.#takeOrphan(id, hasFile)
    if (fault !== undefined) return
    for (const id of this.#unclaimed) if (!kept.has(id)) await this.#deleteOrphan(id)
  }

  /** @param {Map<number, boolean>} orphans  by id, true for those with a file @returns {Promise<Restoration>} */
  async #restoreClaimed (orphans) {
    if (!this.#repairs || orphans.size === 0) return { restored: new Map(), kept: new Set() }
    const damaged = [...this.#damagedRecords].flatMap(([name, { isRestored }]) => isRestored ? [] : [name])
    const restoration = await this.#parts.restorer.restoreClaimed(orphans, { damaged, signal: this.#signal })
    for (const root of restoration.restored.values()) {
      this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored: true })
    }
    return restoration
  }

  /** @param {number} id @param {boolean} hasFile */
  async #takeOrphan (id, hasFile) {
    if (await this.#parts.databases.isGivenUp(id)) return
    let found
    try {
      const options = { hasFile, losses: this.#losses, signal: this.#signal }
      found = await findRecord(this.#parts.databases, this.#parts.catalog, id, options)
    } catch (error) {
      if (!isOfSystem(error)) throw error
      this.#orphans.add(id)
      this.#areOwnersKnown = false
      return
    }
    if (found?.isNamed) {
      this.#isIndexWhole = false
      return
    }
    const isRestored = found !== undefined && this.#repairs ? await this.#restore(found) : false
    if (isRestored) return
    // The report counts a damaged record only once, without its data, unless the data stays when the record is dropped.
    const isNamed = found !== undefined && this.#damagedRecords.has(nameOf(found.root))
    const { isStateDamaged } = this.#report
    if (!isNamed || (this.#repairs && isStateDamaged)) this.#orphans.add(id)
    if (isRestored === undefined) this.#areOwnersKnown = false
    else if (this.#repairs && this.#isIndexWhole && !isStateDamaged) this.#unclaimed.add(id)
  }

  /** @param {number} id */
  async #deleteOrphan (id) {
    await this.#parts.databases.deleteGivenUp([{ id }]).catch(error => {
      if (!isCorruption(error)) throw error
      this.#isDataWhole = false
    })
  }

  /**
   * Writes a new record for a blob.
   *
   * @param {{ root: Uint8Array, record: BlobRecord }} found
   * @returns {Promise<boolean | undefined>} false if the blob already has a record, or no chunk of it can be proven;
   *   undefined if the system cannot read the file
   */
  #restore ({ root, record }) {
    return this.#parts.locks.run(nameOf(root), async () => {
      const now = await this.#parts.catalog.find(root)
      if (now.record !== undefined) return false
      const right = await this.#parts.repairs.restore(root, record, { signal: this.#signal })
      if (right === undefined) return undefined
      if (right.isEmpty) return false
      this.#damagedRecords.set(nameOf(root), { cid: toCid(root), isRestored: true })
      return true
    })
  }

  /** Deletes damaged records whose data was not found. */
  async #dropRecords () {
    if (!this.#repairs || !this.#isIndexWhole || !this.#areOwnersKnown) return
    for (const { cid, isRestored } of this.#damagedRecords.values()) {
      if (isRestored) continue
      const root = cid.multihash.digest
      await this.#parts.locks.run(nameOf(root), async () => {
        const { isThere, record } = await this.#parts.catalog.find(root)
        if (isThere && record === undefined) await this.#parts.catalog.remove(root)
      })
    }
  }

  /** Finds times of use of blobs without a record. */
  async #checkUses () {
    const { catalog, locks } = this.#parts
    for await (const batch of this.#entryBatches(allUsed)) {
      const roots = batch.flatMap(([key, value]) => isWellFormed(key, value) ? hashOfKey(key) ?? [] : [])
      const recorded = new Set(await catalog.filterRecorded(roots))
      for (const root of roots) {
        if (!recorded.has(root)) await locks.run(nameOf(root), () => this.#checkUse(root))
      }
    }
  }

  /** Checks the time of use of a blob again. The caller holds the blob's lock. @param {Uint8Array} root */
  async #checkUse (root) {
    const { catalog, databases: { index } } = this.#parts
    const key = usedKey(root)
    if ((await catalog.find(root)).isThere || await orIfUnreadable(index.get(key, VIEWS)) === undefined) return
    await this.#stray(() => index.del(key))
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

  /** @param {{ gte: Uint8Array, lt?: Uint8Array }} range  of keys of the index */
  async * #entryBatches (range) {
    for await (const batch of readEntries(this.#parts.databases.index, range, () => { this.#isIndexWhole = false })) {
      this.#signal?.throwIfAborted()
      yield batch
    }
  }

  /** Counts a stray, and removes it if the check repairs. @param {() => Promise<void>} remove */
  async #stray (remove) {
    this.#report.strays++
    if (this.#repairs) await remove()
  }
}

/** Returns each root once. @param {Iterable<BlobName>} cids */
function rootsOf (cids) {
  assertMany('cids', cids, 'CIDs')
  const roots = new Map([...cids].map(cid => parseRoot(cid, 'cid')).map(root => [nameOf(root), root]))
  return [...roots.values()]
}
