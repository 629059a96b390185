// Serves a store with the HTTP server of Node.js, which Bun and Deno have, too.

import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { FastResponse } from 'srvx/node'
import { assertInteger, describe } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { graceOf, within } from '../../time-limits.js'
import { handlerOf } from '../handler.js'
import { DEFAULT_IDLE_TIMEOUT, HANDLER_OPTIONS } from '../options.js'
import { Connections } from './connections.js'
import { listenAt, listenOn } from './listen.js'
import { toNodeHandler } from './node-handler.js'

/** @import { Store } from '../../../store/interface.js' */
/** @import { Handler } from '../handler.js' */
/** @import { HandlerOptions } from '../options.js' */
/** @import { CarriedRequest } from './node-handler.js' */

/**
 * @typedef {object} ServerPlace
 * @property {number} [port]  0 for any free port. Default: 0
 * @property {string} [host]  a name or address of this machine; `0.0.0.0` or `::` for all. Default: `localhost`
 * @property {string | URL} [path]  of a Unix socket, or its `file:` URL, instead of `port` and `host`
 * @property {number} [maxConnections]  maximum number of connections at a time; more are refused. Default: 1024
 */
/** @typedef {HandlerOptions & ServerPlace} ServeOptions */

/**
 * @typedef {object} StoreServer
 * @property {string} url  without a slash at its end; for a socket, `http+unix://` and the encoded path
 * @property {Handler} handler
 * @property {(options?: { grace?: number }) => Promise<void>} close  takes no new connections, and waits up to `grace`
 *   milliseconds (default: 10000) until every answer has been sent; then it breaks off the rest. The store stays open
 */

const OPTIONS = ['port', 'host', 'path', 'maxConnections', ...HANDLER_OPTIONS]
const MAX_CONNECTIONS = 1024

/** A client has 10 s to send the head of a request. The handler limits the time for each piece of an upload. */
const LIMITS = {
  maxHeaderSize: 1 << 14,
  headersTimeout: 10_000,
  requestTimeout: 0,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 2000
}
/**
 * Milliseconds for the head of a request, with empty lines before it and the rest of a body that nobody reads: the
 * limits of Node.js do not count these.
 */
const HEAD_TIMEOUT = LIMITS.headersTimeout + LIMITS.keepAliveTimeout

/**
 * Serves a store. The server keeps the process alive until it is closed.
 *
 *     const server = await serve(store, { port: 4700 })
 *     console.log(server.url)
 *
 * @param {Store} store  the caller closes it, after the server
 * @param {ServeOptions} [options]
 * @returns {Promise<StoreServer>} when it listens
 * @throws the system's errors, such as EADDRINUSE
 */
export async function serve (store, options = {}) {
  assertKnownOptions(options, OPTIONS)
  const { port = 0, host = 'localhost', path, maxConnections = MAX_CONNECTIONS, ...rest } = options
  assertPlace(options)
  const handler = handlerOf(store, rest, {
    Response: FastResponse,
    delivered: request => connections.delivered(/** @type {CarriedRequest} */ (request).runtime.node.res)
  })
  const server = createServer(LIMITS)
  const connections = new Connections(server, toNodeHandler(handler), {
    idleTimeout: rest.idleTimeout ?? DEFAULT_IDLE_TIMEOUT, headTimeout: HEAD_TIMEOUT
  })
  server.maxConnections = maxConnections
  // A client may close its side of the connection (as `nc -N` does) before it has its answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  const socket = path instanceof URL ? fileURLToPath(path) : path
  const url = socket === undefined ? await listenOn(server, port, host) : await listenAt(server, socket)

  /** @param {{ grace?: number }} [options] */
  const close = async options => {
    const grace = graceOf(options)
    const closed = new Promise(resolve => server.close(() => resolve(undefined)))
    // After `grace` the handler breaks off its streams. Answers that the server already has are broken off here.
    await within(handler.close({ grace }), grace, () => connections.end())
    connections.end()
    await closed
  }
  return { url, handler, close }
}

/** @param {ServeOptions} options */
function assertPlace ({ port, host, path, maxConnections }) {
  if (path !== undefined && (port !== undefined || host !== undefined)) {
    throw new TypeError('"path" and "port" or "host" exclude each other')
  }
  if (port !== undefined) assertInteger('port', port, 0, 65_535)
  if (maxConnections !== undefined) assertInteger('maxConnections', maxConnections, 1)
  for (const [name, value] of Object.entries({ host, path })) {
    if (name === 'path' && value instanceof URL) continue
    if (value !== undefined && (typeof value !== 'string' || value === '')) {
      throw new TypeError(`"${name}" expected a text, got ${describe(value)}`)
    }
  }
}
