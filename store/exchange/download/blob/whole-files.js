// The last resort of a download: servers that have all bytes of a blob, and nothing that proves a part of them. Only
// the last byte shows whether they are right, so what comes is bounded, and is kept under no name until then.

import { fetchRefused } from '../../../../lib/core/errors.js'

/** @import { Supply } from '../../../../verifier/mirrors/supply.js' */
/** @import { WholeFile } from '../../../../verifier/mirrors/server/url-mirror.js' */
/** @import { StoreContext } from '../../store-context.js' */

export class WholeFiles {
  #maxLen
  #found = /** @type {Map<Supply, WholeFile>} */ (new Map())

  /** @param {StoreContext} store @param {{ maxUnverified?: number }} options  bytes */
  constructor ({ quota }, { maxUnverified = 0 }) {
    this.#maxLen = Math.min(maxUnverified, quota.limit)
  }

  /** A server has said that it has one. @param {Supply} supply @param {WholeFile} file */
  add (supply, file) {
    if (this.#maxLen > 0) this.#found.set(supply, file)
  }

  /** One that is to be read now, if there is any. It is not given again, unless the server is asked again. */
  take () {
    for (const [supply, file] of this.#found) {
      this.#found.delete(supply)
      if (supply.health.isUsable) return { supply, file }
    }
    return undefined
  }

  /**
   * The bytes of a file, unverified.
   *
   * @param {Supply} supply  that has it @param {WholeFile} file
   * @param {number | undefined} size  of the blob, if it is proven
   * @param {AbortSignal} signal
   * @throws {import('../../../../lib/core/errors.js').BaoError} FETCH_REFUSED when there are too many
   */
  async * pieces ({ mirror }, file, size, signal) {
    // Of a blob whose size is proven, the store takes no byte more than that.
    const maxLen = size === undefined ? this.#maxLen : Infinity
    const tooLong = () => {
      const why = `nothing proves a part of the blob, and it is longer than ${maxLen} bytes`
      return fetchRefused(mirror.location, `${why}. Give an outboard, or raise "maxUnverified" (--max-unverified)`)
    }
    if (file.size !== undefined && file.size > maxLen) throw tooLong()
    let len = 0
    for await (const piece of file.open(signal)) {
      len += piece.length
      if (len > maxLen) throw tooLong()
      yield piece
    }
  }
}
