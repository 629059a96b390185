// Several slices behind one another in one stream, as a connection brings them: each is read to its end, and not a byte further.

import { assertInteger } from '../lib/bytes.js'
import { Pending } from '../lib/pending.js'
import { toPieces } from '../lib/source.js'
import { truncated } from '../lib/errors.js'
import { untilAborted } from '../lib/reading.js'
import { verifyPieces } from './pieces.js'

/** @import { Leaf } from './leaves.js' */
/** @import { SliceVerifier } from './slice.js' */
/** @import { Source } from '../lib/types.js' */

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
  async isAtEnd ({ signal } = {}) {
    for await (const piece of this.#pulled(signal)) {
      if (piece.length === 0) continue
      this.#rest = piece
      return false
    }
    return true
  }

  /**
   * Bytes that stand before, between or behind slices.
   *
   * @param {number} len
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh
   * @throws {import('../lib/errors.js').BaoError} BAO_TRUNCATED { wanted, got }
   */
  async read (len, { signal } = {}) {
    assertInteger('len', len)
    const read = new Pending()
    if (len === 0) return new Uint8Array(0)
    try {
      for await (const piece of this.#pulled(signal)) {
        const taken = piece.subarray(0, len - read.len)
        read.push(taken, len)
        this.#rest = piece.subarray(taken.length)
        if (read.len === len) return new Uint8Array(read.bytes)
      }
    } catch (error) {
      if (read.len > 0) this.#rest = read.bytes // who asks again begins where this began
      throw error
    }
    throw truncated({ wanted: len, got: read.len })
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
    while (true) {
      signal?.throwIfAborted()
      const piece = this.#rest
      this.#rest = NOTHING
      if (piece.length > 0) {
        yield piece
        continue
      }
      this.#coming ??= this.#next()
      const next = await untilAborted(this.#coming, signal)
      this.#coming = undefined
      if (next.done) return
      yield next.value
    }
  }

  #next () {
    const next = this.#pieces.next()
    next.catch(() => {}) // whoever awaits it is told; nobody may
    return next
  }
}
