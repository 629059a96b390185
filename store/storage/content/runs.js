// Collects ranges of chunks, which arrive in increasing order.

import { ChunkRanges } from '../../../lib/tree/ranges.js'

export class RunList {
  #boundaries = /** @type {number[]} */ ([])

  /**
   * @param {number} start  first chunk. A range that begins before the end of the previous one is left out
   * @param {number} end  not included
   */
  add (start, end) {
    const last = this.#boundaries.at(-1) ?? -1
    if (start === last) this.#boundaries[this.#boundaries.length - 1] = end
    else if (start > last) this.#boundaries.push(start, end)
  }

  get ranges () { return new ChunkRanges([...this.#boundaries]) }
}
