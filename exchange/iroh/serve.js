// Serves a store to peers of iroh: any program that speaks the protocol of iroh-blobs can fetch the store's blobs.

import { assertInteger, assertOptions, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { assertStore } from '../../store/interface.js'
import { MAX_TIMEOUT, graceOf, within } from '../time-limits.js'
import { IROH_ALPN, plainAddress } from './endpoint.js'
import { ServedConnection } from './served-connection.js'
import { MAX_REQUEST_LEN } from './wire/request.js'
import { formatTicket } from './wire/ticket.js'

/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { PeerRequest } from './served-connection.js' */
/** @import { IrohConnection, IrohEndpoint, IrohIncoming } from './types.js' */
/** @import { Ticket } from './wire/ticket.js' */

/**
 * @typedef {object} IrohServeOptions
 * @property {number} [maxConnections]  the maximum number of connections at a time; more are refused. The number of
 *   handshakes under way has the same limit. Default: 64
 * @property {number} [maxPerPeer]  the maximum number of connections of one peer at a time; more are closed. Default:
 *   an eighth of `maxConnections`, at least one
 * @property {number} [handshakeTimeout]  milliseconds that a handshake may take. Default: 10000
 * @property {number} [maxStreams]  the maximum number of requests of one connection that are answered at a time; more
 *   wait. Default: 16
 * @property {number} [maxRequestBytes]  the maximum number of bytes of a request, up to 1 MiB. Default: 64 KiB
 * @property {number} [idleTimeout]  milliseconds within which a peer must take 64 KiB of an answer, or send a request.
 *   Otherwise its connection is closed. Default: 60000
 * @property {(event: PeerRequest) => void} [onRequest]  called when a request has ended. Its errors are ignored
 */
/**
 * @typedef {object} IrohServer
 * @property {Ticket['address']} address  the current address of the endpoint
 * @property {(cid: BlobName) => string} ticket  makes a ticket for a blob. If the CID has the codec 0x80, the ticket is
 *   for the members of the sequence, too
 * @property {(options?: { grace?: number }) => Promise<void>} close  takes no further requests, and waits up to `grace`
 *   milliseconds (default: 10000) until peers have received the answers under way. Then it closes all connections. The
 *   endpoint and the store stay open
 */

const OPTIONS = [
  'maxConnections', 'maxPerPeer', 'handshakeTimeout', 'maxStreams', 'maxRequestBytes', 'idleTimeout', 'onRequest'
]

/**
 * Answers peers that ask for blobs, ranges of them, and sequences of hashes with their members. All bytes are verified
 * before they are sent. Every peer that reaches the endpoint can get every blob whose hash it knows.
 *
 *     const server = serveIroh(store, await openIrohEndpoint())
 *     console.log(server.ticket(cid))
 *
 * @param {Store} store  the caller closes it, after the server and the endpoint
 * @param {IrohEndpoint} endpoint  must accept IROH_ALPN, as an endpoint of `openIrohEndpoint` does. The server takes
 *   all of its incoming connections, and refuses them after `close`
 * @param {IrohServeOptions} [options]
 * @returns {IrohServer}
 */
export function serveIroh (store, endpoint, options = {}) {
  assertStore(store)
  assertOptions('endpoint', endpoint, 'an endpoint of @number0/iroh')
  const server = new Server(store, endpoint, checked(options))
  server.run()
  return {
    get address () { return plainAddress(endpoint.addr()) },
    ticket: cid => formatTicket({ cid, address: plainAddress(endpoint.addr()) }),
    close: options => server.close(options)
  }
}

class Server {
  #endpoint
  #limits
  #connectionOptions
  /**
   * Connections whose peers are not known yet. They are counted separately, so that they do not use up the places of
   * known peers.
   */
  #handshakes = /** @type {Set<IrohIncoming>} */ (new Set())
  #connections = /** @type {Set<ServedConnection>} */ (new Set())
  #isClosing = false
  /** Aborts the handshakes under way. */
  #ended = new AbortController()
  /** Functions that resolve the waiting calls of `close`. @type {((value?: unknown) => void)[]} */
  #whenIdle = []

  /** @param {Store} store @param {IrohEndpoint} endpoint @param {ReturnType<typeof checked>} options */
  constructor (store, endpoint, { maxConnections, maxPerPeer, handshakeTimeout, onRequest, ...rest }) {
    this.#endpoint = endpoint
    this.#limits = { maxConnections, maxPerPeer, handshakeTimeout }
    const tell = (/** @type {PeerRequest} */ event) => {
      try {
        onRequest?.(event)
      } catch {} // an error of the caller's function must not break answers
    }
    this.#connectionOptions = { ...rest, store, onRequest: tell }
  }

  get #isIdle () { return this.#handshakes.size + this.#connections.size === 0 }

  /** Takes connections until the endpoint is closed. */
  async run () {
    for (let incoming; (incoming = await this.#endpoint.acceptNext().catch(() => null)) !== null;) {
      const isFull = Math.max(this.#handshakes.size, this.#connections.size) >= this.#limits.maxConnections
      if (this.#isClosing || isFull) incoming.refuse().catch(() => {})
      else this.#serve(incoming)
    }
  }

  /** @param {IrohIncoming} incoming */
  async #serve (incoming) {
    this.#handshakes.add(incoming)
    const connection = await this.#handshake(incoming)
    this.#handshakes.delete(incoming)
    try {
      if (connection !== undefined) await this.#answer(connection)
    } catch {
      // The peer has disconnected.
    } finally {
      if (this.#isIdle) for (const tell of this.#whenIdle.splice(0)) tell()
    }
  }

  /** @param {IrohIncoming} incoming @returns {Promise<IrohConnection | undefined>} undefined if the handshake failed */
  async #handshake (incoming) {
    const connecting = incoming.accept().then(accepting => accepting.connect())
    const tooLate = () => { throw new Error('the handshake takes too long') }
    try {
      return await untilAborted(within(connecting, this.#limits.handshakeTimeout, tooLate), this.#ended.signal)
    } catch {
      connecting.then(connection => connection.close(0n, [])).catch(() => {}) // the connection may still be made
      return undefined
    }
  }

  /** Answers the requests of a connection, unless there are too many connections. @param {IrohConnection} connection */
  async #answer (connection) {
    const served = new ServedConnection(connection, this.#connectionOptions)
    const { maxConnections, maxPerPeer } = this.#limits
    const others = [...this.#connections].filter(({ peer }) => peer === served.peer)
    const isFull = this.#connections.size >= maxConnections || others.length >= maxPerPeer
    const alpn = String.fromCharCode(...connection.alpn())
    if (this.#isClosing || isFull || alpn !== IROH_ALPN) return served.abort()
    this.#connections.add(served)
    try {
      await served.run()
    } finally {
      this.#connections.delete(served)
    }
  }

  /** @param {{ grace?: number }} [options] */
  async close (options) {
    const grace = graceOf(options)
    this.#isClosing = true
    for (const served of this.#connections) served.close()
    if (this.#isIdle) return
    await within(new Promise(resolve => this.#whenIdle.push(resolve)), grace, () => this.#abort())
  }

  #abort () {
    this.#ended.abort()
    for (const served of this.#connections) served.abort()
  }
}

/** @param {IrohServeOptions} options */
function checked (options) {
  assertKnownOptions(options, OPTIONS)
  const { maxConnections = 64, maxStreams = 16, maxRequestBytes = 1 << 16, idleTimeout = 60_000, onRequest } = options
  assertInteger('maxConnections', maxConnections, 1)
  const { maxPerPeer = Math.ceil(maxConnections / 8), handshakeTimeout = 10_000 } = options
  assertInteger('maxPerPeer', maxPerPeer, 1)
  assertInteger('handshakeTimeout', handshakeTimeout, 1, MAX_TIMEOUT)
  assertInteger('maxStreams', maxStreams, 1)
  assertInteger('maxRequestBytes', maxRequestBytes, 1, MAX_REQUEST_LEN)
  assertInteger('idleTimeout', idleTimeout, 1, MAX_TIMEOUT)
  if (onRequest !== undefined && typeof onRequest !== 'function') {
    throw new TypeError(`"onRequest" expected a function, got ${describe(onRequest)}`)
  }
  return { maxConnections, maxPerPeer, handshakeTimeout, maxStreams, maxRequestBytes, idleTimeout, onRequest }
}
