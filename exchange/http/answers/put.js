// Keeps what a client uploads, if it is the blob that the path names.

import { areEqual } from '../../../lib/core/bytes.js'
import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { hash } from '../../../lib/hash/hasher.js'
import { HttpError, badRequest } from '../errors.js'
import { SLICE_TYPE } from '../request/slice-query.js'
import { respondJson } from '../response/headers.js'

/** @import { PutRules } from '../options.js' */
/** @import { Exchange, FoundRoute } from '../exchange.js' */

/** Default of `maxBytes`: bytes of an upload, 1 GiB. */
export const MAX_SIZE = 1 << 30

/** @param {Exchange} exchange @param {FoundRoute} route @param {Required<PutRules>} rules */
export async function answerPut (exchange, { target: { root }, cid }, { token, maxBytes }) {
  const { request, store } = exchange
  if (!isAuthorized(request.headers.get('authorization'), token)) {
    throw new HttpError(401, 'HTTP_UNAUTHORIZED', 'uploads need the bearer token', { 'www-authenticate': 'Bearer' })
  }
  if (request.headers.has('content-encoding')) throw badRequest('uploads are sent without a Content-Encoding')
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const { signal } = exchange
  const body = uploaded(exchange, maxBytes)
  const [type, ...parameters] = (request.headers.get('content-type') ?? '').toLowerCase().split(';')
  if (type.trim() === SLICE_TYPE) {
    if (parameters.some(parameter => /group-log=/.test(parameter) && parameter.trim() !== SLICE_LOG)) {
      throw new HttpError(415, 'HTTP_NOT_ACCEPTABLE', `slices are received at group log ${DEFAULT_GROUP_LOG}`)
    }
    const { received, complete } = await store.receive(root, body, undefined, { signal })
    return respondJson(exchange, 200, { cid, received, complete })
  }
  const { size, isNew } = await store.put(body, { expect: root, signal })
  return respondJson(exchange, isNew ? 201 : 200, { cid, size, isNew })
}

const SLICE_LOG = `group-log=${DEFAULT_GROUP_LOG}`

/**
 * Compares hashes, so that the time says nothing about the token.
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

/**
 * The bytes of an upload. A client that sends nothing for a while, or too much, ends it.
 *
 * @param {Exchange} exchange @param {number} maxBytes
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * uploaded (exchange, maxBytes) {
  const { request, options: { idleTimeout } } = exchange
  // Firefox, where a handler runs in a service worker, gives the body of a request as a Blob only.
  const body = request.body === undefined ? (await request.blob()).stream() : request.body
  if (body === null) return
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await withinTime(reader.read(), idleTimeout)
      if (done) return
      exchange.received += value.length
      if (exchange.received > maxBytes) throw tooLarge(maxBytes)
      yield value
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** @template T @param {Promise<T>} reading @param {number} ms @returns {Promise<T>} */
function withinTime (reading, ms) {
  return new Promise((resolve, reject) => {
    const stalled = new HttpError(408, 'HTTP_STALLED', `the client sent nothing for ${ms} ms`)
    const timer = setTimeout(() => reject(stalled), ms)
    const fail = () => reject(badRequest('the upload broke off'))
    reading.then(resolve, fail).finally(() => clearTimeout(timer))
  })
}
