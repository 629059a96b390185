// Ends downloads that stall, and says how long to wait before the next try.

import { fetchFailed } from '../../lib/core/errors.js'
import { eitherOf, untilAborted } from '../../lib/source/async-util.js'

/**
 * @typedef {object} Clock  tests pass their own
 * @property {() => number} now  milliseconds
 * @property {(ms: number, signal?: AbortSignal) => Promise<void>} sleep  rejects when the signal aborts
 */

/**
 * @typedef {object} Patience
 * @property {string} location  for errors
 * @property {number} stall  milliseconds
 * @property {Clock} clock
 * @property {AbortSignal} [signal]
 */

/**
 * How many bytes must arrive within `stall` milliseconds. A server that sends byte after byte could otherwise keep a
 * download open for ever.
 */
const MIN_LEN = 1 << 14
/** Milliseconds between the first two tries, and the maximum between any two tries. */
const FIRST_WAIT = 250
const MAX_WAIT = 30_000

/** @type {Clock} */
export const systemClock = {
  now: () => performance.now(),
  sleep (ms, signal) {
    /** @type {any} */
    let timer
    const slept = new Promise(resolve => { timer = setTimeout(resolve, ms) })
    return untilAborted(/** @type {Promise<void>} */ (slept), signal).finally(() => clearTimeout(timer))
  }
}

/**
 * Milliseconds to wait after a failure.
 *
 * @param {number} failures  in a row, at least 1 @param {unknown} error  the last one
 */
export function waitAfter (failures, error) {
  const { retryAfter = 0 } = /** @type {{ retryAfter?: number }} */ (error ?? {})
  return Math.min(MAX_WAIT, Math.max(retryAfter, FIRST_WAIT * 2 ** (failures - 1)))
}

/**
 * Waits for something that does not come in pieces. Throws FETCH_FAILED if it has not come within `stall` milliseconds.
 *
 * @template T
 * @param {T | Promise<T>} coming
 * @param {Patience} patience
 * @returns {Promise<T>}
 */
export async function inTime (coming, { location, stall, clock, signal }) {
  const ended = new AbortController()
  const late = clock.sleep(stall, eitherOf(signal, ended.signal)).then(() => {
    throw fetchFailed(location, new Error(`it did not answer within ${stall} ms`))
  })
  try {
    return await Promise.race([coming, late])
  } finally {
    ended.abort()
  }
}

/**
 * Passes on pieces. If fewer than 16 KiB arrive within `stall` milliseconds of waiting, it throws FETCH_FAILED. The
 * time during which the caller works on a piece does not count.
 *
 * @param {(signal: AbortSignal, onSkipped: (len: number) => void) => AsyncIterable<Uint8Array>} open  begins to read.
 *   The signal aborts when the pieces have ended for any reason. If they have stalled, its reason is FETCH_FAILED. It
 *   calls `onSkipped` with the number of bytes that arrive and are not passed on
 * @param {Patience} patience
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * withPatience (open, { location, stall, clock, signal }) {
  const ended = new AbortController()
  const either = eitherOf(signal, ended.signal)
  /** Milliseconds of waiting, and bytes, since the last time that 16 KiB were complete. */
  let waited = 0
  let len = 0
  /** The time at which the wait for a piece began; undefined while there is no wait. @type {number | undefined} */
  let since
  const arrived = (/** @type {number} */ more) => {
    len += more
    if (len < MIN_LEN) return
    waited = 0
    len = 0
    if (since !== undefined) since = clock.now()
  }
  /** Ends the wait with an error. */
  let fail = (/** @type {unknown} */ _error) => {}
  const onAbort = () => fail(signal?.reason)
  // Ends while there is no wait, because its timer would keep the process alive for a caller that reads no more.
  let isWatched = false
  const watch = async () => {
    isWatched = true
    while (true) {
      await clock.sleep(stall / 4, ended.signal)
      if (since === undefined) break
      if (waited + clock.now() - since < stall) continue
      const error = fetchFailed(location, new Error(`fewer than ${MIN_LEN} bytes arrived within ${stall} ms`))
      fail(error)
      ended.abort(error)
    }
    isWatched = false
  }

  signal?.throwIfAborted()
  signal?.addEventListener('abort', onAbort, { once: true })
  const pieces = open(either, arrived)[Symbol.asyncIterator]()
  let isAtEnd = false
  try {
    while (true) {
      since = clock.now()
      if (!isWatched) watch().catch(() => {}) // it ends with the pieces
      const next = await new Promise((resolve, reject) => {
        fail = reject
        pieces.next().then(resolve, reject)
        if (signal?.aborted) onAbort()
      })
      waited += clock.now() - since
      since = undefined
      isAtEnd = next.done === true
      if (next.done) return
      arrived(next.value.length)
      yield next.value
    }
  } finally {
    ended.abort()
    signal?.removeEventListener('abort', onAbort)
    if (!isAtEnd) pieces.return?.().catch(() => {}) // not awaited, because it may be stuck
  }
}
