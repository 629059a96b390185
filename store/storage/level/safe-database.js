// Wraps one of the two databases of a store (a *level*: an abstract-level instance, usually LevelDB). It acknowledges
// only writes that survive when the level is closed and opened again.
//
// When a write to its log fails halfway, LevelDB continues. It appends later writes after the torn record. They can be
// read, but LevelDB drops them when it replays the log at the next opening. So this class writes one batch after the
// other. After a failed batch, it closes the level and opens it again before it writes the next one. LevelDB then drops
// the torn record and begins a new log. Until then, reads use the level as it is.
//
// A level may also be closed by a browser. It is opened again before the next call.

import { assertSpaceFor, identityOf, logsLen, syncOlderLogs } from '#disk'
import { BaoError } from '../../../lib/core/errors.js'
import { withRoom } from '../../../lib/source/open-files.js'
import { compare } from 'uint8arrays/compare'
import { equals } from 'uint8arrays/equals'
import { BATCH, VIEWS } from '../format/keys.js'
import { isLocked } from './levels.js'
import {
  acknowledgedLost, asStoreFull, asWriteFailed, closedError, isCorruption, movedError, notReopened, readOnlyError
} from '../errors.js'

/** @import { AnyLevel } from './levels.js' */

/** @typedef {{ type: 'put', key: Uint8Array, value: Uint8Array } | { type: 'del', key: Uint8Array }} Operation */
/** @typedef {{ gte: Uint8Array, lt: Uint8Array }} KeyRange */
/**
 * The last acknowledged entry. After the level was reopened, the store looks for this entry. If it is missing,
 * acknowledged writes were lost.
 *
 * @typedef {{ key: Uint8Array, len: number, head: Uint8Array } | { key: Uint8Array }} Witness  without `len`: the key
 *   was deleted
 */

/**
 * A waiting write.
 *
 * @typedef {object} Write
 * @property {Operation[]} operations
 * @property {KeyRange} [range]  keys to delete, instead of operations
 * @property {boolean} sync  true if the write must reach the disk before it counts as done
 * @property {() => void} resolve
 * @property {(error: unknown) => void} reject
 */

/** Writes are joined up to this many bytes of values and this many operations. A single write may have more. */
const WRITE_LEN = 1 << 20
const WRITE_COUNT = 2000

/** Bytes that LevelDB writes when it is opened, in addition to those in its logs. */
const OPENING_LEN = 1 << 20
/** How often opening a level is tried. Another process that tries to open the store holds the lock for a moment. */
const LOCK_TRIES = 50
/** Milliseconds from one try to the next. */
const LOCK_PAUSE = 20

/** Milliseconds between attempts to open a level again. A write does not wait for them. */
const RETRY_MS = 1000
/** Milliseconds between checks that the directory still exists, for writes that need not reach the disk. */
const LOOK_MS = 1000
/** Bytes of the witness's value that are compared with the stored value after the level was opened again. */
const WITNESS_LEN = 64

export class SafeDatabase {
  #level
  /** The directory of LevelDB; undefined when the level is not a LevelDB, or a caller has made it. */
  #path
  #location
  /** True if a failed write changes nothing (IndexedDB). */
  #isTransactional
  /** True if all writes are refused. */
  isReadOnly
  #exclusively
  #otherIsOpen
  #waiting = /** @type {Write[]} */ ([])
  #writing = /** @type {Promise<void> | undefined} */ (undefined)
  /** The failure of a write. Nothing more is written until the level is open again. */
  #failure = /** @type {unknown} */ (undefined)
  #reopening = /** @type {Promise<void> | undefined} */ (undefined)
  #triedAt = -Infinity
  /** Set when acknowledged writes were lost. All later writes fail with this error. */
  #lost = /** @type {BaoError | undefined} */ (undefined)
  #isClosed = false
  /** True if a write may not be on the disk yet. */
  #hasUnsynced = false
  /** The last acknowledged entry. If it is in the level, all earlier writes are there, too. */
  #witness = /** @type {Witness | undefined} */ (undefined)
  /** The identity of LevelDB's lock file, and the time of the last check whether this file is still in place. */
  #identity = /** @type {string | undefined} */ (undefined)
  #lookedAt = 0

