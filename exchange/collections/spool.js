// Gathers bytes until all of them are known. Keeps the last ones in memory, and the others in the store, as blobs that
// are deleted at the end.

import { BaoError } from '../../lib/core/errors.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { TempTag } from '../../store/index.js' */
/** @import { Store } from '../../store/interface.js' */

/** The maximum number of bytes that are kept in memory. */
const SPOOL_LEN = 1 << 20

export class Spool {
  #store
  #hold
  #signal
  #last = new ByteQueue()
  #blobs = /** @type {{ cid: CID, isNew: boolean }[]} */ ([])

  /** @param {Store} store @param {TempTag} hold  protects the blobs in the store @param {AbortSignal} [signal] */
  constructor (store, hold, signal) {
    this.#store = store
    this.#hold = hold
    this.#signal = signal
  }

  /** True if there is space in memory. @param {Uint8Array} bytes */
  fits (bytes) { return this.#last.len + bytes.length <= SPOOL_LEN }

  /** @param {Uint8Array} bytes  that fit; copied */
  add (bytes) { this.#last.push(bytes, SPOOL_LEN) }

  /** Moves the bytes in memory to the store. */
  async spill () {
    this.#blobs.push(await this.#store.put(this.#last.bytes, { tag: this.#hold, signal: this.#signal }))
    this.#last.clear()
  }

  /** Yields all bytes. @returns {AsyncGenerator<Uint8Array>} each piece is borrowed until the next */
  async * pieces () {
    for (const { cid } of this.#blobs) yield * this.#store.get(cid, undefined, { reuse: true, signal: this.#signal })
    yield this.#last.bytes
  }

  /** Deletes the blobs that were new to the store. Callers call this after they have released `hold`. */
  async remove () {
    for (const { cid, isNew } of this.#blobs.splice(0)) {
      if (isNew) await this.#store.delete(cid).catch(leftToGc)
    }
  }
}

/**
 * Ignores errors of the store. Either another caller has tagged the blob, or the store is closed and `gc` will delete
 * the blob later.
 */
function leftToGc (/** @type {unknown} */ error) {
  if (!(error instanceof BaoError)) throw error
}
