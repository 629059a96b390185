// Wraps one of the two databases of a store (a *level*: an abstract-level instance, usually LevelDB), and acknowledges
// only writes that are still there after the level was closed and opened again.
//
// LevelDB goes on after a write to its log has failed half way. Later writes land after the torn record, can be read,
// and are gone when LevelDB replays the log at the next opening. So this class writes one batch after the other. After
// a batch has failed it closes the level and opens it again before it writes the next one: LevelDB then drops the torn
// record and begins a new log. Until then reads go on from the level as it is.

import { assertSpaceFor, identityOf, logsLen, syncOlderLogs } from '#disk'
import { BaoError } from '../../../lib/core/errors.js'
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
 * The last acknowledged entry. After reopening we look for it; if it is missing, acknowledged writes were lost.
 *
 * @typedef {{ key: Uint8Array, len: number, head: Uint8Array } | { key: Uint8Array }} Witness  without `len`: the key
 *   was deleted
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

/** Writes are joined up to this many bytes of values and this many operations. A single write may be longer. */
const WRITE_LEN = 1 << 20
const WRITE_COUNT = 2000

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
/** Bytes of a value that are compared with what is stored after the level was opened again. */
const WITNESS_LEN = 64

export class SafeDatabase {
  #level
  /** The directory of LevelDB; undefined where the level is not LevelDB, or somebody else made it. */
  #path
  #location
  /** Does a failed write leave nothing behind? (IndexedDB) */
  #isTransactional
  /** Are all writes refused? */
  isReadOnly
  #exclusively
  #otherIsOpen
  #waiting = /** @type {Write[]} */ ([])
  #writing = /** @type {Promise<void> | undefined} */ (undefined)
  /** The failure of a write. Nothing more is written until the level was opened again. */
  #failure = /** @type {unknown} */ (undefined)
  #reopening = /** @type {Promise<void> | undefined} */ (undefined)
  #triedAt = -Infinity
  /** Set when acknowledged data disappeared; all later writes fail with it. */
  #lost = /** @type {BaoError | undefined} */ (undefined)
  #isClosed = false
  /** Has anything been written since the disk last had everything? */
  #hasUnsynced = false
  /** If this entry is there, so is everything before it in the log. */
  #witness = /** @type {Witness | undefined} */ (undefined)
  /** Which file LevelDB holds its lock on, and when it was last looked whether that is still in place. */
  #identity = /** @type {string | undefined} */ (undefined)
  #lookedAt = 0

