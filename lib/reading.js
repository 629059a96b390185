// Reading from what may be stuck, end too early or never give way to anything else.

import { READ_LEN } from './arena.js'
import { assertBytes } from './bytes.js'
import { truncated } from './errors.js'

/** @import { RandomAccess } from './types.js' */

/** Bytes per piece of a source that is read from start to end: what a buffer for files takes. */
export const PIECE_LEN = READ_LEN

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
  if (start === end) return
  signal?.throwIfAborted()
  /** @param {number} at */
  const stopOf = at => Math.min(at + PIECE_LEN, end)
  /** @param {number} at */
  const read = at => {
    const reading = Promise.resolve(source.read(at, stopOf(at), signal))
    reading.catch(() => {}) // whoever awaits it is told; nobody may
    return reading
  }
  let next = read(start)
  for (let at = start; at < end; at += PIECE_LEN) {
    const stop = stopOf(at)
    const piece = whole(await untilAborted(next, signal), at, stop)
    signal?.throwIfAborted()
    if (stop < end) next = read(stop)
    yield piece
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
  for await (const piece of signal === undefined ? iterable : abortable(iterable, signal)) {
    assertBytes('piece of the source', piece)
    for (let at = 0; at < piece.length; at += PIECE_LEN) {
      signal?.throwIfAborted()
      yield piece.subarray(at, at + PIECE_LEN)
    }
  }
}

/**
 * What an iterable gives, until the signal: then it ends at once, and the iterable is told so without being waited for.
 *
 * @template T
 * @param {AsyncIterable<T> | Iterable<T>} iterable
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<T>}
 */
export async function * abortable (iterable, signal) {
  const iterator = Symbol.asyncIterator in iterable ? iterable[Symbol.asyncIterator]() : iterable[Symbol.iterator]()
  let isAtEnd = false
  try {
    while (true) {
      const next = await untilAborted(iterator.next(), signal)
      isAtEnd = next.done === true
      if (next.done) return
      yield next.value
    }
  } finally {
    if (!isAtEnd) Promise.resolve(iterator.return?.()).catch(() => {}) // a stuck source would keep us waiting
  }
}

/**
 * The same pieces. Now and then the event loop has its turn between them: pieces that are at hand already would starve timers, and an abort by
 * timer would come late.
 *
 * @param {AsyncIterable<Uint8Array>} pieces
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * givingWay (pieces, signal) {
  let since = performance.now()
  for await (const piece of pieces) {
    yield piece
    if (performance.now() - since < TURN_MS) continue
    await turn()
    signal?.throwIfAborted()
    since = performance.now()
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
