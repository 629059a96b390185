// Counts the bytes of blobs that a store keeps, and compares them with a limit. Pairs, records and other entries of the
// databases do not count.

/** @import { Change } from './catalog.js' */

export class Quota {
  #limit
  #used = 0
  #reserved = 0

  /** @param {number} [limit]  bytes */
  constructor (limit = Infinity) {
    this.#limit = limit
  }

  get limit () { return this.#limit }

  get isLimited () { return this.#limit !== Infinity }

  /** Counts bytes that the store has when it is opened. @param {number} len */
  count (len) { this.#used += len }

  /** Returns how many bytes must be deleted before new ones fit. @param {number} len  how many new ones */
  excess (len) { return Math.max(0, this.#used + this.#reserved + len - this.#limit) }

  /**
   * Reserves bytes for data that is about to be written.
   *
   * @param {number} len
   * @returns {Reservation}
   */
  reserve (len) {
    this.#reserved += len
    let left = len
    return {
      use: most => {
        const used = Math.max(0, Math.min(most, left))
        this.#reserved -= used
        left -= used
        return used
      },
      release: () => {
        this.#reserved -= left
        left = 0
      }
    }
  }

  /** @param {Change} change */
  recordChanged ({ gained, reservations }) { this.#gain(gained, reservations) }

  /** @param {{ gained: number, reservations?: Reservation[] }} groups */
  groupsChanged ({ gained, reservations }) { this.#gain(gained, reservations) }

  /**
   * @param {number} gained  bytes; negative when bytes were deleted
   * @param {Reservation[]} [reservations]  reservations that were made for these bytes
   */
  #gain (gained, reservations = []) {
    this.#used += gained
    let left = gained
    for (const reservation of reservations) left -= reservation.use(left)
  }
}

/**
 * @typedef {object} Reservation
 * @property {(most: number) => number} use  takes at most this many bytes out of the reservation, and returns how many
 *   it took
 * @property {() => void} release  ends the reservation of the remaining bytes
 */
