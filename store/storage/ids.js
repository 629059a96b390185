// Gives ids to blobs, and writes the state of the store, which tells the next opening which ids were given. No id is
// given twice: otherwise data that a crash has left under an id would become part of another blob.

import { DAMAGED, damagedIndex, orIfUnreadable } from './errors.js'
import { VIEWS, stateKey } from './format/keys.js'
import { LAYOUT_VERSION, decodeState, encodeState } from './format/records.js'

/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { SafeDatabase } from './level/safe-database.js' */
/** @import { State } from './format/records.js' */

/** How many ids one write of the state reserves, so that most ids cost no write. */
const ID_BLOCK = 1024

export class Ids {
  #index
  #syncOptions
  #swept = 0
  /** False when orphans could not be told from other data: the next opening tries to delete them again. */
  #isSwept = true
  /** False while the index may have lost records. A state on the disk says that it has not, so none is written then. */
  #isWhole = true
  #next = 0
  /** Ids below this one are reserved: the state that says so is on the disk, or is being written. */
  #reserved = 0
  /** The state on the disk reserves the ids below this one, or more. */
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
   * @param {number} from.next  the first id to be given
   * @param {number} from.swept  every id below has a record or no data
   * @param {boolean} from.isSwept  does every id below `next` have a record or no data?
   * @param {boolean} from.isWhole  is it certain that the index has lost no record?
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

  /** Notes that the store is closed and clean. Callers call this when no call that could leave data is under way. */
  async end () {
    this.#reserved = this.#next
    if (this.#isSwept) this.#swept = this.#next
    await this.#write(this.#isSwept)
  }

  /** The next id. No blob has had this id or a higher one. */
  get next () { return this.#next }

  /** Ids under which data may be written that has no record yet. @type {ReadonlySet<number>} */
  get underWay () { return this.#underWay }

  /** Gives an id that no blob has or had. It is under way until it is settled. */
  newId () { return this.newIds(1) }

  /** Gives several consecutive ids. @param {number} count @returns {Promise<number>} the first */
  async newIds (count) {
    const id = this.#next
    this.#next += count
    if (this.#next > this.#reserved) {
      this.#reserved = this.#next + ID_BLOCK
      this.#reserving = this.#write(false).catch(error => {
        this.#reserved = id // so that the next call tries again
        throw error
      })
    }
    for (let i = 0; i < count; i++) this.#underWay.add(id + i)
    try {
      await this.#reserving
    } catch (error) {
      this.settle(id, count)
      throw error
    }
    return id
  }

  /**
   * Ends the time in which ids are under way: they have records now, or no data is written under them.
   *
   * @param {number} id
   * @param {number} [count]  how many ids from this one on
   */
  settle (id, count = 1) { for (let i = 0; i < count; i++) this.#underWay.delete(id + i) }

  /** Makes an id count as under way until the store is closed. @param {number} id */
  hold (id) { this.#underWay.add(id) }

  /** Is the stored state undamaged, and is it certain that the index has lost no record? */
  async isStateSound () {
    if (!this.#isWhole) return false
    const acknowledged = this.#acknowledged // Writes that are acknowledged later may reach the disk after the read.
    const { state } = await this.stored()
    return state !== undefined && state.nextId >= acknowledged
  }

  /** @throws {BaoError} STORE_CORRUPT when records may be lost: then nothing may be deleted for want of a record */
  async assertStateSound () {
    if (!await this.isStateSound()) throw damagedIndex()
  }

  /** Writes a state again after it was damaged, or when all data without a record was looked at. */
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
