// The streams in which mirrors send members of a sequence: one from each mirror that can give many members by one
// request. Several mirrors share the members. A stream that is slow does not keep the others waiting: it is ended, and
// what is left of it is shared again.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { Supply } from '../../../verifier/mirrors/supply.js'
import { MirrorRequest } from '../mirror-request.js'
import { MemberStream } from './member-stream.js'

/** @import { Health } from '../../../verifier/mirrors/health.js' */
/** @import { StoreContext } from '../../../store/store-context.js' */
/** @import { HeadReceiver } from '../blob/head-receiver.js' */
/** @import { Asked, DownloadTerms, Task } from '../downloader.js' */
/** @import { Member, MemberQueue } from './member-queue.js' */

/** Members of a stream, at most, and at least where there are so many. */
const MAX_COUNT = 1000
const MIN_COUNT = 4
/** Milliseconds that a stream lasts, at least, before it is ended for the sake of a mirror that is idle. */
const MIN_MS = 1000

/** @typedef {{ stream: MemberStream, request: MirrorRequest, names: Set<string> }} Running */

export class MemberStreams {
  #store
  #terms
  #signal
  #queue
  #what
  #running = /** @type {Map<Health, Running>} */ (new Map())
  /** Mirrors whose stream has brought nothing. They are asked for one member at a time. @type {WeakSet<Health>} */
  #noStreams = new WeakSet()
  /** Was there a mirror that had nothing to do, when tasks were taken last? */
  #isHelpWaiting = false
  /** Has a stream ended since members were begun last? */
  hasEnded = false
  /** Can all useful mirrors send streams? Then members are asked for alone only where streams have failed. */
  areEnough = false

  /**
   * @param {StoreContext} store @param {DownloadTerms} terms @param {AbortSignal} signal  of the downloader
   * @param {object} what
   * @param {Uint8Array} what.sequence  its hash
   * @param {MemberQueue} what.queue  of the members to be shared
   * @param {HeadReceiver} what.heads  keeps the small ones
   * @param {(member: Member, size: number) => void} what.onWhole  gets each member when it is kept
   */
  constructor (store, terms, signal, { queue, ...what }) {
    this.#store = store
    this.#terms = terms
    this.#signal = signal
    this.#queue = queue
    this.#what = what
  }

  /** How many streams. */
  get size () { return this.#running.size }

  /** Does a stream bring the member of this name? @param {string} name */
  has (name) { return [...this.#running.values()].some(({ names }) => names.has(name)) }

  /** @returns {import('../progress.js').MemberState[]} */
  get current () { return [...this.#running.values()].flatMap(({ stream }) => stream.current) }

  /** Looks at mirrors and the queue before tasks are taken. @param {Health[]} mirrors */
  async refill (mirrors) {
    this.hasEnded = this.#isHelpWaiting = false
    const usable = mirrors.filter(({ isUsable }) => isUsable)
    const isAny = usable.some(health => this.#canGive(health))
    this.areEnough = isAny && usable.every(health => this.#canGive(health) || !isUseful(health))
    if (isAny) await this.#queue.readAhead(MAX_COUNT)
  }

  /** Can a mirror send many members in one stream, as far as is known? @param {Health} health */
  #canGive (health) { return health.mirror.members !== undefined && !this.#noStreams.has(health) }

  /**
   * Has a mirror send its share of the members.
   *
   * @param {Health} health  that is idle @param {Asked} asked
   * @returns {Task | undefined} undefined when no member waits for a stream, or the mirror can give none
   */
  take (health, { mirrorCount }) {
    if (!this.#canGive(health)) return undefined
    const share = mirrorCount === 1 ? MAX_COUNT : Math.ceil(this.#queue.length / (2 * mirrorCount))
    const members = this.#queue.takeForStream(Math.min(Math.max(share, MIN_COUNT), MAX_COUNT))
    if (members.length === 0) return undefined
    const request = new MirrorRequest(this.#terms, this.#signal, new Supply(health))
    const stream = new MemberStream(this.#store, request, { ...this.#what, members })
    this.#running.set(health, { stream, request, names: new Set(members.map(({ name }) => name)) })
    return { run: () => this.#run(health), isSmall: false }
  }

  /** @param {Health} health */
  async #run (health) {
    const { stream, request } = /** @type {Running} */ (this.#running.get(health))
    const count = stream.left.length
    const failure = await stream.fetch()
    this.#running.delete(health)
    this.hasEnded = true
    if (stream.received > 0) request.gained(stream.received)
    if (this.#signal.aborted || stream.left.length === 0) return
    // The member at which the stream has ended is asked for alone: all mirrors can help with it.
    const [first, ...others] = stream.left
    this.#queue.putBack([{ ...first, isSingle: true }, ...others])
    if (request.signal.aborted) return
    if (stream.left.length === count) this.#noStreams.add(health)
    if (failure !== undefined) request.failed(failure, ChunkRanges.all)
  }

  /** A mirror has nothing to do. @param {Health} health */
  offerHelp (health) {
    if (isUseful(health)) this.#isHelpWaiting = true
  }

  /** When the next stream may be ended, by the clock of the download; Infinity when no mirror could help. */
  get endsAt () {
    return this.#isHelpWaiting ? Math.min(...this.#wanted.map(({ request }) => request.since + MIN_MS)) : Infinity
  }

  /** Ends the stream that has most to bring, if it is due and another mirror is idle. @param {number} now */
  endLongest (now) {
    const due = this.#wanted.filter(({ request }) => request.since + MIN_MS <= now)
    const [longest] = due.sort((a, b) => b.stream.left.length - a.stream.left.length)
    if (this.#isHelpWaiting) longest?.request.end('another mirror can help')
  }

  /** The streams that were not ended. */
  get #wanted () { return [...this.#running.values()].filter(({ request }) => !request.signal.aborted) }
}

/** Is a mirror useful? Not when it has only failed so far. @param {Health} health */
const isUseful = ({ error, rate }) => error === undefined || rate > 0
