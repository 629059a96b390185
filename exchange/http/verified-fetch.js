// A function with the signature of `fetch`, whose answers are the verified files of a site. No server is involved: a
// handler answers, from a store that fetches what it lacks.

import { untilAborted } from '../../lib/source/async-util.js'
import { assertOptions, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { baseOfUrls } from '../../verifier/sources/http/urls.js'
import { handlerOf } from './handler.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { Handler } from './handler.js' */
/** @import { SiteOptions } from './options.js' */
/** @import { RequestEvent } from './served-request.js' */

/**
 * @typedef {object} VerifiedFetchOptions
 * @property {Store} store  from which all answers are read. With `supply`, it fetches what it lacks. The caller closes
 *   it
 * @property {string | URL} base  the absolute `http:` or `https:` URL of a folder. Requests for URLs below it are
 *   answered from the store; no server needs to exist at this URL
 * @property {BlobName | SiteOptions} [site]  the collection or manifest whose files are below `base`, as for
 *   `createHandler`. Default: none; then only `blobs/{cid}` and the other paths of blobs are below `base`
 * @property {typeof globalThis.fetch} [fetch]  gets all other requests. Default: the global function, as it is at each
 *   call
 * @property {(event: RequestEvent) => void} [onRequest]  called when an answer from the store has ended. Its errors are
 *   ignored
 */

/** As in the Fetch standard, "HTTP-redirect fetch". */
const MAX_REDIRECTS = 20
/** The encodings that are undone, and their names for `DecompressionStream`. Source: RFC 9110, 8.4.1. */
const FORMATS = /** @type {Map<string, 'gzip' | 'deflate'>} */ (
  new Map([['gzip', 'gzip'], ['x-gzip', 'gzip'], ['deflate', 'deflate']]))

/**
 * Makes a function like `fetch` for programs that take one. Below `base` it answers with the files of a site, and with
 * blobs, as `createHandler` does: with media type, length, ETag and ranges. Every byte is verified.
 *
 *     const store = await BlobStore.open(directory, { supply: fromMirrors(['https://example.org/{cid}']) })
 *     const fetch = createVerifiedFetch({ store, site, base: 'https://site.invalid/' })
 *     const response = await fetch('https://site.invalid/model.bin', { headers: { range: 'bytes=0-99' } })
 *
 * What the store and its mirrors lack is a 404. If no mirror gives right bytes, the answer is a 502. Its body is JSON,
 * with a message that names the mirrors. If the body has begun by then, reading it fails with a BaoError. The options
 * `cache`, `credentials`, `integrity`, `mode` and `referrer` of a request have no effect. The answer has an empty
 * `url`, and with `redirect: 'manual'` it is the redirect itself. The encodings `gzip` and `deflate` of a file are
 * undone; such a file has no ranges.
 *
 * @param {VerifiedFetchOptions} options
 * @returns {typeof globalThis.fetch}
 */
export function createVerifiedFetch (options) {
  assertOptions('options', options, '{ store, base, site, fetch, onRequest }')
  assertKnownOptions(options, ['store', 'base', 'site', 'fetch', 'onRequest'])
  const { store, site, onRequest, fetch = (input, init) => globalThis.fetch(input, init) } = options
  const base = baseOf('base', options.base)
  if (typeof fetch !== 'function') throw new TypeError(`"fetch" expected a function, got ${describe(fetch)}`)
  const basePath = base.pathname.slice(0, -1)
  const handler = handlerOf(store, { basePath, collections: false, ...site !== undefined && { site }, onRequest }, {
    isPrivate: true
  })
  const answer = (/** @type {Request} */ request) => decodedAnswer(handler, request)
  return async (input, init) => {
    const url = urlOf(input)
    if (url?.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return fetch(input, init)
    const isRequest = input instanceof Request
    return finalAnswer(answer, isRequest && init === undefined ? input : new Request(isRequest ? input : url, init))
  }
}

/**
 * @param {string} name  of the option @param {string | URL} base @param {URL} [page]  to which `base` may be relative
 * @returns {URL} whose path ends with a slash
 * @throws {TypeError} for what is not the URL of a folder
 */
export function baseOf (name, base, page) {
  const url = URL.canParse(base, page) ? new URL(base, page) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') {
    if (!url.pathname.endsWith('/')) url.pathname += '/'
    return url
  }
  const expected = `${page === undefined ? 'an absolute' : 'an'} http: or https: URL without a query`
  throw new TypeError(`"${name}" expected ${expected}, got ${describe(base)}`)
}

/** @param {RequestInfo | URL} input @returns {URL | undefined} undefined for what `fetch` refuses */
function urlOf (input) {
  const text = input instanceof Request ? input.url : `${input}`
  const base = baseOfUrls()
  return URL.canParse(text, base) ? new URL(text, base) : undefined
}

/**
 * Answers a request, and follows redirects as the request says.
 *
 * @param {(request: Request) => Promise<Response>} answer @param {Request} request
 * @returns {Promise<Response>}
 * @throws {TypeError} for a redirect that the request forbids, or too many
 */
async function finalAnswer (answer, request) {
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    request.signal.throwIfAborted()
    const response = await untilAborted(answer(request), request.signal)
    request.signal.throwIfAborted()
    const location = response.headers.get('location')
    if (location === null) return response
    const target = new URL(location, request.url)
    if (request.redirect === 'error') throw new TypeError(`${request.url} leads to another URL`)
    if (request.redirect === 'manual') return redirect(response, target)
    const { method, headers, signal } = request
    request = new Request(target, { method, headers, signal })
  }
  throw new TypeError(`${request.url} leads to too many other URLs`)
}

/** Makes the location absolute, because the answer has no URL. @param {Response} response @param {URL} target */
function redirect ({ status, headers }, target) {
  const absolute = new Headers(headers)
  absolute.set('location', target.href)
  return new Response(null, { status, headers: absolute })
}

/**
 * Answers a request, and undoes the encoding of the file, as `fetch` does. Browsers do not undo it in the answers of
 * service workers.
 *
 * @param {Handler} handler @param {Request} request
 * @returns {Promise<Response>}
 */
async function decodedAnswer (handler, request) {
  const response = await handler(request)
  const { status, body } = response
  const format = formatOf(response)
  if (status === 206 ? format !== undefined : status === 416 && await isEncoded(handler, request)) {
    await body?.cancel()
    const headers = new Headers(request.headers)
    headers.delete('range') // It would mean encoded bytes.
    return decodedAnswer(handler, new Request(request.url, { headers, signal: request.signal }))
  }
  if (format === undefined) return response
  const headers = new Headers(response.headers)
  for (const name of ['content-encoding', 'content-length', 'accept-ranges']) headers.delete(name)
  return new Response(body && body.pipeThrough(new DecompressionStream(format)), { status, headers })
}

/** The encoding that is undone. @param {Response} response @returns {'gzip' | 'deflate' | undefined} */
const formatOf = ({ headers }) => FORMATS.get(headers.get('content-encoding')?.toLowerCase() ?? '')

/**
 * Returns true if the file that a request names is encoded. The answer to a range after its end does not say that.
 *
 * @param {Handler} handler @param {Request} request
 */
async function isEncoded (handler, { url, signal }) {
  return formatOf(await handler(new Request(url, { method: 'HEAD', signal }))) !== undefined
}
