// The two databases of a store, and its files: opening, locking, ids, and what an interrupted life left behind.
//
// They are two because LevelDB sorts what it holds: data goes in under increasing ids and is never moved, while the index is small and
// written at random. In one database each would slow the other down.

import { Level } from 'level'
import { isHeadless, isStoreAt, openFolder } from '#disk'
import { BaoError } from '../lib/errors.js'
import { concat } from '../lib/bytes.js'
import { untilAborted } from '../lib/reading.js'
import { getSmall } from './pace.js'
import { hold } from './hold.js'
import { DAMAGED, eachReadable, isNoRoom, noRoom, readable } from './faults.js'
import { isInOrder } from './order.js'
import { beginRepair, isLocked, isOpen, repairAt } from './repairing.js'
import { canSalvage, isHalfSalvaged, removeDrafts, salvage, takePlace } from './salvage.js'
import { upgrade } from './layout.js'
import { LAYOUT_VERSION, VIEWS, allBlobs, allDoomed, allOfId, allOfIndex, doomedKey, hashOfKey, idOfKey, isKnownKind, isSoundNote, packState, pathKey, stateKey, unpackDoomed, unpackRecord, unpackState } from './keys.js'

/** @import { BlobFolder } from './disk.node.js' */

/** @typedef {import('abstract-level').AbstractLevel<any, any, any>} Database  any level: keys and values are bytes */
/** @typedef {{ index: Database, data: Database }} DatabasePair */

export { VIEWS }

/**
 * Bytes of small blobs that LevelDB gathers before it makes a table of them. With its own 4 MiB, 10 000 blobs of 4 KiB cost 23 us of processor time each,
 * with 32 MiB 17; it may hold twice as much while a table is written.
 */
const WRITE_BUFFER_LEN = 1 << 25

/** Ids are promised to the disk in blocks of this many, so that giving one away costs nothing. */
const ID_BLOCK = 1024

/** Milliseconds from one attempt to the next while a store is open elsewhere. */
const FIRST_PAUSE = 10
const LONGEST_PAUSE = 200

/** The two databases. @type {('index' | 'data')[]} */
const NAMES = ['index', 'data']
/** How they are made. Content is mostly compressed already, and is hashed anyway: time is better spent on writing it. */
const LEVEL_OPTIONS = {
  index: VIEWS,
  data: { ...VIEWS, compression: false, writeBufferSize: WRITE_BUFFER_LEN, maxFileSize: WRITE_BUFFER_LEN }
}

/** The levels of a store, not opened yet. @param {string} location @returns {DatabasePair} */
export const levelsAt = location => ({
  index: /** @type {Database} */ (new Level(`${location}/index`, LEVEL_OPTIONS.index)),
  data: /** @type {Database} */ (new Level(`${location}/data`, LEVEL_OPTIONS.data))
})

/** @typedef {{ sync: boolean, create: boolean, sweeps: boolean, isRepair: boolean, signal?: AbortSignal }} OpenedOptions  `sweeps`: delete data that no record speaks of, when the store was not closed */

/** What was repaired: what is without a record is looked at before anything is swept away, for the record may be what was lost. @type {OpenedOptions} */
const MENDED = { sync: true, create: true, sweeps: false, isRepair: true }

/** @param {string | DatabasePair} where */
const nameOf = where => typeof where === 'string' ? where : 'the given databases'

export class Databases {
  index
  data
  /** Where large blobs are kept; undefined where there are no files, or only two databases were given. */
  files = /** @type {BlobFolder | undefined} */ (undefined)
  location
  #hasFolder
  #sync
  #swept = 0
  #nextId = 0
  #promisedId = 0
  #underWay = /** @type {Set<number>} */ (new Set())
  #promise = Promise.resolve()
  #letGo = async () => {}
  /** False when leftovers could not be told from blobs: the next opening tries again. */
  #isSwept = true

