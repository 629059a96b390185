// What becomes of packs when blobs in them are deleted. Their records go, and holes are noted; once half of a pack is holes, what is still wanted of it is
// written anew and the pack is removed. Notes of holes are but a hint: what a pack holds says itself, and what of it is wanted the records say.

import { areEqual } from '../lib/bytes.js'
import { hash } from '../lib/hasher.js'
import { ENTRY_LEN, listPack, readPacked } from './pack.js'
import { GivenIds, writeData } from './placing.js'
import { VIEWS, allHoles, decodeHole, encodeHole, holeKey, holesOf } from './keys.js'
import { eachReadable } from './faults.js'
import { nameOf } from './catalog.js'

/** @import { Activity } from './activity.js' */
/** @import { BlobRecord } from './keys.js' */
/** @import { Catalog } from './catalog.js' */
/** @import { Databases } from './databases.js' */
/** @import { Locks } from './locks.js' */
/** @import { Packed } from './pack.js' */

/** Is this where a record says that the blob is? @param {BlobRecord | undefined} record @param {number} id  of a pack @param {Packed} blob */
export const isAt = (record, id, { offset, size }) => record?.home === 'pack' && record.id === id && record.offset === offset && record.size === size

export class Packs {
  #activity
  #catalog
  #databases
  #locks

  /** @param {{ activity: Activity, catalog: Catalog, databases: Databases, locks: Locks }} store */
  constructor ({ activity, catalog, databases, locks }) {
    this.#activity = activity
    this.#catalog = catalog
    this.#databases = databases
    this.#locks = locks
  }

  /** For who must not find a pack being removed. Not to be called under a blob's lock. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  alone (work) { return this.#locks.run('packs', work) }

  /**
   * Looks at the packs that have got holes since the last time. When one cannot be written anew it stays as it is until it gets another hole, or garbage is
   * collected: blobs can be deleted on a disk that is full. Not to be called under a blob's lock.
   */
  async tidy () {
    if (this.#catalog.holed.size === 0) return
    await this.alone(async () => {
      for (const id of this.#catalog.holed) {
        this.#catalog.holed.delete(id)
        await this.#holesLen(id).then(len => this.#tidyOne(id, len)).catch(() => {})
      }
    })
  }

  /**
   * Looks at all packs that have holes.
   *
   * @param {{ isThorough?: boolean }} [options]  `isThorough`: one hole is enough, and what fails is told
   */
  async tidyAll ({ isThorough = false } = {}) {
    this.#catalog.holed.clear()
    const holes = /** @type {Map<number, number>} */ (new Map())
    for await (const { id, len } of this.#holes(allHoles)) holes.set(id, (holes.get(id) ?? 0) + len)
    for (const [id, len] of holes) {
      await this.alone(() => this.#tidyOne(id, len, isThorough)).catch(error => {
        if (isThorough) throw error
      })
    }
  }

  /** Notes that a blob of a pack is not wanted: of one that has no record. @param {number} id @param {Packed} blob */
  async giveUp (id, { offset, size }) {
    await this.#databases.index.put(holeKey(id, offset), encodeHole(id, offset, size), VIEWS)
    this.#catalog.holed.add(id)
  }

  /** Where the holes of a pack begin. @param {number} id @returns {Promise<Set<number>>} */
  async holesIn (id) {
    const offsets = new Set()
    for await (const { offset } of this.#holes(holesOf(id))) offsets.add(offset)
    return offsets
  }

  /**
   * Writes anew what is still wanted of a pack, and removes it. Nothing happens when something of that is damaged: it is for `fsck` to say so. To be
   * called alone.
   *
   * @param {number} id @param {Packed[]} blobs  all that it holds
   */
  async rewrite (id, blobs) {
    const wanted = await this.#wanted(id, blobs)
    await this.#activity.run(() => this.#locks.runAll(wanted.map(({ root }) => nameOf(root)), async () => {
      const still = await this.#wanted(id, wanted)
      const bytes = await readPacked(this.#databases, still.map(({ record }) => record))
      if (!still.every(({ root }, i) => bytes[i] !== undefined && areEqual(hash(bytes[i]), 0, root))) return
      const given = new GivenIds(this.#databases)
      try {
        const places = await writeData(this.#databases, still.map(({ root, size }, i) => ({ root, size, bytes: bytes[i] })), given)
        const moved = still.map(({ root, record: { offset, ...record } }, i) => ({ root, record: { ...record, ...places[i] } }))
        await this.#catalog.leavePack(moved, id)
        given.settle()
      } catch (error) {
        this.#activity.leave() // it may have come to the disk, in whole or in part
        throw error
      }
    }))
  }

  /** @param {number} id @param {number} dead  bytes of holes @param {boolean} [isThorough] */
  async #tidyOne (id, dead, isThorough = false) {
    const { ids, index, packs } = this.#databases
    if (packs === undefined || ids.underWay.has(id)) return
    const len = await packs.len(id)
    if (len === undefined) return index.clear({ ...holesOf(id), ...VIEWS })
    if (!isThorough && 2 * dead < len) return
    const { blobs } = await listPack(this.#databases, id)
    if (blobs !== undefined) await this.rewrite(id, blobs)
  }

  /** @param {number} id */
  async #holesLen (id) {
    let sum = 0
    for await (const { len } of this.#holes(holesOf(id))) sum += len
    return sum
  }

  /** @param {object} range @returns {AsyncGenerator<{ id: number, offset: number, len: number }>} `len`: in the pack, with what stands in front of it */
  async * #holes (range) {
    for await (const [key, value] of eachReadable(this.#databases.index.iterator({ ...range, ...VIEWS }))) {
      const hole = decodeHole(key, value)
      if (hole !== undefined) yield { ...hole, len: hole.len + ENTRY_LEN }
    }
  }

  /**
   * Those that records say are here.
   *
   * @template {Packed} T @param {number} id @param {T[]} blobs @returns {Promise<(T & { record: BlobRecord })[]>}
   */
  async #wanted (id, blobs) {
    const looks = await this.#catalog.lookMany(blobs.map(({ root }) => root))
    return blobs.flatMap((blob, i) => isAt(looks[i].record, id, blob) ? [{ ...blob, record: /** @type {BlobRecord} */ (looks[i].record) }] : [])
  }
}
