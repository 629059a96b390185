// Reads a stored blob piece by piece. Each piece is a subtree, which is hashed as a whole and compared with its
// expected chaining value. A wrong piece is compared again group by group, so that the reader gets the right groups
// before the fault, and the error names the wrong group.

import { GROUP_LEN } from '../../sizes.js'
import { leafMismatch, truncated } from '../../../lib/core/errors.js'
import { subtreesOf } from './subtrees.js'
import { MAX_AHEAD, readSpansAhead } from '../../../lib/source/read-pieces.js'

/** @import { StoredView } from '../stored-view.js' */
/** @import { ByteRange } from '../../../lib/tree/ranges.js' */

/**
 * @typedef {object} PieceOptions
 * @property {AbortSignal} [signal]
 * @property {boolean} [reuse]  true if pieces are borrowed until the next piece. Default: false: they belong to the
 *   caller
 */

/**
 * @param {StoredView} view @param {ByteRange} wanted  inside the blob @param {PieceOptions} options
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 * @throws {BaoError} BAO_LEAF_MISMATCH { start, len }, BAO_PARENT_MISMATCH { node }, BAO_TRUNCATED, after everything
 *   before the fault was yielded
 */
export async function * verified (view, { start, end }, options) {
  for await (const { at, bytes, stop } of storedPieces(view, { start, end }, options)) {
    const isWhole = bytes.length === stop - at && await view.isRight(bytes, at)
    if (isWhole) yield within(bytes, at, start, end)
    else yield * groupByGroup(view, { bytes, at, stop }, start, end)
  }
}

/**
 * Reads the pieces without comparing them with anything.
 *
 * @param {StoredView} view @param {ByteRange} wanted @param {PieceOptions} options
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
export async function * unverified (view, { start, end }, options) {
  for await (const { at, bytes, stop } of storedPieces(view, { start, end }, options)) {
    const piece = within(bytes, at, start, end)
    if (piece.length > 0) yield piece
    const missing = stop - at - bytes.length
    if (missing > 0) throw truncated({ start: at + bytes.length, wanted: missing, got: 0 })
  }
}

/** @param {StoredView} view @param {ByteRange} wanted @param {PieceOptions} options */
const storedPieces = ({ source, size }, wanted, { signal, reuse = false }) =>
  readSpansAhead(reuse ? new Reusing(source) : source, subtreesOf(wanted, size), signal)

/** Reads pieces into the memory of earlier pieces. The caller uses one piece while the next one is read. */
class Reusing {
  overlaps
  #source
  #buffers = Array.from({ length: MAX_AHEAD + 1 }, () => new Uint8Array(0))
  #reads = 0

  /** @param {StoredView['source']} source */
  constructor (source) {
    this.#source = source
    this.overlaps = source.overlaps
  }

  /** @param {number} start @param {number} end */
  async read (start, end) {
    const next = this.#reads++ % this.#buffers.length
    if (this.#buffers[next].length < end - start) this.#buffers[next] = new Uint8Array(end - start)
    const piece = this.#buffers[next].subarray(0, end - start)
    return piece.subarray(0, await this.#source.readInto(piece, start))
  }
}

/**
 * @param {StoredView} view
 * @param {{ bytes: Uint8Array<ArrayBuffer>, at: number, stop: number }} piece
 * @param {number} start
 * @param {number} end
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * groupByGroup (view, { bytes, at, stop }, start, end) {
  for (let from = at; from < stop; from += GROUP_LEN) {
    const to = Math.min(from + GROUP_LEN, stop)
    await view.expected(from, to) // This throws when a pair is wrong or missing.
    const group = bytes.slice(from - at, to - at)
    if (group.length < to - from) throw truncated({ start: from, wanted: to - from, got: group.length })
    if (!await view.isRight(group, from)) throw leafMismatch(from, to - from)
    yield within(group, from, start, end)
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes @param {number} at  where in the blob they are @param {number} start
 * @param {number} end
 */
function within (bytes, at, start, end) {
  const from = Math.max(start - at, 0)
  const to = Math.min(end - at, bytes.length)
  return from === 0 && to === bytes.length ? bytes : bytes.subarray(from, Math.max(from, to))
}
