// The next members of a sequence. Only some of them wait in memory, and the others are read from the sequence later, so
// memory does not grow with the length of the sequence.

import { HASH_LEN } from '../../../lib/core/constants.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { LOOKUP_COUNT } from '../../../store/interface.js'

/** @import { Store } from '../../../store/interface.js' */
/** @import { Session } from '../work.js' */

/**
 * @typedef {object} Member
 * @property {number} index @property {Uint8Array} root @property {string} name
 * @property {boolean} [isSingle]  true if the member must be asked for alone. Default: false
 * @property {number} [kept]  how many bytes of it a stream has brought that ended within it. Default: 0
 */

export class MemberQueue {
  #store
  #coming
  #isTaken
  #onWhole
  #members = /** @type {Member[]} */ ([])
  /** True when the whole sequence has been read. */
  isAtEnd = false

  /**
   * @param {Session} session
   * @param {{ root: Uint8Array, count: number }} sequence  which the store has; `count`: the number of its members
   * @param {object} options
   * @param {(name: string) => boolean} options.isTaken  returns true if a member of this name is under way, or lost
   * @param {(member: Member, size: number) => void} options.onWhole  called with each member that the store has whole
   */
  constructor ({ store, signal }, sequence, { isTaken, onWhole }) {
    this.#store = store
    this.#coming = membersOf(store, sequence, signal)
    this.#isTaken = isTaken
    this.#onWhole = onWhole
  }

  /** The number of members that are waiting in memory. */
  get length () { return this.#members.length }

  /** @returns {Member | undefined} */
  get first () { return this.#members[0] }

  /** Reads from the sequence until this many members are waiting, or the sequence has ended. @param {number} count */
  async readAhead (count) {
    while (this.#members.length < count && !this.isAtEnd) {
      const { done, value } = await this.#coming.next()
      if (done) this.isAtEnd = true
      else await this.#add(value)
    }
  }

  /** @param {Member[]} members */
  async #add (members) {
    const stats = await this.#store.statMany(members.map(({ root }) => root))
    const waiting = new Set(this.#members.map(({ name }) => name))
    for (const [i, member] of members.entries()) {
      const stat = stats[i]
      // Once a member that is not whole waits in the queue, later members wait there even if they are whole, to keep
      // the order.
      if (stat?.complete && this.#members.length === 0) {
        this.#onWhole(member, stat.size)
        continue
      }
      const isSingle = stat !== undefined || waiting.has(member.name) || this.#isTaken(member.name)
      this.#members.push({ ...member, isSingle })
      waiting.add(member.name)
    }
  }

  /** Takes the first member. */
  shift () { return this.#members.shift() }

  /** Takes members for one stream. @param {number} count  at most */
  takeForStream (count) {
    const taken = this.#members.filter(({ isSingle }) => !isSingle).slice(0, count)
    const set = new Set(taken)
    this.#members = this.#members.filter(member => !set.has(member))
    return taken
  }

  /** Puts members back in their order. @param {Member[]} members */
  putBack (members) { this.#members = [...members, ...this.#members].sort((a, b) => a.index - b.index) }
}

/**
 * @param {Store} store @param {{ root: Uint8Array, count: number }} sequence @param {AbortSignal} signal
 * @returns {AsyncGenerator<Member[]>} in batches
 */
async function * membersOf (store, { root, count }, signal) {
  for (let first = 0; first < count; first += LOOKUP_COUNT) {
    const end = Math.min(first + LOOKUP_COUNT, count)
    const hashes = await store.bytes(root, { start: first * HASH_LEN, end: end * HASH_LEN }, { signal })
    yield Array.from({ length: end - first }, (_, i) => {
      const member = hashes.slice(i * HASH_LEN, (i + 1) * HASH_LEN)
      return { index: first + i, root: member, name: nameOf(member) }
    })
  }
}
