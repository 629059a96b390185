// Downloads the members of a sequence of hashes, in their order and many at a time. Some of them wait in memory, and
// the others in the sequence, so memory does not grow with their number.

import { BaoError, fetchExhausted } from '../../../lib/core/errors.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { HASHSEQ, toCid } from '../../../lib/hash/cid.js'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { LOOKUP_COUNT } from '../../read/get-many.js'
import { nameOf } from '../../catalog/roots.js'
import { Supply } from '../../../verifier/mirrors/supply.js'
import { BlobDownload } from './blob/blob-download.js'
import { HeadReceiver } from './blob/head-receiver.js'
import { MemberRun, RUN_COUNT } from './member-run.js'
import { MirrorRequest } from './mirror-request.js'

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
/**
 * @typedef {object} Member
 * @property {number} index @property {Uint8Array} root @property {string} name
 * @property {boolean} [isSingle]  is it to be asked for alone? Default: false
 */
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
  /** Members that come in one stream, and their names. @type {{ run: MemberRun, names: Set<string> } | undefined} */
  #run
  /** Has a stream ended since members were begun last? */
  #runHasEnded = false
  /** Mirrors whose stream has brought nothing. They are asked for one member at a time. @type {WeakSet<Health>} */
  #noRuns = new WeakSet()
  /** The mirror that is asked for streams. @type {Health | undefined} */
  #streaming
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
    const left = this.#next.length + this.#active.size + this.#parked.length + this.#lost.count
    return this.#isAtEnd && left === 0 && this.#run === undefined
  }

  /** Ends members that are whole, and begins others. @param {Health[]} mirrors */
  async refill (mirrors) {
    for (const member of this.#active.values()) {
      await member.blob.refill()
      if (!member.blob.isDone) continue
      this.#active.delete(member.name)
      this.#ended(member, member.blob.size ?? 0, member.blob.received)
    }
    this.#runHasEnded = false
    this.#streaming = this.#onlyStream(mirrors)
    if (this.#streaming !== undefined) await this.#readAhead(RUN_COUNT)
    while (this.#active.size < MAX_ACTIVE && (this.#streaming === undefined || this.#next[0]?.isSingle)) {
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
   * The mirror, if there is one only, and it can give many members in one stream. Several share the members better when
   * they are asked for single ones.
   *
   * @param {Health[]} mirrors
   */
  #onlyStream (mirrors) {
    const [only, ...others] = mirrors.filter(({ isUsable }) => isUsable)
    const isIt = only?.mirror.members !== undefined && others.length === 0 && !this.#noRuns.has(only)
    return isIt ? only : undefined
  }

  /** Reads from the sequence until so many members wait, or it has ended. @param {number} count */
  async #readAhead (count) {
    while (this.#next.length < count && !this.#isAtEnd) {
      const { done, value } = await this.#coming.next()
      if (done) this.#isAtEnd = true
      else await this.#addNext(value)
    }
  }

  /** @param {Member[]} members */
  async #addNext (members) {
    const found = await this.#store.catalog.findMany(members.map(({ root }) => root))
    const before = new Set([...this.#next.map(({ name }) => name), ...this.#run?.names ?? [], ...this.#active.keys()])
    for (const [i, member] of members.entries()) {
      const { record } = found[i]
      // In their order: what is whole behind one that is not is told later, when its turn comes.
      if (record?.complete && this.#next.length === 0) {
        this.#ended(member, record.size, 0)
        continue
      }
      const isSingle = record !== undefined || before.has(member.name) || this.#lost.names.has(member.name)
      this.#next.push({ ...member, isSingle })
      before.add(member.name)
    }
  }

  /**
   * The next member that the store lacks. A member may stand in a sequence twice: the second waits for the first.
   *
   * @returns {Promise<Member | undefined>}
   */
  async #following () {
    while (true) {
      await this.#readAhead(1)
      const [member] = this.#next
      if (member === undefined || this.#active.has(member.name) || this.#run?.names.has(member.name)) return undefined
      this.#next.shift()
      if (!this.#lost.names.has(member.name)) return member
      this.#lost.count++
    }
  }

  /** @param {Health} health @param {Asked} asked @returns {Task | undefined} */
  take (health, asked) {
    if (health === this.#streaming && asked.isIdle && this.#run === undefined) {
      const members = this.#next.filter(({ isSingle }) => !isSingle).slice(0, RUN_COUNT)
      if (members.length > 0) return { run: this.#beginRun(health, members), isSmall: false }
    }
    for (const mayRace of asked.isIdle ? [false, true] : [false]) {
      for (const { blob } of this.#active.values()) {
        const task = blob.take(health, { ...asked, mayRace })
        if (task !== undefined) return task
      }
    }
    return undefined
  }

  /**
   * Has a mirror send members in one stream. When that ends early, the one at which it has ended is asked for alone.
   *
   * @param {Health} health @param {Member[]} members
   * @returns {Task['run']}
   */
  #beginRun (health, members) {
    const taken = new Set(members)
    this.#next = this.#next.filter(member => !taken.has(member))
    const names = new Set(members.map(({ name }) => name))
    const { root: sequence } = this.#sequence
    const onWhole = (/** @type {Member} */ member, /** @type {number} */ size) => this.#ended(member, size, size)
    const request = new MirrorRequest(this.#terms, this.#signal, new Supply(health))
    const run = new MemberRun(this.#store, this.#heads, request, { sequence, members, onWhole })
    this.#run = { run, names }
    return async () => {
      const failure = await run.fetch()
      this.#run = undefined
      this.#runHasEnded = true
      if (run.received > 0) request.gained(run.received)
      if (request.signal.aborted || run.left.length === 0) return
      const [first, ...others] = run.left
      if (run.left.length === names.size) this.#noRuns.add(health)
      this.#next.unshift({ ...first, isSingle: true }, ...others)
      if (failure !== undefined) request.failed(failure, ChunkRanges.all)
    }
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
    let hasChanged = this.#lookAgain(mirrors.length, isOpen) || this.#runHasEnded
    for (const { blob, ...member } of this.#active.values()) {
      if (!blob.isHopeless(mirrors)) continue
      const lost = { ...member, error: blob.makeExhaustedError(mirrors) }
      if (!isOpen) this.#lose(lost)
      else if (this.#parked.length < MAX_PARKED) this.#parked.push(lost)
      else continue
      this.#active.delete(member.name)
      hasChanged = true
    }
    const left = this.#next.length + this.#active.size + this.#parked.length
    if (this.#isAtEnd && left === 0 && this.#run === undefined && this.#lost.count > 0) {
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
    const what = `no mirror has ${count} of the ${this.#sequence.count} members of ${cid}`
    const message = `${what}: the first of them is member ${members[0].index}, ${members[0].cid}`
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
    const current = [...this.#run?.run.current ?? [], ...Array.from(this.#active.values(), ({ index, root, blob }) => ({
      index, cid: toCid(root), ...blob.progress
    }))]
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
