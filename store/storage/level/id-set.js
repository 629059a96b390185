// A set of ids that takes one bit for each id. A store gives consecutive ids, so most of the bits are set.

const PART = 65536

export class IdSet {
  #parts = /** @type {Map<number, Uint8Array>} */ (new Map())

  /** @param {number} id @returns {boolean} true if the id is new */
  add (id) {
    const number = Math.floor(id / PART)
    const part = this.#parts.get(number) ?? new Uint8Array(PART / 8)
    this.#parts.set(number, part)
    const isNew = !this.has(id)
    part[id % PART >> 3] |= 1 << (id & 7)
    return isNew
  }

  /** @param {number} id */
  has (id) {
    const part = this.#parts.get(Math.floor(id / PART))
    return part !== undefined && (part[id % PART >> 3] >> (id % 8) & 1) === 1
  }
}
