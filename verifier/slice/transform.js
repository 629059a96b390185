// Verifies a slice as a stage of a pipe: the writable side takes the slice, and the readable side yields the blob.

import { KEEP_OPTIONS } from './leaves.js'
import { SLICE_OPTIONS, SliceVerifier } from './slice.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { assertOptions } from '../../lib/core/bytes.js'
import { toPieces } from '../../lib/source/source.js'
import { verifyPieces } from './pieces.js'

/** @import { Leaf } from './leaves.js' */
/** @import { ReleaseOptions, SliceOptions } from './slice.js' */
/** @import { ExactOptions } from './wanted-bytes.js' */

/**
 * A pair of streams for `pipeThrough`, and a function for `pipeline`, which calls it with the output of the previous
 * stage. A program uses it in one of these two ways, and only once. The pair is not a `TransformStream`, because that
 * cannot end its readable side without an error on its writable side. It is also a function because the types of
 * `pipeline` accept functions in every Node.js, but pairs only since Node.js 25.
 *
 * @typedef {{ readable: ReadableStream<Uint8Array>, writable: WritableStream<Uint8Array> } &
 *   ((source: any) => AsyncGenerator<Uint8Array<ArrayBuffer>>)} VerifyTransform
 */

/**
 * Makes a transform from the bytes of a slice to the verified bytes of the blob, one range after the other. If ranges
 * are given in bytes, the output is exactly these bytes, unless `exact` is false.
 *
 * It takes a piece when the whole output of the previous piece has been read, so at most one piece waits. The readable
 * side ends where the slice ends. Bytes after the slice in its last piece are dropped. A later piece is refused, which
 * cancels the source of a pipe.
 *
 * @param {SliceOptions & ExactOptions & ReleaseOptions} options
 * @returns {VerifyTransform} for `pipeThrough` of web streams, and for `pipeline` of Node.js
 * @throws {import('../../lib/core/errors.js').BaoError} the errors of `SliceVerifier`, on both sides, when all bytes
 *   before the fault have been read
 */
export function verifyTransform (options) {
  assertOptions('options', options, '{ cid, ... }')
  for (const name of KEEP_OPTIONS) {
    if (!(name in options)) continue
    throw new TypeError(`"${name}" is not for transforms: bytes that wait in a stream cannot be borrowed`)
  }
  assertKnownOptions(options, [...SLICE_OPTIONS, 'release'])
  const { readable, writable } = new Transform(options)
  return Object.assign((/** @type {any} */ source) => bytesOf(options, source), { readable, writable })
}

/**
 * The function that `pipeline` calls.
 *
 * @param {SliceOptions & ExactOptions & ReleaseOptions} options @param {AsyncIterable<Uint8Array>} source
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * bytesOf (options, source) {
  for await (const { bytes } of verifyPieces(new SliceVerifier(options), toPieces(source))) yield bytes
}

class Transform {
  #verifier
  #out = /** @type {ReadableStreamDefaultController<Uint8Array>} */ (/** @type {unknown} */ (undefined))
  #input = /** @type {WritableStreamDefaultController} */ (/** @type {unknown} */ (undefined))
  #isWanted = false
  #isOver = false
  #onWanted = () => {}

  /** @param {SliceOptions & ExactOptions & ReleaseOptions} options */
  constructor (options) {
    this.#verifier = new SliceVerifier(options)
    this.readable = new ReadableStream({
      start: controller => { this.#out = controller },
      pull: () => this.#want(),
      cancel: reason => {
        this.#end()
        this.#input.error(reason)
      }
    }, { highWaterMark: 0 })
    this.writable = new WritableStream({
      start: controller => {
        this.#input = controller
        // The signal reports an abort immediately; the stream itself reports it only when the current write has ended.
        controller.signal.addEventListener('abort', () => this.#fail(controller.signal.reason), { once: true })
      },
      write: piece => this.#guarded(async () => {
        await this.#wanted()
        if (this.#isOver) throw new TypeError('the slice has ended: expected no bytes after it')
        await this.#give(this.#verifier.write(piece))
        if (this.#verifier.done) this.#close()
      }),
      close: () => this.#guarded(async () => {
        if (this.#isOver) return
        await this.#give(this.#verifier.flush())
        if (!this.#verifier.done) await this.#wanted()
        this.#verifier.end()
        this.#close()
      })
    })
  }

  /** Passes errors of the writable side to the readable side. @param {() => Promise<void>} work */
  async #guarded (work) {
    try {
      await work()
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  /**
   * Passes on leaves. If a fault follows them, it waits until they have been read, because an error drops unread bytes,
   * and then throws the error.
   *
   * @param {Leaf[]} leaves
   */
  async #give (leaves) {
    for (const { bytes } of leaves) {
      this.#isWanted = false
      this.#out.enqueue(bytes)
    }
    if (this.#verifier.error === undefined) return
    await this.#wanted()
    throw this.#verifier.error
  }

  #close () {
    if (!this.#isOver) this.#out.close()
    this.#end()
  }

  /** @param {unknown} reason */
  #fail (reason) {
    if (!this.#isOver) this.#out.error(reason)
    this.#end()
  }

  #end () {
    this.#isOver = true
    this.#onWanted()
  }

  #want () {
    this.#isWanted = true
    this.#onWanted()
  }

  /** Waits until the readable side is read, or has ended. @returns {Promise<void>} */
  async #wanted () {
    while (!this.#isWanted && !this.#isOver) await new Promise(resolve => { this.#onWanted = () => resolve(undefined) })
  }
}
