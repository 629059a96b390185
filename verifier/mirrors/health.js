// How well a mirror does in one download: what it has brought, how fast, and whether it is asked again.

import { BaoError } from '../../lib/core/errors.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { isFinal } from '../sources/http.js'
import { waitAfter } from './patience.js'

/** @import { Mirror } from './mirror.js' */

/** @typedef {'good' | 'waiting' | 'liar' | 'failed'} MirrorState  only the first two are asked again */

/**
 * @typedef {object} MirrorReport
 * @property {string} location
 * @property {MirrorState} state  `good`; `waiting` until the next try; `liar`: it has sent wrong bytes; `failed`: it
 *   has failed too often, or for good
 * @property {number} bytes  verified bytes that it has brought
 * @property {number} rate  verified bytes each second, of late; 0 until something has come
 * @property {Error} [error]  the last one
 */

const LIES = ['BAO_LEAF_MISMATCH', 'BAO_PARENT_MISMATCH', 'BAO_SIZE_TOO_LARGE', 'BAO_BAD_HEADER']
/** How much the last span counts in the rate. */
const WEIGHT = 0.5

export class Health {
  #failures = 0
  /** @type {MirrorState} */
  state = 'good'
  bytes = 0
  rate = 0
  /** When it may be asked again, by the clock of the download. */
  retryAt = 0
  /** Chunks that it says it does not have. */
  lacks = ChunkRanges.none
  /** @type {Error | undefined} */
  error

  /** @param {Mirror} mirror */
  constructor (mirror) {
    this.mirror = mirror
  }

  /** Does it say that it lacks the last chunk, which proves the size? */
  get lacksLast () { return !this.lacks.intersect(ChunkRanges.last).isEmpty }

  get isUsable () { return this.state === 'good' || this.state === 'waiting' }

  /** It has brought verified bytes. @param {number} len @param {number} ms  that this took */
  gained (len, ms) {
    const rate = 1000 * len / Math.max(ms, 1)
    this.rate = this.rate === 0 ? rate : WEIGHT * rate + (1 - WEIGHT) * this.rate
    this.bytes += len
    this.progressed()
  }

  /** Something of what it has sent is right: the failures before do not count any more. */
  progressed () {
    this.#failures = 0
    this.state = 'good'
  }

  /**
   * It has failed. Says in its state whether it is asked again, and in `retryAt` when.
   *
   * @param {unknown} thrown
   * @param {ChunkRanges} ranges  that it was asked for
   * @param {{ retries: number, now: number }} options  `retries`: failures in a row that are followed by another try
   */
  failed (thrown, ranges, { retries, now }) {
    const error = named(thrown, this.mirror.location)
    this.error = error
    const { code, status } = error
    const lacks = lackOf(error, ranges)
    if (lacks !== undefined) {
      this.lacks = this.lacks.union(lacks)
      if (lacks.intersect(ranges).isEmpty) this.#failures++ // it refuses what it says that it has
    } else {
      this.#failures++
    }
    const isNo = code === 'FETCH_STATUS' && isFinal(status ?? 0) && lacks === undefined
    if (code !== undefined && LIES.includes(code)) this.state = 'liar'
    else if (isNo || code === 'FETCH_REFUSED' || this.#failures > retries) this.state = 'failed'
    else if (lacks === undefined) this.state = 'waiting'
    if (lacks === undefined) this.retryAt = now + waitAfter(this.#failures, error)
  }

  /** @returns {MirrorReport} */
  get report () {
    const { state, bytes, error } = this
    const rate = Math.round(this.rate)
    return { location: this.mirror.location, state, bytes, rate, ...(error !== undefined && { error }) }
  }
}

/**
 * The error, which says whose it is.
 *
 * @param {unknown} thrown @param {string} location
 * @returns {Error & Partial<BaoError>}
 */
function named (thrown, location) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown })
  if (error instanceof BaoError) error.location ??= location
  return error
}

/**
 * What a mirror lacks, if that is what its error says.
 *
 * @param {Error & Partial<BaoError>} error @param {ChunkRanges} ranges
 */
function lackOf ({ code, ranges: lacks }, ranges) {
  if (code === 'STORE_NOT_FOUND') return ranges
  if (lacks === undefined || (code !== 'STORE_MISSING' && code !== 'FETCH_STATUS')) return undefined
  // The last chunk has a number there, and none here as long as the size is not known.
  return ranges.equals(ChunkRanges.last) ? lacks.union(ranges) : lacks
}
