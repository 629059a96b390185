// A connection to a peer, shared by many requests. The first request opens it, and the first request after a failure
// opens another one.
//
// The package cannot stop a stream while a read is waiting on it. So an abort during a read retires the whole
// connection: the other requests on the connection continue, and when the last of them has ended, the connection is
// closed. The next request opens a new connection.

import { untilAborted } from '../../lib/source/async-util.js'
import { ALPN_BYTES, toIrohAddress } from './endpoint.js'

/** @import { PeerAddress } from './wire/ticket.js' */
/** @import { IrohConnection, IrohEndpoint } from './types.js' */

/** One connection, and how many requests use it. */
class OpenConnection {
  #users = 0
  #isRetired = false

  /** @param {IrohConnection} connection */
  constructor (connection) {
    this.connection = connection
  }

  get isUsable () { return !this.#isRetired && this.connection.closeReason() === null }

  enter () { this.#users++ }

  leave () {
    this.#users--
    this.#closeWhenUnused()
  }

  /** Keeps new requests from using the connection, and closes it when the last request ends. */
  retire () {
    this.#isRetired = true
    this.#closeWhenUnused()
  }

  #closeWhenUnused () {
    if (this.#isRetired && this.#users === 0) this.connection.close(0n, [])
  }
}

export class PeerConnection {
  #address
  #openEndpoint
  /** @type {Promise<OpenConnection> | undefined} */
  #opening
  #isClosed = false

  /** @param {PeerAddress} address @param {() => Promise<IrohEndpoint>} openEndpoint */
  constructor (address, openEndpoint) {
    this.#address = address
    this.#openEndpoint = openEndpoint
  }

  /**
   * Opens the connection if necessary, and counts the caller as a user of it. The caller must call `leave` on the
   * result.
   *
   * @param {AbortSignal} [signal]  ends the wait
   * @returns {Promise<OpenConnection>}
   */
  async enter (signal) {
    if (this.#isClosed) throw new Error('the mirror is closed')
    this.#opening ??= this.#open()
    const opening = this.#opening
    const opened = await untilAborted(opening, signal)
    if (opened.isUsable) {
      opened.enter()
      return opened
    }
    opened.retire()
    if (this.#opening === opening) this.#opening = undefined
    return this.enter(signal)
  }

  /** Closes the connection without waiting for its requests. */
  close () {
    this.#isClosed = true
    this.#opening?.then(({ connection }) => connection.close(0n, []), () => {})
  }

  async #open () {
    try {
      const endpoint = await this.#openEndpoint()
      return new OpenConnection(await endpoint.connect(await toIrohAddress(this.#address), ALPN_BYTES))
    } catch (error) {
      this.#opening = undefined
      throw error
    }
  }
}
