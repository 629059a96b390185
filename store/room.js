// Memory for the many small things of a batch: keys, records, and small blobs themselves.

/** @typedef {(len: number) => Uint8Array<ArrayBuffer>} Room  gives so many bytes, all zero */

/** Longer ones get memory of their own. */
const SLAB_LEN = 1 << 18

/** A piece of memory for each. @type {Room} */
export const freshRoom = len => new Uint8Array(len)

/**
 * Parts of large pieces of memory: for who has copied what he is given when he returns, so that none is kept for a little of it. A batch of blobs of 4 KiB
 * is written in an eighth less time that way: memory that was made by JavaScript for a few bytes is made once more when native code looks at it.
 *
 * @returns {Room}
 */
export function sharedRoom () {
  let slab = new Uint8Array(0)
  let at = 0
  return len => {
    if (len >= SLAB_LEN) return freshRoom(len)
    if (at + len > slab.length) {
      slab = freshRoom(SLAB_LEN)
      at = 0
    }
    at += len
    return new Uint8Array(slab.buffer, at - len, len)
  }
}
