// What a mirror has done in one call, whichever blobs it was asked for: what it has brought, how fast, and whether it
// is asked again.

import { waitAfter } from './patience.js'

/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { Mirror } from './mirror.js' */

/** @typedef {'good' | 'waiting' | 'liar' | 'failed'} MirrorState  only the first two are asked again */

/**
 * @typedef {object} MirrorReport
 * @property {string} location
 * @property {MirrorState} state  `good`; `waiting` until the next try; `liar`: it has sent wrong bytes; `failed`: it
 *   has failed too often, or for good
 * @property {number} bytes  verified bytes that it has brought. Of a download into a store: those that were missing
 *   until then, so each byte counts for the first mirror that delivered it
 * @property {number} rate  verified bytes each second, of late; 0 until something has come
 * @property {Error} [error]  the last one
 */

const LIES = [
  'BAO_LEAF_MISMATCH', 'BAO_PARENT_MISMATCH', 'BAO_SIZE_TOO_LARGE', 'BAO_BAD_HEADER', 'CID_MISMATCH', 'SIZE_MISMATCH'
]
/** How much the last span counts in the rate. */
const WEIGHT = 0.5

/** True if an error says that wrong bytes have come. @param {Error & Partial<BaoError>} error */
export const isLie = ({ code }) => code !== undefined && LIES.includes(code)

export class MirrorRecord {
  #failures = 0
  #failedAt = -Infinity
  /** @type {MirrorState} */
  state = 'good'
  bytes = 0
  rate = 0
  /** When it may be asked again, by the clock of the book. */
  retryAt = 0
  /** @type {Error | undefined} */
  error

  /** @param {Mirror} mirror */
  constructor (mirror) {
    this.mirror = mirror
  }

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
    if (this.state === 'liar') return
    this.#failures = 0
    this.state = 'good'
  }

  /**
   * It has failed. Says in its state whether it is asked again, and in `retryAt` when.
   *
   * @param {Error & Partial<BaoError>} error
   * @param {{ retries: number, now: number, since?: number }} options  `retries`: failures in a row that are followed
   *   by another try; `since`: when the request began
   */
  failed (error, { retries, now, since = now }) {
    this.error = error
    if (this.state === 'liar') return
    // Requests that ran side by side and failed together are one failure.
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
