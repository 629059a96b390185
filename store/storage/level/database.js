// Wraps one of the two levels of a store, and acknowledges only writes that are there when the level is opened next.
//
// LevelDB goes on after a write to its log has failed half way. Later writes land behind the torn record, can be read,
// and are gone when LevelDB replays the log at the next opening. So this class writes one batch after the other. After
// a batch has failed it closes the level and opens it again before it writes the next one: LevelDB then drops the torn
// record and begins a new log. Until then reads go on from the level as it is.

import { assertSpaceFor, identityOf, logsLen, syncOlderLogs } from '#disk'
import { BaoError } from '../../../lib/core/errors.js'
import { compare } from 'uint8arrays/compare'
import { equals } from 'uint8arrays/equals'
import { BATCH, VIEWS } from '../format/keys.js'
import { isLocked } from './levels.js'
import { acknowledgedLost, closed, isCorruption, moved, notReopened, asStoreFull, asWriteFailed } from '../errors.js'

/** @import { AnyLevel } from './levels.js' */

/** @typedef {{ type: 'put', key: Uint8Array, value: Uint8Array } | { type: 'del', key: Uint8Array }} Operation */
/** @typedef {{ gte: Uint8Array, lt: Uint8Array }} KeyRange */
/**
 * @typedef {{ key: Uint8Array, len: number, head: Uint8Array } | { key: Uint8Array }} Witness  without `len`:
 *   deleted
 */

/**
 * A write that waits for its turn.
 *
 * @typedef {object} Write
 * @property {Operation[]} operations
 * @property {KeyRange} [range]  of keys that are deleted, instead of operations
 * @property {boolean} sync  must the disk have it before it counts as done?
 * @property {() => void} resolve
 * @property {(error: unknown) => void} reject
 */

/** What one batch holds at most, unless a single write is longer: bytes of values, and operations. */
const GROUP_LEN = 1 << 20
const GROUP_COUNT = 2000

/** Bytes that LevelDB writes when it is opened, beside what stands in its logs. */
const OPENING_LEN = 1 << 20
/** Another process that tries to open the store holds LevelDB's lock for a moment: how often this one tries again. */
const LOCK_TRIES = 50
/** Milliseconds from one try to the next. */
const LOCK_PAUSE = 20

/** Milliseconds from one attempt to open a level again to the next, unless something is to be written. */
const RETRY_MS = 1000
/** Milliseconds after which a write that need not reach the disk looks whether the directory is still there. */
const LOOK_MS = 1000
/** Bytes of a value that are compared with what stands there after the level was opened again. */
const WITNESS_LEN = 64

export class Database {
  #level
  /** The directory of LevelDB; undefined where the level is not LevelDB, or somebody else made it. */
  #path
  #location
  /** Does a failed write leave nothing behind? (IndexedDB) */
  #isTransactional
  #alone
  #mayClose
  #waiting = /** @type {Write[]} */ ([])
  #writing = /** @type {Promise<void> | undefined} */ (undefined)
  /** What a write failed with: nothing is written before the level was opened again. */
  #failure = /** @type {unknown} */ (undefined)
  #reopening = /** @type {Promise<void> | undefined} */ (undefined)
  #triedAt = -Infinity
  /** Was something gone that had been acknowledged? Then nothing is written any more. */
  #lost = /** @type {BaoError | undefined} */ (undefined)
  #isClosed = false
  /** Has anything been written since the disk last had everything? */
  #hasUnsynced = false
  /** The last entry that was acknowledged. If it is there, so is everything in front of it in the log. */
  #witness = /** @type {Witness | undefined} */ (undefined)
  /** Which file LevelDB holds its lock on, and when it was last looked whether that is still in place. */
  #identity = /** @type {string | undefined} */ (undefined)
  #lookedAt = 0

