// Downloads the members of a sequence of hashes, in their order and many at a time. Some of them wait in memory, and
// the others in the sequence, so memory does not grow with their number.

import { BaoError, fetchExhausted } from '../../../lib/core/errors.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { HASHSEQ, toCid } from '../../../lib/hash/cid.js'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { LOOKUP_COUNT } from '../../read/get-many.js'
import { nameOf } from '../../catalog/roots.js'
import { BlobDownload } from './blob-download.js'
import { HeadReceiver } from './head-receiver.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Health } from '../../../verifier/mirrors/health.js' */
/** @import { StoreContext } from '../store-context.js' */
/** @import { Asked, DownloadTerms, Task } from './downloader.js' */
/** @import { MemberState } from './progress.js' */

/** Members that are being downloaded, at most. */
const MAX_ACTIVE = 64
/** Members that wait for a mirror to be added because no other has them, at most. */
const MAX_PARKED = 1000
/** Members that an error names, at most. */
const MAX_NAMED = 100

/**
 * @typedef {object} WholeMember
 * @property {number} index  its place in the sequence
 * @property {CID} cid
 * @property {number} size  bytes
 * @property {number} received  bytes that were missing before
 */
/** @typedef {{ index: number, root: Uint8Array, name: string }} Member */
/** @typedef {Member & { blob: BlobDownload }} ActiveMember */
/** @typedef {Member & { error: BaoError }} LostMember */
/** @typedef {{ index: number, cid: CID, error: BaoError }} MissingMember  `error`: FETCH_EXHAUSTED */

/** The work of downloading the members of a sequence: see `Work` in downloader.js. */
export class MemberDownloads {
  #store
  #terms
  #signal
  #sequence
  #heads
  #coming
  #isAtEnd = false
  /** Read from the sequence, and not begun. @type {Member[]} */
  #next = []
  /** In their order, by name. @type {Map<string, ActiveMember>} */
  #active = new Map()
  /** Members that no mirror has, as long as others may come. @type {LostMember[]} */
  #parked = []
  /** How many mirrors there were when they were looked for. */
  #mirrorCount = 0
  #lost = { count: 0, first: /** @type {LostMember[]} */ ([]), names: new Set() }
  #done = { members: 0, bytes: 0 }
  /** Bytes that were missing before, of the members that are whole now. */
  received = 0

  /**
   * @param {StoreContext} store @param {DownloadTerms} terms @param {AbortSignal} signal  of the downloader
   * @param {{ root: Uint8Array, count: number, onMember?: (member: WholeMember) => void }} sequence  that the store
   *   has; `count`: of its members
   */
  constructor (store, terms, signal, sequence) {
    this.#store = store
    this.#terms = terms
    this.#signal = signal
    this.#sequence = sequence
    this.#heads = new HeadReceiver(store)
    this.#coming = membersOf(store, sequence, signal)
  }

  get isDone () {
    return this.#isAtEnd && this.#next.length + this.#active.size + this.#parked.length + this.#lost.count === 0
  }