  /** @param {DatabasePair} pair @param {string} location @param {boolean} sync @param {boolean} [hasFolder]  is the location one? */
  constructor ({ index, data }, location, sync, hasFolder = false) {
    this.index = index
    this.data = data
    this.#hasFolder = hasFolder
    this.location = location
    this.#sync = sync
  }

  /**
   * @param {string | DatabasePair} where  a directory (in a browser: a name), or two databases
   * @param {{ sync: boolean, create: boolean, wait: number, signal?: AbortSignal }} options  see `BlobStore.open`
   * @throws {BaoError} STORE_LOCKED, STORE_ABSENT, STORE_VERSION
   */
  static async open (where, { wait, ...options }) {
    const { signal } = options
    const deadline = performance.now() + wait
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      signal?.throwIfAborted()
      try {
        return await Databases.#attempt(where, options)
      } catch (error) {
        const left = deadline - performance.now()
        if (!(error instanceof BaoError) || error.code !== 'STORE_LOCKED' || left <= 0) throw error
        await untilAborted(new Promise(resolve => setTimeout(resolve, Math.min(pause, left))), signal)
      }
    }
  }

  /** @param {string | DatabasePair} where @param {{ sync: boolean, create: boolean, signal?: AbortSignal }} options */
  static async #attempt (where, { sync, create, signal }) {
    const letGo = typeof where === 'string' ? await hold(where) : async () => {}
    if (letGo === undefined) throw locked(nameOf(where))
    try {
      if (typeof where === 'string') await assertOpenable(where, create)
      const databases = await Databases.#opened(where, { sync, create, sweeps: true, isRepair: false, signal })
      databases.#letGo = letGo
      return databases
    } catch (error) {
      await letGo()
      throw error
    }
  }

  /** @param {string | DatabasePair} where  held @param {OpenedOptions} options */
  static async #opened (where, options) {
    const hasFolder = typeof where === 'string'
    const databases = new Databases(hasFolder ? levelsAt(where) : where, nameOf(where), options.sync, hasFolder)
    await databases.#open(options)
    return databases
  }

  /**
   * Makes of the files of LevelDB what can be made of them. Where there is no LevelDB (IndexedDB) there is nothing to do.
   *
   * @template T
   * @param {string} location
   * @param {(databases: Databases) => Promise<T>} mend  looks through what was made, nothing of which is swept away before, and closes it
   * @throws {BaoError} STORE_LOCKED, STORE_OPEN_FAILED, STORE_FULL
   */
  static async repair (location, mend) {
    const letGo = await hold(location)
    if (letGo === undefined) throw locked(location)
    try {
      if (!canSalvage) return await mend(await Databases.#opened(location, MENDED))
      const failed = (/** @type {unknown} */ cause) => { throw notRepaired(location, cause) }
      const begun = await beginRepair(location, NAMES.map(name => `${location}/${name}`)).catch(failed)
      if (begun === undefined) throw locked(location)
      let isDone = begun.isFirst // until something takes the place of another, all is as it was
      try {
        const made = await Databases.#salvaged(location).catch(failed)
        isDone = false
        for (const [path, from] of made) await takePlace(path, from).catch(failed)
        const databases = await Databases.#opened(location, MENDED)
        isDone = true // however the rest goes: what is opened is closed, and then nothing is swept away any more
        return await mend(databases)
      } finally {
        await begun.end(isDone)
      }
    } finally {
      await letGo()
    }
  }

  /** @param {string} location @returns {Promise<[path: string, made: string][]>} */
  static async #salvaged (location) {
    const made = /** @type {[string, string][]} */ ([])
    try {
      for (const name of NAMES) {
        const path = `${location}/${name}`
        made.push([path, await salvage(path, path => /** @type {Database} */ (new Level(path, LEVEL_OPTIONS[name])))])
      }
      for (const [path] of made) if (await isOpen(path)) throw locked(location)
    } catch (error) {
      for (const [path] of made) await removeDrafts(path)
      throw error
    }
    return made
  }

  /** What makes a write reach the disk before it counts as done. */
  get syncOptions () { return { ...VIEWS, sync: this.#sync } }

  /** Does a resolved write survive a power cut? */
  get isSync () { return this.#sync }

  /** Is a value that was read the reader's to keep? LevelDB and IndexedDB give copies; of other databases it is not known. */
  get givesCopies () { return this.#hasFolder }

  /** A value of the index. @param {Uint8Array} key @returns {Promise<Uint8Array | undefined>} */
  indexed (key) { return getSmall(this.index, key, VIEWS) }

  /** Ids from here on were never given away. */
  get nextId () { return this.#nextId }

  /** Ids under which something may be written that no record speaks of yet. @type {ReadonlySet<number>} */
  get idsUnderWay () { return this.#underWay }

  /** An id that no blob has or had. It counts as under way until it is settled. */
  newId () { return this.newIds(1) }

  /** As many as that, one after the other. @param {number} count @returns {Promise<number>} the first */
  async newIds (count) {
    const id = this.#nextId
    this.#nextId += count
    if (this.#nextId > this.#promisedId) {
      this.#promisedId = this.#nextId + ID_BLOCK
      this.#promise = this.#writeState(false).catch(error => {
        this.#promisedId = id // the next one tries again
        throw error
      })
    }
    for (let i = 0; i < count; i++) this.#underWay.add(id + i)
    try {
      await this.#promise
    } catch (error) {
      this.settle(id, count)
      throw error
    }
    return id
  }

  /** Records speak of them now, or nothing is written under them. @param {number} id @param {number} [count]  ids from there on */
  settle (id, count = 1) { for (let i = 0; i < count; i++) this.#underWay.delete(id + i) }

  /**
   * Deletes what is kept under ids whose records are gone, and the notes that say so.
   *
   * @param {number[]} ids
   * @param {number[]} [fileIds]  those of them that may have a file
   */
  async deleteDoomed (ids, fileIds = ids) {
    for (const { first, last } of runsOf(ids)) await this.data.clear({ gte: allOfId(first).gte, lt: allOfId(last).lt, ...VIEWS })
    await Promise.all(fileIds.map(id => this.files?.remove(id)))
    await this.index.batch(ids.flatMap(id => [{ type: 'del', key: pathKey(id) }, { type: 'del', key: doomedKey(id) }]), VIEWS)
  }

  /** Deletes what is kept under an id. @param {number} id */
  async deleteData (id) {
    await this.data.clear({ ...allOfId(id), ...VIEWS })
    await this.files?.remove(id)
  }

  /** Has everything rewritten without what was deleted, where a database can do that (LevelDB). */
  async compact () {
    for (const database of /** @type {any[]} */ ([this.index, this.data])) {
      if (typeof database.compactRange === 'function') await database.compactRange(new Uint8Array(0), new Uint8Array(17).fill(0xff), VIEWS)
    }
  }

  /** Is the state as it was written? */
  async isStateSound () {
    await this.#promise.catch(() => {})
    const given = this.#nextId
    const stored = await readable(this.index.get(stateKey, VIEWS))
    const state = stored && unpackState(stored)
    return state !== undefined && state.nextId >= given
  }

  /** Writes the state anew, after it was damaged. */
  async mendState () { await this.#writeState(false) }

  /** @param {boolean} isClean  is nothing under way that would leave something behind? */
  async close (isClean) {
    try {
      if (isClean) {
        this.#promisedId = this.#nextId
        if (this.#isSwept) this.#swept = this.#nextId
        await this.#writeState(this.#isSwept)
      }
    } finally {
      await Promise.all([this.index.close(), this.data.close(), this.files?.close()]).finally(() => this.#letGo())
    }
  }

  /** @param {OpenedOptions} options */
  async #open (options) {
    try {
      await this.index.open()
      await this.data.open()
      if (this.#hasFolder && !options.isRepair) await assertNoRepair(this.location)
      if (this.#hasFolder) this.files = await openFolder(`${this.location}/blobs`)
    } catch (cause) {
      await Promise.allSettled([this.index.close(), this.data.close()])
      if (cause instanceof BaoError) throw cause
      if (isLocked(cause)) throw locked(this.location, cause)
      throw this.#notOpened('open', cause)
    }
    try {
      await this.#start(options)
    } catch (cause) {
      await Promise.allSettled([this.index.close(), this.data.close()])
      options.signal?.throwIfAborted()
      if (cause instanceof BaoError) throw cause
      throw this.#notOpened('read', cause)
    }
  }

  /** @param {'open' | 'read'} what  could not be done @param {unknown} cause */
  #notOpened (what, cause) {
    // LevelDB writes when it is opened, and tells why it could not behind an error of its own.
    if (isNoRoom(cause) || (cause instanceof Error && isNoRoom(cause.cause))) return noRoom(cause)
    return new BaoError('STORE_OPEN_FAILED', `could not ${what} the store at ${this.location}`, { location: this.location, cause })
  }

  /** @param {OpenedOptions} options */
  async #start ({ create, sweeps, signal }) {
    const stored = await readable(this.index.get(stateKey, VIEWS), DAMAGED)
    if (stored === undefined && !create && (await this.index.keys({ limit: 1, ...VIEWS }).all()).length === 0) throw absent(this.location)
    const state = stored && unpackState(stored)
    if (state !== undefined) await upgrade(this.index, state.version, this.location)
    this.#swept = state?.swept ?? 0
    // The state may be one that LevelDB had replaced long ago and lost the later one of: no id that is in use is given away.
    const { ids, behind } = state?.isClean ? { ids: undefined, behind: 0 } : await this.#recordedIds(signal)
    this.#nextId = this.#promisedId = Math.max(state?.nextId ?? 0, await this.#idBehindData(), behind)
    await this.#deleteAllDoomed()
    // Who has lost the state may have lost records too: then what has none is for `fsck` to judge.
    const isSwept = !sweeps || state === undefined || state.isClean || (ids !== undefined && await this.#sweep(ids, signal))
    if (isSwept) this.#swept = this.#nextId
    else this.#isSwept = false
    await this.#writeState(false)
  }

  async #deleteAllDoomed () {
    for await (const [key, value] of eachReadable(this.index.iterator({ ...allDoomed, ...VIEWS }))) {
      const id = unpackDoomed(key, value)
      if (id !== undefined) await readable(this.deleteDoomed([id])) // else the note stays
    }
  }

  /**
   * Deletes data that no record speaks of: of puts that did not end.
   *
   * @param {Set<number>} known  ids that have records
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false when that cannot be told
   */
  async #sweep (known, signal) {
    // What LevelDB cannot read is left for `fsck`: it is no reason not to open.
    const leftovers = []
    for await (const { id } of this.dataIds(this.#swept)) if (id !== undefined && !known.has(id)) leftovers.push(id)
    for (const id of await this.files?.ids() ?? []) if (id >= this.#swept && !known.has(id)) leftovers.push(id)
    // One flipped bit in a table of LevelDB may hide records, or make something else of them: their data would be swept away with what nobody misses.
    if (leftovers.length > 0 && !(await isInOrder(this.index, signal) && await this.#isIndexKnown(signal))) return false
    for (const id of leftovers) await readable(this.deleteData(id))
    return true
  }

  /** Is there nothing in the index that was never written like that? @param {AbortSignal} [signal] */
  async #isIndexKnown (signal) {
    for await (const [key, value] of this.index.iterator({ ...allOfIndex, ...VIEWS })) {
      signal?.throwIfAborted()
      if (!isKnownKind(key) || !isSoundNote(key, value)) return false
    }
    return true
  }

  /**
   * Ids under which there is data, hopping from one to the next; and keys that were never written.
   *
   * @param {number} from
   * @param {() => void} [onDamage]  called where LevelDB cannot read on: then that was all
   * @returns {AsyncGenerator<{ id?: number, key: Uint8Array }>} with an id the first key of it; increasing
   */
  async * dataIds (from, onDamage) {
    for (let { gte } = allOfId(from); ;) {
      const [key] = await readable(this.data.keys({ gte, limit: 1, ...VIEWS }).all()) ?? [onDamage?.()]
      if (key === undefined) return
      const id = idOfKey(key)
      yield { id, key }
      gte = id === undefined ? concat([key, new Uint8Array(1)]) : allOfId(id + 1).gte
    }
  }

  /** An id greater than any that has data. */
  async #idBehindData () {
    const behindFiles = (await this.files?.ids() ?? []).reduce((behind, id) => Math.max(behind, id + 1), 0)
    for await (const key of this.data.keys({ reverse: true, ...VIEWS })) {
      const id = idOfKey(key)
      if (id !== undefined) return Math.max(behindFiles, id + 1)
    }
    return behindFiles
  }

  /** Ids that have records, of those given away since the last clean opening: undefined when a record is damaged; and an id behind all. @param {AbortSignal} [signal] */
  async #recordedIds (signal) {
    const ids = new Set()
    let behind = 0
    let isDamaged = false
    const entries = eachReadable(this.index.iterator({ ...allBlobs, ...VIEWS }), () => { isDamaged = true })
    for await (const [key, value] of entries) {
      signal?.throwIfAborted()
      const root = hashOfKey(key)
      const record = root && unpackRecord(root, value)
      if (record === undefined) isDamaged = true
      else {
        behind = Math.max(behind, record.id + 1)
        if (record.id >= this.#swept) ids.add(record.id)
      }
    }
    return { ids: isDamaged ? undefined : ids, behind }
  }

  /** @param {boolean} isClean */
  async #writeState (isClean) {
    const state = { version: LAYOUT_VERSION, isClean, swept: this.#swept, nextId: this.#promisedId }
    await this.index.put(stateKey, packState(state), this.syncOptions)
  }
}

/** Ids that follow one another. @param {number[]} ids */
function runsOf (ids) {
  const runs = /** @type {{ first: number, last: number }[]} */ ([])
  for (const id of [...ids].sort((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run?.last === id - 1) run.last = id
    else runs.push({ first: id, last: id })
  }
  return runs
}

/**
 * To be asked before there is a level: that opens itself, and makes what is not there. Without the file that it begins with LevelDB would even take its
 * directory for a new one, and delete everything in it.
 *
 * @param {string} location @param {boolean} create
 */
async function assertOpenable (location, create) {
  await assertNoRepair(location)
  if (!create && !await isStoreAt(location) && !await isHalfSalvaged(`${location}/index`)) throw absent(location)
  for (const name of NAMES) {
    const path = `${location}/${name}`
    const fault = await isHalfSalvaged(path) ? 'was being repaired: BlobStore.repair has to go on' : await isHeadless(path) ? 'lacks the file CURRENT: BlobStore.repair can make it anew' : undefined
    if (fault === undefined) continue
    throw new BaoError('STORE_OPEN_FAILED', `could not open the store at ${location}`, { location, cause: new Error(`${path} ${fault}`) })
  }
}

/** @param {string} location */
const absent = location => new BaoError('STORE_ABSENT', `there is no store at ${location}`, { location })

/** @param {string} location @param {unknown} [cause] */
const locked = (location, cause) => new BaoError('STORE_LOCKED', `another process or store has ${location} open`, { location, cause })

/** @param {string} location @param {unknown} cause */
function notRepaired (location, cause) {
  if (cause instanceof BaoError) return cause
  if (isNoRoom(cause)) return noRoom(cause)
  if (isLocked(cause)) return locked(location, cause)
  return new BaoError('STORE_OPEN_FAILED', `could not repair the store at ${location}`, { location, cause })
}

/** @param {string} location */
async function assertNoRepair (location) {
  const state = await repairAt(location)
  if (state === undefined) return
  if (state === 'under way') throw locked(location)
  const cause = new Error('it was being repaired: BlobStore.repair has to go on')
  throw new BaoError('STORE_OPEN_FAILED', `could not open the store at ${location}`, { location, cause })
}
