// Keeps verified bytes for callers. The memory in which they arrive is reused immediately, so they are copied, or
// passed to a callback.

import { trimTo } from './wanted-bytes.js'
import { assertBytes, describe } from '../../lib/core/bytes.js'

/** @import { ByteRange } from '../../lib/tree/ranges.js' */

/**
 * @typedef {{ offset: number, bytes: Uint8Array<ArrayBuffer> }} Leaf  verified bytes, and where they
 *   begin in the blob
 */

/**
 * @typedef {object} KeepOptions  at most one of these. Default: every leaf has fresh memory that belongs to the caller
 * @property {Uint8Array} [into]  memory for the verified bytes, which are written one after the other from its start;
 *   leaves are views of it. After an error, it has an unknown number of verified bytes
 * @property {boolean} [reuse]  leaves are borrowed until the next call, which uses the same memory
 * @property {(offset: number, bytes: Uint8Array) => void} [onLeaf]  called with every leaf, which is borrowed until the
 *   callback returns. The callback must not hash. With it, no leaves are copied and none are returned
 */

export const KEEP_OPTIONS = ['into', 'reuse', 'onLeaf']

/** A sink for a checker. It keeps leaves as `KeepOptions` say. */
export class Leaves {
  #leaves = /** @type {Leaf[]} */ ([])
  #trimmed
  #onLeaf
  #reuses
  /** The memory to which leaves are copied; undefined if each has memory of its own. @type {Uint8Array | undefined} */
  #memory
  #used = 0
  /** See `VerifiedSink`. @type {((node: number, at: number) => void) | undefined} */
  parent

  /** @param {KeepOptions} options @param {ByteRange[]} [wanted]  the bytes to keep: see `trimTo`. Default: all */
  constructor ({ into, reuse = false, onLeaf }, wanted) {
    if (into !== undefined) assertBytes('into', into)
    if (onLeaf !== undefined && typeof onLeaf !== 'function') {
      throw new TypeError(`"onLeaf" expected a function, got ${describe(onLeaf)}`)
    }
    const ways = [into !== undefined, onLeaf !== undefined, reuse].filter(isGiven => isGiven)
    if (ways.length > 1) throw new TypeError('"into", "reuse" and "onLeaf" exclude each other: expected at most one')
    this.#trimmed = wanted && trimTo(wanted)
    this.#onLeaf = onLeaf
    this.#reuses = reuse
    this.#memory = into
  }

  /** The number of leaves that `take` would return. */
  get count () { return this.#leaves.length }

  /** The leaves since the last call. @returns {Leaf[]} */
  take () {
    const leaves = this.#leaves
    this.#leaves = []
    if (this.#reuses) this.#used = 0
    return leaves
  }

  /** @param {number} offset @param {Uint8Array} memory @param {number} at @param {number} len */
  leaf (offset, memory, at, len) {
    if (this.#trimmed === undefined) return this.#keep(offset, memory, at, len)
    for (const { start, end } of this.#trimmed(offset, len)) {
      this.#keep(start, memory, at + start - offset, end - start)
    }
  }

  /** @param {number} offset @param {Uint8Array} memory @param {number} at @param {number} len */
  #keep (offset, memory, at, len) {
    if (this.#onLeaf === undefined) this.#leaves.push({ offset, bytes: this.#copy(memory, at, len) })
    else callWith(this.#onLeaf, offset, memory.subarray(at, at + len))
  }

  /** @param {Uint8Array} memory @param {number} at @param {number} len @returns {Uint8Array<ArrayBuffer>} */
  #copy (memory, at, len) {
    const bytes = memory.subarray(at, at + len)
    const end = this.#used + len
    if (this.#reuses && end > (this.#memory?.length ?? 0)) {
      // Earlier leaves of this call stay in the old memory. Only later leaves use the new memory.
      this.#memory = new Uint8Array(Math.max(len, 2 * this.#used))
      this.#used = 0
    }
    if (this.#memory === undefined) return new Uint8Array(bytes)
    if (!this.#reuses && end > this.#memory.length) {
      throw new RangeError(`"into" expected at least ${end} bytes, got ${this.#memory.length}`)
    }
    this.#memory.set(bytes, this.#used)
    this.#used += len
    return /** @type {Uint8Array<ArrayBuffer>} */ (this.#memory.subarray(this.#used - len, this.#used))
  }
}

/** @param {(offset: number, bytes: Uint8Array) => unknown} onLeaf @param {number} offset @param {Uint8Array} bytes */
function callWith (onLeaf, offset, bytes) {
  // An asynchronous callback would still be reading when the memory is reused.
  if (!(onLeaf(offset, bytes) instanceof Promise)) return
  throw new TypeError('"onLeaf" expected a synchronous function, got one that returns a promise')
}
