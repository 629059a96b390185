// A call of `supply` that is under way, and the limit on how many there may be.

import { ChunkRanges } from '../../lib/tree/ranges.js'
import { untilAborted } from '../../lib/source/async-util.js'

/** Chunks that one call fetches. All reads that need one of them wait for the call. */
export class SupplyCall {
  #ending = new AbortController()
  #reads = 0
  #isEnded = false
  /** @type {unknown} */
  #error
  /** Resolve the waits of reads. @type {((value?: unknown) => void)[]} */
  #waiting = []
  /** The chunks that the call has fetched so far, which the store has kept. */
  kept = ChunkRanges.none

  /**
   * @param {ChunkRanges} ranges @param {number} hops  those of the read that has begun the call
   * @param {() => void} onLeft  called when the last read that waits was aborted
   */
  constructor (ranges, hops, onLeft) {
    this.ranges = ranges
    this.hops = hops
    this.onLeft = onLeft
  }

  /** Aborted when no read waits any longer. */
  get signal () { return this.#ending.signal }

  /** @param {unknown} reason */
  abort (reason) { this.#ending.abort(reason) }

  /** True if a read waits for the call. */
  get isWanted () { return this.#reads > 0 }

  /**
   * Waits until a chunk was fetched, or until the call has ended. If the wait is aborted and no other read waits, the
   * call is aborted. If the last read gets its chunk, the call goes on, and fetches more than was wanted.
   *
   * @param {number} chunk @param {AbortSignal} [signal]
   * @throws the error of the call, if nothing was fetched before it
   */
  async wait (chunk, signal) {
    this.#reads++
    try {
      while (!this.kept.has(chunk) && !this.#isEnded) {
        await untilAborted(new Promise(resolve => this.#waiting.push(resolve)), signal)
      }
    } catch (error) {
      if (this.#reads === 1) {
        this.onLeft()
        this.abort(new DOMException('no read waits any longer', 'AbortError'))
      }
      throw error
    } finally {
      this.#reads--
    }
    if (this.#error !== undefined && this.kept.isEmpty) throw this.#error
  }

  /** Notes that the store has kept some chunks. @param {ChunkRanges} ranges */
  gained (ranges) {
    this.kept = this.kept.union(ranges)
    for (const wake of this.#waiting.splice(0)) wake()
  }

  /** Notes the end of the call. @param {unknown} [error] */
  ended (error) {
    this.#isEnded = true
    this.#error = error
    this.gained(ChunkRanges.none)
  }
}

/** Lets a limited number of calls run at the same time. The others wait in the order in which they came. */
export class Turns {
  #free
  #waiting = /** @type {Set<() => void>} */ (new Set())

  /** @param {number} most */
  constructor (most) {
    this.#free = most
  }

  /**
   * @template T
   * @param {() => Promise<T>} work @param {AbortSignal} signal  ends the wait for a turn
   * @returns {Promise<T>}
   */
  async run (work, signal) {
    if (this.#free > 0) this.#free--
    else await this.#wait(signal)
    try {
      return await work()
    } finally {
      this.#passOn()
    }
  }

  #passOn () {
    const [take] = this.#waiting
    if (take === undefined) this.#free++
    else take()
  }

  /** Waits until another call passes its turn on. @param {AbortSignal} signal */
  async #wait (signal) {
    let take = () => {}
    const turn = new Promise(resolve => {
      take = () => {
        this.#waiting.delete(take)
        resolve(undefined)
      }
    })
    this.#waiting.add(take)
    try {
      await untilAborted(turn, signal)
    } catch (error) {
      if (!this.#waiting.delete(take)) this.#passOn() // The turn has come at the same moment as the abort.
      throw error
    }
  }
}
