// Reading what is stored, piece by piece: each is a subtree, hashed as a whole and compared with what the tree promises for it. Only when it
// differs is it looked at group by group, to give what is right in front of the fault and to name the fault.

import { CHUNK_LEN } from '../../lib/core/constants.js'
import { areEqual } from '../../lib/core/bytes.js'
import { GROUP_LEN } from '../storage/content/tree-pages.js'
import { hash } from '../../lib/hash/hasher.js'
import { leafMismatch, truncated } from '../../lib/core/errors.js'
import { subtreeCv } from '../../lib/hash/subtree.js'
import { MAX_AHEAD, readSpansAhead } from '../../lib/source/read-pieces.js'

/** @import { StoredView } from './snapshot.js' */

/** Bytes of a subtree that is read as one piece, at most: a power of two. */
const MAX_SUBTREE_LEN = 1 << 20

/** @typedef {{ start: number, end: number }} Span  bytes of the blob, half-open */

/** @typedef {{ signal?: AbortSignal, reuse?: boolean }} PieceOptions  `reuse`: pieces are lent until the next is asked for, then their memory is used again */

/**
 * @param {StoredView} view @param {Span} wanted  inside the blob @param {PieceOptions} options
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces, unless told to `reuse` their memory
 * @throws {BaoError} BAO_LEAF_MISMATCH { start, len }, BAO_PARENT_MISMATCH { node }, BAO_TRUNCATED: when all in front of it has been given
 */
export async function * verified (view, { start, end }, options) {
  for await (const { at, bytes, stop } of storedPieces(view, { start, end }, options)) {
    const isWhole = bytes.length === stop - at && await isRight(view, bytes, at)
    if (isWhole) yield within(bytes, at, start, end)
    else yield * groupByGroup(view, { bytes, at, stop }, start, end)
  }
}

/** The same, without looking at what it is. @param {StoredView} view @param {Span} wanted @param {PieceOptions} options @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} */
export async function * unverified (view, { start, end }, options) {
  for await (const { at, bytes, stop } of storedPieces(view, { start, end }, options)) {
    const piece = within(bytes, at, start, end)
    if (piece.length > 0) yield piece
    if (bytes.length < stop - at) throw truncated({ start: at + bytes.length, wanted: stop - at - bytes.length, got: 0 })
  }
}

/** @param {StoredView} view @param {Span} wanted @param {PieceOptions} options */
const storedPieces = ({ source, size }, { start, end }, { signal, reuse = false }) =>
  readSpansAhead(reuse ? new Reusing(source) : source, subtreesOf(start, end, size), signal)

/** Reads pieces into memory that it has read others into. One is in the caller's hands, and the next are being read. */
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
    const turn = this.#reads++ % this.#buffers.length
    if (this.#buffers[turn].length < end - start) this.#buffers[turn] = new Uint8Array(end - start)
    const piece = this.#buffers[turn].subarray(0, end - start)
    return piece.subarray(0, await this.#source.readInto(piece, start))
  }
}

/**
 * Subtrees that lie side by side and hold the wanted bytes, as large as they can be.
 *
 * @param {number} start @param {number} end @param {number} size  of the blob
 * @returns {Generator<Span>}
 */
export function * subtreesOf (start, end, size) {
  const last = Math.min(Math.ceil(end / GROUP_LEN) * GROUP_LEN, size)
  for (let at = start - start % GROUP_LEN; at < last;) {
    let len = MAX_SUBTREE_LEN
    while (len > GROUP_LEN && (at % len !== 0 || at + len > last)) len /= 2
    const stop = Math.min(at + len, last)
    yield { start: at, end: stop }
    at = stop
  }
}

/** @param {StoredView} view @param {Uint8Array} bytes  a whole subtree @param {number} at  where it starts */
async function isRight (view, bytes, at) {
  let promised
  try {
    promised = await view.promised(at, at + bytes.length)
  } catch {
    return false // the groups in front of the pair that is wrong may be right
  }
  return hashesTo(bytes, at, view.size, promised)
}

/** @param {Uint8Array} bytes  a whole subtree @param {number} at  where it starts @param {number} size  of the blob @param {Uint8Array} promised */
export const hashesTo = (bytes, at, size, promised) => areEqual(bytes.length === size ? hash(bytes) : subtreeCv(bytes, at / CHUNK_LEN), 0, promised)

/**
 * @param {StoredView} view @param {{ bytes: Uint8Array<ArrayBuffer>, at: number, stop: number }} piece @param {number} start @param {number} end
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * groupByGroup (view, { bytes, at, stop }, start, end) {
  for (let from = at; from < stop; from += GROUP_LEN) {
    const to = Math.min(from + GROUP_LEN, stop)
    await view.promised(from, to)
    const group = bytes.slice(from - at, to - at)
    if (group.length < to - from) throw truncated({ start: from, wanted: to - from, got: group.length })
    if (!await isRight(view, group, from)) throw leafMismatch(from, to - from)
    yield within(group, from, start, end)
  }
}

/** @param {Uint8Array<ArrayBuffer>} bytes @param {number} at  where they stand @param {number} start @param {number} end */
function within (bytes, at, start, end) {
  const from = Math.max(start - at, 0)
  const to = Math.min(end - at, bytes.length)
  return from === 0 && to === bytes.length ? bytes : bytes.subarray(from, Math.max(from, to))
}