  /**
   * @param {AnyLevel} level  not opened yet
   * @param {object} about
   * @param {string} about.location  of the store, for messages
   * @param {string} [about.path]  the directory of the level, if that is LevelDB and the store has made it
   * @param {<T>(work: () => Promise<T>) => Promise<T>} about.alone  has one of the two levels opened again at a time
   * @param {() => boolean} about.mayClose  is the other level open, so that its lock keeps other processes away?
   * @param {boolean} [about.isTransactional]  does a write that fails leave nothing behind (IndexedDB)? Default: false
   */
  constructor (level, { location, path, alone, mayClose, isTransactional = false }) {
    this.#level = level
    this.#location = location
    this.#path = path
    this.#alone = alone
    this.#mayClose = mayClose
    this.#isTransactional = isTransactional
  }

  async open () {
    await this.#level.open()
    this.#identity = await this.#lockIdentity()
  }

  /** Waits for what is being written, and closes the level. */
  async close () {
    this.#isClosed = true
    await this.#writing
    await this.#reopening?.catch(() => {})
    await this.#level.close()
  }

  get supports () { return this.#level.supports }

  /** Can it be read without waiting? See `getSync`. */
  get canReadNow () { return this.isOpen && Boolean(/** @type {any} */ (this.#level.supports).getSync) }

  /**
   * What a call waits for before it begins. After a failed write the level is opened again first, so that the call's
   * own iterators are not ended by that. While there is no space to open it, reads go on.
   *
   * @returns {Promise<void> | undefined}
   * @throws {BaoError} STORE_FULL, STORE_WRITE_FAILED when the level is closed, and cannot be opened
   */
  get ready () {
    if (this.#isClosed) return undefined
    if (!this.isOpen) return this.#openAgain()
    if (this.#failure === undefined || performance.now() - this.#triedAt < RETRY_MS) return undefined
    return this.#openAgain().catch(error => { if (!this.isOpen) throw error })
  }

  get isOpen () { return this.#level.status === 'open' }

  /** @param {Uint8Array} key @param {object} options @returns {Promise<any>} */
  get (key, options) { return this.#whenOpen(() => this.#level.get(key, options)) }

  /** @param {Uint8Array[]} keys @param {object} options @returns {Promise<any[]>} */
  getMany (keys, options) { return this.#whenOpen(() => this.#level.getMany(keys, options)) }

  /** @param {Uint8Array[]} keys @param {object} options @returns {Promise<boolean[]>} */
  hasMany (keys, options) { return this.#whenOpen(() => this.#level.hasMany(keys, options)) }

  /** @param {Uint8Array} key @param {object} options @returns {any} */
  getSync (key, options) { return this.#level.getSync(key, options) }

  /** It ends with an error when the level is opened again. @param {object} options */
  iterator (options) { return this.#level.iterator(options) }

  /** The same. @param {object} options */
  keys (options) { return this.#level.keys(options) }

  /** The same. */
  snapshot () { return this.#level.snapshot() }

  /**
   * Writes all of it or nothing, behind everything that was written before.
   *
   * @param {Operation[]} operations  left alone until this resolves
   * @param {{ sync?: boolean }} [options]  `sync`: the disk has it, and everything before it, when this resolves
   * @returns {Promise<void>}
   * @throws {BaoError} STORE_FULL, STORE_WRITE_FAILED, STORE_MOVED: the operations may be there all the same when the
   *   level is opened next
   */
  batch (operations, { sync = false } = {}) { return this.#write({ operations, sync }) }

  /** @param {Uint8Array} key @param {Uint8Array} value @param {{ sync?: boolean }} [options] */
  put (key, value, options) { return this.batch([{ type: 'put', key, value }], options) }

  /** @param {Uint8Array} key @param {{ sync?: boolean }} [options] */
  del (key, options) { return this.batch([{ type: 'del', key }], options) }

  /** Deletes a range of keys. When this fails a part of it may be deleted. @param {KeyRange} range */
  clear (range) { return this.#write({ operations: [], range, sync: false }) }

  /** Has everything rewritten without what was deleted, where the level can do that (LevelDB). */
  async compact () {
    const level = /** @type {any} */ (this.#level)
    if (typeof level.compactRange === 'function') await level.compactRange(new Uint8Array(0), LAST_KEY, VIEWS)
  }

  /** @param {Pick<Write, 'operations' | 'range' | 'sync'>} write @returns {Promise<void>} */
  #write (write) {
    if (this.#isClosed) return Promise.reject(closed())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...write, resolve, reject })
      this.#writing ??= this.#writeAll()
    })
  }

  /**
   * Writes what waits, one group after the other. Of several writes at a time, LevelDB does not say which came
   * behind one that failed.
   */
  async #writeAll () {
    while (this.#waiting.length > 0) {
      const group = this.#nextGroup()
      try {
        await this.#writeGroup(group)
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#writing = undefined
  }

  /** Joins batches that wait into one write, so that they wait for the disk once. */
  #nextGroup () {
    const [first] = this.#waiting
    let count = 1
    if (first.range === undefined) {
      let [len, operations] = sizeOf(first)
      for (; count < this.#waiting.length; count++) {
        const [nextLen, nextOperations] = sizeOf(this.#waiting[count])
        len += nextLen
        operations += nextOperations
        if (this.#waiting[count].range !== undefined || len > GROUP_LEN || operations > GROUP_COUNT) break
      }
    }
    return this.#waiting.splice(0, count)
  }

  /**
   * @param {Write[]} group @param {boolean} [isRetry]  is this the second attempt?
   * @returns {Promise<void>}
   */
  async #writeGroup (group, isRetry = false) {
    if (this.#failure !== undefined) await this.#openAgain()
    const sync = group.some(({ sync }) => sync)
    if (!sync) this.#hasUnsynced = true // also when the write fails in the middle of a range
    const [{ range }] = group
    const operations = group.length === 1 ? group[0].operations : group.flatMap(({ operations }) => operations)
    try {
      const looking = this.#assertInPlaceSometimes(sync)
      looking.catch(() => {}) // it is awaited when the write is done
      if (range === undefined) await this.#level.batch(operations, sync ? SYNC_BATCH : BATCH)
      else await this.#level.clear({ ...range, ...VIEWS })
      // When LevelDB begins a new log it does not sync the old one, which stays until a table has what it holds.
      if (sync && this.#hasUnsynced && this.#path !== undefined) await syncOlderLogs(this.#path)
      if (sync) this.#hasUnsynced = false
      this.#witness = witnessOf(operations) ?? (range === undefined ? this.#witness : undefined)
      await looking
    } catch (error) {
      // A range whose keys cannot be read says nothing of the log.
      if (isMoved(error) || (range !== undefined && isCorruption(error) && !isOfLog(error))) throw error
      if (this.isOpen && !this.#isTransactional) this.#fail(group, error)
      await this.#assertInPlace()
      if (this.#failure === error && !isRetry && isOlderFailure(error)) return this.#writeGroup(group, true)
      throw asWriteFailed(error)
    }
  }

  /** @param {Write[]} group @param {unknown} error */
  #fail (group, error) {
    this.#failure = error
    // What has failed may be there when the level is opened again, in the place of what was acknowledged.
    if (this.#witness !== undefined && touches(group, this.#witness.key)) this.#witness = undefined
  }

  /** @param {boolean} sync  look in any case */
  async #assertInPlaceSometimes (sync) {
    const now = performance.now()
    if (!sync && now - this.#lookedAt < LOOK_MS) return
    this.#lookedAt = now
    await this.#assertInPlace()
  }

  /** @throws {BaoError} STORE_MOVED when the directory is not the one any more that was opened */
  async #assertInPlace () {
    if (await this.#lockIdentity() !== this.#identity) throw moved(this.#location)
  }

  /** The identity of LevelDB's lock file. LevelDB has the file open, so no other file can have the same. */
  async #lockIdentity () { return this.#path === undefined ? undefined : identityOf(`${this.#path}/LOCK`) }

  /** @template T @param {() => Promise<T>} read @returns {Promise<T>} */
  #whenOpen (read) { return this.isOpen || this.#isClosed ? read() : this.#openAgain().then(read) }

  #openAgain () {
    this.#triedAt = performance.now()
    this.#reopening ??= this.#alone(() => this.#closeAndOpen()).finally(() => { this.#reopening = undefined })
    return this.#reopening
  }

  /** @throws {BaoError} STORE_FULL, STORE_WRITE_FAILED */
  async #closeAndOpen () {
    if (this.#isClosed) throw closed()
    if (this.#lost !== undefined) throw this.#lost
    await this.#assertInPlace()
    try {
      if (this.isOpen && !this.#mayClose()) throw this.#failure
      await this.#assertSpace()
      await this.#level.close()
      await this.#openUnlocked()
      await this.#assertAcknowledged()
      this.#failure = undefined
    } catch (error) {
      const told = asStoreFull(error)
      throw told instanceof BaoError ? told : notReopened(this.#location, error)
    }
  }

  /** As long as there is no space to open the level again it stays open, so that it can be read. */
  async #assertSpace () {
    if (!this.isOpen || this.#path === undefined) return
    await assertSpaceFor(`${this.#path}.space`, await logsLen(this.#path) + OPENING_LEN)
  }

  async #openUnlocked () {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#level.open({ createIfMissing: false })
      } catch (error) {
        if (!isLocked(error) || tries === LOCK_TRIES) throw /** @type {Error} */ (error).cause ?? error
        await new Promise(resolve => setTimeout(resolve, LOCK_PAUSE))
      }
    }
  }

  /**
   * LevelDB replays a log up to the first torn record, so the last entry that was acknowledged tells of all before
   * it.
   */
  async #assertAcknowledged () {
    if (this.#witness === undefined) return
    const { key, ...value } = this.#witness
    const stored = await this.#level.get(key, VIEWS)
    const isThere = 'len' in value
      ? stored?.length === value.len && equals(stored.subarray(0, WITNESS_LEN), value.head)
      : stored === undefined
    if (isThere) return
    this.#lost = acknowledgedLost(this.#location, this.#failure)
    throw this.#lost
  }
}

/** Behind the keys that compacting is to reach. */
const LAST_KEY = new Uint8Array(17).fill(0xff)

const SYNC_BATCH = { ...BATCH, sync: true }

/** @param {Write} write @returns {[len: number, count: number]} bytes of its values, and how many operations it has */
const sizeOf = ({ operations }) => {
  let len = 0
  for (const operation of operations) if (operation.type === 'put') len += operation.value.length
  return [len, operations.length]
}

/** What tells that this was written: copied, for the memory may be used again. @param {Operation[]} operations */
function witnessOf (operations) {
  const last = operations.at(-1)
  if (last === undefined) return undefined
  const key = last.key.slice()
  return last.type === 'del' ? { key } : { key, len: last.value.length, head: last.value.slice(0, WITNESS_LEN) }
}

/** @param {Write[]} group @param {Uint8Array} key */
const touches = (group, key) => group.some(({ operations, range }) => range === undefined
  ? operations.some(operation => equals(operation.key, key))
  : compare(range.gte, key) <= 0 && compare(key, range.lt) < 0)

/**
 * Did LevelDB fail at another file than its log, at a table or a manifest? It then refuses every later write, also when
 * there is space again.
 *
 * @param {unknown} error
 */
function isOlderFailure (error) {
  const { message = '' } = /** @type {{ message?: string }} */ (error)
  return message.startsWith('IO error: ') && !isOfLog(error)
}

/** Does LevelDB name its log as what failed? @param {unknown} error */
const isOfLog = error => /\.log: /.test(/** @type {{ message?: string }} */ (error).message ?? '')

/** @param {unknown} error */
const isMoved = error => error instanceof BaoError && error.code === 'STORE_MOVED'
