// Limits each connection of a server to one answer at a time, and applies time limits that Node.js lacks. Node.js
// begins to answer all requests that a client has sent, so a client that sends many and reads nothing would fill the
// memory. Node.js reports the end of an answer only if it has begun to write that answer to the socket. So only the
// socket's close event is reliable.

/** @import { IncomingMessage, Server, ServerResponse } from 'node:http' */
/** @import { Socket } from 'node:net' */
/** @import { Delivery } from '../served-request.js' */

/**
 * @typedef {object} ConnectionLimits  milliseconds
 * @property {number} idleTimeout  for the client to take the end of an answer, at most one piece, once the server has
 *   all of it
 * @property {number} headTimeout  for the head of a request, and for the rest of a body that was not read. Counted
 *   while no answer is under way
 */
/** @typedef {(request: IncomingMessage, response: ServerResponse) => unknown} Answer */
/** @typedef {{ request: IncomingMessage, response: ServerResponse }} Pending */

/** The maximum number of requests of a connection that wait for earlier answers. A head has up to 16 KiB. */
const MAX_WAITING = 32
/** The maximum number of milliseconds between two checks of all connections. */
const MAX_INTERVAL = 2000

export class Connections {
  #answer
  #limits
  #all = /** @type {Map<Socket, Connection>} */ (new Map())
  /** Runs from the moment when the server starts to listen. @type {ReturnType<typeof setInterval> | undefined} */
  #timer

  /** @param {Server} server @param {Answer} answer @param {ConnectionLimits} limits */
  constructor (server, answer, limits) {
    this.#answer = answer
    this.#limits = limits
    server.on('connection', socket => this.#of(socket))
    server.on('request', (request, response) => this.#of(request.socket).take({ request, response }))
    const interval = Math.min(limits.idleTimeout / 4, limits.headTimeout / 4, MAX_INTERVAL)
    server.once('listening', () => {
      this.#timer = setInterval(() => this.#breakOffSlow(), interval)
      this.#timer.unref()
    })
  }

  /**
   * Resolves with the outcome of an answer. The handler calls it when the answer begins.
   *
   * @param {ServerResponse} response @returns {Promise<Delivery>}
   */
  delivered ({ req: { socket } }) {
    return new Promise(resolve => { this.#of(socket).tell = resolve })
  }

  /** Breaks off every connection, and stops the checks. */
  end () {
    clearInterval(this.#timer)
    for (const connection of this.#all.values()) connection.breakOff('aborted')
  }

  /** @param {Socket} socket */
  #of (socket) {
    let connection = this.#all.get(socket)
    if (connection === undefined) {
      connection = new Connection(socket, this.#answer)
      this.#all.set(socket, connection)
      socket.once('close', () => {
        this.#all.delete(socket)
        connection?.breakOff('aborted')
      })
    }
    return connection
  }

  #breakOffSlow () {
    for (const connection of this.#all.values()) if (connection.isSlow(this.#limits)) connection.breakOff('stalled')
  }
}

class Connection {
  #socket
  #answer
  #waiting = /** @type {Pending[]} */ ([])
  /** When the server began to wait for the client: for a request, or for it to take the end of an answer. */
  #since = performance.now()
  #isAnswered = false
  /** @type {Pending | undefined} */
  current
  /** @type {((delivery: Delivery) => void) | undefined} */
  tell

  /** @param {Socket} socket @param {Answer} answer */
  constructor (socket, answer) {
    this.#socket = socket
    this.#answer = answer
  }

  /** Answers a request after those before it. @param {Pending} pending */
  take (pending) {
    if (this.#socket.destroyed) return
    if (this.current === undefined) return this.#start(pending)
    this.#waiting.push(pending)
    if (this.#waiting.length > MAX_WAITING) this.breakOff('aborted')
  }

  /** True if the client takes too long. @param {ConnectionLimits} limits */
  isSlow ({ idleTimeout, headTimeout }) {
    const now = performance.now()
    if (this.current === undefined) return now - this.#since >= headTimeout
    // Until everything has been given to the socket, the handler limits the time.
    if (!this.current.response.writableEnded) return false
    if (!this.#isAnswered) {
      this.#isAnswered = true
      this.#since = now
    }
    return now - this.#since >= idleTimeout
  }

  /** @param {Delivery} delivery */
  breakOff (delivery) {
    this.#waiting = []
    this.#end(delivery)
    this.#socket.destroy()
  }

  /** @param {Pending} pending */
  #start (pending) {
    const { request, response } = this.current = pending
    this.#isAnswered = false
    response.once('finish', () => this.#finished())
    Promise.resolve(this.#answer(request, response)).catch(() => response.destroy())
  }

  #finished () {
    this.#since = performance.now()
    const { destroyed, writable, writableEnded } = this.#socket
    // Node.js also calls an answer finished when writing it has failed.
    this.#end(destroyed || (!writable && !writableEnded) ? 'aborted' : 'complete')
    // After an answer with `Connection: close`, no more requests are answered.
    const next = writable ? this.#waiting.shift() : undefined
    if (next !== undefined) this.#start(next)
  }

  /** @param {Delivery} delivery */
  #end (delivery) {
    this.current = undefined
    this.tell?.(delivery)
    this.tell = undefined
  }
}
