// Sends one request, and reads the body of its answer. However the reading ends, the request ends with it.

import { BaoError, fetchFailed } from '../../../lib/core/errors.js'
import { untilAborted } from '../../../lib/source/async-util.js'
import { endOverEncoded } from './encodings.js'
import { locationOf } from './urls.js'

/**
 * The body of an answer, piece by piece.
 *
 * @param {{ fetch: typeof globalThis.fetch, url: URL, headers: Headers, signals: (AbortSignal | undefined)[] }} request
 * @param {(response: Response) => boolean | Promise<boolean>} check  is the body wanted? Throws when the answer does
 *   not belong to the request
 * @returns {AsyncGenerator<Uint8Array>}
 * @throws {BaoError} FETCH_FAILED; what `check` throws
 */
export async function * requestBody ({ fetch, url, headers, signals }, check) {
  endOverEncoded()
  const given = signals.filter(signal => signal !== undefined)
  // A signal of its own: when `fetch` has failed, aborts do not reach it any more. Some fetches do not stand that.
  const request = new AbortController()
  const onAbort = () => request.abort(given.find(({ aborted }) => aborted)?.reason)
  for (const signal of given) signal.addEventListener('abort', onAbort)
  let isAnswered = false
  try {
    for (const signal of given) signal.throwIfAborted()
    const response = await answered(fetch(url, { headers, signal: request.signal }), request.signal)
    isAnswered = true
    yield * bodyOf(response, check, request.signal)
  } catch (error) {
    for (const signal of given) signal.throwIfAborted()
    throw error instanceof BaoError ? error : fetchFailed(locationOf(url), error)
  } finally {
    for (const signal of given) signal.removeEventListener('abort', onAbort)
    if (isAnswered) request.abort()
  }
}

/**
 * The answer, or an abort, whichever comes first: a caller's own `fetch` may ignore the signal.
 *
 * @param {Promise<Response>} answer @param {AbortSignal} signal
 * @returns {Promise<Response>}
 */
function answered (answer, signal) {
  return untilAborted(answer, signal).catch(error => {
    answer.then(late => late.body?.cancel()).catch(() => {})
    throw error
  })
}

/**
 * @param {Response} response @param {(response: Response) => boolean | Promise<boolean>} check
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * bodyOf (response, check, signal) {
  let reader
  try {
    if (!await check(response) || response.body === null) return
    reader = response.body.getReader()
    for (;;) {
      const next = await untilAborted(reader.read(), signal)
      if (next.done) return
      yield next.value
    }
  } finally {
    const rest = reader ?? (response.bodyUsed ? undefined : response.body)
    rest?.cancel().catch(() => {}) // the rest is not wanted, nor are its errors
  }
}
