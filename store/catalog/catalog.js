// The index database: which blobs there are, what is known of them, and when they were last used.

import { areEqual } from '../../lib/core/bytes.js'
import { hash } from '../../lib/hash/hasher.js'
import { equals } from 'uint8arrays/equals'
import { Aliases } from './aliases.js'
import { DAMAGED, damagedRecord, readable } from '../storage/errors.js'
import { VIEWS, blobKey, blobsWith, doomedKey, hashOfKey, pathKey, usedKey } from '../storage/format/keys.js'
import {
  decodeRecord, decodeTime, encodeDoomed, encodePath, encodeRecord, encodeTime
} from '../storage/format/records.js'
import { GROUP_LEN } from '../storage/content/tree-pages.js'
import { UsedTimes } from './used-times.js'
import { entryBatches } from '../storage/level/walk.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { DoomedData } from '../storage/databases.js' */
/** @import { StoreContext } from '../blob-store.js' */

/** Uses of blobs that are remembered before they are written. */
const USED_BATCH = 1000

/** How a hash is named in memory: a character for each byte. @param {Uint8Array} root @returns {string} */
export const nameOf = root => String.fromCharCode.apply(null, /** @type {any} */ (root))

/** The hash that is named so. @param {string} name */
export const rootOf = name => Uint8Array.from(name, character => character.charCodeAt(0))

/** The empty blob is always here, and never stored. */
const EMPTY_ROOT = hash(new Uint8Array(0))
/** @type {BlobRecord} */
const EMPTY_RECORD = { id: -1, size: 0, sizeProven: true, complete: true, home: 'extents', created: 0 }

/** @typedef {{ type: 'put', key: Uint8Array, value: Uint8Array } | { type: 'del', key: Uint8Array }} Operation */
/** @typedef {{ root: Uint8Array, record: BlobRecord, replaces?: BlobRecord, aliases: Uint8Array[] }} RecordToWrite  `aliases`: that are to lead there */
/** @typedef {{ root: Uint8Array, record?: BlobRecord, operations: Operation[], bytes: number }} Removal  `bytes`: that were here */

