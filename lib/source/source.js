// Opens the sources that callers give: bytes, Blobs, files, streams. Each becomes one of two shapes: a random-access
// source `{ size, read(start, end) }`, or a sequence, which is an async iterable of pieces.

import { canShareBlobs, openFile } from '#files'
import { iteratePieces, readAhead, readInOrder } from './read-pieces.js'
import { cancelIterable, untilAborted, withYields } from './async-util.js'
import { assertBytes, assertInteger, describe } from '../core/bytes.js'
import { leaseBuffers } from '../engine/read-buffers.js'

/** @import { OpenFile } from './files.node.js' */
/** @import { OpenSource, ProgressOptions, RandomAccess, SharedFile, Source } from '../core/types.js' */

/** A path, and a function which checks that the path still leads to a certain file when it is opened. */
export class CheckedFile {
  /** @param {string} path @param {(fd: number) => void} check  throws if the open file is not the expected one */
  constructor (path, check) {
    this.path = path
    this.check = check
  }
}

/**
 * Opens bytes, a Blob, a file or a random-access source, to be read at any offset.
 *
 * @param {Source} source
 * @param {AbortSignal} [signal]  an abort does not wait for a path that cannot be opened yet
 * @returns {Promise<RandomAccess & { close (): Promise<void> | void }>} the caller closes it
 */
export async function toRandomAccess (source, signal) {
  assertRandomAccess(source)
  if (source instanceof Uint8Array) {
    return { size: source.length, read: (start, end) => source.subarray(start, end), close () {} }
  }
  if (isPath(source)) {
    const file = await fileAt(source, signal)
    if (file.isRegular) return file
    await file.close()
    throw new TypeError(`"source" expected a file that can be read at any offset, got ${source}`)
  }
  if (source instanceof Blob) return { ...readerOf(source), overlaps: true, close () {} }
  return {
    size: source.size,
    overlaps: source.overlaps === true,
    read: (start, end, signal) => source.read(start, end, signal),
    readInto: source.readInto?.bind(source),
    close () {}
  }
}

/**
 * @param {unknown} source
 * @returns {asserts source is Uint8Array | Blob | RandomAccess | string | URL}
 * @throws {TypeError | RangeError} unless `toRandomAccess` takes it
 */
export function assertRandomAccess (source) {
  if (source instanceof Uint8Array) assertBytes('source', source)
  else if (isRandomAccess(source)) assertInteger('source.size', source.size)
  else if (!isPath(source) && !(source instanceof Blob)) {
    throw new TypeError(`"source" expected bytes, a Blob, a path, or { size, read }, got ${describe(source)}`)
  }
}

/**
 * Opens any source, to be read from start to end. A stream is cancelled if it is not read to its end.
 *
 * @param {Source | CheckedFile} source
 * @param {AbortSignal} [signal]  an abort does not wait for a source that hangs
 * @returns {Promise<OpenSource>} the caller closes it
 */
export async function openSource (source, signal) {
  if (signal?.aborted) {
    cancelSource(source)
    throw signal.reason
  }
  if (isPath(source)) return openPath(source, signal)
  if (source instanceof CheckedFile) return openPath(source.path, signal, source.check)
  if (source instanceof Blob) {
    const shared = canShareBlobs ? { blob: source } : undefined
    const blob = readerOf(source)
    const pieces = (start = 0, end = blob.size) => readAhead(blob, start, end, signal)
    return { size: blob.size, shared, pieces, close () {} }
  }
  if (source instanceof Uint8Array || isRandomAccess(source)) {
    const bytes = await toRandomAccess(source)
    const pieces = (start = 0, end = bytes.size) => readInOrder(bytes, start, end, signal)
    return { size: bytes.size, shared: sharedMemory(source), pieces, close () {} }
  }
  const iterable = iterableOf(source)
  return { pieces: () => iteratePieces(iterable, signal), close () {} }
}

