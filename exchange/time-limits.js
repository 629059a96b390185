// How long servers wait: for clients that take or send nothing, and for answers that are under way when they close.

import { assertInteger } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'

/** Milliseconds: in every runtime a timer that is longer ends at once. */
export const MAX_TIMEOUT = 2 ** 31 - 1
/** Milliseconds that answers under way may take when a server is closed. */
const DEFAULT_GRACE = 10_000

/**
 * @param {{ grace?: number }} [options]  of a call of `close`
 * @returns {number} milliseconds
 */
export function graceOf (options = {}) {
  assertKnownOptions(options, ['grace'])
  const { grace = DEFAULT_GRACE } = options
  assertInteger('grace', grace, 0, MAX_TIMEOUT)
  return grace
}

/**
 * Waits for a promise, and calls a function when that takes too long. The wait goes on, unless the function throws.
 *
 * @template T
 * @param {Promise<T>} promise @param {number} ms
 * @param {() => void} onLate  its error is thrown
 * @returns {Promise<T>}
 */
export function within (promise, ms, onLate) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        onLate()
      } catch (error) {
        reject(error)
      }
    }, ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
