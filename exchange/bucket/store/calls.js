// The calls to a store in a bucket that are under way. They end when the store is closed.

import { closedError } from '../../../store/interface.js'
import { eitherOf } from '../../../lib/source/async-util.js'

export class Calls {
  #closing = new AbortController()
  #underWay = /** @type {Set<Promise<unknown>>} */ (new Set())
  #beforeWrite

  /** @param {(signal: AbortSignal) => Promise<void>} beforeWrite  runs before each call that writes */
  constructor (beforeWrite) {
    this.#beforeWrite = beforeWrite
  }

  /** Aborted when the store is closed. */
  get closing () { return this.#closing.signal }

  assertOpen () { if (this.closing.aborted) throw this.closing.reason }

  /**
   * Runs a call.
   *
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} work  its signal aborts when the caller's does, or the store is closed
   * @param {AbortSignal} [given]  that of the caller
   * @returns {Promise<T>}
   */
  async run (work, given) {
    this.assertOpen()
    given?.throwIfAborted()
    // Node.js warns of a signal to which many requests listen, so each call has its own.
    const signal = eitherOf(eitherOf(given, this.closing), new AbortController().signal)
    const call = work(signal)
    this.#underWay.add(call)
    try {
      return await call
    } finally {
      this.#underWay.delete(call)
    }
  }

  /**
   * Runs a call that writes.
   *
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} work @param {AbortSignal} [given]
   * @returns {Promise<T>}
   */
  write (work, given) {
    return this.run(async signal => {
      await this.#beforeWrite(signal)
      return work(signal)
    }, given)
  }

  /**
   * The same as `run` for a generator.
   *
   * @template T
   * @param {(signal: AbortSignal) => AsyncGenerator<T>} work @param {AbortSignal} [given]
   * @returns {AsyncGenerator<T>}
   */
  async * each (work, given) {
    this.assertOpen()
    given?.throwIfAborted()
    yield * work(eitherOf(eitherOf(given, this.closing), new AbortController().signal))
  }

  /** Ends all calls, and waits for those that are no generators. */
  async close () {
    this.#closing.abort(closedError())
    await Promise.allSettled(this.#underWay)
  }
}
