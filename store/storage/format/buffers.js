// Memory for the many small things of a batch: keys, records, and small blobs themselves.

/** @typedef {(len: number) => Uint8Array<ArrayBuffer>} Room  gives so many bytes */

/** Longer ones get memory of their own. */
const SLAB_LEN = 1 << 18

/** A piece of memory for each. @type {Room} */
export const freshRoom = len => new Uint8Array(len)

/**
 * Parts of large pieces of memory: for who has copied what he is given when he returns, so that none is kept for a little of it. A batch of blobs of 4 KiB
 * is written in an eighth less time that way: memory that was made by JavaScript for a few bytes is made once more when native code looks at it.
 *
 * @param {() => Uint8Array<ArrayBuffer>} [newSlab] @returns {Room}
 */
export function sharedRoom (newSlab = () => freshRoom(SLAB_LEN)) {
  let slab = new Uint8Array(0)
  let at = 0
  return len => {
    if (len >= SLAB_LEN) return freshRoom(len)
    if (at + len > slab.length) {
      slab = newSlab()
      at = 0
    }
    at += len
    return new Uint8Array(slab.buffer, at - len, len)
  }
}

/** Memory for batches, which is used again: what is new to a process costs it time page by page, and once more when it is collected. */
export class UsedRoom {
  #free = /** @type {Uint8Array<ArrayBuffer>[]} */ ([])

  /** @returns {{ room: Room, release: () => void }} for one batch. `release`: nobody looks at it any more */
  take () {
    const slabs = /** @type {Uint8Array<ArrayBuffer>[]} */ ([])
    const room = sharedRoom(() => {
      const slab = this.#free.pop() ?? freshRoom(SLAB_LEN)
      slabs.push(slab)
      return slab
    })
    return { room, release: () => { this.#free.push(...slabs.splice(0)) } }
  }
}
