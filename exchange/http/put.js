// Puts an upload into the store if it is the blob that the path names.

import { areEqual } from '../../lib/core/bytes.js'
import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { hash } from '../../lib/hash/hasher.js'
import { within } from '../time-limits.js'
import { HttpError, badRequest } from './errors.js'
import { respondJson } from './respond.js'
import { SLICE_TYPE } from './slice.js'

/** @import { PutRules } from './options.js' */
/** @import { ServedRequest } from './served-request.js' */

/** Default of `maxBytes`: bytes of an upload, 1 GiB. */
export const MAX_BYTES = 1 << 30

/** @param {ServedRequest} served @param {Uint8Array} root @param {Required<PutRules>} rules */
export async function answerPut (served, root, { token, maxBytes }) {
  const { request, store, cid } = served
  if (!isAuthorized(request.headers.get('authorization'), token)) {
    throw new HttpError(401, 'HTTP_UNAUTHORIZED', 'uploads need the bearer token', { 'www-authenticate': 'Bearer' })
  }
  if (request.headers.has('content-encoding')) throw badRequest('uploads are sent without a Content-Encoding')
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const { signal } = served
  const body = uploaded(served, maxBytes)
  const [type, ...parameters] = (request.headers.get('content-type') ?? '').toLowerCase().split(';')
  if (type.trim() === SLICE_TYPE) {
    if (parameters.some(parameter => /group-log=/.test(parameter) && parameter.trim() !== SLICE_LOG)) {
      throw new HttpError(415, 'HTTP_NOT_ACCEPTABLE', `slices are received at group log ${DEFAULT_GROUP_LOG}`)
    }
    const { received, complete } = await store.receive(root, body, undefined, { signal })
    return respondJson(served, 200, { cid, received, complete })
  }
  const { size, isNew } = await store.put(body, { expect: root, signal })
  return respondJson(served, isNew ? 201 : 200, { cid, size, isNew })
}

const SLICE_LOG = `group-log=${DEFAULT_GROUP_LOG}`

/**
 * Compares hashes, so that the time does not depend on where the tokens differ.
 *
 * @param {string | null} header @param {string} token
 */
function isAuthorized (header, token) {
  const [, given] = /^Bearer +([\x21-\x7e]+) *$/i.exec(header ?? '') ?? []
  const encoder = new TextEncoder()
  return areEqual(hash(encoder.encode(given ?? '')), 0, hash(encoder.encode(token))) && given !== undefined
}

/** @param {number} maxBytes */
const tooLarge = maxBytes => new HttpError(413, 'HTTP_TOO_LARGE', `uploads have at most ${maxBytes} bytes`)

/** @param {number} ms */
const silent = ms => new HttpError(408, 'HTTP_STALLED', `the client sent nothing for ${ms} ms`)

/**
 * Gives the bytes of an upload. Throws when the client sends nothing for `idleTimeout`, or more than `maxBytes`.
 *
 * @param {ServedRequest} served @param {number} maxBytes
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * uploaded (served, maxBytes) {
  const { request, options: { idleTimeout } } = served
  // In a service worker of Firefox, a handler can get the body of a request only as a Blob.
  const body = request.body === undefined ? (await request.blob()).stream() : request.body
  if (body === null) return
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
