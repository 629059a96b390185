// The headers that all answers share, and short answers.

import { errorAnswer } from './errors.js'

/** @import { ServedRequest } from './served-request.js' */

/** @typedef {new (body?: Uint8Array<ArrayBuffer> | string | null, init?: ResponseInit) => Response} ResponseClass */

/** For bytes under a hash, which never change: 48 weeks, as in answers of IPFS gateways. */
export const FOREVER = 'public, max-age=29030400, immutable'

/** Lets pages of any origin read the answers. Sources: Fetch standard, "CORS protocol"; RFC 9110. */
const CROSS_ORIGIN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Accept-Ranges, Content-Length, Content-Range, ETag, Link',
  'cross-origin-resource-policy': 'cross-origin',
  'x-content-type-options': 'nosniff'
}

/** How long a browser may remember the answer to a preflight, in seconds: a day. */
const PREFLIGHT_AGE = '86400'
const REQUEST_HEADERS = 'Accept, Authorization, Content-Type, If-Match, If-None-Match, If-Range, Range'

/**
 * The links to other servers that have a blob. Source: RFC 6249, 3.
 *
 * @param {string[]} mirrors  URLs to which a hash can be added @param {string} hex  the hash
 * @param {string} [more]  parameters of each link
 */
export const duplicateLinks = (mirrors, hex, more = '') =>
  mirrors.map((mirror, i) => `<${mirror}${hex}>; rel=duplicate; pri=${i + 1}${more}`)

/** @param {Record<string, string>} headers  of one answer */
export const headersWith = headers => ({ ...CROSS_ORIGIN, ...headers })

/**
 * @param {Uint8Array<ArrayBuffer> | string | null} body
 * @param {number} status
 * @param {Record<string, string>} headers
 * @param {ResponseClass} [Answer]
 */
export const respond = (body, status, headers, Answer = Response) =>
  new Answer(body, { status, headers: headersWith(headers) })

/**
 * @param {string} location  relative, because a router may have removed a prefix
 * @param {boolean} isFinal  true if the redirect never changes
 */
export const redirectTo = (location, isFinal) => isFinal
  ? respondEmpty(308, { location, 'cache-control': FOREVER })
  : respondEmpty(307, { location, 'cache-control': 'no-cache' })

/**
 * An answer with an empty body. Without the length, Node.js would send a body of unknown length.
 *
 * @param {number} status @param {Record<string, string>} [headers]
 */
export const respondEmpty = (status, headers) => respond(null, status, { 'content-length': '0', ...headers })

/**
 * @param {ServedRequest} served @param {number} status @param {object} value
 * @param {Record<string, string>} [headers]
 */
export function respondJson ({ isHead }, status, value, headers) {
  const text = `${JSON.stringify(value)}\n`
  const length = `${new TextEncoder().encode(text).length}`
  return respond(isHead ? null : text, status, {
    'content-type': 'application/json', 'content-length': length, 'cache-control': 'no-store', ...headers
  })
}

/** @param {ServedRequest} served @param {unknown} error */
export function respondError (served, error) {
  const { status, headers, details } = errorAnswer(error)
  served.refusal = { code: details.code, error }
  // The rest of an upload is not read, so the connection cannot be used again.
  const mayHaveBody = !['GET', 'HEAD', 'OPTIONS'].includes(served.request.method)
  return respondJson(served, status, details, { ...headers, ...mayHaveBody && { connection: 'close' } })
}

/** @param {string} methods  that the path allows */
export const respondOptions = methods => respond(null, 204, {
  allow: methods,
  'access-control-allow-methods': methods,
  'access-control-allow-headers': REQUEST_HEADERS,
  'access-control-max-age': PREFLIGHT_AGE
})
