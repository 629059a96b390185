// The record of a mirror in one call, for all blobs: how many bytes the mirror has sent, how fast, and whether it is
// asked again.

import { waitAfter } from './patience.js'

/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { Mirror } from './mirror.js' */

/** @typedef {'good' | 'waiting' | 'liar' | 'failed'} MirrorState  only the first two are asked again */

/**
 * @typedef {object} MirrorReport
 * @property {string} location
 * @property {MirrorState} state  `good`; `waiting`: it has failed, and will be asked again; `liar`: it has sent wrong
 *   bytes; `failed`: it has failed too often, or asking again would not help
 * @property {number} bytes  verified bytes that it has sent. In a download into a store, each byte counts only for the
 *   first mirror that delivered it
 * @property {number} rate  recent verified bytes per second; 0 before the first ones
 * @property {Error} [error]  the last error
 */

const LIES = [
  'BAO_LEAF_MISMATCH', 'BAO_PARENT_MISMATCH', 'BAO_SIZE_TOO_LARGE', 'BAO_BAD_HEADER', 'CID_MISMATCH', 'SIZE_MISMATCH'
]
/** The weight of the last request in the rate. */
const WEIGHT = 0.5

/** True if an error says that the mirror has sent wrong bytes. @param {Error & Partial<BaoError>} error */
export const isLie = ({ code }) => code !== undefined && LIES.includes(code)

export class MirrorRecord {
  #failures = 0
  #failedAt = -Infinity
  /** @type {MirrorState} */
  state = 'good'
  bytes = 0
  rate = 0
  /** The time, by the clock of the book, from which on the mirror may be asked again. */
  retryAt = 0
  /** @type {Error | undefined} */
  error

  /** @param {Mirror} mirror */
  constructor (mirror) {
    this.mirror = mirror
  }

  get isUsable () { return this.state === 'good' || this.state === 'waiting' }

  /** Notes that the mirror has sent verified bytes. @param {number} len @param {number} ms  how long this took */
  gained (len, ms) {
    const rate = 1000 * len / Math.max(ms, 1)
    this.rate = this.rate === 0 ? rate : WEIGHT * rate + (1 - WEIGHT) * this.rate
    this.bytes += len
    this.progressed()
  }

  /** Notes that some bytes of the mirror have verified, so that earlier failures no longer count. */
  progressed () {
    if (this.state === 'liar') return
    this.#failures = 0
    this.state = 'good'
  }

  /**
   * Notes that the mirror has failed. Sets `state`, which says whether it is asked again, and `retryAt`, which says
   * when.
   *
   * @param {Error & Partial<BaoError>} error
   * @param {{ retries: number, now: number, since?: number }} options  `retries`: how many failures in a row are
   *   followed by another try; `since`: when the request began
   */
  failed (error, { retries, now, since = now }) {
    this.error = error
    if (this.state === 'liar') return
    // The failures of requests that ran at the same time count as one.
    if (since >= this.#failedAt) this.#failures++
    this.#failedAt = now
    if (isLie(error)) this.state = 'liar'
    else this.state = this.#failures > retries ? 'failed' : 'waiting'
    this.retryAt = now + waitAfter(this.#failures, error)
  }

  /** @returns {MirrorReport} */
  get report () {
    const { state, bytes, error } = this
    const rate = Math.round(this.rate)
    return { location: this.mirror.location, state, bytes, rate, ...(error !== undefined && { error }) }
  }
}
