// Where bytes come from: one of two shapes. A random-access source is `{ size, read(start, end) }`; a sequence is an async iterable of
// pieces. Everything else that callers have at hand becomes one of them here.

import { openFile } from '#files'
import { assertBytes, assertInteger, describe } from './bytes.js'
import { truncated } from './errors.js'

/** @import { RandomAccess, Source } from './types.js' */

/** Bytes per read from a file or Blob that is read from start to end. */
const PIECE_LEN = 1 << 20

/**
 * Bytes of a random-access source, checked: no more than was asked for, and fewer only where the source ends too early.
 *
 * @param {RandomAccess} source
 * @param {number} start  bytes
 * @param {number} end  bytes, not included
 * @param {AbortSignal} [signal]  does not wait for a source that is stuck
 */
export async function readUpTo (source, start, end, signal) {
  const bytes = await untilAborted(source.read(start, end), signal)
  assertBytes('what source.read gave', bytes)
  if (bytes.length > end - start) throw new RangeError(`source.read(${start}, ${end}) gave ${bytes.length} bytes`)
  return bytes
}

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
 * A random-access view of bytes, a Blob, a file, or what already is one.
 *
 * @param {Source} source
 * @returns {Promise<RandomAccess & { close (): Promise<void> | void }>} to be closed by the caller
 */
export async function toRandomAccess (source) {
  if (source instanceof Uint8Array) return { size: source.length, read: (start, end) => source.subarray(start, end), close () {} }
  if (isPath(source)) {
    const file = await openFile(source)
    if (file.isRegular) return file
    await file.close()
    throw new TypeError(`"source" expected a file that can be read at any place, got ${source}`)
  }
  if (source instanceof Blob) {
    return { size: source.size, read: async (start, end) => new Uint8Array(await source.slice(start, end).arrayBuffer()), close () {} }
  }
  if (isRandomAccess(source)) {
    assertInteger('source.size', source.size)
    return { size: source.size, read: (start, end) => source.read(start, end), close () {} }
  }
  throw new TypeError(`"source" expected bytes, a Blob, a path, or { size, read }, got ${describe(source)}`)
}

/**
 * The bytes of any source from start to end, in pieces of at most 1 MiB. A stream that is not read to its end is cancelled.
 *
 * @param {Source} source
 * @param {{ signal?: AbortSignal }} [options]  an abort does not wait for a source that is stuck
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * toPieces (source, { signal } = {}) {
  signal?.throwIfAborted()
  if (isPath(source)) {
    const file = await openFile(source)
    try {
      // Some files only seem to be empty: what they have shows when they are read.
      yield * file.isRegular && file.size > 0 ? toPieces(file, { signal }) : abortable(file.pieces(), signal)
    } finally {
      await close(file, signal)
    }
  } else if (source instanceof Uint8Array || source instanceof Blob || isRandomAccess(source)) {
    const file = await toRandomAccess(source)
    try {
      for (let at = 0; at < file.size; at += PIECE_LEN) {
        const end = Math.min(at + PIECE_LEN, file.size)
        const piece = await readUpTo(file, at, end, signal)
        if (piece.length < end - at) throw truncated({ start: at, wanted: end - at, got: piece.length })
        yield piece
      }
    } finally {
      await close(file, signal)
    }
  } else {
    for await (const piece of abortable(iterableOf(source), signal)) {
      assertBytes('piece of the source', piece)
      for (let at = 0; at < piece.length; at += PIECE_LEN) {
        signal?.throwIfAborted()
        yield piece.subarray(at, at + PIECE_LEN)
      }
    }
  }
}

/**
 * The same pieces, until the signal: then it ends at once, and the source is told so without being waited for.
 *
 * @template T
 * @param {AsyncIterable<T> | Iterable<T>} iterable
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<T>}
 */
async function * abortable (iterable, signal) {
  if (signal === undefined) return yield * iterable
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

/** Closes a file; after an abort without waiting for the read that was under way. @param {{ close (): Promise<void> | void }} file @param {AbortSignal} [signal] */
async function close (file, signal) {
  if (signal?.aborted) Promise.resolve(file.close()).catch(() => {})
  else await file.close()
}

/** @param {unknown} source @returns {AsyncIterable<unknown> | Iterable<unknown>} */
function iterableOf (source) {
  if (typeof source === 'object' && source !== null) {
    if (Symbol.asyncIterator in source || Symbol.iterator in source) return /** @type {AsyncIterable<unknown>} */ (source)
    // Browsers whose streams are not iterable yet.
    if (source instanceof ReadableStream) return readableStreamPieces(source)
  }
  throw new TypeError(`"source" expected bytes, a Blob, a stream, an iterable of bytes, or a path, got ${describe(source)}`)
}

/** @param {ReadableStream<unknown>} stream */
async function * readableStreamPieces (stream) {
  const reader = stream.getReader()
  let isRead = false
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
    isRead = true
  } finally {
    if (!isRead) await reader.cancel()
    reader.releaseLock()
  }
}

/** @param {unknown} source @returns {source is string | URL} */
const isPath = source => typeof source === 'string' || source instanceof URL

/** A stream may have a size and a `read` of another kind. @param {unknown} source @returns {source is RandomAccess} */
const isRandomAccess = source => typeof source === 'object' && source !== null && !(Symbol.asyncIterator in source) &&
  'read' in source && typeof source.read === 'function' && 'size' in source && typeof source.size === 'number'

/**
 * How many bytes a source has, when it tells.
 *
 * @param {unknown} source
 * @returns {number | undefined}
 */
export const totalOf = source => source instanceof Uint8Array
  ? source.length
  : source instanceof Blob || isRandomAccess(source) ? source.size : undefined