/**
 * Yields the bytes of any source from start to end, in pieces of at most 1 MiB. A piece is borrowed until the next one.
 *
 * @param {Source | CheckedFile} source
 * @param {ProgressOptions & { type?: string }} [options]  `type`: the type of the progress events, which are sent when
 *   the caller has finished a piece
 * @returns {AsyncGenerator<Uint8Array>}
 * @throws {TypeError | RangeError} immediately if the argument is not a source
 */
export function toPieces (source, options = {}) {
  if (source instanceof Uint8Array || isRandomAccess(source)) assertRandomAccess(source)
  else if (!isPath(source) && !(source instanceof CheckedFile || source instanceof Blob)) iterableOf(source)
  return openedPieces(source, options)
}

/**
 * @param {Source | CheckedFile} source @param {ProgressOptions & { type?: string }} options
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * openedPieces (source, options) {
  const opened = await openSource(source, options.signal)
  try {
    yield * withProgress(opened, options)
  } finally {
    await closeSource(opened, options.signal)
  }
}

/**
 * Yields all pieces of an open source. Reports progress, yields to the event loop, and checks at the end that the
 * source has not changed.
 *
 * @param {OpenSource} opened
 * @param {ProgressOptions & { type?: string }} options
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * withProgress (opened, { signal, onProgress, type = 'baobox:read' }) {
  let done = 0
  for await (const piece of withYields(opened.pieces(), signal)) {
    yield piece
    done += piece.length
    onProgress?.({ type, detail: { done, total: opened.size, unit: 'bytes' } })
  }
  signal?.throwIfAborted()
  await opened.check?.()
}

/**
 * Closes a source. After an abort, it does not wait for reads that are under way.
 *
 * @param {{ close (): Promise<void> | void }} opened @param {AbortSignal} [signal]
 */
export async function closeSource (opened, signal) {
  if (signal?.aborted) Promise.resolve(opened.close()).catch(() => {})
  else await opened.close()
}

/** Cancels a stream that will not be read. Other sources need not be cancelled. @param {Source | CheckedFile} source */
export function cancelSource (source) {
  if (isIterable(source)) cancelIterable(iterableOf(source))
}

/**
 * @param {string | URL} path @param {AbortSignal} [signal] @param {CheckedFile['check']} [check]
 * @returns {Promise<OpenSource>}
 */
async function openPath (path, signal, check) {
  const file = await fileAt(path, signal, check)
  const close = () => file.close()
  // Some files of the system have the size 0, but yield bytes when they are read.
  if (!file.isRegular || file.size === 0) return { pieces: () => iteratePieces(file.pieces(), signal), close }
  return {
    size: file.size,
    shared: { file: file.shared },
    pieces: (start = 0, end = file.size) => piecesOf(file, start, end, signal),
    keepOpenUntil: promise => file.keepOpenUntil(promise),
    check: () => file.check(),
    close
  }
}

/**
 * Opens a file. Opening a pipe waits for a writer; an abort ends that wait.
 *
 * @param {string | URL} path @param {AbortSignal} [signal] @param {CheckedFile['check']} [check]
 * @returns {Promise<OpenFile>}
 */
function fileAt (path, signal, check) {
  const opening = openFile(path, check)
  return untilAborted(opening, signal).catch(error => {
    opening.then(late => late.close()).catch(() => {})
    throw error
  })
}

/**
 * @param {OpenFile} file @param {number} start @param {number} end @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * piecesOf (file, start, end, signal) {
  const { buffers, release } = leaseBuffers()
  let turn = 0
  let reading = Promise.resolve(0)
  /** Reads into one buffer while the caller works on the other one. @param {number} start @param {number} end */
  const read = async (start, end) => {
    turn = 1 - turn
    const buffer = buffers[turn].subarray(0, end - start)
    reading = file.readInto(buffer, start)
    return buffer.subarray(0, await reading)
  }
  try {
    yield * readAhead({ size: file.size, read }, start, end, signal)
  } finally {
    // After an abort, a read may still write into its buffer, so nobody else may get the buffer before the read ends.
    reading.then(release, release)
  }
}