export class Catalog {
  #store
  aliases
  /** Uses that are not written yet: by name, in milliseconds since 1970. */
  #used = /** @type {Map<string, { root: Uint8Array, time: number }>} */ (new Map())
  #isFlushing = false

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
    this.aliases = new Aliases(store.databases.index)
  }

  /**
   * @param {Uint8Array} root
   * @returns {Promise<BlobRecord | undefined>}
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_CORRUPT { cid } when the record is damaged
   */
  async record (root) {
    const { isThere, record } = await this.look(root)
    if (isThere && record === undefined) throw damagedRecord(root)
    return record
  }

  /** For who writes: a damaged record may be replaced. @param {Uint8Array} root @returns {Promise<{ isThere: boolean, record?: BlobRecord }>} */
  async look (root) {
    return found(root, await readable(this.#store.databases.indexed(blobKey(root)), DAMAGED))
  }

  /** The same for several. @param {Uint8Array[]} roots @returns {Promise<{ isThere: boolean, record?: BlobRecord }[]>} */
  async lookMany (roots) {
    const { allocate } = this.#store.databases
    const keys = roots.map(root => blobKey(root, allocate))
    const stored = await readable(this.#store.databases.index.getMany(keys, VIEWS))
    if (stored === undefined) return Promise.all(roots.map(root => this.look(root)))
    return roots.map((root, i) => found(root, stored[i]))
  }

  /** Which of these blobs may be here, in whole, in part or damaged? @param {Uint8Array[]} roots */
  async those (roots) {
    const stored = await readable(this.#store.databases.index.getMany(roots.map(root => blobKey(root)), VIEWS))
    return roots.filter((_, i) => stored === undefined || stored[i] !== undefined)
  }

  /**
   * All records, in the order of their hashes.
   *
   * @param {string} [prefix]  of the hash, in hexadecimal digits
   * @returns {AsyncGenerator<{ root: Uint8Array, record: BlobRecord }>}
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_CORRUPT for a damaged one, with its `cid` where that is known, when all others have been given
   */
  async * records (prefix = '') {
    for await (const batch of this.recordBatches(prefix)) yield * batch
  }

  /**
   * The same in batches.
   *
   * @param {string} prefix @returns {AsyncGenerator<{ root: Uint8Array, record: BlobRecord }[]>}
   */
  async * recordBatches (prefix) {
    /** @type {Uint8Array | undefined} */
    let firstDamaged
    let isDamaged = false
    for await (const batch of this.entryBatches(prefix, () => { isDamaged = true })) {
      const whole = []
      for (const { root, record } of batch) {
        if (root !== undefined && record !== undefined) whole.push({ root, record })
        else firstDamaged ??= root
      }
      isDamaged ||= whole.length < batch.length
      yield whole
    }
    if (isDamaged) throw damagedRecord(firstDamaged)
  }

  /**
   * The same, without a record where it is damaged, and without a hash where not even that is known.
   *
   * @param {string} [prefix]
   * @param {() => void} [onDamage]  called when some cannot be read
   * @returns {AsyncGenerator<{ root?: Uint8Array, record?: BlobRecord }[]>}
   */
  async * entryBatches (prefix = '', onDamage) {
    for await (const entries of entryBatches(this.#store.databases.index, blobsWith(prefix), onDamage)) {
      yield entries.map(([key, value]) => {
        const root = hashOfKey(key)
        return { root, record: root && decodeRecord(root, value) }
      })
    }
  }

  /**
   * Writes a record. The data under another id that it replaces is given up in the same batch, and deleted then: if that is
   * interrupted, it is done when the store is opened next.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {{ sync: boolean, replaces?: BlobRecord, alias?: Uint8Array, path?: string, also?: Operation[] }} options  `alias`: a multihash that is to
   *   lead here, too; `path`: of the file that the bytes are in; `also`: what else counts from the same moment on
   */
  async write (root, record, { sync, replaces, alias, path, also = [] }) {
    const aliases = alias === undefined ? [] : this.aliases.puts(alias, root)
    /** @type {Operation[]} */
    const paths = path === undefined ? [] : [{ type: 'put', key: pathKey(record.id), value: encodePath(record.id, path) }]
    await this.#batch(sync, [{ type: 'put', key: blobKey(root), value: encodeRecord(root, record) }, ...aliases, ...paths, ...doom(replaces), ...also])
    this.#store.observers.changed(root)
    await this.deleteForgotten([{ record: replaces }])
  }

  /** The same for several, with `sync`. @param {RecordToWrite[]} blobs */
  async writeMany (blobs) {
    const { allocate } = this.#store.databases
    const operations = /** @type {Operation[]} */ ([])
    for (const { root, record, replaces, aliases } of blobs) {
      operations.push({ type: 'put', key: blobKey(root, allocate), value: encodeRecord(root, record, allocate) })
      for (const alias of aliases) operations.push(...this.aliases.puts(alias, root))
      if (replaces !== undefined) operations.push(...doom(replaces))
    }
    await this.#batch(true, operations)
    for (const { root } of blobs) this.#store.observers.changed(root)
    await this.deleteForgotten(blobs.map(({ replaces }) => ({ record: replaces })))
  }

  /**
   * Notes that a whole blob that is here was kept once more: under its own name, or under an alias.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {Uint8Array} [alias]
   */
  async addName (root, record, alias) {
    if (alias === undefined) {
      if (record.isNameless) await this.write(root, { ...record, isNameless: false }, { sync: true })
      return
    }
    const leadsTo = await this.aliases.rootOf(alias)
    if (leadsTo === undefined || !equals(leadsTo, root)) await this.#batch(true, this.aliases.puts(alias, root))
  }

  /**
   * Forgets that a blob was kept under its own name, and the blob when it has no other. Under the blob's lock.
   *
   * @param {Uint8Array} root @param {{ isTagged: boolean }} options  `isTagged`: a tag keeps it anyway
   */
  async removeOwnName (root, { isTagged }) {
    const { isThere, record } = await this.look(root)
    if (!isThere || record?.size === 0 || (isTagged && !record?.complete)) return
    if (record?.complete && (isTagged || await this.#hasAliases(root))) await this.write(root, { ...record, isNameless: true }, { sync: true })
    else await this.remove(root, record)
  }

  /**
   * Forgets an alias, and the blob when that was its last name. Under the blob's lock.
   *
   * @param {Uint8Array} root @param {Uint8Array} alias @param {{ isTagged: boolean }} options  as above
   */
  async removeAlias (root, alias, { isTagged }) {
    const { record } = await this.look(root)
    if (record?.isNameless && !isTagged && !await this.#hasAliases(root, alias)) await this.remove(root, record)
    else await this.#batch(true, this.aliases.dels(alias, root))
  }

  /** Has it any, beside this one? One that cannot be read must not cost the blob. @param {Uint8Array} root @param {Uint8Array} [alias] */
  async #hasAliases (root, alias) {
    const aliases = await this.aliases.of(root, () => { throw damagedRecord(root) })
    return aliases.some(other => alias === undefined || !equals(other, alias))
  }

  /** Forgets a blob and all its names, and deletes its data. @param {Uint8Array} root @param {BlobRecord} [record]  unless it is damaged */
  async remove (root, record) {
    const removal = await this.removal(root, record)
    await this.forgetMany([removal])
    await this.deleteForgotten([removal])
  }

  /**
   * What has to be done to forget a blob and all its names.
   *
   * @param {Uint8Array} root @param {BlobRecord} [record] @param {{ hasAliases?: boolean }} [options]  `hasAliases`: false when it is known to have none
   * @returns {Promise<Removal>}
   */
  async removal (root, record, { hasAliases = true } = {}) {
    const { allocate } = this.#store.databases
    const aliases = (hasAliases ? await this.aliases.of(root) : []).flatMap(alias => this.aliases.dels(alias, root))
    const own = [blobKey(root, allocate), usedKey(root, allocate)].map(key => ({ type: /** @type {const} */ ('del'), key }))
    const operations = [...own, ...aliases, ...doom(record)]
    return { root, record, operations, bytes: record === undefined ? 0 : await this.#store.presence.len(root, record) }
  }

  /**
   * Forgets blobs as `remove` does, in one write, but leaves their data to `deleteForgotten`. Under their locks. The
   * write is synced before the data is deleted: a power cut must not bring back a record without its data.
   *
   * @param {Removal[]} removals
   */
  async forgetMany (removals) {
    if (removals.length === 0) return
    for (const { root } of removals) {
      if (this.#used.size > 0) this.#used.delete(nameOf(root))
      this.#store.presence.forget(root)
    }
    await this.#batch(true, removals.flatMap(({ operations }) => operations))
    for (const { root, bytes } of removals) {
      this.#store.observers.changed(root)
      this.#store.quota.add(-bytes)
    }
  }

  /**
   * Deletes the data of blobs. Does not fail: the notes tell that the data is still to be deleted.
   *
   * @param {{ record?: BlobRecord }[]} forgotten
   */
  async deleteForgotten (forgotten) {
    const records = forgotten.flatMap(({ record }) => record ?? [])
    if (records.length > 0) await this.#store.databases.deleteDoomed(records.map(removedData)).catch(() => {})
  }

  /** Notes that a blob is used now. @param {Uint8Array} root  kept: nobody may write to it */
  touch (root) {
    if (isEmpty(root)) return
    this.#used.set(nameOf(root), { root, time: Date.now() })
    if (this.#used.size >= USED_BATCH && !this.#isFlushing) this.flush().catch(() => {}) // a time lost: the blob is used again some day
  }

  /**
   * When a blob was last used: not before it was made, whatever is known of one that was here earlier.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @returns {Promise<number>} milliseconds since 1970
   */
  async lastUsed (root, { created }) {
    const used = timeIn(this.#used, root)
    if (used !== undefined) return Math.max(used, created)
    const stored = await readable(this.#store.databases.index.get(usedKey(root), VIEWS))
    return Math.max((stored && decodeTime(stored)) ?? 0, created)
  }

  /** Writes the uses. Until they are written they are remembered. */
  async flush () {
    const used = [...this.#used]
    this.#isFlushing = true
    try {
      await this.#batch(false, used.map(([, { root, time }]) => ({ type: 'put', key: usedKey(root), value: encodeTime(time) })))
    } finally {
      for (const [name, use] of used) if (this.#used.get(name) === use) this.#used.delete(name)
      this.#isFlushing = false
    }
  }

  /**
   * When blobs were last used, for a walk over all of them, or over those with a prefix.
   *
   * @param {string} [prefix]  of the hash, in hexadecimal digits
   */
  usedTimes (prefix = '') {
    // What is written during the walk is not seen by it.
    const before = new Map(this.#used)
    return new UsedTimes(this.#store.databases.index, prefix, {
      remembered: root => timeIn(this.#used, root) ?? timeIn(before, root),
      lastUsed: (root, record) => this.lastUsed(root, record)
    })
  }

  /** @param {boolean} sync @param {Operation[]} operations */
  #batch (sync, operations) { return this.#store.databases.index.batch(operations, { sync: sync && this.#store.databases.isSync }) }
}

/** What is under the id of a blob, as far as its record tells. @param {BlobRecord} record @returns {DoomedData} */
const removedData = ({ id, size, complete, home }) =>
  ({ id, mayHaveFile: home !== 'extents', isGroup: home === 'extents' && complete && size <= GROUP_LEN })

/** @param {Map<string, { time: number }>} used  by name @param {Uint8Array} root */
const timeIn = (used, root) => used.size === 0 ? undefined : used.get(nameOf(root))?.time

/** Says that data is to be deleted. @param {BlobRecord} [record] @returns {Operation[]} */
const doom = record => record === undefined ? [] : [{ type: 'put', key: doomedKey(record.id), value: encodeDoomed(record.id) }]

/** @param {Uint8Array} root @param {Uint8Array} [stored] @returns {{ isThere: boolean, record?: BlobRecord }} */
function found (root, stored) {
  if (isEmpty(root)) return { isThere: true, record: EMPTY_RECORD }
  return stored === undefined ? { isThere: false } : { isThere: true, record: decodeRecord(root, stored) }
}

/** @param {Uint8Array} root */
const isEmpty = root => areEqual(root, 0, EMPTY_ROOT)
