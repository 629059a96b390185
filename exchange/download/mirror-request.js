// One request of a download to a mirror: what has come, since when, and whether the mirror is to blame for a failure.

import { BaoError } from '../../lib/core/errors.js'
import { isLie } from '../../verifier/mirrors/health.js'
import { withPatience } from '../../verifier/mirrors/patience.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { Supply } from '../../verifier/mirrors/supply.js' */
/** @import { DownloadTerms } from './downloader.js' */

export class MirrorRequest {
  #terms
  #ended = new AbortController()
  /** What the pieces have ended with. @type {unknown} */
  #error
  /** Bytes that have come, right or wrong. */
  len = 0

  /** @param {DownloadTerms} terms @param {AbortSignal} signal  of the downloader @param {Supply} supply */
  constructor (terms, signal, supply) {
    this.#terms = terms
    this.supply = supply
    /** When the request began. */
    this.since = terms.clock.now()
    /** Aborts when the request is no longer wanted. */
    this.signal = AbortSignal.any([signal, this.#ended.signal])
  }

  /**
   * What the mirror sends, as long as it sends enough.
   *
   * @param {(signal: AbortSignal) => AsyncIterable<Uint8Array>} open  asks the mirror
   */
  async * pieces (open) {
    const { stall, clock, progress } = this.#terms
    const { location } = this.supply.mirror
    try {
      for await (const piece of withPatience(open, { location, stall, clock, signal: this.signal })) {
        this.len += piece.length
        yield piece
        progress.report()
      }
    } catch (error) {
      this.#error = error
      throw error
    }
  }

  /** Ends the request, because its bytes are no longer wanted. @param {string} why */
  end (why) { this.#ended.abort(new DOMException(why, 'AbortError')) }

  /** Did the mirror cause this error, and not the store that keeps what it sends? @param {unknown} error */
  isCauseOf (error) {
    return error === this.#error || (error instanceof BaoError && (error.code.startsWith('BAO_') || isLie(error)))
  }

  /** Notes that the mirror has brought bytes that were missing. @param {number} len */
  gained (len) { this.supply.gained(len, this.#terms.clock.now() - this.since) }

  /** Notes that the mirror has failed. @param {unknown} error @param {ChunkRanges} ranges  that were asked for */
  failed (error, ranges) {
    const { retries, clock, progress } = this.#terms
    this.supply.failed(error, ranges, { retries, now: clock.now(), since: this.since })
    progress.report({ isDue: true })
  }
}
