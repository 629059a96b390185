// Makes mirrors fetch the segments of a plan, and keeps the parts that verify. So if a mirror fails or lies, only the
// time of its requests is lost.

import { rangesLen, ChunkRanges } from '../../../lib/tree/ranges.js'
import { Plan } from './plan.js'

/** @import { Candidate } from '../../../verifier/mirrors/candidate.js' */
/** @import { MirrorRequest } from '../../../verifier/mirrors/mirror-request.js' */
/** @import { AskedForBlob, Task } from '../work.js' */
/** @import { HeadReceiver } from './head-receiver.js' */
/** @import { Segment } from './plan.js' */
/** @import { WantedBlob } from './wanted-blob.js' */

/**
 * @typedef {object} Received
 * @property {number} kept  bytes that were missing before
 * @property {number} [sizeIfWhole]  the size of the blob, if the head was the whole blob
 * @property {unknown} [failure]
 */

/** A stage of a download: see `Stage` in work.js. */
export class Segments {
  #blob
  #plan
  #heads
  /** For each mirror, its last segment. The promise resolves when the store has kept that. */
  #receiving = /** @type {Map<Candidate, Promise<Received>>} */ (new Map())

  /**
   * @param {WantedBlob} blob @param {ChunkRanges} missing  groups to fetch
   * @param {HeadReceiver} [heads]  given if the head of a blob of unknown size is being fetched
   */
  constructor (blob, missing, heads) {
    this.#blob = blob
    this.#plan = new Plan(missing)
    this.#heads = heads
  }

  get isDone () { return this.#plan.isDone }

  /** @param {Candidate} candidate @param {AskedForBlob} asked @returns {Task | undefined} */
  nextTask (candidate, asked) {
    const isSmall = this.#heads !== undefined
    if (!candidate.isUsable || (asked.smallOnly && !isSmall)) return undefined
    const segment = this.#plan.nextSegment(candidate, asked)
    return segment && { run: onArrived => this.#fetch(candidate, segment, onArrived), isSmall }
  }

  /** @param {Candidate[]} candidates */
  isHopeless (candidates) {
    const { segments, free } = this.#plan
    if (segments.size > 0 || free.isEmpty) return false
    return !candidates.some(({ isUsable, lacks }) => isUsable && !free.difference(lacks).isEmpty)
  }

  /** @returns {{ done: number, total?: number }} bytes */
  get progress () {
    const { size } = this.#blob
    if (size === undefined) return { done: 0 }
    const total = rangesLen(this.#blob.groups(size), size)
    let left = rangesLen(this.#plan.free, size)
    for (const { ranges, requests } of this.#plan.segments) {
      const arrived = Math.max(0, ...[...requests].map(({ len }) => len))
      left += Math.max(0, rangesLen(ranges, size) - arrived)
    }
    return { done: total - left, total }
  }

  /**
   * Fetches a segment from a mirror.
   *
   * @param {Candidate} candidate @param {Segment} segment @param {() => void} onArrived  see `Task`
   */
  async #fetch (candidate, segment, onArrived) {
    const request = this.#blob.request(candidate)
    segment.requests.add(request)
    const missing = await this.#blob.missing(segment.ranges)
    const before = this.#receiving.get(candidate)
    // The next segment may begin before the store has written this one, but only one such write may be under way. A
    // mirror's first segment is waited for, because it tells the rate.
    const onEnd = () => {
      if (candidate.rate > 0 && request.len >= segment.len) Promise.resolve(before).then(onArrived)
    }
    const receiving = this.#receive(request, missing, onEnd)
    this.#receiving.set(candidate, receiving)
    const { kept, sizeIfWhole, failure } = await receiving
    segment.requests.delete(request)
    const left = sizeIfWhole === undefined ? await this.#blob.missing(segment.ranges) : ChunkRanges.none
    if (kept > 0) request.gained(kept)
    if (!request.signal.aborted) {
      if (failure !== undefined && !request.isCauseOf(failure)) throw failure
      if (failure !== undefined) request.failed(failure, missing)
      else if (left.isEmpty) candidate.progressed()
      else if (kept === 0) request.failed(emptySlice(request), missing)
    }
    this.#end(segment, left)
    this.#blob.size ??= sizeIfWhole
  }

  /**
   * Keeps the part of a slice that verifies.
   *
   * @param {MirrorRequest} request @param {ChunkRanges} ranges
   * @param {() => void} onEnd  called when the slice has ended
   * @returns {Promise<Received>}
   */
  async #receive (request, ranges, onEnd) {
    if (ranges.isEmpty) return { kept: 0 }
    const { root, store } = this.#blob
    const pieces = endNoted(this.#blob.slice(request, ranges), onEnd)
    let kept = 0
    const options = { signal: request.signal, onKept: (/** @type {number} */ len) => { kept += len } }
    try {
      if (this.#heads === undefined) {
        await store.receive(root, pieces, ranges, options)
        return { kept }
      }
      const sizeIfWhole = await this.#heads.receive(root, ranges, pieces, options)
      return { kept: sizeIfWhole ?? kept, sizeIfWhole }
    } catch (failure) {
      return { kept, failure }
    }
  }

  /**
   * Ends a segment after a request for it, if the segment is whole or has no other request. If the segment is whole,
   * this also ends the other requests for it.
   *
   * @param {Segment} segment @param {ChunkRanges} left  the part of it that is still missing
   */
  #end (segment, left) {
    if (!this.#plan.segments.has(segment)) return
    if (left.isEmpty) for (const request of segment.requests) request.end('another mirror was quicker')
    if (left.isEmpty || segment.requests.size === 0) this.#plan.end(segment, left)
  }
}

/**
 * Passes on pieces, and says when they have ended.
 *
 * @param {AsyncIterable<Uint8Array>} pieces @param {() => void} onEnd
 */
async function * endNoted (pieces, onEnd) {
  try {
    yield * pieces
  } finally {
    onEnd()
  }
}

/**
 * The error for a slice that had neither a fault nor anything that could be kept.
 *
 * @param {MirrorRequest} request
 */
const emptySlice = ({ candidate }) =>
  new Error(`${candidate.mirror.location} sent a slice without anything that could be kept`)
