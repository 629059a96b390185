// Verification as a stage of a pipe: a writable side that takes a slice, a readable side that gives the blob.

import { SliceVerifier } from './slice.js'

/** @import { Leaf } from './leaves.js' */
/** @import { ReleaseOptions, SliceOptions } from './slice.js' */

/**
 * A transform from the bytes of a slice to the verified bytes of the blob, one range after the other.
 *
 * It takes a piece when everything from the piece before has been taken from it, so no more than one waits. The readable side ends where the
 * slice ends. What stands behind that in the same piece is dropped; a further piece is refused, which cancels the source of a pipe.
 *
 * @param {SliceOptions & ReleaseOptions} options
 * @returns {{ readable: ReadableStream<Uint8Array>, writable: WritableStream<Uint8Array> }} for `pipeThrough`, and for `pipeline` of Node.js
 *   (Bun's waits for ever).
 *   (No `TransformStream`: that cannot end its readable side without failing its writable side.)
 * @throws {import('../../lib/core/errors.js').BaoError} as `SliceVerifier`, on both sides, when everything before the fault has been read
 */
export function verifyTransform (options) {
  for (const name of ['into', 'reuse', 'onLeaf']) {
    if (name in options) throw new TypeError(`"${name}" is not for transforms: what waits in a stream cannot be lent`)
  }
  const { readable, writable } = new Transform(options)
  return { readable, writable }
}

class Transform {
  #verifier
  #out = /** @type {ReadableStreamDefaultController<Uint8Array>} */ (/** @type {unknown} */ (undefined))
  #input = /** @type {WritableStreamDefaultController} */ (/** @type {unknown} */ (undefined))
  #isWanted = false
  #isOver = false
  #onWanted = () => {}

  /** @param {SliceOptions & ReleaseOptions} options */
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
        // At once: the stream itself tells of an abort only when the write that is under way has ended.
        controller.signal.addEventListener('abort', () => this.#fail(controller.signal.reason), { once: true })
      },
      write: piece => this.#guarded(async () => {
        await this.#wanted()
        if (this.#isOver) throw new TypeError('the slice has ended: nothing can be written behind it')
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

  /** Errors of the writable side are errors of the readable side. @param {() => Promise<void>} work */
  async #guarded (work) {
    try {
      await work()
    } catch (error) {
      this.#fail(error)
      throw error
    }
  }

  /** Leaves, and then the fault that stands behind them: an error drops what has not been read. @param {Leaf[]} leaves */
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

  /** Until somebody wants to read, or nobody will. @returns {Promise<void>} */
  async #wanted () {
    while (!this.#isWanted && !this.#isOver) await new Promise(resolve => { this.#onWanted = () => resolve(undefined) })
  }
}
