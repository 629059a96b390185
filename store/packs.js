// What becomes of packs when blobs in them are deleted. A blob that is deleted leaves a hole, which is noted in the batch that removes its record. Once half
// of a pack is holes, what is still wanted of it is written anew, always to the disk: these are other people's bytes. Then one batch has the records that
// say where it is now, and a note that the old pack is to go; and then it goes.
//
// What a pack holds it says itself. Of a blob that it lists
//
//   the record says that it is here                    it is wanted
//   a hole is noted, or the record is elsewhere        it is not
//   neither is so, or the record is damaged or a part  that is for fsck to judge (pack-check.js), and until then the pack stays as it is

import { areEqual } from '../lib/bytes.js'
import { hash } from '../lib/hasher.js'
import { isPackedRight, listPack, readBlob, readPacked } from './pack.js'
import { GivenIds, writeData } from './placing.js'
import { VIEWS, allHoles, decodeHole, encodeHole, holeKey, holesOf } from './keys.js'
import { damagedPack, eachReadable } from './faults.js'
import { nameOf } from './catalog.js'
import { packedLen } from './holes.js'

/** @import { Activity } from './activity.js' */
/** @import { BlobRecord } from './keys.js' */
/** @import { Catalog } from './catalog.js' */
/** @import { Counted, Holes } from './holes.js' */
/** @import { Databases } from './databases.js' */
/** @import { Locks } from './locks.js' */
/** @import { Packed } from './pack.js' */

/** Is this where a record says that the blob is? @param {BlobRecord | undefined} record @param {number} id  of a pack @param {Packed} blob */
export const isAt = (record, id, { offset, size }) => record?.home === 'pack' && record.id === id && record.offset === offset && record.size === size

export class Packs {
  #activity
  #catalog
  #databases
  #holes
  #locks
  /** Blobs that are damaged, or whose records are: what keeps a pack from being written anew. */
  #damaged = /** @type {Map<number, Packed>} */ (new Map())

  /** @param {{ activity: Activity, catalog: Catalog, databases: Databases, holes: Holes, locks: Locks }} store */
  constructor ({ activity, catalog, databases, holes, locks }) {
    this.#activity = activity
    this.#catalog = catalog
    this.#databases = databases
    this.#holes = holes
    this.#locks = locks
  }

