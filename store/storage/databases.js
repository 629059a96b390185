// Holds the two databases of an open store, and its blob files. It deletes the data of an id, which may be in the data
// database or in a file.

import { findFaultInUse, folderLen, sealStore } from '#disk'
import { allOf } from '../../lib/source/async-util.js'
import { getSoonAsync } from './content/sync-reads.js'
import { damagedDatabase, orIfUnreadable, readOnlyError } from './errors.js'
import { SafeDatabase } from './level/safe-database.js'
import { Locks } from '../../lib/async/locks.js'
import { CELL_LEN } from './content/extents.js'
import { Ids } from './ids.js'
import { dataIds } from './level/data-ids.js'
import { keysOfGroup } from './content/tree-pages.js'
import { BatchMemory, allocateFresh, freshBatchMemory, slabAllocator } from './format/buffers.js'
import { VIEWS, allOfId, deletionKey, pathKey } from './format/keys.js'
import { decodeDeletion, encodeDeletion } from './format/records.js'

/** @import { BlobFolder } from './disk/blob-folder.js' */
/** @import { Operation } from './level/safe-database.js' */
/** @import { Checked } from './disk/leveldb/seal.js' */
/** @import { DatabasePair, Kind } from './level/levels.js' */
/** @import { Leftovers } from './opening/recovery.js' */

/** Notes are removed once the data of this many ids is deleted. */
const NOTED_COUNT = 4096

/**
 * @typedef {object} GivenUpData  the data of an id, which must be deleted
 * @property {number} id
 * @property {boolean} [mayHaveFile]  default: true
 * @property {boolean} [isOneGroup]  true for a whole blob of one chunk group, in extents. Default: false
 */

export class Databases {
  /** @type {SafeDatabase} */
  index
  /** @type {SafeDatabase} */
  data
  /**
   * The folder `blobs` with the large blobs; undefined in browsers, and when a caller has opened the store from two
   * databases.
   */
  files = /** @type {BlobFolder | undefined} */ (undefined)
  ids
  /** Where the store is, as the caller has named it; for messages. */
  location
  /** The real path of the store's directory, which stays right when the working directory of the process changes. */
  #path
  /** True if a resolved write survives a power cut. */
  isSync
  /** True if the store was opened for reading only. */
  isReadOnly
  /** Returns true if another process may have changed the store since it was opened. Replaced for a read-only store. */
  hasChanged = async () => false
  /** The leftovers of an earlier process, found when the store was opened. @type {Leftovers | undefined} */
  leftovers
  /** For a read-only copy of a damaged store: bytes of LevelDB's files in which nothing could be read. */
  lostBytes = 0
  /** The tables of LevelDB that were right before the databases were opened. @type {Checked | undefined} */
  checked
  #kind
  #release
  #slabs = slabAllocator()
  /** @type {WeakRef<BatchMemory> | undefined} */
  #batchMemory
  /** Ids whose data is deleted but whose notes still exist. Each entry is one note. */
  #noted = /** @type {GivenUpData[][]} */ ([])
  #notedCount = 0
  /** Ids under which a call may still write data, even if another call has given them up. Their notes stay. */
  #inUse = /** @type {Set<number>} */ (new Set())
  /** Ids whose data this process is deleting, with the number of their notes. */
  #deleting = /** @type {Map<number, number>} */ (new Map())
  /** Ids whose data must be deleted later, by the first id of their note. */
  #postponed = /** @type {Map<number, Set<number>>} */ (new Map())
  /** How many deletions were made, and how many of these are on the disk. */
  #deletions = 0
  #syncedDeletions = 0

  /**
   * Takes two databases that are not open yet. The caller opens them.
   *
   * @param {DatabasePair} pair
   * @param {object} about
   * @param {string} about.location  of the store, for messages
   * @param {string} about.path  the directory of the store, if it has one
   * @param {boolean} about.isSync @param {Kind} about.kind @param {boolean} [about.isReadOnly]
   * @param {() => Promise<void>} about.release  called when the databases are closed
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
   * Prepares a call of the store: see `SafeDatabase.whenReady`.
   *
   * @returns {Promise<unknown> | undefined} the promise that the call awaits before it begins
   */
  whenReady () {
    const [index, data] = [this.index.whenReady(), this.data.whenReady()]
    return index || data ? allOf([index, data]) : undefined
  }

