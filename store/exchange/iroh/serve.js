// Serves a store to peers of iroh: every program that speaks the protocol of iroh-blobs can get its blobs.

import { assertInteger, assertOptions, describe } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { contextOf } from '../context-of.js'
import { IROH_ALPN, plainAddress } from './endpoint.js'
import { ServedConnection } from './served-connection.js'
import { MAX_REQUEST_LEN } from './wire/request.js'
import { formatTicket } from './wire/ticket.js'

/** @import { BlobName } from '../../../lib/hash/cid.js' */
/** @import { BlobStore } from '../../blob-store.js' */
/** @import { PeerRequest } from './served-connection.js' */
/** @import { IrohEndpoint, IrohIncoming } from './types.js' */
/** @import { Ticket } from './wire/ticket.js' */

/**
 * @typedef {object} IrohServeOptions
 * @property {number} [maxConnections]  at a time; more are refused. Default: 64
 * @property {number} [maxStreams]  requests of one connection that are answered at a time; more wait. Default: 16
 * @property {number} [maxRequest]  bytes of a request, up to 1 MiB. Default: 64 KiB
 * @property {number} [idleTimeout]  milliseconds in which a peer must take 64 KiB of an answer, or ask for something.
 *   Then its connection is closed. Default: 60000
 * @property {(event: PeerRequest) => void} [onRequest]  called when a request has ended. What it throws is ignored
 */
/**
 * @typedef {object} IrohServer
 * @property {Ticket['address']} address  of the endpoint, as it is now
 * @property {(cid: BlobName) => string} ticket  of a blob, for those who are to get it; with the codec 0x80, it is for
 *   the members of the sequence, too
 * @property {(options?: { grace?: number }) => Promise<void>} close  begins no answers any more, and waits up to
 *   `grace` milliseconds (default: 10000) until those under way have been received; then it closes all connections. The
 *   endpoint and the store stay open
 */

const OPTIONS = ['maxConnections', 'maxStreams', 'maxRequest', 'idleTimeout', 'onRequest']
const DEFAULT_GRACE = 10_000
const MAX_TIMEOUT = 2 ** 31 - 1

/**
 * Answers peers that ask for blobs, ranges of them, and sequences of hashes with their members. Whatever leaves is
 * verified before. Every peer that reaches the endpoint can get every blob whose hash it knows.
 *
 *     const server = serveIroh(store, await openIrohEndpoint())
 *     console.log(server.ticket(cid))
 *
 * @param {BlobStore} store  stays the caller's: close the server first, then endpoint and store
 * @param {IrohEndpoint} endpoint  as `openIrohEndpoint` makes it: it must accept IROH_ALPN. The server takes all
 *   connections that come in, and after its end refuses them
 * @param {IrohServeOptions} [options]
 * @returns {IrohServer}
 */
export function serveIroh (store, endpoint, options = {}) {
  contextOf(store)
  assertOptions('endpoint', endpoint, 'an endpoint of @number0/iroh')
  const terms = checked(options)
  const server = new Server(store, endpoint, terms)
  server.run()
  return {
    get address () { return plainAddress(endpoint.addr()) },
    ticket: cid => formatTicket({ cid, address: plainAddress(endpoint.addr()) }),
    close: options => server.close(options)
  }
}

class Server {
  #endpoint
  #terms
  #maxConnections
  /** Those whose handshake is not done are undefined. @type {Map<IrohIncoming, ServedConnection | undefined>} */
  #connections = new Map()
  #isClosing = false
  #whenIdle = () => {}

  /** @param {BlobStore} store @param {IrohEndpoint} endpoint @param {ReturnType<typeof checked>} terms */
  constructor (store, endpoint, { maxConnections, onRequest, ...limits }) {
    this.#endpoint = endpoint
    this.#maxConnections = maxConnections
    const tell = (/** @type {PeerRequest} */ event) => {
      try {
        onRequest?.(event)
      } catch {} // a fault of a log must not break answers
    }
    this.#terms = { ...limits, store, onRequest: tell }
  }

  /** Takes connections until the endpoint is closed. */
  async run () {
    for (let incoming; (incoming = await this.#endpoint.acceptNext().catch(() => null)) !== null;) {
      if (this.#isClosing || this.#connections.size >= this.#maxConnections) incoming.refuse().catch(() => {})
      else this.#serve(incoming)
    }
  }

  /** @param {IrohIncoming} incoming */
  async #serve (incoming) {
    this.#connections.set(incoming, undefined)
    try {
      const connection = await (await incoming.accept()).connect()
      const served = new ServedConnection(connection, this.#terms)
      this.#connections.set(incoming, served)
      const alpn = String.fromCharCode(...connection.alpn())
      if (this.#isClosing || alpn !== IROH_ALPN) served.abort()
      else await served.run()
    } catch {
      // The handshake has failed: nobody is there to be told.
    } finally {
      this.#connections.delete(incoming)
      if (this.#connections.size === 0) this.#whenIdle()
    }
  }

  /** @param {{ grace?: number }} [options] */
  async close (options = {}) {
    assertKnownOptions(options, ['grace'])
    const { grace = DEFAULT_GRACE } = options
    assertInteger('grace', grace, 0, MAX_TIMEOUT)
    this.#isClosing = true
    for (const served of this.#connections.values()) served?.close()
    if (this.#connections.size === 0) return
    const idle = new Promise(resolve => { this.#whenIdle = () => resolve(undefined) })
    const timer = setTimeout(() => this.#abort(), grace)
    await idle
    clearTimeout(timer)
  }

  #abort () {
    for (const [incoming, served] of this.#connections) {
      if (served === undefined) this.#connections.delete(incoming) // its handshake will find that it is too late
      else served.abort()
    }
    if (this.#connections.size === 0) this.#whenIdle()
  }
}

/** @param {IrohServeOptions} options */
function checked (options) {
  assertKnownOptions(options, OPTIONS)
  const { maxConnections = 64, maxStreams = 16, maxRequest = 1 << 16, idleTimeout = 60_000, onRequest } = options
  assertInteger('maxConnections', maxConnections, 1)
  assertInteger('maxStreams', maxStreams, 1)
  assertInteger('maxRequest', maxRequest, 1, MAX_REQUEST_LEN)
  assertInteger('idleTimeout', idleTimeout, 1, MAX_TIMEOUT)
  if (onRequest !== undefined && typeof onRequest !== 'function') {
    throw new TypeError(`"onRequest" expected a function, got ${describe(onRequest)}`)
  }
  return { maxConnections, maxStreams, maxRequest, idleTimeout, onRequest }
}
