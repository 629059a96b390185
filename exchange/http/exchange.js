// Holds one request while it is answered, and reports its outcome at the end.

import { contextOf } from '../../store/context-of.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { changed, missing } from '../../store/storage/errors.js'
import { stalled } from './response/body.js'

/** @import { BlobStore } from '../../store/blob-store.js' */
/** @import { BlobRecord } from '../../store/storage/format/records.js' */
/** @import { RequestEvent } from './handler.js' */
/** @import { CheckedOptions } from './options.js' */
/** @import { BlobRoute } from './request/routes.js' */
/** @import { Target } from './request/names.js' */
/** @import { Outcome } from './response/body.js' */
/** @import { ResponseClass } from './response/headers.js' */

/** @typedef {Exclude<Outcome, 'failed'>} Delivery  what has become of an answer that was given to the server */
/**
 * @typedef {object} ServerHooks  what a server gives to the handler that runs in it
 * @property {ResponseClass} [Response]  for bodies in one piece, where it costs a fifth of the runtime's. Default: the
 *   runtime's
 * @property {(request: Request) => Promise<Delivery>} [delivered]  called when the answer begins. Default: an answer is
 *   complete when the server has it, since a handler cannot know more
 */
/** @typedef {BlobRoute & { target: Target, cid: string }} FoundRoute  `cid`: of plain bytes with this hash */

/** Chunks that a store with `supply` fetches before the status is sent: 256 KiB. The reads fetch the rest. */
const FIRST_CHUNKS = 256

export class Exchange {
  /** @type {AbortController | undefined} */
  #abort
  /** @type {unknown} */
  #abortReason
  #began = performance.now()
  #delivery
  #onEnd
  #status = 0
  /** Does the answer have a body that tells by itself when it ends? */
  isStreaming = false
  /** The CID of the blob, once its name is resolved. @type {string | undefined} */
  cid
  /** The error that the client is told of, and its code. @type {{ code: string, error: unknown } | undefined} */
  refusal
  /** Bytes of a body that was sent as a whole. */
  sent = 0
  /** Bytes that the client has uploaded. */
  received = 0

  /**
   * @param {Request} request  whose URL can be parsed
   * @param {BlobStore} store
   * @param {CheckedOptions} options
   * @param {ServerHooks} hooks
   * @param {(event: RequestEvent) => void} onEnd
   */
  constructor (request, store, options, hooks, onEnd) {
    this.request = request
    this.url = new URL(request.url)
    this.store = store
    this.context = contextOf(store)
    this.options = options
    this.Response = hooks.Response
    this.isHead = request.method === 'HEAD'
    this.#delivery = hooks.delivered?.(request)
    this.#onEnd = onEnd
  }

  /**
   * Aborts when the client goes, and when the handler closes. It is made when it is first needed: short answers do not
   * need it, and it would take a tenth of their time.
   */
  get signal () {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      const { signal } = this.request
      signal.addEventListener('abort', () => this.abort(signal.reason), { once: true })
      if (signal.aborted) this.#abortReason ??= signal.reason
      if (this.#abortReason !== undefined) this.#abort.abort(this.#abortReason)
    }
    return this.#abort.signal
  }

  /** @param {unknown} reason */
  abort (reason) {
    this.#abortReason = reason
    this.#abort?.abort(reason)
  }

  /**
   * Makes sure that the store has the bytes of the answer. A store with `supply` may fetch missing chunks; the first of
   * them must come now.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} ranges
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_MISSING { ranges }
   */
  async requirePresent (root, record, ranges) {
    const { presence, supplies, catalog } = this.context
    const lacking = await presence.missing(record, ranges)
    if (lacking.isEmpty) return
    if (!supplies.areOpen) throw missing(root, record.size, lacking)
    const [first] = lacking.boundaries
    const beginning = lacking.intersect(ChunkRanges.fromBoundaries([first, first + FIRST_CHUNKS]))
    try {
      await supplies.fetch(root, record, beginning, this.signal)
    } catch (cause) {
      throw missing(root, record.size, lacking, cause)
    }
    if ((await catalog.get(root))?.size !== record.size) throw changed(root, undefined)
  }

  /**
   * The options of a body: its time limit, and functions with which it reports its end.
   *
   * @param {number} status  of the answer
   * @param {() => void} release  what is held while it is sent
   */
  bodyOptions (status, release) {
    this.isStreaming = true
    this.#status = status
    /** @param {Outcome} outcome @param {number} sent @param {unknown} [error] */
    const onEnd = (outcome, sent, error) => {
      release()
      this.#end(outcome, sent, error)
    }
    return { signal: this.signal, idleTimeout: this.options.idleTimeout, onEnd }
  }

  /** The answer is ready. Unless it has a stream as its body, that is the end. @param {number} status */
  answered (status) {
    if (this.isStreaming) return
    this.#status = status
    this.#end(this.#abort?.signal.aborted ? 'aborted' : 'complete', this.sent)
  }

  /** @param {Outcome} outcome @param {number} sent @param {unknown} [broken]  what broke the body */
  async #end (outcome, sent, broken) {
    if (outcome === 'complete' && this.#delivery !== undefined) {
      outcome = await this.#delivery
      if (outcome === 'stalled') broken = stalled(this.options.idleTimeout)
    }
    const { request: { method }, url: { pathname: path }, cid, received, refusal } = this
    const { code, error } = refusal ?? { code: codeOf(broken), error: broken }
    const ms = performance.now() - this.#began
    this.#onEnd({ method, path, status: this.#status, outcome, cid, code, error, sent, received, ms })
  }
}

/** @param {unknown} error */
function codeOf (error) {
  const { code } = /** @type {{ code?: unknown }} */ (error ?? {})
  return typeof code === 'string' ? code : undefined
}