  /** Ends members that are whole, and begins others. */
  async refill () {
    for (const member of this.#active.values()) {
      await member.blob.refill()
      if (!member.blob.isDone) continue
      this.#active.delete(member.name)
      this.#ended(member, member.blob.size ?? 0, member.blob.received)
    }
    while (this.#active.size < MAX_ACTIVE) {
      const member = await this.#following()
      if (member === undefined) return
      const blob = new BlobDownload(this.#store, this.#terms, this.#signal, {
        root: member.root, wanted: ChunkRanges.all, heads: this.#heads
      })
      await blob.refill()
      if (blob.isDone) this.#ended(member, blob.size ?? 0, blob.received)
      else this.#active.set(member.name, { ...member, blob })
    }
  }

  /**
   * The next member that the store lacks. A member may stand in a sequence twice: the second waits for the first.
   *
   * @returns {Promise<Member | undefined>}
   */
  async #following () {
    while (true) {
      if (this.#next.length === 0) {
        const { done, value } = await this.#coming.next()
        if (done) {
          this.#isAtEnd = true
          return undefined
        }
        const found = await this.#store.catalog.findMany(value.map(({ root }) => root))
        for (const [i, member] of value.entries()) {
          const { record } = found[i]
          // In their order: what is whole behind one that is not is told later, when its turn comes.
          if (record?.complete && this.#next.length === 0) this.#ended(member, record.size, 0)
          else this.#next.push(member)
        }
        continue
      }
      const [member] = this.#next
      if (this.#active.has(member.name)) return undefined
      this.#next.shift()
      if (!this.#lost.names.has(member.name)) return member
      this.#lost.count++
    }
  }

  /** @param {Health} health @param {Asked} asked @returns {Task | undefined} */
  take (health, asked) {
    for (const mayRace of asked.isIdle ? [false, true] : [false]) {
      for (const { blob } of this.#active.values()) {
        const task = blob.take(health, { ...asked, mayRace })
        if (task !== undefined) return task
      }
    }
    return undefined
  }

  /**
   * @param {Health[]} mirrors @param {boolean} isOpen
   * @returns {boolean}
   * @throws {BaoError} FETCH_MEMBERS_MISSING when all members have been tried; FETCH_EXHAUSTED when no mirror is left
   *   for those that have not
   */
  giveUp (mirrors, isOpen) {
    const usable = mirrors.filter(({ isUsable }) => isUsable)
    if (usable.length === 0 && isOpen) return false
    if (usable.length === 0 && (!this.#isAtEnd || this.#next.length > 0)) {
      throw fetchExhausted(mirrors.flatMap(({ error }) => error ?? []))
    }
    let hasChanged = this.#lookAgain(mirrors.length, isOpen)
    for (const { blob, ...member } of this.#active.values()) {
      if (!blob.isHopeless(mirrors)) continue
      const lost = { ...member, error: blob.exhausted(mirrors) }
      if (!isOpen) this.#lose(lost)
      else if (this.#parked.length < MAX_PARKED) this.#parked.push(lost)
      else continue
      this.#active.delete(member.name)
      hasChanged = true
    }
    if (this.#isAtEnd && this.#next.length + this.#active.size + this.#parked.length === 0 && this.#lost.count > 0) {
      throw this.#missingMembers()
    }
    return hasChanged
  }

  /**
   * Tries parked members again when there are more mirrors, and loses them when no more will come.
   *
   * @param {number} mirrorCount @param {boolean} isOpen
   * @returns {boolean}
   */
  #lookAgain (mirrorCount, isOpen) {
    const hasMore = mirrorCount > this.#mirrorCount
    this.#mirrorCount = mirrorCount
    if (this.#parked.length === 0 || (!hasMore && isOpen)) return false
    const parked = this.#parked.splice(0)
    if (hasMore) this.#next.unshift(...parked)
    else for (const member of parked) this.#lose(member)
    return true
  }

  /** @param {LostMember} member */
  #lose (member) {
    this.#lost.count++
    if (this.#lost.first.length === MAX_NAMED) return
    this.#lost.first.push(member)
    this.#lost.names.add(member.name)
  }

  #missingMembers () {
    const { count, first } = this.#lost
    const members = first.sort((a, b) => a.index - b.index)
      .map(({ index, root, error }) => ({ index, cid: toCid(root), error }))
    const cid = toCid(this.#sequence.root, HASHSEQ)
    const what = `${count} of ${this.#sequence.count} members of ${cid} could be had from no mirror`
    const message = `${what}: the first is member ${members[0].index}, ${members[0].cid}`
    return new BaoError('FETCH_MEMBERS_MISSING', message, { cid, members, cause: members[0].error })
  }

  /** A member is whole. @param {Member} member @param {number} size @param {number} received */
  #ended ({ index, root }, size, received) {
    this.#done.members++
    this.#done.bytes += size
    this.received += received
    this.#sequence.onMember?.({ index, cid: toCid(root), size, received })
  }

  /** @returns {{ done: number, members: import('./progress.js').MembersState }} */
  get progress () {
    /** @type {MemberState[]} */
    const current = [...this.#active.values()].map(({ index, root, blob }) => ({
      index, cid: toCid(root), ...blob.progress
    }))
    const done = current.reduce((sum, { done }) => sum + done, this.#done.bytes)
    return { done, members: { done: this.#done.members, total: this.#sequence.count, current } }
  }
}

/**
 * @param {StoreContext} store @param {{ root: Uint8Array, count: number }} sequence @param {AbortSignal} signal
 * @returns {AsyncGenerator<Member[]>} in batches
 */
async function * membersOf ({ reader }, { root, count }, signal) {
  for (let first = 0; first < count; first += LOOKUP_COUNT) {
    const end = Math.min(first + LOOKUP_COUNT, count)
    const hashes = await reader.bytes(root, { start: first * HASH_LEN, end: end * HASH_LEN }, { signal })
    yield Array.from({ length: end - first }, (_, i) => {
      const member = hashes.slice(i * HASH_LEN, (i + 1) * HASH_LEN)
      return { index: first + i, root: member, name: nameOf(member) }
    })
  }
}
