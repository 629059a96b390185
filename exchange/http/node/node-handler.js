// Lets a handler answer the requests of node:http, and of frameworks over it, such as Express and Fastify. srvx turns
// Node's requests into WHATWG's, and writes a body only as fast as the client reads it.

import { toNodeHandler as carried } from 'srvx/node'
import { describe } from '../../../lib/core/bytes.js'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { NodeHttpHandler } from 'srvx' */

/** @typedef {Request & { runtime: { node: { req: IncomingMessage, res: ServerResponse } } }} CarriedRequest */
/** @typedef {(request: IncomingMessage, response: ServerResponse) => Promise<void>} NodeHandler */

/**
 * Makes a listener for requests of node:http. Under a mount of Express, the handler sees the path below the mount.
 *
 *     createServer(toNodeHandler(createHandler(store))).listen(4700)
 *
 * It answers every request, so nothing that is mounted after it at the same path is asked. It must see a request before
 * anything reads the body: an upload whose body was read gets 500 with HTTP_BODY_READ.
 *
 * @param {(request: Request) => Promise<Response>} handler
 * @returns {NodeHandler} which resolves when the answer has ended, however it ended
 */
export function toNodeHandler (handler) {
  if (typeof handler !== 'function') throw new TypeError(`"handler" expected a function, got ${describe(handler)}`)
  const listener = carried(async request => {
    const { runtime: { node: { req } } } = /** @type {CarriedRequest} */ (request)
    const mount = nameOfMount(req)
    if (mount !== undefined) return redirectTo(`./${mount}`)
    // srvx fails only when the body is read, with an error that is no different from that of a lost connection.
    if (wasRead(req)) Object.defineProperty(request, 'bodyUsed', { value: true })
    return handler(request)
  })
  const answer = /** @type {NodeHandler} */ (listener) // the type of srvx is for HTTP/1 and HTTP/2
  return async (request, response) => {
    try {
      await answer(request, response)
    } catch {
      response.destroy()
    }
  }
}

/**
 * Relative links lead out of a mount that is asked for without a slash at its end.
 *
 * @param {IncomingMessage & { originalUrl?: string }} request  with `originalUrl`, if a router has taken a prefix off
 * @returns {string | undefined} the last part of the URL of that mount, with a slash and the query; undefined otherwise
 */
function nameOfMount ({ method, url = '', originalUrl }) {
  if (originalUrl === undefined || (method !== 'GET' && method !== 'HEAD')) return undefined
  const [path, search] = split(originalUrl)
  if (split(url)[0] !== '/' || path.endsWith('/')) return undefined
  return `${path.slice(path.lastIndexOf('/') + 1)}/${search}`
}

/** @param {string} location */
const redirectTo = location =>
  new Response(null, { status: 307, headers: { location, 'cache-control': 'no-cache', 'content-length': '0' } })

/** The path, and the query with its question mark. @param {string} url */
function split (url) {
  const at = url.indexOf('?')
  return at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at)]
}

/** True if something else has taken the body. @param {IncomingMessage & { rawBody?: unknown }} request */
const wasRead = request => (request.readableDidRead || request.readableEnded) && !Buffer.isBuffer(request.rawBody)
