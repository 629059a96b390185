// Downloads a blob from many mirrors at once. Every mirror fetches one segment at a time. What it sends is verified and
// stored as by `receive`, so a mirror that fails or lies costs nothing but its time, and a download can be resumed.

import { BaoError, fetchExhausted } from '../../../lib/core/errors.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { Health } from '../../../verifier/mirrors/health.js'
import { SliceVerifier } from '../../../verifier/slice/slice.js'
import { mirrorOf } from '../../../verifier/mirrors/mirror.js'
import { rangesLen } from '../../catalog/presence.js'
import { toCid } from '../../../lib/hash/cid.js'
import { abortable, untilAborted } from '../../../lib/source/async-util.js'
import { verifyPieces } from '../../../verifier/slice/pieces.js'
import { withPatience } from '../../../verifier/mirrors/patience.js'
import { Plan } from './plan.js'
import { DownloadProgress } from './progress.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Clock } from '../../../verifier/mirrors/patience.js' */
/** @import { MirrorLike } from '../../../verifier/mirrors/mirror.js' */
/** @import { MirrorReport } from '../../../verifier/mirrors/health.js' */
/** @import { StoreContext } from '../store-context.js' */
/** @import { DownloadEvent } from './progress.js' */
/** @import { Fetching, Segment } from './plan.js' */

/** More than any mirror has. */
const MAX_RATE = Number.MAX_VALUE

/**
 * @typedef {object} DownloadTerms
 * @property {Uint8Array} root
 * @property {ChunkRanges} wanted
 * @property {Iterable<MirrorLike> | AsyncIterable<MirrorLike>} from
 * @property {number} parallel @property {number} retries @property {number} stall
 * @property {AbortSignal} signal
 * @property {(event: DownloadEvent) => void} [onProgress]
 * @property {Clock} clock
 */

/**
 * @typedef {object} DownloadResult
 * @property {CID} cid
 * @property {number} size  bytes of the blob, proven
 * @property {number} received  bytes that were missing before
 * @property {boolean} complete  has the store the whole blob now?
 * @property {MirrorReport[]} mirrors  what each has brought, and the last error of each
 */

export class Downloader {
  #store
  #terms
  #ended = new AbortController()
  #signal
  /** @type {Health[]} */
  #mirrors = []
  /** May `from` give more mirrors? */
  #isOpen = true
  /** What each busy mirror does. @type {Map<Health, Promise<void>>} */
  #busy = new Map()
  /** Proven. @type {number | undefined} */
  #size
  /** Ends the proofs of the size, when one of them has been right. */
  #sizing = new AbortController()
  /** Made when the size is known. @type {Plan | undefined} */
  #plan
  #received = 0
  #progress
  /** What has ended the download, if it has failed. @type {{ error: unknown } | undefined} */
  #failure
  #wake = () => {}

  /** @param {StoreContext} store @param {DownloadTerms} terms */
  constructor (store, terms) {
    this.#store = store
    this.#terms = terms
    this.#signal = AbortSignal.any([terms.signal, this.#ended.signal])
    this.#progress = new DownloadProgress(terms)
  }

