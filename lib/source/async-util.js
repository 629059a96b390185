// Reading from what may be stuck, end too early or never give way to anything else.

import { READ_LEN } from '../engine/arena.js'
import { assertBytes } from '../core/bytes.js'
import { truncated } from '../core/errors.js'

/** @import { RandomAccess } from '../core/types.js' */

/** Bytes per piece of a source that is read from start to end: what a buffer for files takes. */
export const PIECE_LEN = READ_LEN

/** Pieces that are being read while another is worked on. */
export const MAX_AHEAD = 2

/** Milliseconds of work after which timers, aborts and the screen have their turn. */
export const TURN_MS = 12

/**
 * What a promise gives, unless the signal comes first: then its reason is thrown at once.
 *
 * @template T
 * @param {T | Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function untilAborted (promise, signal) {
  if (signal === undefined) return promise
  if (signal.aborted) {
    Promise.resolve(promise).catch(() => {}) // nobody waits for it any more, so nobody would hear that it failed
    throw signal.reason
  }
  let onAbort = () => {}
  const aborted = new Promise((_resolve, reject) => { onAbort = () => reject(signal.reason) })
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, /** @type {Promise<never>} */ (aborted)])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/**
 * Bytes of a random-access source, checked: no more than was asked for, and fewer only where the source ends too early.
 *
 * @param {RandomAccess} source
 * @param {number} start  bytes
 * @param {number} end  bytes, not included
 * @param {AbortSignal} [signal]  does not wait for a source that is stuck
 */
export async function readUpTo (source, start, end, signal) {
  signal?.throwIfAborted()
  const bytes = await untilAborted(source.read(start, end, signal), signal)
  assertBytes('what source.read gave', bytes)
  if (bytes.length > end - start) throw new RangeError(`source.read(${start}, ${end}) gave ${bytes.length} bytes`)
  return bytes
}

/**
 * Bytes of a random-access source, piece by piece.
 *
 * @param {RandomAccess} source @param {number} start @param {number} end
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * inTurn (source, start, end, signal) {
  for (let at = start; at < end; at += PIECE_LEN) {
    const stop = Math.min(at + PIECE_LEN, end)
    yield whole(await readUpTo(source, at, stop, signal), at, stop)
  }
}

/**
 * The same, and while a piece is in the caller's hands the next is being read. The source must bear that.
 *
 * @param {RandomAccess} source @param {number} start @param {number} end
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * ahead (source, start, end, signal) {
  for await (const { at, stop, bytes } of eachAhead(source, piecesOf(start, end), signal)) yield whole(bytes, at, stop)
}

/** @param {number} start @param {number} end @returns {Generator<{ start: number, end: number }>} */
function * piecesOf (start, end) {
  for (let at = start; at < end; at += PIECE_LEN) yield { start: at, end: Math.min(at + PIECE_LEN, end) }
}

/**
 * Any pieces of a random-access source, as they are read: while one is in the caller's hands the next is being read; of a source that may be asked
 * for more before it has answered the one behind that, too, since who is always a little late with the next keeps everybody waiting.
 *
 * @template {Uint8Array} T
 * @param {{ overlaps?: boolean, read (start: number, end: number, signal?: AbortSignal): T | Promise<T> }} source
 * @param {Generator<{ start: number, end: number }>} spans
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<{ at: number, stop: number, bytes: T }>} what was to be read, and what came
 */
