// Holds the two databases of an open store, and its blob files. It also deletes the data of an id, because that may lie
// in the data database or in a file.

import { findFaultInUse, folderLen, sealStore } from '#disk'
import { allOf } from '../../lib/source/async-util.js'
import { getSmall } from './content/read-pace.js'
import { damagedDatabase, orIfUnreadable, readOnlyError } from './errors.js'
import { SafeDatabase } from './level/safe-database.js'
import { Locks } from '../../lib/async/locks.js'
import { CELL_LEN } from './content/extents.js'
import { Ids } from './ids.js'
import { dataIds } from './level/data-ids.js'
import { keysOfGroup } from './content/tree-pages.js'
import { BatchMemory, allocateFresh, freshBatchMemory, slabAllocator } from './format/buffers.js'
import { VIEWS, allOfId, doomedKey, pathKey } from './format/keys.js'
import { decodeDoomed, encodeDoomed } from './format/records.js'

/** @import { BlobFolder } from './disk/blob-folder.js' */
/** @import { Operation } from './level/safe-database.js' */
/** @import { Checked } from './disk/leveldb/seal.js' */
/** @import { DatabasePair, Kind } from './level/levels.js' */
/** @import { Leftovers } from './opening/recovery.js' */

/** How many ids are deleted before their notes are removed. */
const NOTED_COUNT = 4096

/**
 * @typedef {object} DoomedData  data that is to be deleted under an id
 * @property {number} id
 * @property {boolean} [mayHaveFile]  default: true
 * @property {boolean} [isOneGroup]  is it a whole blob of one chunk group, in extents? Default: false
 */

export class Databases {
  /** @type {SafeDatabase} */
  index
  /** @type {SafeDatabase} */
  data
  /** The folder `blobs` with the large blobs; undefined where there are no files, or the caller gave two databases. */
  files = /** @type {BlobFolder | undefined} */ (undefined)
  ids
  /** Where the store is, for messages: as the caller has named it. */
  location
  /** The directory of the store, whatever the working directory of the process becomes. */
  #path
  /** Does a resolved write survive a power cut? */
  isSync
  /** Was the store opened for reading only? */
  isReadOnly
  /** May other processes have changed the store since it was opened? Set for a store that does not lock them out. */
  hasChanged = async () => false
  /** What must be looked at when the store is opened. @type {Leftovers | undefined} */
  leftovers
  /** Bytes of LevelDB's files in which nothing could be read when this read-only copy was made of a damaged store. */
  lostBytes = 0
  /** The tables of LevelDB that were found right before the databases were opened. @type {Checked | undefined} */
  checked
  #kind
  #release
  #slabs = slabAllocator()
  /** @type {WeakRef<BatchMemory> | undefined} */
  #batchMemory
  /** Ids whose data is deleted while their notes still exist. Each entry is one note. */
  #noted = /** @type {DoomedData[][]} */ ([])
  #notedCount = 0
  /** Ids whose data this process is deleting: for how many notes. */
  #going = /** @type {Map<number, number>} */ (new Map())
  /** Ids whose data must be deleted later, by the first id of their note. */
  #postponed = /** @type {Map<number, Set<number>>} */ (new Map())
  /** How many deletions were made, and how many of them have reached the disk. */
  #deletions = 0
  #syncedDeletions = 0

