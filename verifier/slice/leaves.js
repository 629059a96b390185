// Where verified bytes go. The checker lends them for the moment in which they are believed: they are copied then, or used up.

import { assertBytes, describe } from '../../lib/core/bytes.js'

/** @typedef {{ offset: number, bytes: Uint8Array<ArrayBuffer> }} Leaf  verified bytes and where they stand in the blob */

/**
 * @typedef {object} KeepOptions  at most one of them; unless told, every leaf has fresh memory that is the caller's to keep
 * @property {Uint8Array} [into]  takes the verified bytes, one after the other from its start; leaves are views of it. Of no use when an
 *   error is thrown: what stands there by then is verified, but how much it is nobody tells
 * @property {boolean} [reuse]  leaves are lent until the next call: then their memory is used again
 * @property {(offset: number, bytes: Uint8Array) => void} [onLeaf]  gets every leaf, lent until it returns and not copied at all; it must not
 *   hash meanwhile. No leaves are returned
 */

/** Takes leaves from a checker as its sink, and keeps them in the way that was asked for. */
export class Leaves {
  #leaves = /** @type {Leaf[]} */ ([])
  #onLeaf
  #reuses
  /** What leaves are copied to, unless each has memory of its own. @type {Uint8Array | undefined} */
  #memory
  #used = 0
  /** See `VerifiedSink`. @type {((node: number, at: number) => void) | undefined} */
  parent

  /** @param {KeepOptions} options */
  constructor ({ into, reuse = false, onLeaf }) {
    if (into !== undefined) assertBytes('into', into)
    if (onLeaf !== undefined && typeof onLeaf !== 'function') throw new TypeError(`"onLeaf" expected a function, got ${describe(onLeaf)}`)
    if ((into === undefined ? 0 : 1) + (onLeaf === undefined ? 0 : 1) + (reuse ? 1 : 0) > 1) throw new TypeError('"into", "reuse" and "onLeaf" exclude each other')
    this.#onLeaf = onLeaf
    this.#reuses = reuse
    this.#memory = into
  }

  /** How many wait to be taken. */
  get count () { return this.#leaves.length }

  /** Those since the last time. @returns {Leaf[]} */
  take () {
    const leaves = this.#leaves
    this.#leaves = []
    if (this.#reuses) this.#used = 0
    return leaves
  }

  /** @param {number} offset @param {Uint8Array} memory @param {number} at @param {number} len */
  leaf (offset, memory, at, len) {
    if (this.#onLeaf === undefined) this.#leaves.push({ offset, bytes: this.#copy(memory, at, len) })
    else lend(this.#onLeaf, offset, memory.subarray(at, at + len))
  }

  /** @param {Uint8Array} memory @param {number} at @param {number} len @returns {Uint8Array<ArrayBuffer>} */
  #copy (memory, at, len) {
    const bytes = memory.subarray(at, at + len)
    const end = this.#used + len
    if (this.#reuses && end > (this.#memory?.length ?? 0)) {
      // Leaves of this call stay where they are.
      this.#memory = new Uint8Array(Math.max(len, 2 * this.#used))
      this.#used = 0
    }
    if (this.#memory === undefined) return new Uint8Array(bytes)
    if (!this.#reuses && end > this.#memory.length) throw new RangeError(`"into" expected room for ${end} bytes or more, got ${this.#memory.length}`)
    this.#memory.set(bytes, this.#used)
    this.#used += len
    return /** @type {Uint8Array<ArrayBuffer>} */ (this.#memory.subarray(this.#used - len, this.#used))
  }
}

/** @param {(offset: number, bytes: Uint8Array) => unknown} onLeaf @param {number} offset @param {Uint8Array} bytes */
function lend (onLeaf, offset, bytes) {
  // What reads on after it has returned would read other bytes.
  if (onLeaf(offset, bytes) instanceof Promise) throw new TypeError('"onLeaf" expected a function that is done when it returns, got one that returns a promise')
}
