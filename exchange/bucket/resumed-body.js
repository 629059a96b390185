// The body of an object that is read. When an answer breaks off, another request continues there.

import { BaoError } from '../../lib/core/errors.js'
import { withPatience } from '../../verifier/mirrors/patience.js'
import { bucketFailed } from './errors.js'
import { spreadWait } from './tries.js'

/** @import { Clock } from '../../verifier/mirrors/patience.js' */

/**
 * @typedef {object} OpenBody  the body of one answer
 * @property {(signal?: AbortSignal) => AsyncIterable<Uint8Array>} pieces
 * @property {() => void} end  ends the answer, also before its body was read
 */

/** After so many bytes, an earlier failure no longer counts. */
const RECOVERED_LEN = 1 << 14

/**
 * Makes the body of a range. It never gives more bytes than the range has.
 *
 * @param {OpenBody} first  begins at `start`
 * @param {((at: number) => Promise<OpenBody>) | undefined} reopen  asks for the bytes from `at` to `end`, of the same
 *   version of the object. Without it, the body fails where the answer breaks off
 * @param {{
 *   start: number, end: number, location: string, stall: number, retries: number, clock: Clock, signal?: AbortSignal
 * }} options
 * @returns {AsyncGenerator<Uint8Array>}
 * @throws {BaoError} BUCKET_FAILED; errors of `reopen`
 */
export function resumedBody (first, reopen, options) {
  const pieces = piecesOf(first, reopen, options)
  let hasBegun = false
  /** @type {any} */
  const body = {
    next () {
      hasBegun = true
      return pieces.next()
    },
    return (/** @type {any} */ value) {
      if (!hasBegun) first.end() // a generator that has not begun does nothing when it is ended
      return pieces.return(value)
    },
    throw (/** @type {unknown} */ error) {
      if (!hasBegun) first.end()
      return pieces.throw(error)
    },
    [Symbol.asyncIterator] () { return body },
    async [Symbol.asyncDispose] () { await body.return() }
  }
  return body
}

/** @type {(...args: Parameters<typeof resumedBody>) => AsyncGenerator<Uint8Array>} */
async function * piecesOf (first, reopen, { start, end, location, stall, retries, clock, signal }) {
  let current = first
  let at = start
  let sinceFailure = 0
  let failures = 0
  try {
    while (true) {
      const pieces = withPatience(either => current.pieces(either), { location, stall, clock, signal })
      /** @type {BaoError | undefined} */
      let error
      /** @type {(cause: unknown) => IteratorReturnResult<undefined>} */
      const onBreak = cause => {
        signal?.throwIfAborted()
        error = bucketFailed(location, cause instanceof BaoError ? cause.message : 'the connection broke', { cause })
        return { done: true, value: undefined }
      }
      try {
        // Only what the answer throws is a break. A loop of `for await` would also catch what is thrown at the `yield`.
        for (let next; !(next = await pieces.next().catch(onBreak)).done;) {
          const wanted = next.value.subarray(0, end - at)
          at += wanted.length
          sinceFailure += wanted.length
          if (wanted.length > 0) yield wanted
          if (at === end) return
        }
      } finally {
        await pieces.return(undefined)
      }
      if (at === end) return
      current.end()
      error ??= bucketFailed(location, `the answer ended at byte ${at}, before byte ${end}`)
      failures = sinceFailure < RECOVERED_LEN ? failures + 1 : 1
      sinceFailure = 0
      if (reopen === undefined || failures > retries) throw error
      await clock.sleep(spreadWait(failures, error), signal)
      current = await reopen(at)
    }
  } finally {
    current.end()
  }
}
