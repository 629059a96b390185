// The errors of buckets.

import { BaoError } from '../../lib/core/errors.js'

/**
 * No usable answer, or one that asks to try again.
 *
 * @param {string} location @param {string} why
 * @param {{ status?: number, retryAfter?: number, cause?: unknown }} [more]
 */
export const bucketFailed = (location, why, more) =>
  new BaoError('BUCKET_FAILED', `${location} cannot be reached now: ${why}`, { location, ...more })

/** @param {string} location @param {unknown} cause  the last failure */
export const bucketUnknown = (location, cause) => {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new BaoError('BUCKET_UNKNOWN', `${location} may have changed, now or later: ${why}`, { location, cause })
}

/** @param {string} location @param {string} why @param {{ status?: number }} [more] */
export const bucketRefused = (location, why, more) =>
  new BaoError('BUCKET_REFUSED', `${location} refuses the request: ${why}`, { location, ...more })

/** @param {string} location @param {{ status?: number }} [more] */
export const bucketAbsent = (location, more) =>
  new BaoError('BUCKET_ABSENT', `there is no bucket ${location}: create it, or check its name`, { location, ...more })

/** @param {string} location @param {string} why @param {{ status?: number }} [more] */
export const bucketClock = (location, why, more) =>
  new BaoError('BUCKET_CLOCK', `${location} refuses requests of this time: ${why}`, { location, ...more })

/** @param {string} location @param {string} why @param {{ status?: number, cause?: unknown }} [more] */
export const bucketInvalid = (location, why, more) =>
  new BaoError('BUCKET_INVALID', `${location} gives no usable answer: ${why}`, { location, ...more })

/** @param {string} location @param {string[]} faults */
export const bucketUnsafe = (location, faults) => {
  const advice = 'several writers would lose what they have acknowledged'
  const message = `${location} breaks promises: ${faults.join('; ')}. On it, ${advice}`
  return new BaoError('BUCKET_UNSAFE', message, { location })
}
