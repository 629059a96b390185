// The members of a sequence that no mirror has. They wait as long as more mirrors may be added. After that, they are
// lost, and the download ends with an error that names the first ones.

import { BaoError } from '../../../lib/core/errors.js'
import { HASHSEQ, toCid } from '../../../lib/hash/cid.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Member } from './member-queue.js' */

/** The maximum number of members that wait. */
const MAX_WAITING = 1000
/** The maximum number of members that the error names. */
const MAX_NAMED = 100

/** @typedef {Member & { error: BaoError }} LostMember */
/** @typedef {{ index: number, cid: CID, error: BaoError }} MissingMember  `error`: FETCH_EXHAUSTED */

export class LostMembers {
  #waiting = /** @type {LostMember[]} */ ([])
  /** The number of mirrors at the last call of `takeWaiting`. */
  #mirrorCount = 0
  #first = /** @type {LostMember[]} */ ([])
  #names = new Set()
  /** The number of lost members. */
  count = 0

  /** The number of waiting members. */
  get waitingCount () { return this.#waiting.length }

  /** True if the member of this name is lost, and the error will list it. @param {string} name */
  has (name) { return this.#names.has(name) }

  /**
   * Makes a member wait if more mirrors may be added. Otherwise counts it as lost.
   *
   * @param {LostMember} member @param {boolean} moreMirrorsMayCome
   * @returns {boolean} false when too many are waiting
   */
  add (member, moreMirrorsMayCome) {
    if (!moreMirrorsMayCome) this.#lose(member)
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(member)
    else return false
    return true
  }

  /**
   * Ends the wait of the members if mirrors were added since the last call. If none were, and no more will be, counts
   * the waiting members as lost.
   *
   * @param {number} mirrorCount @param {boolean} moreMirrorsMayCome
   * @returns {Member[]} the members to try again
   */
  takeWaiting (mirrorCount, moreMirrorsMayCome) {
    const hasMore = mirrorCount > this.#mirrorCount
    this.#mirrorCount = mirrorCount
    if (moreMirrorsMayCome && !hasMore) return []
    const waiting = this.#waiting.splice(0)
    if (hasMore) return waiting
    for (const member of waiting) this.#lose(member)
    return []
  }

  /** @param {LostMember} member */
  #lose (member) {
    this.count++
    if (this.#first.length === MAX_NAMED) return
    this.#first.push(member)
    this.#names.add(member.name)
  }

  /** @param {{ root: Uint8Array, count: number }} sequence */
  makeError (sequence) {
    const members = this.#first.sort((a, b) => a.index - b.index)
      .map(({ index, root, error }) => ({ index, cid: toCid(root), error }))
    const cid = toCid(sequence.root, HASHSEQ)
    const summary = `no mirror has ${this.count} of the ${sequence.count} members of ${cid}`
    const message = `${summary}: the first of them is member ${members[0].index}, ${members[0].cid}`
    return new BaoError('FETCH_MEMBERS_MISSING', message, { cid, members, cause: members[0].error })
  }
}
