// The body of an answer: pieces that are read only when the client takes them.

import { HttpError } from '../errors.js'

/** @typedef {'complete' | 'aborted' | 'stalled' | 'failed'} Outcome  how a body ended */

/**
 * A stream of pieces. It reads one piece whenever one is asked for, so a client that reads nothing holds one. An error
 * breaks the stream: servers then break the connection, and no client takes it for the end.
 *
 * @param {Uint8Array<ArrayBuffer>} first
 * @param {AsyncGenerator<Uint8Array<ArrayBuffer>>} rest
 * @param {object} options
 * @param {number} options.len  bytes of all pieces
 * @param {AbortSignal} options.signal
 * @param {number} options.idleTimeout  milliseconds that the client may take for a piece
 * @param {(outcome: Outcome, sent: number, error?: unknown) => void} options.onEnd  called once
 * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
 */
export function bodyOf (first, rest, { len, signal, idleTimeout, onEnd }) {
  let next = /** @type {Uint8Array<ArrayBuffer> | undefined} */ (first)
  let sent = 0
  let isEnded = false
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  /** @type {ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>} */
  let controller

  /** @param {Outcome} outcome @param {unknown} [error] */
  const end = (outcome, error) => {
    if (isEnded) return
    isEnded = true
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    rest.return(undefined).catch(() => {}) // its further pieces and errors are not needed
    onEnd(outcome, sent, error)
  }
  /** @param {Outcome} outcome @param {unknown} error */
  const breakOff = (outcome, error) => {
    if (isEnded) return
    end(outcome, error)
    controller.error(error)
  }
  const onAbort = () => breakOff('aborted', signal.reason)
  const awaitClient = () => {
    timer = setTimeout(() => breakOff('stalled', stalled(idleTimeout)), idleTimeout)
  }

  return new ReadableStream({
    start (given) {
      controller = given
      signal.addEventListener('abort', onAbort)
      if (signal.aborted) onAbort()
      else awaitClient()
    },
    async pull () {
      clearTimeout(timer)
      try {
        const piece = next ?? (await rest.next()).value
        next = undefined
        if (isEnded) return
        if (piece === undefined) throw new Error(`the body ended after ${sent} of ${len} bytes`)
        sent += piece.length
        controller.enqueue(piece)
        if (sent < len) return awaitClient()
        end('complete')
        controller.close()
      } catch (error) {
        breakOff('failed', error)
      }
    },
    cancel (reason) { end('aborted', reason) }
  }, { highWaterMark: 0 })
}

/** @param {number} ms */
export const stalled = ms => new HttpError(408, 'HTTP_STALLED', `the client took nothing for ${ms} ms`)
