// The body of a request: its bytes piece by piece, or none.

import { within } from '../time-limits.js'
import { HttpError, badRequest } from './errors.js'

/** @import { ServedRequest } from './served-request.js' */

/**
 * Refuses a body that nobody reads, because the client could send it for ever.
 *
 * @param {Request} request
 * @throws {HttpError} 400
 */
export function assertNoBody ({ method, headers }) {
  if (!headers.has('transfer-encoding') && Number(headers.get('content-length') ?? 0) === 0) return
  throw new HttpError(400, 'HTTP_BAD_REQUEST', `requests with ${method} have no body here`, { connection: 'close' })
}

/**
 * Gives the bytes of an upload. Throws when the client sends nothing for `idleTimeout`, or more than `maxBytes`.
 *
 * @param {ServedRequest} served
 * @returns {AsyncGenerator<Uint8Array>}
 * @throws {HttpError} 400, 408, 413, and 500 if something else has read the body
 */
export function uploadOf (served) {
  const { request: { headers }, options: { maxBytes } } = served
  if (headers.has('content-encoding')) throw badRequest('uploads are sent without a Content-Encoding')
  if (Number(headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  return piecesOf(served)
}

/** @param {ServedRequest} served @returns {AsyncGenerator<Uint8Array>} */
async function * piecesOf (served) {
  const { request, options: { idleTimeout, maxBytes } } = served
  if (request.bodyUsed) throw bodyRead()
  // Firefox, where a handler runs in a service worker, gives the body of a request as a Blob only.
  const body = request.body === undefined ? (await request.blob()).stream() : request.body
  if (body === null) return
  if (body.locked) throw bodyRead()
  const reader = body.getReader()
  try {
    for (;;) {
      const reading = reader.read().catch(() => { throw badRequest('the upload broke off') })
      const { done, value } = await within(reading, idleTimeout, () => { throw silent(idleTimeout) })
      if (done) return
      served.received += value.length
      if (served.received > maxBytes) throw tooLarge(maxBytes)
      yield value
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** @param {number} maxBytes */
const tooLarge = maxBytes => new HttpError(413, 'HTTP_TOO_LARGE', `uploads have at most ${maxBytes} bytes`)

/** @param {number} ms */
const silent = ms => new HttpError(408, 'HTTP_STALLED', `the client sent nothing for ${ms} ms`)

const bodyRead = () => new HttpError(500, 'HTTP_BODY_READ', 'the server has read the body of this upload already: ' +
  'in it, the handler must come before whatever parses bodies')
