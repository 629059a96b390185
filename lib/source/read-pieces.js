// Reads a source from start to end, in pieces. A source may hang or be too short, so this module handles aborts and
// checks the length of what it reads.

import { READ_LEN } from '../engine/arena.js'
import { abortable, createYielder, untilAborted } from './async-util.js'
import { assertBytes } from '../core/bytes.js'
import { truncated } from '../core/errors.js'

/** @import { RandomAccess } from '../core/types.js' */

/** The length of a piece in bytes: that of a buffer for files. */
export const PIECE_LEN = READ_LEN

/** How many reads may be under way while the caller works on a piece. */
export const MAX_AHEAD = 2

/**
 * Reads bytes of a random-access source. The result never has more bytes than were asked for, and has fewer only if the
 * source ends too early.
 *
 * @param {RandomAccess} source
 * @param {number} start  bytes
 * @param {number} end  bytes, not included
 * @param {AbortSignal} [signal]  an abort does not wait for a source that hangs
 */
export async function readUpTo (source, start, end, signal) {
  signal?.throwIfAborted()
  const bytes = await untilAborted(source.read(start, end, signal), signal)
  assertBytes('what source.read gave', bytes)
  if (bytes.length > end - start) throw new RangeError(`source.read(${start}, ${end}) gave ${bytes.length} bytes`)
  return bytes
}

/**
 * Yields bytes of a random-access source, one piece after the other.
 *
 * @param {RandomAccess} source @param {number} start @param {number} end
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * readInOrder (source, start, end, signal) {
  for (const piece of piecesOf(start, end)) {
    yield assertWhole(await readUpTo(source, piece.start, piece.end, signal), piece.start, piece.end)
  }
}

/**
 * Does what `readInOrder` does, but reads the next piece while the caller works on one. The source must allow
 * overlapping reads.
 *
 * @param {RandomAccess} source @param {number} start @param {number} end
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * readAhead (source, start, end, signal) {
  for await (const { at, stop, bytes } of readSpansAhead(source, piecesOf(start, end), signal)) {
    yield assertWhole(bytes, at, stop)
  }
}

/**
 * Does what `readAhead` does if the source allows overlapping reads, and otherwise what `readInOrder` does.
 *
 * @type {typeof readInOrder}
 */
export const readPieces = (source, start, end, signal) =>
  (source.overlaps ? readAhead : readInOrder)(source, start, end, signal)

/** @param {number} start @param {number} end @returns {Generator<{ start: number, end: number }>} */
function * piecesOf (start, end) {
  for (let at = start; at < end; at += PIECE_LEN) yield { start: at, end: Math.min(at + PIECE_LEN, end) }
}

/**
 * Yields spans of a random-access source. While the caller works on a span, the next one is read. If reads may overlap,
 * two are read ahead, so that one slow read does not make the caller wait.
 *
 * @template {Uint8Array} T
 * @param {{ overlaps?: boolean, read (start: number, end: number, signal?: AbortSignal): T | Promise<T> }} source
 * @param {Generator<{ start: number, end: number }>} spans
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<{ at: number, stop: number, bytes: T }>} the span, and the bytes that the source has
 *   returned for it, unchecked
 */
export async function * readSpansAhead (source, spans, signal) {
  const depth = source.overlaps ? MAX_AHEAD : 1
  const underWay = /** @type {{ at: number, stop: number, reading: Promise<T> }[]} */ ([])
  const readOn = () => {
    while (underWay.length < depth) {
      const { done, value: span } = spans.next()
      if (done) return
      signal?.throwIfAborted()
      const reading = Promise.resolve(source.read(span.start, span.end, signal))
      reading.catch(() => {}) // it may fail before it is awaited, or may never be awaited
      underWay.push({ at: span.start, stop: span.end, reading })
    }
  }
  readOn()
  for (let next = underWay.shift(); next !== undefined; next = underWay.shift()) {
    const { at, stop, reading } = next
    const bytes = await untilAborted(reading, signal)
    readOn()
    yield { at, stop, bytes }
    signal?.throwIfAborted()
  }
}

/** @param {Uint8Array} piece @param {number} start @param {number} end */
function assertWhole (piece, start, end) {
  if (piece.length < end - start) throw truncated({ start, wanted: end - start, got: piece.length })
  return piece
}

/**
 * Yields the bytes of an iterable, in pieces of at most 1 MiB, until the signal aborts: see `abortable`.
 *
 * @param {AsyncIterable<unknown> | Iterable<unknown>} iterable
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * iteratePieces (iterable, signal) {
  const yieldWhenDue = createYielder(signal)
  for await (const piece of signal === undefined ? iterable : abortable(iterable, signal)) {
    assertBytes('piece of the source', piece)
    for (let at = 0; at < piece.length; at += PIECE_LEN) {
      signal?.throwIfAborted()
      yield piece.subarray(at, at + PIECE_LEN)
    }
    if (piece.length === 0) await yieldWhenDue() // callers yield after each piece, but get no empty ones
  }
}