  /** For who must not find a pack being removed. Not to be called under a blob's lock. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  alone (work) { return this.#locks.run('packs', work) }

  /**
   * Looks at the packs that have got holes since the last time. When one cannot be written anew it stays as it is until it gets another hole, or garbage is
   * collected: blobs can be deleted on a disk that is full. Not to be called under a blob's lock.
   */
  async tidy () {
    if (!this.#holes.hasNew) return
    await this.alone(async () => {
      for (const id of this.#holes.take()) await this.#tidyOne(id).catch(() => {})
    })
  }

  /**
   * Looks at all packs that have holes.
   *
   * @param {{ isThorough?: boolean, signal?: AbortSignal }} [options]  `isThorough`: one hole is enough, and what fails is told in the end
   * @throws {BaoError} STORE_CORRUPT when something in a pack is damaged, with its `cid` where that is known; and what else has failed
   */
  async tidyAll ({ isThorough = false, signal } = {}) {
    const failures = /** @type {unknown[]} */ ([])
    for (const id of await this.#holed()) {
      signal?.throwIfAborted()
      await this.alone(() => this.#tidyOne(id, isThorough)).catch(error => failures.push(error))
    }
    if (isThorough && failures.length > 0) throw failures[0]
  }

  /** Notes that a blob of a pack is not wanted: of one that has no record. @param {number} id @param {Packed} blob */
  async giveUp (id, { offset, size }) {
    await this.#databases.index.put(holeKey(id, offset), encodeHole(id, offset, size))
    this.#holes.add({ id, size })
  }

  /** Where the holes of a pack begin. @param {number} id @returns {Promise<Set<number>>} */
  async holesIn (id) {
    const offsets = new Set()
    for await (const { offset } of this.#eachHole(holesOf(id))) offsets.add(offset)
    return offsets
  }

  /**
   * Writes anew what is still wanted of a pack, and removes it. To be called alone.
   *
   * @param {number} id @param {Packed[]} blobs  all that it holds
   * @throws {BaoError} STORE_CORRUPT when something of that is damaged, or cannot be told: then nothing has happened
   */
  async rewrite (id, blobs) {
    const wanted = await this.#wanted(id, blobs)
    await this.#activity.run(() => this.#locks.runAll(wanted.map(({ root }) => nameOf(root)), async () => {
      // Under the locks this holds: nothing comes to be wanted in a pack that is there, but by fsck, which would be alone.
      const still = await this.#wanted(id, wanted)
      const bytes = await readPacked(this.#databases, still.map(({ record }) => record))
      for (const [i, { root, record }] of still.entries()) {
        bytes[i] ??= await readBlob(this.#databases, record) // which tells what is no damage
        if (bytes[i] === undefined || !areEqual(hash(bytes[i]), 0, root)) throw this.#stuck(id, still[i])
      }
      await this.#move(id, still.map((blob, i) => ({ ...blob, bytes: bytes[i] })))
    }))
    this.#damaged.delete(id)
    this.#holes.forget(id)
  }

  /** @param {number} id @param {(Packed & { record: BlobRecord, bytes?: Uint8Array })[]} blobs  whose locks are held */
  async #move (id, blobs) {
    const given = new GivenIds(this.#databases)
    try {
      const places = await writeData(this.#databases, blobs, given, { isSync: true })
      await this.#catalog.leavePack(blobs.map(({ root, record: { offset, ...record } }, i) => ({ root, record: { ...record, ...places[i] } })), id)
      given.settle()
    } catch (error) {
      this.#activity.leave() // it may have come to the disk, in whole or in part
      throw error
    }
  }

  /** @param {number} id @param {boolean} [isThorough]  is one hole enough? */
  async #tidyOne (id, isThorough = false) {
    const { ids, index, packs } = this.#databases
    if (packs === undefined || ids.underWay.has(id)) return
    const counted = await this.#holes.of(id, () => this.#count(id))
    if (counted === undefined) return index.clear({ ...holesOf(id) }) // of a pack that is gone
    if (!isThorough && 2 * counted.holes < counted.len) return
    if (!isThorough && await this.#isStuck(id)) return
    const { isSound, blobs } = await listPack(this.#databases, id)
    if (!isSound) throw damagedPack(id)
    await this.rewrite(id, blobs)
  }

  /** @param {number} id @returns {Promise<Counted | undefined>} undefined when there is no such pack */
  async #count (id) {
    const len = await this.#databases.packs?.len(id)
    if (len === undefined) return undefined
    let holes = 0
    for await (const { size } of this.#eachHole(holesOf(id))) holes += packedLen(size)
    return { len, holes }
  }

  /** Packs that have holes. */
  async #holed () {
    const ids = /** @type {Set<number>} */ (new Set())
    for await (const { id } of this.#eachHole(allHoles)) ids.add(id)
    return ids
  }

  /** @param {object} range @returns {AsyncGenerator<{ id: number, offset: number, size: number }>} */
  async * #eachHole (range) {
    for await (const [key, value] of eachReadable(this.#databases.index.iterator({ ...range, ...VIEWS }))) {
      const hole = decodeHole(key, value)
      if (hole !== undefined) yield hole
    }
  }

  /**
   * Those that records say are here.
   *
   * @param {number} id @param {Packed[]} blobs @returns {Promise<(Packed & { record: BlobRecord })[]>}
   * @throws {BaoError} STORE_CORRUPT when of one that cannot be told
   */
  async #wanted (id, blobs) {
    // In this order: who deletes a blob meanwhile has noted its hole by the time at which the record is gone.
    const looks = await this.#catalog.lookMany(blobs.map(({ root }) => root))
    const holes = await this.holesIn(id)
    const wanted = []
    for (const [i, blob] of blobs.entries()) {
      const { record } = looks[i]
      if (record !== undefined && isAt(record, id, blob)) wanted.push({ ...blob, record })
      else if (!holes.has(blob.offset) && !record?.complete) throw this.#stuck(id, blob)
    }
    return wanted
  }

  /** @param {number} id @param {Packed} blob  that keeps the pack from being written anew */
  #stuck (id, blob) {
    this.#damaged.set(id, blob)
    return damagedPack(id, blob.root)
  }

  /** Is there still what kept it from being written anew? @param {number} id */
  async #isStuck (id) {
    const blob = this.#damaged.get(id)
    if (blob === undefined) return false
    try {
      const [wanted] = await this.#wanted(id, [blob])
      return wanted !== undefined && !await isPackedRight(this.#databases, wanted.root, wanted.record)
    } catch {
      return true
    }
  }
}
