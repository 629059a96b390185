// Limits the work that cheap requests cause: to one amount in a burst, and after that to an amount in each second.

import { HttpError } from '../errors.js'

export class Budget {
  #burst
  #rate
  #now
  /** The amount of work that the rate had not covered at `#since`. */
  #owed = 0
  #since

  /**
   * @param {object} limits
   * @param {number} limits.burst  the amount of work in one burst. The last piece may exceed it
   * @param {number} limits.rate  the amount of work in each second after that
   * @param {() => number} now  milliseconds
   */
  constructor ({ burst, rate }, now) {
    this.#burst = burst
    this.#rate = rate
    this.#now = now
    this.#since = now()
  }

  /**
   * To be called before a piece of work.
   *
   * @param {number} amount
   * @throws {HttpError} 503 when too much work was done already
   */
  spend (amount) {
    const now = this.#now()
    this.#owed = Math.max(0, this.#owed - (now - this.#since) / 1000 * this.#rate)
    this.#since = now
    if (this.#owed >= this.#burst) throw busy(Math.floor((this.#owed - this.#burst) / this.#rate) + 1)
    this.#owed += amount
  }
}

/** @param {number} seconds  after which work is possible again */
const busy = seconds => new HttpError(503, 'HTTP_BUSY', 'too many sites are asked for', { 'retry-after': `${seconds}` })