export async function * eachAhead (source, spans, signal) {
  const depth = source.overlaps ? MAX_AHEAD : 1
  const underWay = /** @type {{ at: number, stop: number, reading: Promise<T> }[]} */ ([])
  const readOn = () => {
    while (underWay.length < depth) {
      const { done, value: span } = spans.next()
      if (done) return
      signal?.throwIfAborted()
      const reading = Promise.resolve(source.read(span.start, span.end, signal))
      reading.catch(() => {}) // whoever awaits it is told; nobody may
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
function whole (piece, start, end) {
  if (piece.length < end - start) throw truncated({ start, wanted: end - start, got: piece.length })
  return piece
}

/**
 * What an iterable gives, in pieces of at most 1 MiB, until the signal: see `abortable`.
 *
 * @param {AsyncIterable<unknown> | Iterable<unknown>} iterable
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * iterated (iterable, signal) {
  const way = turnsWhenDue(signal)
  for await (const piece of signal === undefined ? iterable : abortable(iterable, signal)) {
    assertBytes('piece of the source', piece)
    for (let at = 0; at < piece.length; at += PIECE_LEN) {
      signal?.throwIfAborted()
      yield piece.subarray(at, at + PIECE_LEN)
    }
    if (piece.length === 0) await way() // nothing that could give way itself
  }
}

/**
 * What an iterable gives, until the signal: then it ends at once, and the iterable is told so without being waited for.
 *
 * @template T
 * @param {AsyncIterable<T> | Iterable<T>} iterable
 * @param {AbortSignal} [signal]
 * @param {(next: Promise<unknown>) => Promise<boolean>} [isSoon]  asked of each before it is waited for: if it is not, an `undefined` is given first
 * @returns {AsyncGenerator<T>}
 */
export async function * abortable (iterable, signal, isSoon) {
  const iterator = iteratorOf(iterable)
  let isAtEnd = false
  let isWaiting = false
  try {
    while (true) {
      isWaiting = true
      const coming = Promise.resolve(iterator.next())
      if (isSoon !== undefined && !await isSoon(coming)) yield /** @type {T} */ (undefined)
      const next = await untilAborted(coming, signal)
      isWaiting = false
      isAtEnd = next.done === true
      if (next.done) return
      yield next.value
    }
  } finally {
    const ending = isAtEnd ? undefined : end(iterator)
    if (!isWaiting && !signal?.aborted) await ending // a stuck source would keep us waiting
  }
}

/** Tells an iterable that was not begun that it is not wanted. @param {AsyncIterable<unknown> | Iterable<unknown>} iterable */
export async function leave (iterable) {
  try {
    await end(iteratorOf(iterable))
  } catch {} // it is in other hands
}

/** @param {AsyncIterator<unknown> | Iterator<unknown>} iterator */
async function end (iterator) {
  try {
    await iterator.return?.()
  } catch {} // of what is not wanted any more
}

/** @template T @param {AsyncIterable<T> | Iterable<T>} iterable @returns {AsyncIterator<T> | Iterator<T>} */
const iteratorOf = iterable => Symbol.asyncIterator in iterable ? iterable[Symbol.asyncIterator]() : iterable[Symbol.iterator]()

/**
 * The same pieces. Now and then the event loop has its turn between them: pieces that are at hand already would starve timers, and an abort by
 * timer would come late.
 *
 * @param {AsyncIterable<Uint8Array>} pieces
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * givingWay (pieces, signal) {
  const way = turnsWhenDue(signal)
  for await (const piece of pieces) {
    yield piece
    await way()
  }
}

/**
 * The same for loops, which await it in every round.
 *
 * @param {AbortSignal} [signal]
 * @returns {() => Promise<void> | undefined}
 */
export function turnsWhenDue (signal) {
  let since = performance.now()
  const take = async () => {
    await turn()
    since = performance.now()
    signal?.throwIfAborted()
  }
  return () => {
    signal?.throwIfAborted()
    return performance.now() - since < TURN_MS ? undefined : take()
  }
}

/** One turn of the event loop. (A timer would wait a millisecond, or four in browsers.) @type {() => Promise<void>} */
export const turn = typeof setImmediate === 'function'
  ? () => new Promise(resolve => { setImmediate(resolve) })
  : () => new Promise(resolve => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => {
        port1.close()
        resolve()
      }
      port2.postMessage(null)
    })
