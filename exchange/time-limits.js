// How long servers wait for clients that neither take nor send anything, and how long the closing of a server waits for
// answers under way.

import { assertInteger } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'

/** The maximum duration of a timer in milliseconds. In every runtime, a longer one fires immediately. */
export const MAX_TIMEOUT = 2 ** 31 - 1
/** The default of `grace`: milliseconds that answers under way may take when a server is closed. */
const DEFAULT_GRACE = 10_000

/**
 * @param {{ grace?: number }} [options]  the options of a `close` call
 * @returns {number} milliseconds
 */
export function graceOf (options = {}) {
  assertKnownOptions(options, ['grace'])
  const { grace = DEFAULT_GRACE } = options
  assertInteger('grace', grace, 0, MAX_TIMEOUT)
  return grace
}

/**
 * Waits for a promise. Calls `onLate` after `ms` milliseconds, and then continues to wait, unless `onLate` throws.
 *
 * @template T
 * @param {Promise<T>} promise @param {number} ms
 * @param {() => void} onLate  if it throws, that error is the result
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
