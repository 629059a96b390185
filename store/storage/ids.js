// Which ids were given away, and the record that says so for the next opening: the state of the store. No id is ever given twice, since what
// a crash leaves under one would become part of another blob.

import { DAMAGED, readable } from './errors.js'
import { VIEWS, stateKey } from './format/keys.js'
import { LAYOUT_VERSION, decodeState, encodeState } from './format/records.js'

/** @import { Database } from './level/database.js' */
/** @import { State } from './format/records.js' */

/** Ids are promised to the disk in blocks of this many, so that giving one away costs nothing. */
const ID_BLOCK = 1024

export class Ids {
  #index
  #syncOptions
  #swept = 0
  /** False when leftovers could not be told from blobs: the next opening tries again. */
  #isSwept = true
  #next = 0
  /** Ids below may be given away: that is on the disk, or on its way there. */
  #promised = 0
  #promise = Promise.resolve()
  #underWay = /** @type {Set<number>} */ (new Set())

  /** @param {Database} index @param {object} syncOptions  what makes a write reach the disk before it counts as done */
  constructor (index, syncOptions) {
    this.#index = index
    this.#syncOptions = syncOptions
  }

  /** What the last life wrote. @returns {Promise<{ isThere: boolean, state?: State }>} without `state` when it is damaged */
  async stored () {
    const stored = await readable(this.#index.get(stateKey, VIEWS), DAMAGED)
    return { isThere: stored !== undefined, state: stored && decodeState(stored) }
  }

  /**
   * Of no use before.
   *
   * @param {{ next: number, swept: number, isSwept: boolean }} from  the first to be given away; ids below `swept` have records or no data; `isSwept`: so have all
   */
  async begin ({ next, swept, isSwept }) {
    this.#next = this.#promised = next
    this.#swept = isSwept ? next : swept
    this.#isSwept = isSwept
    await this.#write(false)
  }

  /** When nothing is under way that would leave something behind. */
  async end () {
    this.#promised = this.#next
    if (this.#isSwept) this.#swept = this.#next
    await this.#write(this.#isSwept)
  }

  /** Ids from here on were never given away. */
  get next () { return this.#next }

  /** Ids under which something may be written that no record speaks of yet. @type {ReadonlySet<number>} */
  get underWay () { return this.#underWay }

  /** An id that no blob has or had. It counts as under way until it is settled. */
  newId () { return this.newIds(1) }

  /** As many as that, one after the other. @param {number} count @returns {Promise<number>} the first */
  async newIds (count) {
    const id = this.#next
    this.#next += count
    if (this.#next > this.#promised) {
      this.#promised = this.#next + ID_BLOCK
      this.#promise = this.#write(false).catch(error => {
        this.#promised = id // the next one tries again
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

  /** Is the state as it was written? */
  async isStateSound () {
    await this.#promise.catch(() => {})
    const given = Math.min(this.#next, this.#promised)
    const { state } = await this.stored()
    return state !== undefined && state.nextId >= given
  }

  /** Writes the state anew, after it was damaged. */
  async mendState () { await this.#write(false) }

  /** @param {boolean} isClean */
  async #write (isClean) {
    const state = { version: LAYOUT_VERSION, isClean, swept: this.#swept, nextId: this.#promised }
    await this.#index.put(stateKey, encodeState(state), this.#syncOptions)
  }
}
