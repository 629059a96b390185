// Answers the requests of one connection of a peer.
//
// The package cannot reset a stream while a call is waiting on it. So if a peer takes too long, its whole connection is
// closed.

import { BaoError } from '../../lib/core/errors.js'
import { toCid } from '../../lib/hash/cid.js'
import { within } from '../time-limits.js'
import { answerPieces } from './answer.js'
import { invalid, decodeRequest } from './wire/request.js'
import { shortened } from './endpoint.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { IrohConnection, IrohStream } from './types.js' */

/**
 * @typedef {object} PeerRequest  a request that has ended
 * @property {string} peer  the id of the peer, in 64 hexadecimal digits
 * @property {string} [cid]  the CID of the blob that was asked for
 * @property {'complete' | 'missing' | 'refused' | 'failed' | 'aborted'} outcome  `missing`: the store lacks a blob, or
 *   a part of it; `refused`: the peer has not sent a request, or has sent one that the server does not answer;
 *   `failed`: the store could not read the rest; `aborted`: the peer has disconnected, taken too long, or stopped the
 *   answer
 * @property {string} [code]  the code of the error
 * @property {unknown} [error]
 * @property {number} sent  bytes that were passed to the connection
 * @property {number} ms
 */

/**
 * @typedef {object} ConnectionOptions
 * @property {Store} store
 * @property {number} maxStreams @property {number} maxRequestBytes @property {number} idleTimeout
 * @property {(event: PeerRequest) => void} onRequest
 */

/** The maximum number of bytes of one write to a stream. */
const WRITE_LEN = 1 << 16
/** The codes with which iroh-blobs resets streams. */
const [NO_PERMISSION, INTERNAL] = [1n, 3n]
/** Matches the package's error for a request that is too long, which does not have a code. */
const TOO_LONG = /TooLong/

export class ServedConnection {
  #connection
  #options
  /** The answers under way, each with a controller of its own, because a shared signal would get too many listeners. */
  #active = /** @type {Map<Promise<void>, AbortController>} */ (new Map())
  #isClosing = false
  #isEnded = false
  /** True if the connection was closed because the peer took too long. */
  #isLate = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #idleTimer

  /** @param {IrohConnection} connection @param {ConnectionOptions} options */
  constructor (connection, options) {
    this.#connection = connection
    this.#options = options
    /** The id of the peer, in 64 hexadecimal digits. */
    this.peer = connection.remoteId().toString()
  }

  /** Answers requests until the connection ends. */
  async run () {
    this.#connection.setMaxConcurrentBiStreams(BigInt(this.#options.maxStreams))
    try {
      while (true) {
        this.#awaitRequest()
        const stream = await this.#connection.acceptBi()
        clearTimeout(this.#idleTimer)
        if (this.#isClosing || this.#isEnded) stream.send.reset(NO_PERMISSION).catch(() => {})
        else this.#take(stream)
      }
    } catch {
      // The connection has ended.
    } finally {
      this.abort()
      await Promise.all(this.#active.keys())
    }
  }

  /** Takes no further requests, and closes the connection when the answers under way have been sent. */
  close () {
    this.#isClosing = true
    if (this.#active.size === 0) this.abort()
  }

  /** Closes the connection, and ends the answers under way. */
  abort () {
    this.#isEnded = true
    clearTimeout(this.#idleTimer)
    for (const ending of this.#active.values()) ending.abort(new Error('the connection has ended'))
    this.#connection.close(0n, [])
  }

  /** Closes the connection after `idleTimeout`, unless the peer sends a request before that. */
  #awaitRequest () {
    clearTimeout(this.#idleTimer)
    if (this.#active.size > 0 || this.#isEnded) return
    this.#idleTimer = setTimeout(() => this.abort(), this.#options.idleTimeout)
  }

  /** Begins to answer a request. @param {IrohStream} stream */
  #take (stream) {
    const ending = new AbortController()
    const answered = this.#answer(stream, ending.signal).finally(() => {
      this.#active.delete(answered)
      if (this.#isClosing && this.#active.size === 0) this.abort()
      this.#awaitRequest()
    })
    this.#active.set(answered, ending)
  }

  /** @param {IrohStream} stream @param {AbortSignal} signal  aborts when the connection ends */
  async #answer ({ send, recv }, signal) {
    const startedAt = performance.now()
    const event = { peer: this.peer, cid: /** @type {string | undefined} */ (undefined), sent: 0 }
    /** @param {PeerRequest['outcome']} outcome @param {unknown} [error] */
    const end = (outcome, error) => {
      const code = error instanceof BaoError ? error.code : undefined
      this.#options.onRequest({ ...event, outcome, code, error, ms: performance.now() - startedAt })
    }
    try {
      const request = decodeRequest(Uint8Array.from(await this.#read(recv)))
      event.cid = `${toCid(request.root)}`
      for await (const piece of answerPieces(this.#options.store, request, signal)) {
        for (let at = 0; at < piece.length; at += WRITE_LEN) {
          const part = piece.subarray(at, at + WRITE_LEN)
          await this.#inTime(send.writeAll(Array.from(part)))
          event.sent += part.length
        }
      }
      await this.#finish(send)
      end('complete')
    } catch (error) {
      const outcome = signal.aborted ? 'aborted' : outcomeOf(error)
      const told = outcome === 'missing'
        ? this.#finish(send)
        : send.reset(outcome === 'refused' ? NO_PERMISSION : INTERNAL)
      await told.catch(() => {}) // the peer may have disconnected
      end(outcome, error)
    }
  }

  /** Reads a request, which ends where the stream ends. @param {IrohStream['recv']} recv */
  async #read (recv) {
    const { maxRequestBytes } = this.#options
    try {
      return await this.#inTime(recv.readToEnd(maxRequestBytes))
    } catch (error) {
      const isTooLong = error instanceof PeerError && TOO_LONG.test(error.message)
      throw isTooLong ? invalid(`more than ${maxRequestBytes} bytes`) : error
    }
  }

  /** Ends an answer, and waits until the peer has all of it. @param {IrohStream['send']} send */
  async #finish (send) {
    await this.#inTime(send.finish())
    try {
      await this.#inTime(send.stopped())
    } catch (error) {
      if (this.#isLate) throw error // Otherwise, the peer closed the connection because it had received everything.
    }
  }

  /**
   * Waits for a call of a stream. If the call takes longer than `idleTimeout`, the connection is closed.
   *
   * @template T @param {Promise<T>} call @returns {Promise<T>}
   */
  async #inTime (call) {
    try {
      return await within(call, this.#options.idleTimeout, () => {
        this.#isLate = true
        this.abort()
      })
    } catch (error) {
      throw new PeerError(shortened(error).message, { cause: error })
    }
  }
}

/** Thrown when a call of a stream fails, because the peer has disconnected, or has stopped the answer. */
class PeerError extends Error {}

/** @param {unknown} error  the error that ended an answer @returns {PeerRequest['outcome']} */
function outcomeOf (error) {
  if (error instanceof PeerError) return 'aborted'
  const { code = '' } = error instanceof BaoError ? error : {}
  if (code.startsWith('REQUEST_')) return 'refused'
  return code === 'STORE_NOT_FOUND' || code === 'STORE_MISSING' ? 'missing' : 'failed'
}
