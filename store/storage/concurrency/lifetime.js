// Knows whether a store is still open. A call that fails after the store was closed gets the error STORE_CLOSED.

import { BaoError } from '../../../lib/core/errors.js'
import { closedError, isNotOpen, reopened, asStoreFull } from '../errors.js'

export class Lifetime {
  #isEnded = false
  #ready
  #closing = new AbortController()

  /**
   * @param {() => Promise<unknown> | undefined} ready  returns a promise that a call awaits before it begins, if there
   *   is one
   */
  constructor (ready) {
    this.#ready = ready
  }

  get isEnded () { return this.#isEnded }

  /** Aborted when the store is closed, with STORE_CLOSED as its reason. */
  get closing () { return this.#closing.signal }

  end () {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#closing.abort(closedError())
  }

  /** @throws {BaoError} STORE_CLOSED */
  assertOpen () {
    if (this.#isEnded) throw closedError()
  }

  /** Returns the error to throw to callers for a failure. @param {unknown} error */
  explain (error) {
    if (!this.#isEnded) return isNotOpen(error) ? reopened(error) : asStoreFull(error)
    return error instanceof BaoError && error.code === 'STORE_CLOSED' ? error : closedError(error)
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async run (work) {
    this.assertOpen()
    try {
      const ready = this.#ready()
      if (ready !== undefined) {
        await ready
        this.assertOpen()
      }
      return await work()
    } catch (error) {
      throw this.explain(error)
    }
  }

  /**
   * Runs work that yields several results.
   *
   * @template T
   * @param {() => AsyncIterable<T>} work
   * @returns {AsyncGenerator<T>}
   */
  async * each (work) {
    this.assertOpen()
    try {
      await this.#ready()
      this.assertOpen()
      yield * work()
    } catch (error) {
      throw this.explain(error)
    }
  }
}
