// Makes a call again when it has failed for a time, and tells failures from unknown outcomes.

import { waitAfter } from '../../verifier/mirrors/patience.js'
import { bucketUnknown } from './errors.js'

/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { Clock } from '../../verifier/mirrors/patience.js' */

/** A try that has failed. */
export class Failure extends Error {
  /**
   * @param {BaoError} error  what the caller gets if there is no other try
   * @param {{ isFinal?: boolean, isUnknown?: boolean, isStale?: boolean, isAbsent?: boolean }} [kind]  `isFinal`:
   *   another try would fail in the same way; `isUnknown`: if the call writes, it may have written; `isStale`: other
   *   credentials may help; `isAbsent`: there is no such object. Default: none of them
   */
  constructor (error, { isFinal = false, isUnknown = false, isStale = false, isAbsent = false } = {}) {
    super(error.message, { cause: error })
    this.error = error
    this.isFinal = isFinal
    this.isUnknown = isUnknown
    this.isStale = isStale
    this.isAbsent = isAbsent
  }
}

/**
 * Calls a function until it succeeds or fails for good.
 *
 * @template T
 * @param {() => Promise<T>} act  throws a `Failure`. Any other error ends the tries
 * @param {object} options
 * @param {number} options.retries  how often it is called again
 * @param {Clock} options.clock
 * @param {boolean} [options.isWrite]  default: false
 * @param {AbortSignal} [options.signal]
 * @returns {Promise<T>}
 * @throws {unknown} the error of the last try; BUCKET_UNKNOWN if `isWrite`, and any try may have written; after an
 *   abort, the signal's reason
 */
export async function withRetries (act, { retries, clock, isWrite = false, signal }) {
  /** The place that a try may have written. @type {string | undefined} */
  let unknown
  const last = (/** @type {unknown} */ error) => unknown === undefined ? error : bucketUnknown(unknown, error)
  for (let failures = 1; ; failures++) {
    signal?.throwIfAborted()
    try {
      return await act()
    } catch (failure) {
      signal?.throwIfAborted()
      if (!(failure instanceof Failure)) throw last(failure)
      const { error } = failure
      if (isWrite && failure.isUnknown) unknown = error.location
      if (failure.isFinal || failures > retries) throw last(error)
      await clock.sleep(spreadWait(failures, error), signal)
    }
  }
}

/**
 * Milliseconds to wait after a failure, spread at random, so that many callers that have failed together do not ask
 * again together. A wait is never shorter than the server wants.
 *
 * @param {number} failures  in a row, at least 1 @param {BaoError} error  the last one
 */
export function spreadWait (failures, error) {
  const ms = waitAfter(failures, error)
  return Math.max(Math.min(ms, error.retryAfter ?? 0), ms * (0.5 + Math.random() / 2))
}
