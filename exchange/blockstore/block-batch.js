// Gathers blocks that are being put, so that many small ones are kept in one batch.

import { abortable } from '../../lib/source/async-util.js'
import { BATCH_COUNT, BATCH_LEN } from '../../store/write/put-many.js'

/** @import { CID } from 'multiformats/cid' */

/** Milliseconds that a batch waits for the next block. */
const SOON = 5

/** Blocks that are verified, and that are kept together. */
export class BlockBatch {
  #cids = /** @type {CID[]} */ ([])
  #blocks = /** @type {Uint8Array[]} */ ([])
  #aliases = /** @type {(Uint8Array | undefined)[]} */ ([])
  #len = 0

  get isFull () { return this.#cids.length >= BATCH_COUNT || this.#len >= BATCH_LEN }

  /** @param {CID} cid @param {{ bytes: Uint8Array, alias?: Uint8Array }} [block]  undefined: nothing to keep */
  add (cid, block) {
    this.#cids.push(cid)
    if (block === undefined) return
    this.#blocks.push(block.bytes)
    this.#aliases.push(block.alias)
    this.#len += block.bytes.length
  }

  /**
   * @param {(blocks: Uint8Array[], aliases: (Uint8Array | undefined)[]) => Promise<unknown>} write
   * @returns {Promise<CID[]>} the names of the blocks that are kept now
   */
  async keep (write) {
    const [cids, blocks, aliases] = [this.#cids, this.#blocks, this.#aliases]
    this.#cids = []
    this.#blocks = []
    this.#aliases = []
    this.#len = 0
    if (blocks.length > 0) await write(blocks, aliases)
    return cids
  }
}

/**
 * Gives the items of a source, and `undefined` whenever the next item does not come soon. So a source that waits for a
 * result before it goes on gets the result promptly.
 *
 * @template T
 * @param {Iterable<T> | AsyncIterable<T>} source
 * @param {AbortSignal} [signal]  ends the items at once
 * @returns {AsyncGenerator<T | undefined>}
 */
export const unhurried = (source, signal) =>
  abortable(/** @type {AsyncIterable<T | undefined>} */ (source), signal, isSoon)

/** @param {Promise<unknown>} promise */
async function isSoon (promise) {
  let timer
  const late = new Promise(resolve => { timer = setTimeout(resolve, SOON, false) })
  try {
    return await Promise.race([promise.then(() => true, () => true), late])
  } finally {
    clearTimeout(timer)
  }
}
