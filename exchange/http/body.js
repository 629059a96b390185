// Sends pieces of known length as the body of an answer. Before the status is sent, a short body is read as a whole,
// and of a long one the first piece. So damage there gives an error status and not a broken body. The other pieces are
// read when the client takes them.

import { concat } from '../../lib/core/bytes.js'
import { contextOf } from '../../store/context-of.js'
import { stalled } from './errors.js'
import { headersWith, respond } from './respond.js'

/** @import { TagFormat } from '../../store/storage/format/tags.js' */
/** @import { Outcome, ServedRequest } from './served-request.js' */

/** @typedef {Uint8Array<ArrayBuffer>} Piece */

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {Record<string, string>} headers  but for the length
 * @property {TagFormat} [format]  of what is held: `hashseq` for a sequence and its members. Default: the blob alone
 * @property {number} len  bytes of all pieces
 * @property {AsyncGenerator<Piece>} pieces  none of them empty. They have the signal that `signalFor` gives
 */

/** Bytes of a piece, and of a short body, at most. A client that reads nothing costs this much memory. */
export const PIECE_LEN = 1 << 18

/**
 * What ends the reading of a body when the client goes. A short one needs nothing to end it, unless the store heals:
 * that may take so long that the client leaves.
 *
 * @param {ServedRequest} served @param {number} len  bytes
 */
export function signalFor (served, len) {
  const isShort = len <= PIECE_LEN && !contextOf(served.store).healer.canHeal
  return served.isHead || isShort ? undefined : served.signal
}

/**
 * @param {ServedRequest} served @param {Uint8Array} root  the blob is held until the client has everything, or has gone
 * @param {Answer} answer
 */
export async function sendPieces (served, root, { status, headers, format, len, pieces }) {
  const withLen = { ...headers, 'content-length': `${len}` }
  if (served.isHead || len === 0) return respond(null, status, withLen)
  const { protection } = contextOf(served.store)
  const release = format === undefined ? protection.use(root) : protection.tag(root, format)
  try {
    const first = await read(pieces, len <= PIECE_LEN ? len : 1)
    if (first.length < len) {
      const body = new ReadableStream(new Body(served, { status, len, first, pieces, release }), { highWaterMark: 0 })
      return new Response(body, { status, headers: headersWith(withLen) })
    }
    await pieces.return(undefined)
    served.sent = len
    return respond(first, status, withLen, served.Response)
  } finally {
    if (!served.isStreaming) release()
  }
}

/** @param {AsyncGenerator<Piece>} pieces @param {number} len  bytes that are wanted at least */
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
 * What a stream is made of. It reads one piece whenever one is asked for, so a client that reads nothing holds one. An
 * error breaks the stream: servers then break the connection, and no client takes it for the end.
 *
 * @implements {UnderlyingDefaultSource<Piece>}
 */
class Body {
  #served
  #status
  #len
  #pieces
  #release
  /** The first piece, until it is sent. @type {Piece | undefined} */
  #first
  #sent = 0
  #isEnded = false
  /** Ends the wait for the client. @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  /** @type {ReadableStreamDefaultController<Piece> | undefined} */
  #controller
  #onAbort = () => this.#breakOff('aborted', this.#served.signal.reason)

  /**
   * @param {ServedRequest} served
   * @param {Pick<Answer, 'status' | 'len' | 'pieces'> & { first: Piece, release: () => void }} answer  `release`: of
   *   what is held until the end
   */
  constructor (served, { status, len, first, pieces, release }) {
    this.#served = served
    this.#status = status
    this.#len = len
    this.#first = first
    this.#pieces = pieces
    this.#release = release
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
    this.#pieces.return(undefined).catch(() => {}) // its further pieces and errors are not needed
    this.#release()
    this.#served.end(outcome, this.#status, this.#sent, error)
  }
}