  /**
   * Allocates memory for keys and values for `batch` and `getMany`. LevelDB copies them before these calls return.
   * Other databases keep them, and IndexedDB stores the whole buffer of a view.
   */
  get allocate () { return this.#kind === 'LevelDB' ? this.#slabs : allocateFresh }

  /**
   * Returns memory for batches. Calls in quick succession share it, so that many calls with few blobs do not each
   * allocate new memory.
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
   * The maximum length of an extent, in bytes. A cell is a multiple of it. LevelDB takes longer for a longer value. In
   * IndexedDB, a long extent is a Blob, of which a small read reads only a part.
   */
  get extentLen () { return this.#kind === 'IndexedDB' ? CELL_LEN : CELL_LEN / 16 }

  /** Options for a batch that must reach the disk before it counts as done, if the store syncs. */
  get syncBatch () { return { sync: this.isSync } }

  /**
   * Returns bytes in a buffer of their own, for the caller to keep. It copies them, unless LevelDB or IndexedDB has
   * already made a copy.
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
  indexed (key) { return getSoonAsync(this.index, key, VIEWS) }

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
   * Returns the note that data will be deleted. Callers write it in one batch with the change that gives up the data,
   * and then pass the same list to `deleteGivenUp`.
   *
   * @param {GivenUpData[]} givenUp  at least one
   * @returns {Operation} for the index
   */
  noteDeletion (givenUp) {
    const ids = givenUp.map(({ id }) => id)
    this.#beginDeleting(ids)
    return { type: 'put', key: deletionKey(ids[0], this.allocate), value: encodeDeletion(ids) }
  }

  /**
   * Deletes the data of ids whose records are gone. `dropNotes` removes the note later. If the deletion fails, the note
   * stays, and `deletePostponed` tries again.
   *
   * @param {GivenUpData[]} givenUp  at least one; all ids of one note, or orphans without a note
   */
  async deleteGivenUp (givenUp) {
    try {
      await this.#deleteAll(givenUp)
    } catch (error) {
      this.postpone(givenUp)
      throw error
    } finally {
      this.#deletions++
    }
    this.#endDeleting(givenUp)
    this.#noted.push(givenUp)
    this.#notedCount += givenUp.length
    if (this.#notedCount >= NOTED_COUNT) await this.dropNotes()
  }

  /**
   * Leaves data to `deletePostponed`. Called when the data could not be deleted, or the write of its note has failed.
   *
   * @param {GivenUpData[]} givenUp  all ids of one note, or none
   */
  postpone (givenUp) {
    if (givenUp.length === 0) return
    const ids = this.#postponed.get(givenUp[0].id) ?? /** @type {Set<number>} */ (new Set())
    this.#postponed.set(givenUp[0].id, ids)
    for (const { id } of givenUp) ids.add(id)
    this.#endDeleting(givenUp)
  }

  /**
   * Deletes the postponed data whose notes the index has. A note may be missing because its write has failed, or
   * because a later call has written another one under the same key.
   */
  async deletePostponed () {
    if (this.#postponed.size === 0) return
    await this.index.batch([]) // After this, a note whose write has failed either is in the index or never will be.
    for (const first of [...this.#postponed.keys()]) {
      const key = deletionKey(first)
      const note = await this.index.get(key, VIEWS)
      /** @type {number[]} */
      const ids = (note && decodeDeletion(key, note)) ?? []
      this.#beginDeleting(ids)
      this.#postponed.delete(first)
      if (ids.length > 0) await orIfUnreadable(this.deleteGivenUp(ids.map(id => ({ id }))))
    }
  }

  /** @param {number[]} ids  ids whose data this process begins to delete */
  #beginDeleting (ids) { for (const id of ids) this.#deleting.set(id, (this.#deleting.get(id) ?? 0) + 1) }

  /** Ends what `#beginDeleting` has begun. @param {GivenUpData[]} givenUp */
  #endDeleting (givenUp) {
    for (const { id } of givenUp) {
      const left = (this.#deleting.get(id) ?? 0) - 1
      if (left > 0) this.#deleting.set(id, left)
      else this.#deleting.delete(id)
    }
  }

  /** @param {GivenUpData[]} givenUp */
  async #deleteAll (givenUp) {
    const groups = givenUp.filter(({ isOneGroup }) => isOneGroup)
    const others = givenUp.filter(({ isOneGroup }) => !isOneGroup)
    // Deleting known keys takes a fiftieth of the time of clearing a range.
    if (groups.length > 0) await this.data.batch((await this.#keysOfGroups(groups)).map(deletion))
    for (const { first, last } of runsOf(others.map(({ id }) => id))) {
      await this.data.clear({ gte: allOfId(first).gte, lt: allOfId(last).lt })
    }
    await Promise.all(others.map(({ id, mayHaveFile = true }) => mayHaveFile ? this.files?.remove(id) : undefined))
  }

  /**
   * Keeps the note of an id, if another call gives the id up: the caller may write data under the id after that call
   * has deleted the data. An interruption then leaves data that the note names.
   *
   * @param {number} id
   */
  keepNote (id) { this.#inUse.add(id) }

  /** Ends what `keepNote` has begun. By then, the caller has deleted what it wrote. @param {number} id */
  freeNote (id) { this.#inUse.delete(id) }

  /**
   * Removes the notes of ids whose data is deleted. It syncs the deletions first, because a power cut could otherwise
   * bring back data that neither a record nor a note names.
   */
  async dropNotes () {
    const isInUse = (/** @type {GivenUpData[]} */ givenUp) => givenUp.some(({ id }) => this.#inUse.has(id))
    const deleted = this.#noted.filter(givenUp => !isInUse(givenUp))
    this.#noted = this.#noted.filter(isInUse)
    this.#notedCount = 0
    if (deleted.length === 0) return
    await this.syncDeletions()
    const notes = deleted.map(([{ id }]) => deletionKey(id, this.allocate))
    const paths = deleted.flat().flatMap(({ id, isOneGroup }) => isOneGroup ? [] : [pathKey(id)])
    await this.index.batch([...notes, ...paths].map(deletion))
  }

  /** Syncs all deletions to the disk. */
  async syncDeletions () {
    const upTo = this.#deletions
    if (!this.isSync || this.#syncedDeletions >= upTo) return
    // A synced write syncs all earlier writes, too. This one deletes a key that does not exist.
    await allOf([this.data.del(new Uint8Array(1), { sync: true }), this.files?.sync()])
    this.#syncedDeletions = Math.max(this.#syncedDeletions, upTo)
  }

  /** @param {GivenUpData[]} groups */
  async #keysOfGroups (groups) {
    const keys = groups.map(({ id }) => keysOfGroup(id))
    // Few of these blobs have a page. A lookup takes less time than the tombstone that LevelDB would keep for a
    // deletion.
    const pages = await orIfUnreadable(this.data.getMany(keys.map(({ page }) => page), VIEWS))
    const isMissing = (/** @type {number} */ i) => pages !== undefined && pages[i] === undefined
    return keys.flatMap(({ extent, page }, i) => isMissing(i) ? [extent] : [extent, page])
  }

  /**
   * Returns true if the data of an id without a record is being deleted, is postponed, or is already deleted.
   *
   * @param {number} id
   */
  async isGivenUp (id) {
    if (this.#deleting.has(id) || [...this.#postponed.values()].some(ids => ids.has(id))) return true
    const keys = await orIfUnreadable(this.data.keys({ ...allOfId(id), limit: 1, ...VIEWS }).all())
    return keys?.length === 0 && await this.files?.len(id) === undefined
  }

  /** Returns how many bytes the store takes on the disk; undefined when the store is not in a directory. */
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

  /** @param {boolean} isClean  true if there is certainly no data without a record */
  async close (isClean) {
    let isWhole = false
    try {
      if (isClean && !this.isReadOnly) {
        await this.dropNotes()
        await this.syncDeletions() // The next opening does not look at these ids again.
        await this.ids.end()
        isWhole = await this.index.isWhole() && await this.data.isWhole()
      }
    } finally {
      try {
        await Promise.all([this.index.close(), this.data.close(), this.files?.close()])
        // Without syncs, a power cut after the close may still lose writes.
        if (isWhole && this.isSync) await this.#seal()
      } finally {
        await this.#release()
      }
    }
  }

  /** Writes the seal. A failure does no harm, because without a seal, the next opening checks all tables. */
  async #seal () {
    if (this.checked !== undefined) await sealStore(this.#path, this.checked).catch(() => {})
  }
}

/** @param {Uint8Array} key @returns {{ type: 'del', key: Uint8Array }} */
const deletion = key => ({ type: 'del', key })

/** Joins consecutive ids into runs. @param {number[]} ids */
function runsOf (ids) {
  const runs = /** @type {{ first: number, last: number }[]} */ ([])
  for (const id of [...ids].sort((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run?.last === id - 1) run.last = id
    else runs.push({ first: id, last: id })
  }
  return runs
}
