// How many bytes of blobs there may be, and how many there are. Only what blobs consist of is counted, not what the databases need beside it.

export class Quota {
  #limit
  #used = 0
  #promised = 0

  /** @param {number} [limit]  bytes */
  constructor (limit = Infinity) {
    this.#limit = limit
  }

  get limit () { return this.#limit }

  get isLimited () { return this.#limit !== Infinity }

  /** Notes that bytes have come, or gone. @param {number} len */
  add (len) { this.#used += len }

  /** How many bytes have to go before others come. @param {number} len  of the others */
  excess (len) { return Math.max(0, this.#used + this.#promised + len - this.#limit) }

  /** @param {number} len  bytes that are about to come */
  promise (len) {
    this.#promised += len
    let left = len
    /** @param {number} part */
    const keep = part => {
      const kept = Math.min(part, left)
      this.#promised -= kept
      left -= kept
    }
    return {
      /** Notes that so many have come; or gone, when less was needed than was there before. @param {number} part */
      fill: part => {
        keep(Math.max(0, part))
        this.add(part)
      },
      /** The rest is not coming. */
      release: () => keep(left)
    }
  }
}

/** @typedef {ReturnType<Quota['promise']>} Room */
