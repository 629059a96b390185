// Reads a long range of an object in parts, several at the same time, because stores limit the speed of a connection.

import { eitherOf } from '../../lib/source/async-util.js'
import { PART_LEN } from './parts.js'

/** How many parts of a range are read at the same time. All but the first are read into memory. */
const PARALLEL = 4

/** How many parts all ranges of a mirror may have in memory. Without a free one, a range is read part by part. */
export class PartsAhead {
  free = 12
}

/**
 * Yields the bytes of a range in order. It ends early after a part that is shorter than asked for.
 *
 * @param {(range: { start: number, end: number }, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>} read
 *   must not give more bytes than it is asked for
 * @param {{ start: number, end: number, partLen?: number }} range  `partLen`: for tests
 * @param {{ ahead: PartsAhead, signal: AbortSignal }} options
 * @returns {AsyncGenerator<Uint8Array>} the pieces that `read` gives
 */
export async function * readInParts (read, { start, end, partLen = PART_LEN }, { ahead, signal }) {
  const ending = new AbortController()
  const either = eitherOf(signal, ending.signal)
  const waiting = /** @type {ArrivingPart[]} */ ([])
  let next = start
  const hasMore = () => next < end
  const open = () => {
    const range = { start: next, end: Math.min(next + partLen, end) }
    next = range.end
    return read(range, either)
  }
  try {
    for (let at = start; at < end;) {
      const partEnd = Math.min(at + partLen, end)
      const part = waiting[0]
      const opening = part === undefined ? open() : undefined
      const most = Math.min(part === undefined ? PARALLEL - 1 : PARALLEL, waiting.length + ahead.free)
      for (; waiting.length < most && hasMore(); ahead.free--) waiting.push(new ArrivingPart(open()))
      for await (const piece of part?.pieces() ?? await /** @type {ReturnType<typeof open>} */ (opening)) {
        at += piece.length
        yield piece
      }
      if (at < partEnd) return
      if (part === undefined) continue
      waiting.shift()
      ahead.free++
    }
  } finally {
    ahead.free += waiting.length
    ending.abort(new DOMException('the rest of the range is not needed', 'AbortError'))
  }
}

/** A part that is read into memory, and given out while it arrives. */
class ArrivingPart {
  #waiting = /** @type {Uint8Array[]} */ ([])
  #hasEnded = false
  #failure = /** @type {{ error: unknown } | undefined} */ (undefined)
  #wake = () => {}

  /** @param {Promise<AsyncIterable<Uint8Array>>} opening */
  constructor (opening) { this.#arrive(opening) }

  /** @param {Promise<AsyncIterable<Uint8Array>>} opening */
  async #arrive (opening) {
    try {
      for await (const piece of await opening) {
        this.#waiting.push(piece)
        this.#wake()
      }
    } catch (error) {
      this.#failure = { error }
    }
    this.#hasEnded = true
    this.#wake()
  }

  /** @returns {AsyncGenerator<Uint8Array>} */
  async * pieces () {
    while (true) {
      for (let piece; (piece = this.#waiting.shift()) !== undefined;) yield piece
      if (this.#failure !== undefined) throw this.#failure.error
      if (this.#hasEnded) return
      await new Promise(resolve => { this.#wake = () => resolve(undefined) })
    }
  }
}
