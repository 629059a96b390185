// A store is open, and then closed for good. What fails after that failed because of that.

import { BaoError } from '../lib/errors.js'
import { closed, toldAsFull } from './faults.js'

export class Lifetime {
  #isOver = false

  get isOver () { return this.#isOver }

  end () { this.#isOver = true }

  /** @throws {BaoError} STORE_CLOSED */
  assertOpen () {
    if (this.#isOver) throw closed()
  }

  /** What a failure means. @param {unknown} error */
  explain (error) {
    if (!this.#isOver) return toldAsFull(error)
    return error instanceof BaoError && error.code === 'STORE_CLOSED' ? error : closed(error)
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async run (work) {
    this.assertOpen()
    try {
      return await work()
    } catch (error) {
      throw this.explain(error)
    }
  }

  /** The same for what gives one thing after the other. @template T @param {() => AsyncIterable<T>} work @returns {AsyncGenerator<T>} */
  async * each (work) {
    this.assertOpen()
    try {
      yield * work()
    } catch (error) {
      throw this.explain(error)
    }
  }
}