  /**
   * @param {AnyLevel} level  not opened yet
   * @param {object} about
   * @param {string} about.location  of the store, for messages
   * @param {string} [about.path]  the directory of the level, if it is a LevelDB that the store has made for writing
   * @param {<T>(work: () => Promise<T>) => Promise<T>} about.exclusively  runs `work` while the other database is not
   *   being reopened
   * @param {() => boolean} about.otherIsOpen  returns true if the other database is open. Its lock then keeps other
   *   processes away while this one is closed
   * @param {boolean} [about.isReadOnly]  true to refuse all writes. Default: false
   * @param {boolean} [about.isTransactional]  true if a failed write changes nothing (IndexedDB). Default: false
   */
  constructor (level, { location, path, exclusively, otherIsOpen, isReadOnly = false, isTransactional = false }) {
    this.#level = level
    this.#location = location
    this.#path = path
    this.#exclusively = exclusively
    this.#otherIsOpen = otherIsOpen
    this.isReadOnly = isReadOnly
    this.#isTransactional = isTransactional
  }

  async open () {
    await withRoom(() => this.#level.open())
    this.#identity = await this.#lockIdentity()
  }

  /** Waits for writes that are under way, and closes the level. */
  async close () {
    this.#isClosed = true
    await this.#writing
    await this.#reopening?.catch(() => {})
    await this.#level.close()
  }

  get supports () { return this.#level.supports }

  /** True if `get` takes the option `part`: see `BlobLevel`. */
  get readsParts () { return this.#level.readsParts === true }

  /** True if `getSync` can read the level now. */
  get canReadNow () { return this.isOpen && Boolean(/** @type {any} */ (this.#level.supports).getSync) }

  /**
   * Prepares a call of the store, which awaits the returned promise before it begins. After a failed write, this opens
   * the level again, so that no later reopening ends the iterators of the call. If the disk has no space for that, the
   * level stays open for reads.
   *
   * @returns {Promise<void> | undefined}
   * @throws {BaoError} STORE_FULL, STORE_WRITE_FAILED when the level is closed and cannot be opened
   */
  whenReady () {
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

  /** Returns an iterator, which fails when the level is opened again. @param {object} options */
  iterator (options) { return this.#level.iterator(options) }

  /** Returns an iterator over keys, which fails when the level is opened again. @param {object} options */
  keys (options) { return this.#level.keys(options) }

  /** Returns a snapshot, which ends when the level is opened again. */
  snapshot () { return this.#level.snapshot() }

  /**
   * Writes all operations or none, after all earlier writes. The write is queued before this returns.
   *
   * @param {Operation[]} operations  callers must not change them until this resolves
   * @param {{ sync?: boolean }} [options]  `sync`: true if this write and all earlier ones must be on the disk when the
   *   promise resolves. Default: false
   * @returns {Promise<void>}
   * @throws {BaoError} STORE_FULL, STORE_WRITE_FAILED, STORE_MOVED. The operations may still be in the level after it
   *   was opened again
   */
  batch (operations, { sync = false } = {}) { return this.#write({ operations, sync }) }

  /** @param {Uint8Array} key @param {Uint8Array} value @param {{ sync?: boolean }} [options] */
  put (key, value, options) { return this.batch([{ type: 'put', key, value }], options) }

  /** @param {Uint8Array} key @param {{ sync?: boolean }} [options] */
  del (key, options) { return this.batch([{ type: 'del', key }], options) }

  /** Deletes a range of keys. If the call fails, some of the keys may be deleted. @param {KeyRange} range */
  clear (range) { return this.#write({ operations: [], range, sync: false }) }

  /** Makes LevelDB rewrite its tables without deleted entries. Does nothing for other levels. */
  async compact () {
    const level = /** @type {any} */ (this.#level)
    if (typeof level.compactRange === 'function') await level.compactRange(new Uint8Array(0), LAST_KEY, VIEWS)
  }

  /** @param {Pick<Write, 'operations' | 'range' | 'sync'>} write @returns {Promise<void>} */
  #write (write) {
    if (this.#isClosed) return Promise.reject(closedError())
    if (this.isReadOnly) return Promise.reject(readOnlyError(this.#location))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...write, resolve, reject })
      this.#writing ??= this.#writeAll()
    })
  }

  /**
   * Joins the waiting writes, and runs the joined writes one after the other. If several ran at the same time and one
   * failed, nothing would tell which ones came after it.
   */
  async #writeAll () {
    while (this.#waiting.length > 0) {
      const writes = this.#nextWrites()
      try {
        await this.#writeJoined(writes)
        for (const { resolve } of writes) resolve()
      } catch (error) {
        for (const { reject } of writes) reject(error)
      }
    }
    this.#writing = undefined
  }

  /** Takes the next waiting writes, which are joined so that they wait for the disk only once. */
  #nextWrites () {
    const [first] = this.#waiting
    let count = 1
    if (first.range === undefined) {
      let [len, operations] = sizeOf(first)
      for (; count < this.#waiting.length; count++) {
        const [nextLen, nextOperations] = sizeOf(this.#waiting[count])
        len += nextLen
        operations += nextOperations
        if (this.#waiting[count].range !== undefined || len > WRITE_LEN || operations > WRITE_COUNT) break
      }
    }
    return this.#waiting.splice(0, count)
  }

  /**
   * @param {Write[]} writes  batches, or a single range @param {boolean} [isRetry]  true for the second attempt
   * @returns {Promise<void>}
   */
  async #writeJoined (writes, isRetry = false) {
    if (this.#failure !== undefined || !this.isOpen) await this.#openAgain()
    const sync = writes.some(({ sync }) => sync)
    if (!sync) this.#hasUnsynced = true // even if the write fails halfway through a range
    const [{ range }] = writes
    const operations = writes.length === 1 ? writes[0].operations : writes.flatMap(({ operations }) => operations)
    try {
      const placeCheck = this.#assertInPlaceSometimes(sync)
      placeCheck.catch(() => {}) // The check runs during the write. Its failure is thrown below.
      if (range === undefined) await this.#level.batch(operations, sync ? SYNC_BATCH : BATCH)
      else await this.#level.clear({ ...range, ...VIEWS })
      // LevelDB does not sync a log when it begins the next one, but it needs this log until its entries are in tables.
      if (sync && this.#hasUnsynced && this.#path !== undefined) await syncOlderLogs(this.#path)
      if (sync) this.#hasUnsynced = false
      this.#witness = witnessOf(operations) ?? (range === undefined ? this.#witness : undefined)
      await placeCheck
    } catch (error) {
      // 1. The log is fine: rethrow. Either the directory has moved, or LevelDB cannot read the keys of a range that it
      // should clear. In both cases, the level need not be reopened.
      if (isMoved(error) || (range !== undefined && isCorruption(error) && !isOfLog(error))) throw error
      this.#doubtWitness(writes)
      // 2. The log may have a torn record: write nothing until the level is open again.
      if (this.isOpen && !this.#isTransactional) this.#failure = error
      await this.#assertInPlace()
      // 3. LevelDB refuses all writes because of an earlier failure: reopen the level, and try once more.
      if (this.#failure === error && !isRetry && needsReopenAndRetry(error)) return this.#writeJoined(writes, true)
      throw asWriteFailed(error)
    }
  }

  /**
   * Drops the witness if failed writes would have changed its entry, because they may be in the level after it is
   * reopened.
   *
   * @param {Write[]} writes
   */
  #doubtWitness (writes) {
    if (this.#witness !== undefined && touches(writes, this.#witness.key)) this.#witness = undefined
  }

  /** Checks the directory once a second. @param {boolean} sync  true to check it in any case */
  async #assertInPlaceSometimes (sync) {
    const now = performance.now()
    if (!sync && now - this.#lookedAt < LOOK_MS) return
    this.#lookedAt = now
    await this.#assertInPlace()
  }

  /** Returns true if no record of the log is torn, and the path still leads to the directory that was opened. */
  async isWhole () { return this.#failure === undefined && await this.#isInPlace() }

  async #isInPlace () { return await this.#lockIdentity() === this.#identity }

  /** @throws {BaoError} STORE_MOVED when the path leads to a directory other than the one that was opened */
  async #assertInPlace () {
    if (!await this.#isInPlace()) throw movedError(this.#location)
  }

  /**
   * Returns the identity of LevelDB's lock file. LevelDB has the file open, so no other file can have the same
   * identity.
   */
  async #lockIdentity () { return this.#path === undefined ? undefined : identityOf(`${this.#path}/LOCK`) }

  /** @template T @param {() => Promise<T>} read @returns {Promise<T>} */
  #whenOpen (read) { return this.isOpen || this.#isClosed ? read() : this.#openAgain().then(read) }

  #openAgain () {
    this.#triedAt = performance.now()
    this.#reopening ??= this.#exclusively(() => this.#closeAndOpen()).finally(() => { this.#reopening = undefined })
    return this.#reopening
  }

  /** @throws {BaoError} STORE_FULL, STORE_WRITE_FAILED */
  async #closeAndOpen () {
    if (this.#isClosed) throw closedError()
    if (this.#lost !== undefined) throw this.#lost
    await this.#assertInPlace()
    try {
      if (this.isOpen && !this.#otherIsOpen()) throw this.#failure
      await this.#assertSpace()
      await this.#level.close()
      await this.#openWhenUnlocked()
      await this.#assertAcknowledged()
      this.#failure = undefined
    } catch (error) {
      this.#failure ??= error // The browser may have closed the level without a failed write.
      const told = asStoreFull(error)
      throw told instanceof BaoError ? told : notReopened(this.#location, error)
    }
  }

  /** Throws when the disk has no space for opening the level. The level then stays open for reads. */
  async #assertSpace () {
    if (!this.isOpen || this.#path === undefined) return
    await assertSpaceFor(`${this.#path}.space`, await logsLen(this.#path) + OPENING_LEN)
  }

  /** Opens the level. It tries again while another process holds the lock of the level. */
  async #openWhenUnlocked () {
    for (let tries = 1; ; tries++) {
      try {
        return await withRoom(() => this.#level.open({ createIfMissing: false }))
      } catch (error) {
        if (!isLocked(error) || tries === LOCK_TRIES) throw /** @type {Error} */ (error).cause ?? error
        await new Promise(resolve => setTimeout(resolve, LOCK_PAUSE))
      }
    }
  }

  /**
   * Looks for the witness. LevelDB replays a log up to the first torn record. So if the witness is in the level, all
   * earlier acknowledged writes are there, too.
   *
   * @throws {BaoError} STORE_WRITE_FAILED when the witness is missing
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

/** A key after all keys of the store, so that compacting reaches them all. */
const LAST_KEY = new Uint8Array(17).fill(0xff)

const SYNC_BATCH = { ...BATCH, sync: true }

/** @param {Write} write @returns {[len: number, count: number]} bytes of its values, and number of operations */
const sizeOf = ({ operations }) => {
  let len = 0
  for (const operation of operations) if (operation.type === 'put') len += operation.value.length
  return [len, operations.length]
}

/** Returns the witness of operations. It copies bytes whose memory may be reused. @param {Operation[]} operations */
function witnessOf (operations) {
  const last = operations.at(-1)
  if (last === undefined) return undefined
  const key = last.key.slice()
  return last.type === 'del' ? { key } : { key, len: last.value.length, head: last.value.slice(0, WITNESS_LEN) }
}

/** Returns true if one of these writes changes the entry of a key. @param {Write[]} writes @param {Uint8Array} key */
const touches = (writes, key) => writes.some(({ operations, range }) => range === undefined
  ? operations.some(operation => equals(operation.key, key))
  : compare(range.gte, key) <= 0 && compare(key, range.lt) < 0)

/**
 * Returns true if LevelDB has failed on a table or the manifest, and not on the log. LevelDB then refuses all writes
 * until it is reopened, even when there is space again.
 *
 * @param {unknown} error
 */
function needsReopenAndRetry (error) {
  const { message = '' } = /** @type {{ message?: string }} */ (error)
  return message.startsWith('IO error: ') && !isOfLog(error)
}

/** Returns true if an error of LevelDB names its log. @param {unknown} error */
const isOfLog = error => /\.log: /.test(/** @type {{ message?: string }} */ (error).message ?? '')

/** @param {unknown} error */
const isMoved = error => error instanceof BaoError && error.code === 'STORE_MOVED'