  /**
   * @param {AnyLevel} level  not opened yet
   * @param {object} about
   * @param {string} about.location  of the store, for messages
   * @param {string} [about.path]  the directory of the level, if that is LevelDB and the store has made it
   * @param {<T>(work: () => Promise<T>) => Promise<T>} about.exclusively  runs `work` while the other database is not
   *   being reopened
   * @param {() => boolean} about.otherIsOpen  is the other database open? Its lock then keeps other processes away
   *   while this one is closed
   * @param {boolean} [about.isReadOnly]  refuse all writes? Default: false
   * @param {boolean} [about.isTransactional]  does a write that fails leave nothing behind (IndexedDB)? Default: false
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
   * Prepares a call of the store, which waits for the result before it begins. After a failed write this opens the
   * level again, so that reopening does not end iterators of the call. While there is no space to open it, reads go on.
   *
   * @returns {Promise<void> | undefined}
   * @throws {BaoError} STORE_FULL, STORE_WRITE_FAILED when the level is closed, and cannot be opened
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

  /** It ends with an error when the level is opened again. @param {object} options */
  iterator (options) { return this.#level.iterator(options) }

  /** The same. @param {object} options */
  keys (options) { return this.#level.keys(options) }

  /** The same. */
  snapshot () { return this.#level.snapshot() }

  /**
   * Writes all of it or nothing, after everything that was written before.
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
    if (this.#isClosed) return Promise.reject(closedError())
    if (this.isReadOnly) return Promise.reject(readOnlyError(this.#location))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...write, resolve, reject })
      this.#writing ??= this.#writeAll()
    })
  }

  /**
   * Writes what waits, one joined write after the other. If several ran at a time and one failed, LevelDB would not
   * say which came after it.
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

  /** Takes the next of the waiting writes: those that are joined into one, so that they wait for the disk once. */
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
   * @param {Write[]} writes  several batches, or a single range @param {boolean} [isRetry]  is this the second attempt?
   * @returns {Promise<void>}
   */
  async #writeJoined (writes, isRetry = false) {
    if (this.#failure !== undefined) await this.#openAgain()
    const sync = writes.some(({ sync }) => sync)
    if (!sync) this.#hasUnsynced = true // also when the write fails in the middle of a range
    const [{ range }] = writes
    const operations = writes.length === 1 ? writes[0].operations : writes.flatMap(({ operations }) => operations)
    try {
      const placeCheck = this.#assertInPlaceSometimes(sync)
      placeCheck.catch(() => {}) // Runs beside the write; a failure is thrown below.
      if (range === undefined) await this.#level.batch(operations, sync ? SYNC_BATCH : BATCH)
      else await this.#level.clear({ ...range, ...VIEWS })
      // When LevelDB begins a new log it does not sync the old one, which stays until a table has what it holds.
      if (sync && this.#hasUnsynced && this.#path !== undefined) await syncOlderLogs(this.#path)
      if (sync) this.#hasUnsynced = false
      this.#witness = witnessOf(operations) ?? (range === undefined ? this.#witness : undefined)
      await placeCheck
    } catch (error) {
      // 1. Not a problem of the log: rethrow. Either the directory has moved; or a range cannot be cleared because its
      // keys are corrupt, but the log is fine and need not be reopened.
      if (isMoved(error) || (range !== undefined && isCorruption(error) && !isOfLog(error))) throw error
      // 2. The log may have a torn record: stop writing until the level was opened again.
      if (this.isOpen && !this.#isTransactional) this.#fail(writes, error)
      await this.#assertInPlace()
      // 3. LevelDB refuses all writes because of an old failure: reopen, and try once more.
      if (this.#failure === error && !isRetry && needsReopenAndRetry(error)) return this.#writeJoined(writes, true)
      throw asWriteFailed(error)
    }
  }

  /** @param {Write[]} writes @param {unknown} error */
  #fail (writes, error) {
    this.#failure = error
    // The failed writes may be there when the level is opened again. They may have changed the witness.
    if (this.#witness !== undefined && touches(writes, this.#witness.key)) this.#witness = undefined
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
    if (await this.#lockIdentity() !== this.#identity) throw movedError(this.#location)
  }

  /** The identity of LevelDB's lock file. LevelDB has the file open, so no other file can have the same. */
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
      const told = asStoreFull(error)
      throw told instanceof BaoError ? told : notReopened(this.#location, error)
    }
  }

  /** As long as there is no space to open the level again it stays open, so that it can be read. */
  async #assertSpace () {
    if (!this.isOpen || this.#path === undefined) return
    await assertSpaceFor(`${this.#path}.space`, await logsLen(this.#path) + OPENING_LEN)
  }

  /** Opens the level, and tries again while another process holds its lock for a moment. */
  async #openWhenUnlocked () {
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
   * Looks for the witness. LevelDB replays a log up to the first torn record, so all that was acknowledged before the
   * witness is there if the witness is.
   *
   * @throws {BaoError} STORE_WRITE_FAILED
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

/** A key after all keys that compacting is to reach. */
const LAST_KEY = new Uint8Array(17).fill(0xff)

const SYNC_BATCH = { ...BATCH, sync: true }

/** @param {Write} write @returns {[len: number, count: number]} bytes of its values, and how many operations it has */
const sizeOf = ({ operations }) => {
  let len = 0
  for (const operation of operations) if (operation.type === 'put') len += operation.value.length
  return [len, operations.length]
}

/** The witness of operations: a copy, because their memory may be reused. @param {Operation[]} operations */
function witnessOf (operations) {
  const last = operations.at(-1)
  if (last === undefined) return undefined
  const key = last.key.slice()
  return last.type === 'del' ? { key } : { key, len: last.value.length, head: last.value.slice(0, WITNESS_LEN) }
}

/** Does any of these writes change the entry of a key? @param {Write[]} writes @param {Uint8Array} key */
const touches = (writes, key) => writes.some(({ operations, range }) => range === undefined
  ? operations.some(operation => equals(operation.key, key))
  : compare(range.gte, key) <= 0 && compare(key, range.lt) < 0)

/**
 * Did LevelDB fail on a table or the manifest, not on the log? It then refuses every later write, also when there is
 * space again, until it is reopened.
 *
 * @param {unknown} error
 */
function needsReopenAndRetry (error) {
  const { message = '' } = /** @type {{ message?: string }} */ (error)
  return message.startsWith('IO error: ') && !isOfLog(error)
}

/** Does LevelDB name its log as what failed? @param {unknown} error */
const isOfLog = error => /\.log: /.test(/** @type {{ message?: string }} */ (error).message ?? '')

/** @param {unknown} error */
const isMoved = error => error instanceof BaoError && error.code === 'STORE_MOVED'
