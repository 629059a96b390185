// The streams in which mirrors send members of a sequence: one from each mirror that can give many members for one
// request. Several mirrors share the members. If a stream is slow and another mirror is idle, the stream is ended, and
// its remaining members are shared again.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { Candidate } from '../../../verifier/mirrors/candidate.js'
import { MirrorRequest } from '../../../verifier/mirrors/mirror-request.js'
import { MemberStream } from './member-stream.js'

/** @import { MirrorRecord } from '../../../verifier/mirrors/mirror-record.js' */
/** @import { HeadReceiver } from '../blob/head-receiver.js' */
/** @import { Asked, Session, Task } from '../work.js' */
/** @import { Member, MemberQueue } from './member-queue.js' */

/** The maximum and, if enough members are waiting, the minimum number of members of a stream. */
const MAX_COUNT = 1000
const MIN_COUNT = 4
/** How many milliseconds a stream lasts at least before it may be ended to share its members with an idle mirror. */
const MIN_MS = 1000

/** @typedef {{ stream: MemberStream, request: MirrorRequest, names: Set<string> }} Running */

/**
 * @typedef {object} StreamOptions
 * @property {Uint8Array} sequence  its hash
 * @property {HeadReceiver} heads  keeps the small members
 * @property {(member: Member, size: number) => void} onWhole  called with each member when it is kept
 */

export class MemberStreams {
  #session
  #queue
  #options
  #running = /** @type {Map<MirrorRecord, Running>} */ (new Map())
  /** The mirrors that have sent a stream without a single right member. */
  #noStreams = new WeakSet()
  /** True if a useful mirror got no task when tasks were last given out. */
  #isHelpWaiting = false
  /** True if a stream has ended since the last `refill`. */
  hasEnded = false
  /** True if all useful mirrors can send streams. Then members are asked for alone only where streams have failed. */
  areEnough = false

  /**
   * @param {Session} session @param {MemberQueue} queue  has the members to be shared
   * @param {StreamOptions} options
   */
  constructor (session, queue, options) {
    this.#session = session
    this.#queue = queue
    this.#options = options
  }

  /** How many streams are under way. */
  get size () { return this.#running.size }

  /** True if the member of this name is in a stream. @param {string} name */
  has (name) { return [...this.#running.values()].some(({ names }) => names.has(name)) }

  /** @returns {import('../progress.js').MemberState[]} */
  get current () { return [...this.#running.values()].flatMap(({ stream }) => stream.current) }

  /** Finds out which mirrors can send streams, and fills the queue for them. */
  async refill () {
    this.hasEnded = this.#isHelpWaiting = false
    const { usable } = this.#session.book
    const isAny = usable.some(record => this.#canGive(record))
    this.areEnough = isAny && usable.every(record => this.#canGive(record) || !isUseful(record))
    if (isAny) await this.#queue.readAhead(MAX_COUNT)
  }

  /** True if a mirror offers streams, and has not sent one without a right member. @param {MirrorRecord} record */
  #canGive (record) { return record.mirror.members !== undefined && !this.#noStreams.has(record) }

  /**
   * Gives a mirror its share of the members to send.
   *
   * @param {MirrorRecord} record  the record of an idle mirror @param {Asked} asked
   * @returns {Task | undefined} undefined when no member is waiting for a stream, or the mirror cannot send streams
   */
  nextTask (record, { mirrorCount }) {
    if (!this.#canGive(record)) return undefined
    const share = mirrorCount === 1 ? MAX_COUNT : Math.ceil(this.#queue.length / (2 * mirrorCount))
    const members = this.#queue.takeForStream(Math.min(Math.max(share, MIN_COUNT), MAX_COUNT))
    if (members.length === 0) return undefined
    const { store, book, signal } = this.#session
    const request = new MirrorRequest(book, new Candidate(record), signal)
    const stream = new MemberStream(store, request, members, this.#options)
    this.#running.set(record, { stream, request, names: new Set(members.map(({ name }) => name)) })
    return { run: () => this.#run(record), isSmall: false }
  }

  /** @param {MirrorRecord} record */
  async #run (record) {
    const { stream, request } = /** @type {Running} */ (this.#running.get(record))
    const count = stream.left.length
    const failure = await stream.fetch()
    this.#running.delete(record)
    this.hasEnded = true
    if (stream.received > 0) request.gained(stream.received)
    if (this.#session.signal.aborted || stream.left.length === 0) return
    // The member at which the stream has ended will be asked for alone, so that all mirrors can help with it.
    const [first, ...others] = stream.left
    this.#queue.putBack([{ ...first, isSingle: true }, ...others])
    if (request.signal.aborted) return
    if (stream.left.length === count) this.#noStreams.add(record)
    if (failure !== undefined) request.failed(failure, ChunkRanges.all)
  }

  /** Notes that a mirror has nothing to do. @param {MirrorRecord} record */
  offerHelp (record) {
    if (isUseful(record)) this.#isHelpWaiting = true
  }

  /** The time, by the clock of the book, at which the next stream may be ended; Infinity if no mirror could help. */
  get endsAt () {
    return this.#isHelpWaiting ? Math.min(...this.#live.map(({ request }) => request.since + MIN_MS)) : Infinity
  }

  /** If another mirror is idle, ends the stream with the most remaining members, unless it has only just begun. */
  endLongest () {
    const now = this.#session.book.clock.now()
    const due = this.#live.filter(({ request }) => request.since + MIN_MS <= now)
    const [longest] = due.sort((a, b) => b.stream.left.length - a.stream.left.length)
    if (this.#isHelpWaiting) longest?.request.end('another mirror can help')
  }

  /** The streams whose requests were not ended. */
  get #live () { return [...this.#running.values()].filter(({ request }) => !request.signal.aborted) }
}

/** True unless the mirror has only failed so far. @param {MirrorRecord} record */
const isUseful = ({ error, rate }) => error === undefined || rate > 0
