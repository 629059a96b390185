// Reads spans of a blob in increasing order, each span as one stream.

/**
 * Gives the bytes of a blob from `start` to `end`, in pieces of any length. There are fewer bytes if the blob ends
 * earlier.
 *
 * @callback ReadPieces
 * @param {number} start  bytes
 * @param {number} end  bytes, not included
 * @param {AbortSignal} signal
 * @param {(len: number) => void} [onSkipped]  called when bytes before `start` arrive, with their number
 * @returns {AsyncIterable<Uint8Array>}
 */

export class SpanReader {
  #spans
  #pieces
  #signal
  /** The pieces of the span that is being read. */
  #current = /** @type {AsyncIterator<Uint8Array> | undefined} */ (undefined)
  #end = 0
  /** The last piece, and the offset of its end in the blob. */
  #piece = /** @type {Uint8Array} */ (new Uint8Array(0))
  #at = 0

  /** @param {{ start: number, end: number }[]} spans @param {ReadPieces} pieces @param {AbortSignal} signal */
  constructor (spans, pieces, signal) {
    this.#spans = spans
    this.#pieces = pieces
    this.#signal = signal
  }

  /**
   * Returns those bytes of a range that have arrived.
   *
   * @param {number} start  in a span, and not below that of any earlier call @param {number} end
   * @returns {Uint8Array} borrowed until `readOn` or `read`; empty if none have arrived
   */
  available (start, end) {
    const from = start - (this.#at - this.#piece.length)
    return from < 0 ? this.#piece.subarray(0, 0) : this.#piece.subarray(from, from + end - start)
  }

  /**
   * Reads on until the byte at `start` has arrived.
   *
   * @param {number} start
   * @returns {Promise<boolean>} false if the blob ends before it
   */
  async readOn (start) {
    while (this.#at <= start) {
      if (this.#current === undefined || start >= this.#end) await this.#open(start)
      const next = await /** @type {AsyncIterator<Uint8Array>} */ (this.#current).next()
      if (next.done) return false
      this.#piece = next.value
      this.#at += next.value.length
    }
    return true
  }

  /**
   * @param {number} start @param {number} end  in the same span
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes where the blob ends
   */
  async read (start, end) {
    const bytes = new Uint8Array(end - start)
    for (let at = start; at < end;) {
      if (!await this.readOn(at)) return bytes.slice(0, at - start)
      const part = this.available(at, end)
      bytes.set(part, at - start)
      at += part.length
    }
    return bytes
  }

  /** Begins to read the span that contains a byte. @param {number} at  its offset */
  async #open (at) {
    await this.close()
    const { start, end } = this.#spans.find(span => span.start <= at && at < span.end) ?? { start: at, end: at }
    this.#at = start
    this.#end = end
    this.#current = this.#pieces(start, end, this.#signal)[Symbol.asyncIterator]()
  }

  async close () {
    const current = this.#current
    this.#current = undefined
    this.#piece = new Uint8Array(0)
    await current?.return?.()
  }
}
