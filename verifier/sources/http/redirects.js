// Follows redirects one by one, so that a caller's headers go only to the origin in the caller's URL.
// Sources: RFC 9110, 15.4; the Fetch standard, "HTTP-redirect fetch".

import { defaultFetch } from '#default-fetch'
import { fetchRefused } from '../../../lib/core/errors.js'
import { untilAborted } from '../../../lib/source/async-util.js'
import { locationOf } from './urls.js'

/** @import { HttpOptions } from './options.js' */

/**
 * @typedef {object} FileRequest
 * @property {URL} url
 * @property {HttpOptions} http  with the headers of the caller
 * @property {Record<string, string>} headers  the headers of the request itself
 */

/** The limit of the Fetch standard. */
const MAX_REDIRECTS = 20
const STATUSES = [301, 302, 303, 307, 308]

/** The `fetch` functions that hide the targets of redirects, as that of a page does. The first redirect shows this. */
const hiding = /** @type {WeakSet<typeof globalThis.fetch>} */ (new WeakSet())

/**
 * Requests a URL and follows its redirects. The caller's headers are sent only until a redirect leaves the origin of
 * the URL. If `fetch` hides redirects, the headers are not sent after the first redirect.
 *
 * @param {FileRequest} request @param {AbortSignal} signal
 * @returns {Promise<{ response: Response, url: URL }>} `url`: the URL that answered
 * @throws {BaoError} FETCH_REFUSED when a redirect must not be followed; errors of `fetch`
 */
export async function follow ({ url, http, headers: needed }, signal) {
  const { fetch = defaultFetch() } = http
  let from = url
  let given = new Headers(http.headers)
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const headers = new Headers(given)
    for (const [name, value] of Object.entries(needed)) headers.set(name, value)
    const redirect = hiding.has(fetch) && [...given].length === 0 ? 'follow' : 'manual'
    const response = await answered(fetch(from, { headers, signal, redirect }), signal)
    if (response.type === 'opaqueredirect') {
      hiding.add(fetch)
      given = new Headers()
      continue
    }
    const answering = response.redirected && URL.canParse(response.url) ? new URL(response.url) : from
    const isRedirect = STATUSES.includes(response.status) && response.headers.has('location')
    const next = isRedirect ? targetOf(response, answering) : answering
    const fault = faultOf(from, next)
    if (!isRedirect && fault === undefined) return { response, url: answering }
    response.body?.cancel().catch(() => {}) // the body is not needed, so its errors do not matter
    if (fault !== undefined) throw fetchRefused(locationOf(url), `it redirects ${fault}`)
    if (next?.origin !== from.origin) given = new Headers()
    from = /** @type {URL} */ (next)
  }
  throw fetchRefused(locationOf(url), `it redirects more than ${MAX_REDIRECTS} times`)
}

/**
 * Waits for the answer or an abort, whichever comes first, because a caller's own `fetch` may ignore the signal.
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
 * The URL to which an answer redirects; undefined if its `Location` is not a URL.
 *
 * @param {Response} response @param {URL} base
 */
function targetOf ({ headers }, base) {
  // Servers write UTF-8, but `headers` decode it as Latin-1.
  const bytes = Uint8Array.from(/** @type {string} */ (headers.get('location')), char => char.charCodeAt(0))
  const location = new TextDecoder().decode(bytes)
  return URL.canParse(location, base.href) ? new URL(location, base) : undefined
}

/**
 * The reason not to follow a redirect; undefined if it may be followed.
 *
 * @param {URL} from @param {URL | undefined} to
 */
function faultOf (from, to) {
  if (to === undefined) return 'to something that is not a URL'
  if (to.protocol !== 'https:' && to.protocol !== 'http:') return `to a URL of ${to.protocol}`
  if (to.protocol === 'http:' && from.protocol === 'https:') return 'from https to http'
  if (to.origin !== from.origin && to.username + to.password !== '') return 'to a URL with a user or a password'
  return undefined
}
