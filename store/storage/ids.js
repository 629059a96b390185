// Gives ids to blobs, and writes the state of the store, which tells the next opening which ids were given. No id is
// given twice, because data that a crash has left under an id could become part of another blob.

import { DAMAGED, damagedIndex, orIfUnreadable } from './errors.js'
import { VIEWS, stateKey } from './format/keys.js'
import { LAYOUT_VERSION, decodeState, encodeState } from './format/records.js'

/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { SafeDatabase } from './level/safe-database.js' */
/** @import { State } from './format/records.js' */

/** How many ids one write of the state reserves, so that most ids do not need a write. */
const ID_BLOCK = 1024

export class Ids {
  #index
  #syncOptions
  #swept = 0
  /**
   * False when orphans could not be distinguished from other data. Then the next opening tries to delete them again.
   */
  #isSwept = true
  /**
   * False while the index may have lost records. Then no state is written, because a state says that no records are
   * lost.
   */
  #isWhole = true
  #next = 0
  /** Ids below this one are reserved by a state that is on the disk, or is being written. */
  #reserved = 0
  /** Ids below this one, and maybe more ids, are reserved by the state on the disk. */
  #acknowledged = 0
  #reserving = Promise.resolve()
  #underWay = /** @type {Set<number>} */ (new Set())

  /**
   * @param {SafeDatabase} index
   * @param {object} syncOptions  options that make a write reach the disk before it counts as done
   */
  constructor (index, syncOptions) {
    this.#index = index
    this.#syncOptions = syncOptions
  }

  /**
   * Reads the state.
   *
   * @returns {Promise<{ isThere: boolean, state?: State }>} `state` is missing when it is damaged
   */
  async stored () {
    const stored = await orIfUnreadable(this.#index.get(stateKey, VIEWS), DAMAGED)
    return { isThere: stored !== undefined, state: stored && decodeState(stored) }
  }

  /**
   * Sets which ids are free. Callers call this before they ask for an id.
   *
   * @param {object} from
   * @param {number} from.next  the first id to give
   * @param {number} from.swept  every id below this one has a record or no data
   * @param {boolean} from.isSwept  true if every id below `next` has a record or no data
   * @param {boolean} from.isWhole  true if it is certain that the index has not lost any record
   */
  async begin ({ next, swept, isSwept, isWhole }) {
    this.#next = this.#reserved = next
    this.#swept = isSwept ? next : swept
    this.#isSwept = isSwept
    this.#isWhole = isWhole
    await this.#write(false)
  }

  /** Notes that every id below this one has a record or no data. @param {number} limit */
  setSwept (limit) {
    this.#swept = limit
    this.#isSwept = true
  }

  /** Writes that the store was closed with nothing under way. */
  async end () {
    this.#reserved = this.#next
    if (this.#isSwept) this.#swept = this.#next
    await this.#write(this.#isSwept)
  }

  /** The next id. No blob has had this id or a higher one. */
  get next () { return this.#next }

  /** Ids under which there may be data that has no record yet. @type {ReadonlySet<number>} */
  get underWay () { return this.#underWay }

  /** Gives an id that no blob has or had. It is under way until `release` is called. */
  newId () { return this.newIds(1) }

  /** Gives several consecutive ids. @param {number} count @returns {Promise<number>} the first of them */
  async newIds (count) {
    const id = this.#next
    this.#next += count
    if (this.#next > this.#reserved) {
      this.#reserved = this.#next + ID_BLOCK
      this.#reserving = this.#write(false).catch(error => {
        this.#reserved = id // so that the next call reserves ids again
        throw error
      })
    }
    for (let i = 0; i < count; i++) this.#underWay.add(id + i)
    try {
      await this.#reserving
    } catch (error) {
      this.release(id, count)
      throw error
    }
    return id
  }

  /**
   * Notes that ids are no longer under way: each has a record now, or no data.
   *
   * @param {number} id  the first of them
   * @param {number} [count]
   */
  release (id, count = 1) { for (let i = 0; i < count; i++) this.#underWay.delete(id + i) }

  /** Makes an id count as under way until the store is closed. @param {number} id */
  keepUnderWay (id) { this.#underWay.add(id) }

  /** Returns true if the stored state is undamaged, and the index certainly has not lost any record. */
  async isStateSound () {
    if (!this.#isWhole) return false
    const acknowledged = this.#acknowledged // The read below may miss writes that are acknowledged after this line.
    const { state } = await this.stored()
    return state !== undefined && state.nextId >= acknowledged
  }

  /** @throws {BaoError} STORE_CORRUPT when records may be lost. Then data without a record must not be deleted */
  async assertStateSound () {
    if (!await this.isStateSound()) throw damagedIndex()
  }

  /** Writes a new state. Called when the state was damaged, or when a check has seen all data without a record. */
  async rewriteState () {
    this.#isWhole = true
    await this.#write(false)
  }

  /** @param {boolean} isClean */
  async #write (isClean) {
    if (!this.#isWhole) return
    const state = { version: LAYOUT_VERSION, isClean, swept: this.#swept, nextId: this.#reserved }
    await this.#index.put(stateKey, encodeState(state), this.#syncOptions)
    this.#acknowledged = state.nextId
  }
}
