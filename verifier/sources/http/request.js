// Sends one request, and reads the body of its answer. The request always ends when the reading ends.

import { BaoError, fetchFailed } from '../../../lib/core/errors.js'
import { untilAborted } from '../../../lib/source/async-util.js'
import { endOverEncoded } from './encodings.js'
import { follow } from './redirects.js'
import { locationOf } from './urls.js'

/** @import { FileRequest } from './redirects.js' */

/**
 * Yields the body of an answer, piece by piece.
 *
 * @param {FileRequest & { signal?: AbortSignal }} request
 * @param {(response: Response, url: URL) => boolean | Promise<boolean>} check  gets the answer and its URL. It returns
 *   true if the body is wanted, and throws if the answer does not belong to the request
 * @returns {AsyncGenerator<Uint8Array>}
 * @throws {BaoError} FETCH_FAILED; FETCH_REFUSED when a redirect must not be followed; errors of `check`
 */
export async function * requestBody (request, check) {
  endOverEncoded()
  const given = [request.http.signal, request.signal].filter(signal => signal !== undefined)
  // `fetch` gets a signal of its own, which never aborts after `fetch` has failed, because some implementations cannot
  // handle that.
  const ending = new AbortController()
  const onAbort = () => ending.abort(given.find(({ aborted }) => aborted)?.reason)
  for (const signal of given) signal.addEventListener('abort', onAbort)
  let isAnswered = false
  try {
    for (const signal of given) signal.throwIfAborted()
    const { response, url } = await follow(request, ending.signal)
    isAnswered = true
    yield * bodyOf(response, () => check(response, url), ending.signal)
  } catch (error) {
    for (const signal of given) signal.throwIfAborted()
    throw error instanceof BaoError ? error : fetchFailed(locationOf(request.url), error)
  } finally {
    for (const signal of given) signal.removeEventListener('abort', onAbort)
    if (isAnswered) ending.abort()
  }
}

/**
 * @param {Response} response @param {() => boolean | Promise<boolean>} isWanted
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * bodyOf (response, isWanted, signal) {
  let reader
  try {
    if (!await isWanted() || response.body === null) return
    reader = response.body.getReader()
    for (;;) {
      const next = await untilAborted(reader.read(), signal)
      if (next.done) return
      yield next.value
    }
  } finally {
    const rest = reader ?? (response.bodyUsed ? undefined : response.body)
    rest?.cancel().catch(() => {}) // the rest is not needed, so its errors do not matter
  }
}
