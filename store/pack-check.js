// Packs against the records: is there a record, or a hole, for everything that a pack says that it holds? The other way round, whether what a record names is
// there and right, is looked at with the blobs.

import { isAt } from './packs.js'
import { isPackedRight, listPack } from './pack.js'

/** @import { BlobRecord } from './keys.js' */
/** @import { Catalog } from './catalog.js' */
/** @import { Databases } from './databases.js' */
/** @import { Packed } from './pack.js' */
/** @import { Packs } from './packs.js' */

/** @typedef {{ root: Uint8Array, record: BlobRecord }} Found */

/**
 * What `Fsck` does and knows.
 *
 * @typedef {object} Audit
 * @property {boolean} adopts  may records have been lost without a trace?
 * @property {(id: number) => boolean} isElsewhere  is this the id of a blob that is in no pack?
 * @property {() => AsyncIterable<{ root: Uint8Array, record?: BlobRecord }>} records
 * @property {() => boolean} isIndexWhole  could all of them be read?
 * @property {(found: Found | undefined, remove: () => Promise<void>) => Promise<void>} takeLost  counts what has no record, and in a repair gives it one, or
 *   removes it
 * @property {(remove: () => Promise<void>) => Promise<void>} stray  counts what was never written so, and in a repair removes it
 */

export class PackCheck {
  #audit
  #catalog
  #databases
  #packs

  /** @param {{ catalog: Catalog, databases: Databases, packs: Packs }} store @param {Audit} audit */
  constructor ({ catalog, databases, packs }, audit) {
    this.#audit = audit
    this.#catalog = catalog
    this.#databases = databases
    this.#packs = packs
  }

  /** To be called alone (`Packs.alone`), when all records have been looked at. @param {number} id */
  async run (id) {
    const { isThere, isSound, blobs } = await listPack(this.#databases, id)
    if (!isThere) return
    if (isSound) await this.#compare(id, blobs, { isSound })
    else if (this.#audit.isElsewhere(id)) await this.#audit.stray(async () => this.#databases.packs?.remove(id)) // what has the id of a blob is no pack
    else await this.#audit.stray(() => this.#listAgain(id, blobs))
  }

  /**
   * @param {number} id @param {Packed[]} blobs  that it lists
   * @param {{ isSound: boolean }} list  of a damaged one nothing is given up: only what hashes to its name gets a record
   */
  async #compare (id, blobs, { isSound }) {
    // In this order: who deletes a blob meanwhile has noted its hole by the time at which the record is gone.
    const looks = await this.#catalog.lookMany(blobs.map(({ root }) => root))
    const holes = await this.#packs.holesIn(id)
    for (const [i, blob] of blobs.entries()) {
      if (holes.has(blob.offset) || isAt(looks[i].record, id, blob)) continue
      const found = await this.#foundBy(id, blob, looks[i])
      if (isSound || found !== undefined) await this.#audit.takeLost(found, () => this.#packs.giveUp(id, blob))
    }
  }

  /**
   * @param {number} id @param {Packed} blob  of which no record says that it is here @param {{ isThere: boolean, record?: BlobRecord }} look  at its record
   * @returns {Promise<Found | undefined>} the record that it may have had
   */
  async #foundBy (id, { root, size, offset }, { isThere, record: now }) {
    // What has damaged the index may have brought back an older record, of which nothing is left by now.
    const mayBeLost = now === undefined ? isThere || this.#audit.adopts : !now.complete
    /** @type {BlobRecord} */
    const record = { id, size, sizeProven: true, complete: true, home: 'pack', offset, created: Date.now() }
    return mayBeLost && await isPackedRight(this.#databases, root, record) ? { root, record } : undefined
  }

  /**
   * The pack is written anew with what records say is in it, when those have got records again that a damaged list still names.
   *
   * @param {number} id @param {Packed[]} blobs  that it may hold
   */
  async #listAgain (id, blobs) {
    await this.#compare(id, blobs, { isSound: false })
    const wanted = []
    for await (const { root, record } of this.#audit.records()) {
      if (record?.home === 'pack' && record.id === id) wanted.push({ root, size: record.size, offset: record.offset ?? 0 })
    }
    if (!this.#audit.isIndexWhole()) return // there may be more
    await this.#packs.rewrite(id, wanted).catch(error => {
      if (error.code !== 'STORE_CORRUPT') throw error // damaged since the blobs were looked at: it stays as it is, and the next fsck says so
    })
  }
}
