// Downloads the members of a sequence of hashes, in their order and many at a time.

import { fetchExhausted } from '../../../lib/core/errors.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { toCid } from '../../../lib/hash/cid.js'
import { BlobDownload } from '../blob/blob-download.js'
import { HeadReceiver } from '../blob/head-receiver.js'
import { LostMembers } from './lost-members.js'
import { MemberQueue } from './member-queue.js'
import { MemberStreams } from './member-streams.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { MirrorRecord } from '../../../verifier/mirrors/mirror-record.js' */
/** @import { Asked, FallBackOptions, Session, Task } from '../work.js' */
/** @import { MemberState, MembersState } from '../progress.js' */
/** @import { Member } from './member-queue.js' */

/** The maximum number of members that are asked for alone at the same time. */
const MAX_ACTIVE = 64

/**
 * @typedef {object} WholeMember
 * @property {number} index  its place in the sequence
 * @property {CID} cid
 * @property {number} size  bytes
 * @property {number} received  bytes that were missing before
 */
/** @typedef {Member & { blob: BlobDownload }} ActiveMember */

/** The work of downloading the members of a sequence: see `Work` in work.js. */
export class MemberDownloads {
  #session
  #sequence
  #heads
  /** The members whose download has not begun. @type {MemberQueue} */
  #queue
  /** The members that are asked for alone, by name, in their order. @type {Map<string, ActiveMember>} */
  #active = new Map()
  /** The members that arrive in streams. @type {MemberStreams} */
  #streams
  /** The members that no mirror has. */
  #lost = new LostMembers()
  #done = { members: 0, bytes: 0 }
  /** How many bytes of the members that are whole now were missing before. */
  received = 0

  /**
   * @param {Session} session
   * @param {{ root: Uint8Array, count: number, onMember?: (member: WholeMember) => void }} sequence  which the store
   *   has; `count`: the number of its members
   */
  constructor (session, sequence) {
    this.#session = session
    this.#sequence = sequence
    this.#heads = new HeadReceiver(session.store)
    this.#queue = new MemberQueue(session, sequence, {
      isTaken: name => this.#isUnderWay(name) || this.#lost.has(name),
      onWhole: (member, size) => this.#ended(member, size, 0)
    })
    this.#streams = new MemberStreams(session, this.#queue, {
      sequence: sequence.root,
      heads: this.#heads,
      onWhole: (member, size) => this.#ended(member, size, size)
    })
  }

  get isDone () { return !this.#hasMore && this.#lost.count === 0 }

  /** True while there are members that are neither whole nor lost. */
  get #hasMore () {
    const count = this.#queue.length + this.#streams.size + this.#active.size + this.#lost.waitingCount
    return !this.#queue.isAtEnd || count > 0
  }

  /** @param {string} name */
  #isUnderWay (name) { return this.#active.has(name) || this.#streams.has(name) }

  /** When a stream may be ended: see `Work` in work.js. */
  get wakeAt () { return this.#streams.endsAt }

  /** Removes members that are whole, and begins others. */
  async refill () {
    for (const member of this.#active.values()) {
      await member.blob.refill()
      if (!member.blob.isDone) continue
      this.#active.delete(member.name)
      this.#ended(member, member.blob.size ?? 0, (member.kept ?? 0) + member.blob.received)
    }
    await this.#streams.refill()
    while (this.#active.size < MAX_ACTIVE) {
      if (this.#streams.areEnough && !this.#queue.first?.isSingle) return
      const member = await this.#takeNext()
      if (member === undefined) return
      const { root } = member
      const blob = new BlobDownload(this.#session, { root, wanted: ChunkRanges.all, heads: this.#heads })
      await blob.refill()
      if (blob.isDone) this.#ended(member, blob.size ?? 0, (member.kept ?? 0) + blob.received)
      else this.#active.set(member.name, { ...member, blob })
    }
  }

  /**
   * Takes the next member that is neither lost nor under way. If a blob occurs twice in the sequence, its second
   * occurrence waits for the first.
   *
   * @returns {Promise<Member | undefined>}
   */
  async #takeNext () {
    while (true) {
      await this.#queue.readAhead(1)
      const { first } = this.#queue
      if (first === undefined || this.#isUnderWay(first.name)) return undefined
      this.#queue.shift()
      if (!this.#lost.has(first.name)) return first
      this.#lost.count++
    }
  }

  /** @param {MirrorRecord} record @param {Asked} asked @returns {Task | undefined} */
  nextTask (record, asked) {
    const stream = asked.isIdle ? this.#streams.nextTask(record, asked) : undefined
    if (stream !== undefined) return stream
    for (const mayRace of asked.isIdle ? [false, true] : [false]) {
      for (const { blob } of this.#active.values()) {
        const task = blob.nextTask(record, { ...asked, mayRace })
        if (task !== undefined) return task
      }
    }
    if (asked.isIdle) this.#streams.offerHelp(record)
    return undefined
  }

  /**
   * Gives up the members that no mirror has. They wait while more mirrors may be added.
   *
   * @param {FallBackOptions} options
   * @returns {boolean}
   * @throws {import('../../../lib/core/errors.js').BaoError} FETCH_MEMBERS_MISSING when all members have been tried;
   *   FETCH_EXHAUSTED when no mirror is left and some members have not been tried
   */
  fallBack ({ moreMirrorsMayCome }) {
    const { book } = this.#session
    const isHelpless = book.usable.length === 0
    if (isHelpless && moreMirrorsMayCome) return false
    if (isHelpless && (!this.#queue.isAtEnd || this.#queue.length > 0)) throw fetchExhausted(book.errors)
    const countBefore = this.#lost.waitingCount
    this.#queue.putBack(this.#lost.takeWaiting(book.records.length, moreMirrorsMayCome))
    this.#streams.endLongest()
    let hasChanged = this.#streams.hasEnded || this.#lost.waitingCount < countBefore
    for (const { blob, ...member } of this.#active.values()) {
      if (!blob.isHopeless) continue
      if (!this.#lost.add({ ...member, error: blob.makeExhaustedError() }, moreMirrorsMayCome)) continue
      this.#active.delete(member.name)
      hasChanged = true
    }
    if (!this.#hasMore && this.#lost.count > 0) throw this.#lost.makeError(this.#sequence)
    return hasChanged
  }

  /** Counts and reports a whole member. @param {Member} member @param {number} size @param {number} received */
  #ended ({ index, root }, size, received) {
    this.#done.members++
    this.#done.bytes += size
    this.received += received
    this.#sequence.onMember?.({ index, cid: toCid(root), size, received })
  }

  /** @returns {{ done: number, members: MembersState }} */
  get progress () {
    const single = Array.from(this.#active.values(), ({ index, root, blob }) =>
      ({ index, cid: toCid(root), ...blob.progress }))
    const current = /** @type {MemberState[]} */ ([...this.#streams.current, ...single])
    const done = current.reduce((sum, { done }) => sum + done, this.#done.bytes)
    return { done, members: { done: this.#done.members, total: this.#sequence.count, current } }
  }
}