/**
 * Returns an open source in the form in which other threads can read it; undefined if they cannot.
 *
 * @param {Source} source @param {RandomAccess & { shared?: SharedFile }} opened  the result of `toRandomAccess`
 * @returns {OpenSource['shared']}
 */
export function sharedOf (source, opened) {
  if (opened.shared !== undefined) return { file: opened.shared }
  if (source instanceof Blob) return canShareBlobs ? { blob: source } : undefined
  return sharedMemory(source)
}

/** @param {Blob} blob @returns {RandomAccess} */
const readerOf = blob => ({
  size: blob.size,
  read: async (start, end) => new Uint8Array(await blob.slice(start, end).arrayBuffer())
})

/** @param {unknown} source @returns {OpenSource['shared']} */
const sharedMemory = source => source instanceof Uint8Array && isShared(source.buffer) ? { bytes: source } : undefined

/** @param {ArrayBufferLike} buffer */
const isShared = buffer => typeof SharedArrayBuffer === 'function' && buffer instanceof SharedArrayBuffer

/** @param {unknown} source @returns {AsyncIterable<unknown> | Iterable<unknown>} */
function iterableOf (source) {
  if (isWebStream(source)) return piecesOfWebStream(source)
  if (!isIterable(source)) {
    const expected = 'bytes, a Blob, a stream, an iterable of bytes, or a path'
    throw new TypeError(`"source" expected ${expected}, got ${describe(source)}`)
  }
  return isNodeStream(source) ? piecesOfNodeStream(source) : source
}

/**
 * Iterates over a stream with a reader, which can cancel the stream at any time. The stream's own iterator would wait
 * for the current read.
 *
 * @param {ReadableStream<unknown>} stream
 * @returns {AsyncIterable<unknown>}
 */
const piecesOfWebStream = stream => ({
  [Symbol.asyncIterator] () {
    const reader = stream.getReader()
    return {
      async next () {
        const { done, value } = await reader.read()
        if (done) reader.releaseLock()
        return { done, value }
      },
      async return () {
        await reader.cancel()
        reader.releaseLock()
        return { done: true, value: undefined }
      }
    }
  }
})

/**
 * Iterates over a stream, and destroys it even if it is waiting for a piece. The stream's own iterator can end it only
 * between two pieces.
 *
 * @param {AsyncIterable<unknown> & { destroy (): unknown }} stream
 * @returns {AsyncIterable<unknown>}
 */
const piecesOfNodeStream = stream => ({
  [Symbol.asyncIterator] () {
    const iterator = stream[Symbol.asyncIterator]()
    let isBetween = false
    return {
      async next () {
        isBetween = false
        const next = await iterator.next()
        isBetween = true
        return next
      },
      async return () {
        if (!isBetween) stream.destroy()
        await iterator.return?.()
        return { done: true, value: undefined }
      }
    }
  }
})

/** @param {unknown} source @returns {source is AsyncIterable<unknown> | Iterable<unknown>} */
const isIterable = source => typeof source === 'object' && source !== null &&
  (Symbol.asyncIterator in source || Symbol.iterator in source || isWebStream(source))

/** @param {unknown} source @returns {source is ReadableStream<unknown>} */
const isWebStream = source => typeof ReadableStream === 'function' && source instanceof ReadableStream

/** @param {object} source @returns {source is AsyncIterable<unknown> & { destroy (): unknown }} */
const isNodeStream = source =>
  Symbol.asyncIterator in source && 'destroy' in source && typeof source.destroy === 'function'

/** @param {unknown} source @returns {source is string | URL} */
const isPath = source => typeof source === 'string' || source instanceof URL

/** False for streams, whose `read` is a different method. @param {unknown} source @returns {source is RandomAccess} */
export const isRandomAccess = source => typeof source === 'object' && source !== null &&
  !(Symbol.asyncIterator in source) && 'read' in source && typeof source.read === 'function' && 'size' in source &&
  typeof source.size === 'number'
