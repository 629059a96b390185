// Several slices behind one another in one stream, as a connection brings them: each is read to its end, and not a byte further.

import { assertInteger, concat } from '../../lib/core/bytes.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { toPieces } from '../../lib/source/source.js'
import { truncated } from '../../lib/core/errors.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { verifyPieces } from './pieces.js'

/** @import { Leaf } from './leaves.js' */
/** @import { SliceVerifier } from './slice.js' */
/** @import { Source } from '../../lib/core/types.js' */

const NOTHING = new Uint8Array(0)

/**
 * A stream of slices. `verifyStream` takes one from it, and leaves what follows to the next.
 *
 *     const slices = new SliceSource(socket)
 *     for (const { root, ranges } of asked) {
 *       for await (const leaf of verifyStream(slices, { root, ranges })) take(leaf)
 *     }
 *
 * A slice that fails, or is not read to its end, closes the stream: nobody knows what its next byte means.
 */
export class SliceSource {
  #pieces
  /** What was read too far: a view of the last piece. */
  #rest = /** @type {Uint8Array} */ (NOTHING)
  /** The next piece, which somebody waits for or has waited for: an abort must not lose it. @type {Promise<IteratorResult<Uint8Array>> | undefined} */
  #coming
  #closed = new AbortController()
  #isBusy = false

  /**
   * @param {Source} source
   * @param {{ signal?: AbortSignal }} [options]
   */
  constructor (source, { signal } = {}) {
    this.#pieces = toPieces(source, { signal: signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal })
  }

  /** Does nothing follow? Waits for the next byte, or for the end. @param {{ signal?: AbortSignal }} [options] @returns {Promise<boolean>} */
  async isAtEnd ({ signal } = {}) { return !await this.#hasMore(signal) }

  /**
   * Bytes that stand before, between or behind slices.
   *
   * @param {number} len
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh
   * @throws {import('../../lib/core/errors.js').BaoError} BAO_TRUNCATED { wanted, got }
   */
  async read (len, { signal } = {}) {
    assertInteger('len', len)
    const read = new ByteQueue()
    try {
      while (read.len < len) {
        if (!await this.#hasMore(signal)) throw truncated({ wanted: len, got: read.len })
        const taken = this.#rest.subarray(0, len - read.len)
        read.push(taken, len)
        this.#rest = this.#rest.subarray(taken.length)
      }
    } catch (error) {
      this.#rest = concat([read.bytes, this.#rest]) // who asks again begins where this began
      throw error
    }
    return new Uint8Array(read.bytes)
  }

  /** All that follows, as it comes. @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces */
  async * [Symbol.asyncIterator] () {
    for await (const piece of this.#pulled()) yield new Uint8Array(piece)
  }

  /**
   * What `verifyStream` does.
   *
   * @param {SliceVerifier} verifier  that has taken nothing
   * @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Leaf>}
   */
  async * verifyNext (verifier, signal) {
    if (this.#isBusy) throw new TypeError('a slice of this source is being read: the next begins where that one ends')
    this.#isBusy = true
    try {
      yield * verifyPieces(verifier, this.#pulled(signal))
    } finally {
      this.#isBusy = false
      if (verifier.rest.length > 0) this.#rest = verifier.rest
      if (!verifier.done && signal?.aborted) this.close().catch(() => {}) // a stuck source would keep us waiting
      else if (!verifier.done) await this.close()
    }
  }

  /** Lets go of the stream, wherever it is. */
  async close () {
    this.#rest = NOTHING
    if (this.#coming !== undefined) this.#closed.abort() // else it would wait for what is under way
    this.#coming = undefined
    await this.#pieces.return(undefined)
  }

  async [Symbol.asyncDispose] () { await this.close() }

  /** Pieces, of which the last may be put back. @param {AbortSignal} [signal] @returns {AsyncGenerator<Uint8Array>} */
  async * #pulled (signal) {
    while (await this.#hasMore(signal)) {
      const piece = this.#rest
      this.#rest = NOTHING
      if (piece.length > 0) yield piece
    }
  }

  /** Waits until `#rest` is something, which who else waits may take; or until nothing can follow. @param {AbortSignal} [signal] @returns {Promise<boolean>} */
  async #hasMore (signal) {
    signal?.throwIfAborted()
    while (this.#rest.length === 0) {
      const coming = this.#coming ??= this.#next()
      const next = await untilAborted(coming, signal)
      if (coming !== this.#coming) continue
      this.#coming = undefined
      if (next.done) return false
      this.#rest = next.value
    }
    return true
  }

  #next () {
    const next = this.#pieces.next()
    next.catch(() => {}) // whoever awaits it is told; nobody may
    return next
  }
}
