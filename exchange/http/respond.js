// The headers that all answers share, and short answers.

import { Refusal, isPublic } from './authorize.js'
import { errorAnswer } from './errors.js'

/** @import { ServedRequest } from './served-request.js' */

/** @typedef {new (body?: Uint8Array<ArrayBuffer> | string | null, init?: ResponseInit) => Response} ResponseClass */

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

/**
 * The link of a slice to the plain bytes of its blob, for the requests of which this server redirects clients.
 *
 * @param {string} topUrl @param {string} hex
 */
export const plainLink = (topUrl, hex) => `<${topUrl}${hex}>; rel=alternate`

/**
 * For bytes under a hash, which never change: 48 weeks, as IPFS gateways do it. Caches that many users share keep only
 * what everybody may read.
 *
 * @param {ServedRequest} served
 */
export const foreverFor = served => `${scopeOf(served)}, max-age=29030400, immutable`

/** @param {ServedRequest} served */
const scopeOf = ({ options: { authorize } }) => isPublic(authorize) ? 'public' : 'private'

/** @param {ServedRequest} served @param {Record<string, string>} headers  of one answer */
export function headersWith ({ request, options: { cors } }, headers) {
  const shared = cors.headersFor(request)
  const both = shared.vary !== undefined && headers.vary !== undefined && { vary: `${headers.vary}, ${shared.vary}` }
  return { ...shared, ...headers, ...both }
}

/**
 * @param {ServedRequest} served
 * @param {Uint8Array<ArrayBuffer> | string | null} body
 * @param {number} status
 * @param {Record<string, string>} headers
 */
export const respond = (served, body, status, headers) =>
  new served.Response(body, { status, headers: headersWith(served, headers) })

/**
 * @param {ServedRequest} served
 * @param {string} location  relative, because a router may have taken a prefix off
 * @param {boolean} isFinal  true if it never changes
 */
export const redirectTo = (served, location, isFinal) => isFinal
  ? respondEmpty(served, 308, { location, 'cache-control': foreverFor(served) })
  : respondEmpty(served, 307, { location, 'cache-control': 'no-cache' })

/**
 * Redirects to a signed URL. When a cache gives the answer, the URL is valid for at least half of its time.
 *
 * @param {ServedRequest} served @param {string} location @param {number} seconds  for which it is valid
 * @param {Record<string, string>} headers
 */
export const redirectToSigned = (served, location, seconds, headers) => respondEmpty(served, 307, {
  ...headers, location, 'cache-control': `${scopeOf(served)}, max-age=${Math.floor(seconds / 2)}`
})

/**
 * An answer with an empty body. Without the length, Node.js would send a body of unknown length.
 *
 * @param {ServedRequest} served @param {number} status @param {Record<string, string>} headers
 */
const respondEmpty = (served, status, headers) => respond(served, null, status, { 'content-length': '0', ...headers })

/**
 * @param {ServedRequest} served @param {number} status @param {object} value
 * @param {Record<string, string>} [headers]
 */
export function respondJson (served, status, value, headers) {
  const text = `${JSON.stringify(value)}\n`
  const length = `${new TextEncoder().encode(text).length}`
  return respond(served, served.isHead ? null : text, status, {
    'content-type': 'application/json', 'content-length': length, 'cache-control': 'no-store', ...headers
  })
}

/** @param {ServedRequest} served @param {unknown} error */
export function respondError (served, error) {
  // The rest of an upload is not read, so the connection cannot be used again.
  const mayHaveBody = !['GET', 'HEAD', 'OPTIONS'].includes(served.request.method)
  const ending = mayHaveBody ? { connection: 'close' } : undefined
  if (error instanceof Refusal) return respondRefusal(served, error, ending)
  const { status, headers, details } = errorAnswer(error)
  served.refusal = { code: details.code, error }
  const told = served.isPrivate ? { message: reasonOf(error), ...details } : details
  return respondJson(served, status, told, { ...headers, ...ending })
}

/** Returns the message of the first cause of an error. @param {unknown} error @returns {string} */
function reasonOf (error) {
  const { message, cause } = error instanceof Error ? error : new Error(String(error))
  return cause instanceof Error && !(cause instanceof AggregateError) ? reasonOf(cause) : message
}

/** @param {ServedRequest} served @param {Refusal} refusal @param {Record<string, string>} [ending] */
function respondRefusal (served, { response, code }, ending) {
  served.refusal = { code, error: undefined }
  const given = Object.fromEntries(response.headers)
  const headers = new Headers(headersWith(served, { 'cache-control': 'no-store', ...given, ...ending }))
  headers.delete('set-cookie')
  for (const cookie of response.headers.getSetCookie()) headers.append('set-cookie', cookie)
  return new Response(served.isHead ? null : response.body, { status: response.status, headers })
}

/** @param {ServedRequest} served @param {string} methods  that the path allows */
export const respondOptions = (served, methods) => respond(served, null, 204, {
  allow: methods,
  'access-control-allow-methods': methods,
  'access-control-allow-headers': REQUEST_HEADERS,
  'access-control-max-age': PREFLIGHT_AGE
})
