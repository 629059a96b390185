// Reads several slices, one after the other, from one stream, for example a connection. The bytes after the end of a
// slice are kept for the next slice.

import { assertInteger, concat, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { toPieces } from '../../lib/source/source.js'
import { truncated } from '../../lib/core/errors.js'
import { eitherOf, untilAborted } from '../../lib/source/async-util.js'
import { verifyPieces } from './pieces.js'
import { SliceVerifier } from './slice.js'

/** @import { Leaf } from './leaves.js' */
/** @import { Source } from '../../lib/core/types.js' */

const NOTHING = new Uint8Array(0)

/**
 * A stream of slices. `verifyStream` takes one slice from it, and leaves the bytes after it to the next call.
 *
 *     const slices = new SliceSource(socket)
 *     for (const { cid, ranges } of asked) {
 *       for await (const leaf of verifyStream(slices, { cid, ranges })) take(leaf)
 *     }
 *
 * If a slice fails, or is not read to its end, the stream is closed, because it is not known where the next slice
 * begins.
 */
export class SliceSource {
  #pieces
  /** Bytes that were read but not used: a view of the last piece. */
  #rest = /** @type {Uint8Array} */ (NOTHING)
  /**
   * The next piece, once a call has asked for it. It is kept even if that call is aborted.
   *
   * @type {Promise<IteratorResult<Uint8Array>> | undefined}
   */
  #coming
  #closed = new AbortController()
  #isBusy = false

  /**
   * @param {Source} source
   * @param {{ signal?: AbortSignal }} [options]
   */
  constructor (source, options = {}) {
    assertKnownOptions(options, ['signal'])
    const { signal } = options
    const closed = this.#closed.signal
    this.#pieces = toPieces(source, { signal: eitherOf(signal, closed) })
  }

  /**
   * Waits for the next byte, or for the end of the stream.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<boolean>} true if the stream has ended
   */
  async isAtEnd (options = {}) {
    assertKnownOptions(options, ['signal'])
    return !await this.#hasMore(options.signal)
  }

  /**
   * Reads bytes before, between or after slices.
   *
   * @param {number} len
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh
   * @throws {import('../../lib/core/errors.js').BaoError} BAO_TRUNCATED { wanted, got }
   */
  async read (len, options = {}) {
    assertInteger('len', len)
    assertKnownOptions(options, ['signal'])
    const read = new ByteQueue()
    try {
      while (read.len < len) {
        if (!await this.#hasMore(options.signal)) throw truncated({ wanted: len, got: read.len })
        const taken = this.#rest.subarray(0, len - read.len)
        read.push(taken, len)
        this.#rest = this.#rest.subarray(taken.length)
      }
    } catch (error) {
      this.#rest = concat([read.bytes, this.#rest]) // so that the next call begins where this one began
      throw error
    }
    return new Uint8Array(read.bytes)
  }

  /**
   * The next bytes, as they arrive.
   *
   * @param {number} len
   * @returns {AsyncGenerator<Uint8Array>} each is borrowed until the next one
   * @throws {import('../../lib/core/errors.js').BaoError} BAO_TRUNCATED { wanted, got }
   */
  take (len) {
    assertInteger('len', len)
    return this.#take(len)
  }

  /** @param {number} len @returns {AsyncGenerator<Uint8Array>} */
  async * #take (len) {
    for (let left = len; left > 0;) {
      if (!await this.#hasMore()) throw truncated({ wanted: len, got: len - left })
      const piece = this.#rest.subarray(0, left)
      this.#rest = this.#rest.subarray(piece.length)
      left -= piece.length
      yield piece
    }
  }

  /** Yields all bytes that follow, as they arrive. @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces */
  async * [Symbol.asyncIterator] () {
    for await (const piece of this.#pulled()) yield new Uint8Array(piece)
  }

  /**
   * Verifies the next slice. Callers use `verifyStream`.
   *
   * @param {SliceVerifier} verifier  a fresh one
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<Leaf>}
   */
  verifyNext (verifier, options = {}) {
    if (!(verifier instanceof SliceVerifier)) {
      throw new TypeError(`"verifier" expected a SliceVerifier, got ${describe(verifier)}`)
    }
    assertKnownOptions(options, ['signal'])
    return this.#verifyNext(verifier, options.signal)
  }

  /** @param {SliceVerifier} verifier @param {AbortSignal} [signal] @returns {AsyncGenerator<Leaf>} */
  async * #verifyNext (verifier, signal) {
    if (this.#isBusy) throw new TypeError('a slice of this source is still being read: expected its end first')
    this.#isBusy = true
    try {
      yield * verifyPieces(verifier, this.#pulled(signal))
    } finally {
      this.#isBusy = false
      if (verifier.rest.length > 0) this.#rest = verifier.rest
      if (!verifier.done && signal?.aborted) this.close().catch(() => {}) // not awaited: it may be stuck
      else if (!verifier.done) await this.close()
    }
  }

  /** Closes the stream, even in the middle of a slice. */
  async close () {
    this.#rest = NOTHING
    if (this.#coming !== undefined) this.#closed.abort() // otherwise closing would wait for the next piece
    this.#coming = undefined
    await this.#pieces.return(undefined)
  }

  async [Symbol.asyncDispose] () { await this.close() }

  /**
   * Yields the pieces as they arrive. The caller may put the rest of the last one back into `#rest`.
   *
   * @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Uint8Array>}
   */
  async * #pulled (signal) {
    while (await this.#hasMore(signal)) {
      const piece = this.#rest
      this.#rest = NOTHING
      if (piece.length > 0) yield piece
    }
  }

  /**
   * Waits until `#rest` has bytes, or the stream has ended. If several calls wait, another one may take the bytes
   * first.
   *
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false if the stream has ended
   */
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
    next.catch(() => {}) // callers that await it get the error; maybe no caller does
    return next
  }
}
