// One request while it is answered. Aborts the answer when the client disconnects, and reports the outcome at the end.

import { hopsIn } from '../../verifier/sources/http/hops.js'
import { PIECE_LEN } from './body.js'
import { stalled } from './errors.js'

/** @import { Service } from './handler.js' */

/** @typedef {'complete' | 'aborted' | 'stalled' | 'failed'} Outcome  how an answer ended */
/** @typedef {Exclude<Outcome, 'failed'>} Delivery  how an answer ended once the server had all of it */

/**
 * @typedef {object} RequestEvent  one request that has ended
 * @property {string} method
 * @property {string} path
 * @property {number} status
 * @property {Outcome} outcome  `complete` when the server had everything, or with `serve` the operating system;
 *   `aborted` when the client disconnected or the handler was closed; `stalled` when the client took nothing for too
 *   long; `failed` when the store could not read the rest
 * @property {string} [cid]  of the blob
 * @property {string} [code]  of the error
 * @property {unknown} [error]  for logs. Clients must not get its message
 * @property {number} sent  bytes of the body that the server got, whether or not the client took them
 * @property {number} received  bytes of an upload
 * @property {number} ms
 */

export class ServedRequest {
  /** @type {AbortController | undefined} */
  #controller
  /** @type {unknown} */
  #abortReason
  #began = performance.now()
  #delivery
  #onEnd
  /** True if the body of the answer is a stream, which calls `end`. */
  isStreaming = false
  /** The CID of the blob, once its name is resolved. @type {string | undefined} */
  cid
  /** The error that the client was told of, and its code. @type {{ code: string, error: unknown } | undefined} */
  refusal
  /** Bytes of a body that was sent as a whole. */
  sent = 0
  /** Bytes that the client has uploaded. */
  received = 0

  /**
   * @param {Request} request  whose URL can be parsed
   * @param {Service} service
   * @param {(event: RequestEvent) => void} onEnd
   */
  constructor (request, { store, options, hooks, sites, mountedSites }, onEnd) {
    this.request = request
    this.url = new URL(request.url)
    this.isHead = request.method === 'HEAD'
    /** How many stores have passed the request on. */
    this.hops = hopsIn(request.headers)
    this.store = store
    this.options = options
    this.sites = sites
    this.mountedSites = mountedSites
    this.Response = hooks.Response ?? Response
    /** True if the client is this program. */
    this.isPrivate = hooks.isPrivate ?? false
    this.#delivery = hooks.delivered?.(request)
    this.#onEnd = onEnd
  }

  /**
   * Aborts when the client disconnects, and when the handler closes. The controller is made when it is first needed,
   * because short answers do not need it and would take a tenth longer with it.
   */
  get signal () {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      const { signal } = this.request
      signal.addEventListener('abort', () => this.abort(signal.reason), { once: true })
      if (signal.aborted) this.#abortReason ??= signal.reason
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason)
    }
    return this.#controller.signal
  }

  /**
   * The signal that ends the reading of an answer. A short answer from a complete blob does not need one; any
   * other answer may have to wait for the client, or for missing chunks.
   *
   * @param {{ complete: boolean }} blob @param {number} len  bytes
   */
  signalFor ({ complete }, len) {
    return this.isHead || (complete && len <= PIECE_LEN) ? undefined : this.signal
  }

  /** @param {unknown} reason */
  abort (reason) {
    this.#abortReason = reason
    this.#controller?.abort(reason)
  }

  /** Ends the request when its answer is ready. A body that is a stream calls `end` itself. @param {number} status */
  answered (status) {
    if (!this.isStreaming) this.end(this.#controller?.signal.aborted ? 'aborted' : 'complete', status, this.sent)
  }

  /**
   * @param {Outcome} outcome @param {number} status @param {number} sent  bytes
   * @param {unknown} [broken]  the error that broke the body
   */
  async end (outcome, status, sent, broken) {
    if (outcome === 'complete' && this.#delivery !== undefined) {
      outcome = await this.#delivery
      if (outcome === 'stalled') broken = stalled(this.options.idleTimeout)
    }
    const { request: { method }, url: { pathname: path }, cid, received, refusal } = this
    const { code, error } = refusal ?? { code: codeOf(broken), error: broken }
    const ms = performance.now() - this.#began
    this.#onEnd({ method, path, status, outcome, cid, code, error, sent, received, ms })
  }
}

/** @param {unknown} error */
function codeOf (error) {
  const { code } = /** @type {{ code?: unknown }} */ (error ?? {})
  return typeof code === 'string' ? code : undefined
}