  /**
   * Takes two databases that are not open yet: `openHeld` opens them.
   *
   * @param {DatabasePair} pair
   * @param {object} about
   * @param {string} about.location  of the store, for messages
   * @param {string} about.path  its directory, where it has one
   * @param {boolean} about.isSync @param {Kind} about.kind @param {boolean} [about.isReadOnly]
   * @param {() => Promise<void>} about.release  called when they are closed
   */
  constructor ({ index, data }, { location, path, isSync, kind, isReadOnly = false, release }) {
    const isTransactional = kind === 'IndexedDB'
    const pathOf = (/** @type {string} */ name) => kind === 'LevelDB' && !isReadOnly ? `${path}/${name}` : undefined
    const locks = new Locks()
    const exclusively = (/** @type {() => Promise<any>} */ work) => locks.run('open', work)
    const about = { location, isTransactional, isReadOnly, exclusively }
    this.index = new SafeDatabase(index, { ...about, path: pathOf('index'), otherIsOpen: () => this.data.isOpen })
    this.data = new SafeDatabase(data, { ...about, path: pathOf('data'), otherIsOpen: () => this.index.isOpen })
    this.location = location
    this.#path = path
    this.isSync = isSync
    this.isReadOnly = isReadOnly
    this.#kind = kind
    this.#release = release
    this.ids = new Ids(this.index, { sync: isSync })
  }

  /** @throws {import('../../lib/core/errors.js').BaoError} STORE_READ_ONLY { location } */
  assertWritable () {
    if (this.isReadOnly) throw readOnlyError(this.location)
  }

  /**
   * Returns what a call of the store must wait for before it begins. See `SafeDatabase.whenReady`.
   *
   * @returns {Promise<unknown> | undefined}
   */
  whenReady () {
    const [index, data] = [this.index.whenReady(), this.data.whenReady()]
    return index || data ? allOf([index, data]) : undefined
  }

