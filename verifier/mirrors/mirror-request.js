// One request to a mirror: how many bytes have arrived, when the request began, and whether the mirror has caused a
// failure. Bytes and failures are noted in the record of the mirror.

import { BaoError } from '../../lib/core/errors.js'
import { eitherOf, withFirst } from '../../lib/source/async-util.js'
import { isLie } from './mirror-record.js'
import { inTime, withPatience } from './patience.js'
import { pairsOf } from '../../lib/outboard/paged-outboard.js'

/** @import { SliceOutboard, Step } from '../../lib/core/types.js' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { HttpOptions } from '../sources/http/options.js' */
/** @import { Candidate } from './candidate.js' */
/** @import { MirrorBook } from './mirror-book.js' */
/** @import { SliceRequest } from './server/url-mirror.js' */

export class MirrorRequest {
  #book
  #ended = new AbortController()
  /** The error that ended the pieces. @type {unknown} */
  #error
  /** The time at which the pieces ended. @type {number | undefined} */
  #endedAt
  /** How many bytes have arrived, right or wrong. */
  len = 0

  /** @param {MirrorBook} book @param {Candidate} candidate @param {AbortSignal} [signal] */
  constructor (book, candidate, signal) {
    this.#book = book
    this.candidate = candidate
    /** The time at which the request began. */
    this.since = book.clock.now()
    /** Aborts when the request is no longer wanted. */
    this.signal = eitherOf(signal, this.#ended.signal)
  }

  /**
   * Yields a slice with its header, unverified. Other mirrors that the server names are added to the book.
   *
   * @param {Omit<SliceRequest, 'onDuplicate' | 'onSkipped'>} wanted
   */
  slice (wanted) {
    const { mirror } = this.candidate
    const onDuplicate = (/** @type {URL} */ url, /** @type {HttpOptions} */ http) =>
      this.#book.addDuplicate(mirror, url, http)
    return this.pieces((signal, onSkipped) => mirror.pieces({ ...wanted, onDuplicate, onSkipped }, signal))
  }

  /**
   * Asks for ranges, and waits for the first piece.
   *
   * @param {Omit<SliceRequest, 'onDuplicate' | 'onSkipped' | 'onPlain'>} wanted
   * @returns {Promise<{ outboard?: SliceOutboard, pieces: AsyncGenerator<Uint8Array, void> }>} with an outboard, the
   *   pieces are whole groups without pairs; without it, a slice with its header. The caller must end them
   */
  async open (wanted) {
    /** @type {SliceOutboard | undefined} */
    let outboard
    const pieces = this.slice({ ...wanted, onPlain: given => { outboard = this.#withStall(given) } })
    const first = await pieces.next()
    return { outboard, pieces: withFirst(first, pieces) }
  }

  /** Limits the waits for the pairs of an outboard, as those for pieces. @param {SliceOutboard} outboard */
  #withStall (outboard) {
    const { root, size, groupLog } = outboard
    const reader = () => {
      const pairs = pairsOf(outboard)
      const prepare = pairs.prepare && ((/** @type {number[]} */ nodes, /** @type {Step[] | undefined} */ steps) =>
        inTime(pairs.prepare?.(nodes, steps), this.#patience))
      return { prepare, copyPair: pairs.copyPair.bind(pairs) }
    }
    return { root, size, groupLog, reader }
  }

  /**
   * Yields the pieces that the mirror sends. Throws FETCH_FAILED when the mirror stalls: see `withPatience`.
   *
   * @param {Parameters<typeof withPatience>[0]} open  asks the mirror
   */
  async * pieces (open) {
    const { progress } = this.#book
    try {
      for await (const piece of withPatience(open, this.#patience)) {
        this.len += piece.length
        yield piece
        progress.report({ arrived: piece.length })
      }
    } catch (error) {
      this.#error = error
      throw error
    } finally {
      this.#endedAt = this.#book.clock.now()
    }
  }

  get #patience () {
    const { stall, clock } = this.#book
    return { location: this.candidate.mirror.location, stall, clock, signal: this.signal }
  }

  /** Ends the request, because its bytes are no longer wanted. @param {string} why */
  end (why) { this.#ended.abort(new DOMException(why, 'AbortError')) }

  /** True if the mirror caused an error, and not the store that keeps the bytes. @param {unknown} error */
  isCauseOf (error) {
    return error === this.#error || (error instanceof BaoError && (error.code.startsWith('BAO_') || isLie(error)))
  }

  /** Notes that the mirror has sent verified bytes. @param {number} len */
  gained (len) { this.candidate.gained(len, (this.#endedAt ?? this.#book.clock.now()) - this.since) }

  /** Notes that the mirror has failed. @param {unknown} error @param {ChunkRanges} ranges  those of the request */
  failed (error, ranges) {
    const { retries, clock, progress } = this.#book
    this.candidate.failed(error, ranges, { retries, now: clock.now(), since: this.since })
    progress.report({ isDue: true })
  }
}
