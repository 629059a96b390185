// Sends pieces of known total length as the body of an answer. Before the status is sent, it reads a short body as a
// whole, and the first piece of a long one, so that damage there gives an error status and not a broken body. It reads
// each of the other pieces when the client has taken the one before.

import { concat } from '../../lib/core/bytes.js'
import { stalled } from './errors.js'
import { headersWith, respond } from './respond.js'

/** @import { Outcome, ServedRequest } from './served-request.js' */

/** @typedef {Uint8Array<ArrayBuffer>} Piece */

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {Record<string, string>} headers  without the length
 * @property {number} len  bytes of all pieces
 * @property {AsyncGenerator<Piece>} pieces  no piece is empty. The generator does not start before a piece is needed
 */

/** The maximum bytes of a piece, and of a short body. A client that reads nothing takes this much memory. */
export const PIECE_LEN = 1 << 18

/** @param {ServedRequest} served @param {Answer} answer */
export async function sendPieces (served, { status, headers, len, pieces }) {
  const withLen = { ...headers, 'content-length': `${len}` }
  if (served.isHead || len === 0) return respond(served, null, status, withLen)
  const first = await read(pieces, len <= PIECE_LEN ? len : 1)
  if (first.length < len) {
    const body = new ReadableStream(new Body(served, { status, len, first, pieces }), { highWaterMark: 0 })
    return new Response(body, { status, headers: headersWith(served, withLen) })
  }
  await pieces.return(undefined)
  assertFits(first.length, len)
  served.sent = len
  return respond(served, first, status, withLen)
}

/**
 * Throws if an answer would be longer than its `Content-Length`: a client would take the rest for another answer.
 *
 * @param {number} got  bytes @param {number} len  bytes that were announced
 */
function assertFits (got, len) {
  if (got > len) throw new Error(`a blob gave more than ${len} bytes`)
}

/** @param {AsyncGenerator<Piece>} pieces @param {number} len  the minimum number of bytes to read */
async function read (pieces, len) {
  const parts = []
  for (let got = 0; got < len;) {
    const { value } = await pieces.next()
    if (value === undefined) throw new Error(`a blob gave ${got} of ${len} bytes`)
    parts.push(value)
    got += value.length
  }
  return parts.length === 1 ? parts[0] : concat(parts)
}

/**
 * The source of a body's stream. It reads one piece whenever one is asked for, so a client that reads nothing holds one
 * piece in memory. An error breaks the stream. Then servers break the connection, so that no
 * client takes the body for complete.
 *
 * @implements {UnderlyingDefaultSource<Piece>}
 */
class Body {
  #served
  #status
  #len
  #pieces
  /** The first piece, until it is sent. @type {Piece | undefined} */
  #first
  #sent = 0
  #isEnded = false
  /** Breaks off the stream when the client is idle. @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  /** @type {ReadableStreamDefaultController<Piece> | undefined} */
  #controller
  #onAbort = () => this.#breakOff('aborted', this.#served.signal.reason)

  /**
   * @param {ServedRequest} served
   * @param {Pick<Answer, 'status' | 'len' | 'pieces'> & { first: Piece }} answer
   */
  constructor (served, { status, len, first, pieces }) {
    this.#served = served
    this.#status = status
    this.#len = len
    this.#first = first
    this.#pieces = pieces
    served.isStreaming = true
  }

  /** @param {ReadableStreamDefaultController<Piece>} controller */
  start (controller) {
    this.#controller = controller
    const { signal } = this.#served
    signal.addEventListener('abort', this.#onAbort)
    if (signal.aborted) this.#onAbort()
    else this.#awaitClient()
  }

  /** @param {ReadableStreamDefaultController<Piece>} controller */
  async pull (controller) {
    clearTimeout(this.#timer)
    try {
      const piece = this.#first ?? (await this.#pieces.next()).value
      this.#first = undefined
      if (this.#isEnded) return
      if (piece === undefined) throw new Error(`the body ended after ${this.#sent} of ${this.#len} bytes`)
      assertFits(this.#sent + piece.length, this.#len)
      this.#sent += piece.length
      controller.enqueue(piece)
      if (this.#sent < this.#len) return this.#awaitClient()
      this.#end('complete')
      controller.close()
    } catch (error) {
      this.#breakOff('failed', error)
    }
  }

  /** @param {unknown} reason */
  cancel (reason) { this.#end('aborted', reason) }

  #awaitClient () {
    if (this.#served.isPrivate) return
    const { idleTimeout } = this.#served.options
    this.#timer = setTimeout(() => this.#breakOff('stalled', stalled(idleTimeout)), idleTimeout)
  }

  /** @param {Outcome} outcome @param {unknown} error */
  #breakOff (outcome, error) {
    if (this.#isEnded) return
    this.#end(outcome, error)
    this.#controller?.error(error)
  }

  /** @param {Outcome} outcome @param {unknown} [error] */
  #end (outcome, error) {
    if (this.#isEnded) return
    this.#isEnded = true
    clearTimeout(this.#timer)
    this.#served.signal.removeEventListener('abort', this.#onAbort)
    this.#pieces.return(undefined).catch(() => {}) // an error no longer matters
    this.#served.end(outcome, this.#status, this.#sent, error)
  }
}
