// The calls to a store in a bucket that are under way. They end when the store is closed.

import { closedError } from '../../../store/interface.js'
import { eitherOf } from '../../../lib/source/async-util.js'

export class Calls {
  #closing = new AbortController()
  #underWay = /** @type {Set<Promise<unknown>>} */ (new Set())
  /** What ends the calls and generators that are under way. */
  #endings = /** @type {Set<AbortController>} */ (new Set())
  #beforeWrite

  /** @param {(signal: AbortSignal) => Promise<void>} beforeWrite  runs before each call that writes */
  constructor (beforeWrite) {
    this.#beforeWrite = beforeWrite
  }

  /** Aborted when the store is closed. */
  get closing () { return this.#closing.signal }

  assertOpen () { if (this.closing.aborted) throw this.closing.reason }

  /**
   * Runs a call, or, without a signal of the caller, work for which several calls wait.
   *
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} work  its signal aborts when the caller's does, or the store is closed
   * @param {AbortSignal} [given]  that of the caller
   * @returns {Promise<T>}
   */
  async run (work, given) {
    this.assertOpen()
    given?.throwIfAborted()
    const { signal, release } = this.#begin(given)
    const call = (async () => work(signal))() // also work that throws at once must be released
    this.#underWay.add(call)
    try {
      return await call
    } finally {
      this.#underWay.delete(call)
      release()
    }
  }

  /**
   * Makes the signal of a call. It is not made from `closing`, which would refer to it as long as the store is open.
   * Node.js warns of a signal to which many requests listen, unless it was made from others.
   *
   * @param {AbortSignal} [given]  that of the caller
   * @returns {{ signal: AbortSignal, release: () => void }} `release`: must be called at the end of the call
   */
  #begin (given = new AbortController().signal) {
    const ending = new AbortController()
    this.#endings.add(ending)
    return { signal: eitherOf(given, ending.signal), release: () => this.#endings.delete(ending) }
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
    const { signal, release } = this.#begin(given)
    try {
      yield * work(signal)
    } finally {
      release()
    }
  }

  /** Ends all calls, and waits for those that are no generators. */
  async close () {
    this.#closing.abort(closedError())
    for (const ending of this.#endings) ending.abort(this.closing.reason)
    await Promise.allSettled(this.#underWay)
  }
}