  /** @returns {Promise<DownloadResult>} */
  async run () {
    const { root } = this.#terms
    const record = await this.#store.catalog.get(root)
    if (record?.sizeProven) await this.#begin(record.size)
    const adding = this.#addMirrors()
    try {
      while (!this.#plan?.isDone) {
        const woken = new Promise(resolve => { this.#wake = () => resolve(undefined) })
        this.#startFetching()
        await this.#wait(woken)
        if (this.#failure !== undefined) throw this.#failure.error
      }
    } finally {
      this.#ended.abort(new DOMException('the download has ended', 'AbortError'))
      await Promise.allSettled(this.#busy.values())
      await adding
    }
    const size = /** @type {number} */ (this.#size)
    const { complete = false } = await this.#store.catalog.get(root) ?? {}
    this.#progress.report(this.#state, { isDue: true })
    const mirrors = this.#mirrors.map(({ report }) => report)
    return { cid: toCid(root), size, received: this.#received, complete, mirrors }
  }

  /** Adds mirrors as they come. */
  async #addMirrors () {
    try {
      for await (const from of abortable(this.#terms.from, this.#ended.signal)) {
        this.#mirrors.push(new Health(mirrorOf(from)))
        this.#wake()
      }
    } catch (error) {
      this.#failure ??= { error }
    }
    this.#isOpen = false
    this.#wake()
  }

  /** Gives work to idle mirrors: to those first of which least is known, then to the quickest. */
  #startFetching () {
    const { clock, parallel } = this.#terms
    if (this.#plan === undefined && this.#size !== undefined) return // it is being planned
    const now = clock.now()
    const usable = this.#mirrors.filter(({ isUsable }) => isUsable)
    const idle = usable.filter(health => !this.#busy.has(health) && health.retryAt <= now)
    idle.sort((a, b) => (b.rate || MAX_RATE) - (a.rate || MAX_RATE))
    for (const health of idle) {
      if (this.#busy.size >= parallel) return
      if (this.#plan === undefined && health.lacksLast) continue
      const segment = this.#plan?.take(health, { now, mirrors: Math.min(usable.length, parallel) })
      if (this.#plan !== undefined && segment === undefined) continue
      const work = segment === undefined ? this.#proveSize(health) : this.#fetch(health, segment)
      const ended = work.catch(error => { this.#failure ??= { error } }).finally(() => {
        this.#busy.delete(health)
        this.#wake()
      })
      this.#busy.set(health, ended)
    }
  }

  /**
   * Waits until a mirror has ended its work, may be asked again, or is added.
   *
   * @param {Promise<unknown>} woken
   * @throws {BaoError} FETCH_EXHAUSTED when none of that can happen
   */
  async #wait (woken) {
    const { clock } = this.#terms
    const now = clock.now()
    const usable = this.#mirrors.filter(health => health.isUsable && !this.#busy.has(health))
    const times = usable.map(({ retryAt }) => retryAt).filter(time => time > now)
    if (this.#busy.size === 0 && times.length === 0 && !this.#isOpen && this.#failure === undefined) {
      throw fetchExhausted(this.#mirrors.flatMap(({ error }) => error ?? []))
    }
    const waiting = new AbortController()
    const timer = times.length === 0
      ? woken
      : clock.sleep(Math.min(...times) - now, waiting.signal).catch(() => {})
    try {
      await untilAborted(Promise.race([woken, timer]), this.#signal)
    } finally {
      waiting.abort()
    }
  }

  /**
   * Has a mirror prove the size. Until then nothing is planned, because any size may be a lie. All idle mirrors are
   * asked, and the first one that proves it is enough.
   *
   * @param {Health} health
   */
  async #proveSize (health) {
    const { root } = this.#terms
    const ranges = ChunkRanges.last
    const verifier = new SliceVerifier({ root, ranges })
    const signal = AbortSignal.any([this.#signal, this.#sizing.signal])
    try {
      const leaves = verifyPieces(verifier, this.#pieces(health, ranges, signal, { len: 0 }))
      while (!(await leaves.next()).done);
    } catch (error) {
      if (!signal.aborted) this.#note(health, error, ranges)
      return
    }
    health.progressed()
    if (this.#size === undefined) await this.#begin(/** @type {number} */ (verifier.size))
  }

  /** Plans the download of a blob of proven size. @param {number} size */
  async #begin (size) {
    this.#size = size
    this.#sizing.abort(new DOMException('the size is known', 'AbortError'))
    const wanted = groupsOf(this.#terms.wanted, size)
    const missing = await this.#missing(wanted)
    this.#received = rangesLen(missing, size)
    this.#plan = new Plan(missing)
    this.#progress.report(this.#state)
  }

  /**
   * Has a mirror fetch a segment, and keeps what is right of it.
   *
   * @param {Health} health @param {Segment} segment
   */
  async #fetch (health, segment) {
    const { root, clock } = this.#terms
    const { receiver } = this.#store
    const size = /** @type {number} */ (this.#size)
    const fetching = { health, since: clock.now(), len: 0, ended: new AbortController(), error: undefined }
    segment.fetchings.add(fetching)
    const signal = AbortSignal.any([this.#signal, fetching.ended.signal])
    const missing = await this.#missing(segment.ranges)
    let failure
    try {
      if (!missing.isEmpty) {
        await receiver.receive(root, this.#pieces(health, missing, signal, fetching), missing, { signal })
      }
    } catch (error) {
      failure = error
    }
    segment.fetchings.delete(fetching)
    const left = await this.#missing(segment.ranges)
    const gained = rangesLen(missing, size) - rangesLen(missing.intersect(left), size)
    if (gained > 0) health.gained(gained, clock.now() - fetching.since)
    if (!signal.aborted) {
      if (failure !== undefined && !isOfMirror(failure, fetching)) throw failure
      if (failure !== undefined) this.#note(health, failure, missing)
      else if (gained === 0 && !left.isEmpty) this.#note(health, new Error('nothing of its slice was kept'), missing)
    }
    this.#end(segment, left)
  }

  /**
   * A mirror does not fetch a segment any more. When it is whole, the others that raced for it are ended.
   *
   * @param {Segment} segment @param {ChunkRanges} left  what is missing of it
   */
  #end (segment, left) {
    if (!this.#plan?.segments.has(segment)) return
    if (left.isEmpty) for (const { ended } of segment.fetchings) ended.abort(new DOMException('too late', 'AbortError'))
    if (left.isEmpty || segment.fetchings.size === 0) this.#plan.end(segment, left)
  }

  /**
   * The slice of a mirror, unverified. Counts its bytes, and tells its errors from those of the store.
   *
   * @param {Health} health @param {ChunkRanges} ranges @param {AbortSignal} signal
   * @param {{ len: number, error?: unknown }} fetching
   */
  async * #pieces ({ mirror }, ranges, signal, fetching) {
    const { root, stall, clock } = this.#terms
    const what = { root, ranges, groupLog: DEFAULT_GROUP_LOG, size: this.#size }
    const open = (/** @type {AbortSignal} */ signal) => mirror.pieces(what, signal)
    try {
      for await (const piece of withPatience(open, { location: mirror.location, stall, clock, signal })) {
        yield piece
        fetching.len += piece.length
        this.#progress.report(this.#state)
      }
    } catch (error) {
      fetching.error = error
      throw error
    }
  }

  /** @param {Health} health @param {unknown} error @param {ChunkRanges} ranges */
  #note (health, error, ranges) {
    const { retries, clock } = this.#terms
    health.failed(error, ranges, { retries, now: clock.now() })
    this.#progress.report(this.#state, { isDue: true })
  }

  /** What is missing of some groups. @param {ChunkRanges} groups */
  async #missing (groups) {
    const { catalog, presence } = this.#store
    const record = await catalog.get(this.#terms.root)
    return record === undefined ? groups : groups.difference(await presence.of(record))
  }

  #state = () => {
    const mirrors = this.#mirrors.map(({ report }) => report)
    const [plan, size] = [this.#plan, this.#size]
    if (plan === undefined || size === undefined) return { done: 0, mirrors }
    const total = rangesLen(groupsOf(this.#terms.wanted, size), size)
    let left = rangesLen(plan.free, size)
    for (const { ranges, fetchings } of plan.segments) {
      const come = Math.max(0, ...[...fetchings].map(({ len }) => len))
      left += Math.max(0, rangesLen(ranges, size) - come)
    }
    return { done: total - left, total, mirrors }
  }
}

/** The groups of a blob that some ranges are in. @param {ChunkRanges} ranges @param {number} size */
const groupsOf = (ranges, size) =>
  ranges.canonical(size).roundToGroups(DEFAULT_GROUP_LOG).intersect(ChunkRanges.all.canonical(size))

/**
 * Is a failure that of a mirror, and not of the store that keeps what it sends?
 *
 * @param {unknown} failure @param {{ error?: unknown }} fetching
 */
function isOfMirror (failure, { error }) {
  return failure === error || (failure instanceof BaoError && failure.code.startsWith('BAO_'))
}