  /**
   * Allocates memory for keys and values that are passed to `batch` and `getMany`. LevelDB has copied them when these
   * calls return. Other databases keep them, and IndexedDB stores the whole buffer when it is given a part of one.
   */
  get allocate () { return this.#kind === 'LevelDB' ? this.#slabs : allocateFresh }

  /**
   * Gives memory to batches. Calls that follow one another soon share it, so that many calls with few blobs each do not
   * make new memory each.
   *
   * @returns {Pick<BatchMemory, 'take'>}
   */
  batchMemory () {
    if (this.#kind !== 'LevelDB') return freshBatchMemory
    const memory = this.#batchMemory?.deref() ?? new BatchMemory()
    this.#batchMemory = new WeakRef(memory)
    return memory
  }

  /**
   * Longest extent in bytes: a part of a cell. LevelDB takes longer for a longer value; IndexedDB takes as long for
   * 64 KiB as for 256.
   */
  get extentLen () { return this.#kind === 'IndexedDB' ? CELL_LEN : CELL_LEN / 4 }

  /** Options that make a batch reach the disk before it counts as done, if the store is so durable. */
  get syncBatch () { return { sync: this.isSync } }

  /**
   * Returns bytes in memory of their own, for the caller to keep. LevelDB and IndexedDB give such copies; other
   * databases may not, or may give a part of a larger buffer.
   *
   * @param {Uint8Array} bytes  from a database or a file of the store
   * @returns {Uint8Array<ArrayBuffer>}
   */
  owned (bytes) {
    const isOurs = this.#kind !== 'given'
    const isExact = bytes.length === bytes.buffer.byteLength
    return new Uint8Array(isOurs && isExact ? /** @type {ArrayBuffer} */ (bytes.buffer) : bytes)
  }

  /** Reads a value of the index. @param {Uint8Array} key @returns {Promise<Uint8Array | undefined>} */
  indexed (key) { return getSmall(this.index, key, VIEWS) }

  /**
   * Lists ids under which there is data, and keys that no store writes: see `dataIds`.
   *
   * @param {number} from @param {() => void} [onDamage]
   */
  dataIds (from, onDamage) { return dataIds(this.data, from, onDamage) }

  /** Deletes all data under an id. @param {number} id */
  async deleteData (id) {
    try {
      await this.data.clear(allOfId(id))
      await this.files?.remove(id)
    } finally {
      this.#deletions++
    }
  }

  /**
   * Returns the note that data will be deleted. Callers write it together with the change that gives the data up, and
   * then pass the same list to `deleteDoomed`.
   *
   * @param {DoomedData[]} doomed  at least one
   * @returns {Operation} for the index
   */
  doom (doomed) {
    const ids = doomed.map(({ id }) => id)
    this.#begin(ids)
    return { type: 'put', key: doomedKey(ids[0], this.allocate), value: encodeDoomed(ids) }
  }

  /**
   * Deletes the data of ids whose records are gone. Their note is removed later: see `dropNotes`. When it fails, the
   * note stays: see `deletePostponed`.
   *
   * @param {DoomedData[]} doomed  at least one; all ids of one note, or orphans without a note
   */
  async deleteDoomed (doomed) {
    try {
      await this.#deleteAll(doomed)
    } catch (error) {
      this.postpone(doomed)
      throw error
    } finally {
      this.#deletions++
    }
    this.#settle(doomed)
    this.#noted.push(doomed)
    this.#notedCount += doomed.length
    if (this.#notedCount >= NOTED_COUNT) await this.dropNotes()
  }

  /**
   * Leaves data to `deletePostponed`, because it could not be deleted, or because the write of its note has failed.
   *
   * @param {DoomedData[]} doomed  all ids of one note, or none
   */
  postpone (doomed) {
    if (doomed.length === 0) return
    const ids = this.#postponed.get(doomed[0].id) ?? /** @type {Set<number>} */ (new Set())
    this.#postponed.set(doomed[0].id, ids)
    for (const { id } of doomed) ids.add(id)
    this.#settle(doomed)
  }

  /**
   * Deletes the data that was postponed. Only a note that is in the index tells which records are gone: it may be
   * missing, or be that of a later call.
   */
  async deletePostponed () {
    if (this.#postponed.size === 0) return
    await this.index.batch([]) // When this is done, the index has a note whose write has failed, or never has it.
    for (const first of [...this.#postponed.keys()]) {
      const key = doomedKey(first)
      const note = await this.index.get(key, VIEWS)
      /** @type {number[]} */
      const ids = (note && decodeDoomed(key, note)) ?? []
      this.#begin(ids)
      this.#postponed.delete(first)
      if (ids.length > 0) await orIfUnreadable(this.deleteDoomed(ids.map(id => ({ id }))))
    }
  }

  /** @param {number[]} ids  whose data is deleted from now on */
  #begin (ids) { for (const id of ids) this.#going.set(id, (this.#going.get(id) ?? 0) + 1) }

  /** Ends what `#begin` has begun. @param {DoomedData[]} doomed */
  #settle (doomed) {
    for (const { id } of doomed) {
      const left = (this.#going.get(id) ?? 0) - 1
      if (left > 0) this.#going.set(id, left)
      else this.#going.delete(id)
    }
  }

  /** @param {DoomedData[]} doomed */
  async #deleteAll (doomed) {
    const groups = doomed.filter(({ isOneGroup }) => isOneGroup)
    const others = doomed.filter(({ isOneGroup }) => !isOneGroup)
    // Deleting known keys takes a fiftieth of the time of looking through a range for them.
    if (groups.length > 0) await this.data.batch((await this.#keysOfGroups(groups)).map(deletion))
    for (const { first, last } of runsOf(others.map(({ id }) => id))) {
      await this.data.clear({ gte: allOfId(first).gte, lt: allOfId(last).lt })
    }
    await Promise.all(others.map(({ id, mayHaveFile = true }) => mayHaveFile ? this.files?.remove(id) : undefined))
  }

  /**
   * Removes the notes of ids whose data is deleted. The deletions must reach the disk first: otherwise a power cut
   * could bring back data that neither a record nor a note names.
   */
  async dropNotes () {
    const deleted = this.#noted.splice(0)
    this.#notedCount = 0
    if (deleted.length === 0) return
    await this.syncDeletions()
    const notes = deleted.map(([{ id }]) => doomedKey(id, this.allocate))
    const paths = deleted.flat().flatMap(({ id, isOneGroup }) => isOneGroup ? [] : [pathKey(id)])
    await this.index.batch([...notes, ...paths].map(deletion))
  }

  /** Syncs all deletions to the disk. */
  async syncDeletions () {
    const upTo = this.#deletions
    if (!this.isSync || this.#syncedDeletions >= upTo) return
    // A synced write also syncs all writes before it. This one deletes a key that does not exist.
    await allOf([this.data.del(new Uint8Array(1), { sync: true }), this.files?.sync()])
    this.#syncedDeletions = Math.max(this.#syncedDeletions, upTo)
  }

  /** @param {DoomedData[]} groups */
  async #keysOfGroups (groups) {
    const keys = groups.map(({ id }) => keysOfGroup(id))
    // Few of these blobs have a page. Looking it up costs less than the tombstone that LevelDB keeps for a deletion.
    const pages = await orIfUnreadable(this.data.getMany(keys.map(({ page }) => page), VIEWS))
    const isMissing = (/** @type {number} */ i) => pages !== undefined && pages[i] === undefined
    return keys.flatMap(({ extent, page }, i) => isMissing(i) ? [extent] : [extent, page])
  }

  /**
   * Is data without a record being deleted, postponed or deleted already?
   *
   * @param {number} id  of the data
   */
  async isGoing (id) {
    if (this.#going.has(id) || [...this.#postponed.values()].some(ids => ids.has(id))) return true
    const keys = await orIfUnreadable(this.data.keys({ ...allOfId(id), limit: 1, ...VIEWS }).all())
    return keys?.length === 0 && await this.files?.len(id) === undefined
  }

  /** Bytes that the store takes on the disk; undefined when the store is not in a directory. */
  async lenOnDisk () {
    if (this.#kind !== 'LevelDB') return undefined
    const lens = await Promise.all(['index', 'data', 'blobs'].map(name => folderLen(`${this.#path}/${name}`)))
    return lens.reduce((sum, len) => sum + len, 0)
  }

  /**
   * Checks that LevelDB's tables are as LevelDB wrote them. LevelDB does not notice damage in them, which may hide a
   * record or end the process.
   *
   * @param {{ names?: ('index' | 'data')[], checksOrder?: boolean, signal?: AbortSignal }} [options]  see
   *   `findFaultInUse`
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_CORRUPT { location }
   */
  async assertTablesSound (options) {
    if (this.#kind !== 'LevelDB' || this.isReadOnly) return
    const fault = await findFaultInUse(this.#path, options)
    if (fault !== undefined) throw damagedDatabase(this.location, fault)
  }

  /** Makes LevelDB rewrite its tables without deleted entries. */
  async compact () {
    for (const database of [this.index, this.data]) await database.compact()
  }

  /** @param {boolean} isClean  is no call under way that would leave data behind? */
  async close (isClean) {
    let isWhole = false
    try {
      if (isClean && !this.isReadOnly) {
        await this.dropNotes()
        await this.syncDeletions() // The next opening does not look at ids below the next id again.
        await this.ids.end()
        isWhole = await this.index.isWhole() && await this.data.isWhole()
      }
    } finally {
      try {
        await Promise.all([this.index.close(), this.data.close(), this.files?.close()])
        // Without syncs, a power cut after the close may still take what was written.
        if (isWhole && this.isSync) await this.#seal()
      } finally {
        await this.#release()
      }
    }
  }

  /** Writes the seal. Without one, the next opening checks all tables, so it does no harm when that fails. */
  async #seal () {
    if (this.checked !== undefined) await sealStore(this.#path, this.checked).catch(() => {})
  }
}

/** @param {Uint8Array} key @returns {{ type: 'del', key: Uint8Array }} */
const deletion = key => ({ type: 'del', key })

/** Finds runs of consecutive ids. @param {number[]} ids */
function runsOf (ids) {
  const runs = /** @type {{ first: number, last: number }[]} */ ([])
  for (const id of [...ids].sort((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run?.last === id - 1) run.last = id
    else runs.push({ first: id, last: id })
  }
  return runs
}
