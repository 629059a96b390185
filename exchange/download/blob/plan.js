// Divides the missing groups of a blob into segments, and says which segment a mirror should fetch. It works on numbers
// only, without I/O.

import { CHUNK_LEN, DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'

/** @import { Candidate } from '../../../verifier/mirrors/candidate.js' */
/** @import { MirrorRequest } from '../../../verifier/mirrors/mirror-request.js' */

/** How many milliseconds a mirror should need for a segment. */
const SEGMENT_MS = 2000
/** The minimum and the maximum length of a segment, in bytes. The first segment of every mirror has the minimum. */
const MIN_LEN = 1 << 20
const MAX_LEN = 1 << 28
const GROUP_LEN = CHUNK_LEN * 2 ** DEFAULT_GROUP_LOG

/**
 * A contiguous part of a blob that one mirror fetches, or several that race for it.
 *
 * @typedef {object} Segment
 * @property {ChunkRanges} ranges
 * @property {number} len  bytes
 * @property {Set<MirrorRequest>} requests  the requests for it that are under way
 */

export class Plan {
  /** The missing chunks that are not in any segment. */
  free
  /** @type {Set<Segment>} */
  segments = new Set()

  /** @param {ChunkRanges} missing  whole groups; every range has an end */
  constructor (missing) {
    this.free = missing
  }

  get isDone () { return this.free.isEmpty && this.segments.size === 0 }

  /**
   * Returns a segment for an idle mirror: a new one, or if none is left, the one that would be finished last without
   * the help of this mirror.
   *
   * @param {Candidate} candidate
   * @param {{ now: number, mirrorCount: number, mayRace?: boolean }} options  `mirrorCount`: how many mirrors may be
   *   asked; `mayRace`: true if the mirror may help with a segment that another mirror is fetching. Default: true
   * @returns {Segment | undefined} undefined when the mirror cannot be given a segment now
   */
  nextSegment (candidate, { now, mirrorCount, mayRace = true }) {
    const possible = this.free.difference(candidate.lacks)
    if (!possible.isEmpty) return this.#begin(candidate, possible, mirrorCount)
    return mayRace ? this.#slowest(candidate, now) : undefined
  }

  /**
   * Removes a segment that is no longer being fetched.
   *
   * @param {Segment} segment @param {ChunkRanges} missing  the part of it that is still missing
   */
  end (segment, missing) {
    this.segments.delete(segment)
    this.free = this.free.union(missing)
  }

  /**
   * Begins the next segment. The segment is short when little is left, so that all mirrors finish at about the same
   * time.
   *
   * @param {Candidate} candidate @param {ChunkRanges} possible @param {number} mirrorCount
   */
  #begin ({ rate, mirror }, possible, mirrorCount) {
    const [start, end] = possible.boundaries
    const share = mirrorCount > 1 ? CHUNK_LEN * chunksIn(possible) / (2 * mirrorCount) : Infinity
    const wanted = Math.max(MIN_LEN, Math.min(rate * SEGMENT_MS / 1000, share, MAX_LEN))
    const chunks = Math.ceil(wanted / GROUP_LEN) * GROUP_LEN / CHUNK_LEN
    const ranges = new ChunkRanges([start, mirror.isSequential ? end : Math.min(end, start + chunks)])
    /** @type {Segment} */
    const segment = { ranges, len: CHUNK_LEN * chunksIn(ranges), requests: new Set() }
    this.segments.add(segment)
    this.free = this.free.difference(ranges)
    return segment
  }

  /**
   * The segment that will be finished last, among those that the mirror may help with.
   *
   * @param {Candidate} candidate @param {number} now
   */
  #slowest (candidate, now) {
    let slowest
    let longest = -1
    for (const segment of this.segments) {
      const requests = [...segment.requests]
      if (requests.some(request => request.candidate === candidate)) continue
      if (!segment.ranges.intersect(candidate.lacks).isEmpty) continue
      const left = Math.min(...requests.map(request => timeLeft(request, segment.len, now)))
      if (left > longest) [slowest, longest] = [segment, left]
    }
    return slowest
  }
}

/**
 * Milliseconds that a request still needs if it continues at its average rate.
 *
 * @param {MirrorRequest} request
 * @param {number} segmentLen
 * @param {number} now
 */
function timeLeft ({ since, len }, segmentLen, now) {
  const left = Math.max(0, segmentLen - len)
  return len === 0 ? Infinity : left * (now - since) / len
}

/** @param {ChunkRanges} ranges  every range has an end */
const chunksIn = ranges => [...ranges].reduce((sum, [start, end]) => sum + end - start, 0)
