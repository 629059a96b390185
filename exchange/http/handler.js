// Serves a store over HTTP: a function from Request to Response, for every server that uses the types of the Fetch
// standard. Requests begin and end here; answer.js answers them. docs/guide.md, "Serve", lists the routes.

import { assertStore } from '../../store/interface.js'
import { graceOf, within } from '../time-limits.js'
import { answerTo } from './answer.js'
import { asAborted, closing } from './errors.js'
import { checkedOptions } from './options.js'
import { respondError } from './respond.js'
import { ServedRequest } from './served-request.js'
import { Sites } from './sites/sites.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { CheckedOptions, HandlerOptions } from './options.js' */
/** @import { ResponseClass } from './respond.js' */
/** @import { Delivery, Outcome, RequestEvent } from './served-request.js' */

/**
 * @typedef {object} HandlerStats
 * @property {number} active  requests that are being answered
 * @property {number} requests  that have ended
 * @property {number} sent  bytes of bodies
 * @property {number} received  bytes of uploads
 * @property {Record<string, number>} statuses  how many requests were answered with each
 * @property {Record<Outcome, number>} outcomes
 */

/**
 * @typedef {((request: Request) => Promise<Response>) & HandlerControls} Handler
 * @typedef {object} HandlerControls
 * @property {(options?: { grace?: number }) => Promise<void>} close  answers new requests with 503, and waits up to
 *   `grace` milliseconds (default: 10000) for those under way; then it breaks off the remaining ones. The store stays
 *   open
 * @property {() => HandlerStats} stats
 */

/**
 * @typedef {object} ServerHooks  functions that a server gives to the handler that runs in it
 * @property {ResponseClass} [Response]  for bodies in one piece, where it takes a fifth of the time of the runtime's
 *   class. Default: the runtime's
 * @property {boolean} [isPrivate]  true if only this program gets the answers: then errors say which mirrors have
 *   failed, URLs may have any length, and the program may take as long as it wants between two pieces. Default: false
 * @property {(request: Request) => Promise<Delivery>} [delivered]  called when the answer begins. Default: an answer is
 *   complete when the server has it, since a handler cannot know more
 */

/**
 * What all requests to one handler share.
 *
 * @typedef {object} Service
 * @property {Store} store
 * @property {CheckedOptions} options
 * @property {ServerHooks} hooks
 * @property {Sites} sites  the sites that requests name by hash, tag or alias
 * @property {Sites} mountedSites  the site at `/`. It is kept apart, so that other sites can neither delay nor evict it
 */

/**
 * Makes a function that answers requests for blobs of a store. Mount it in any server that takes `Request` and gives
 * `Response`, or in a service worker. Bytes, slices and outboards are verified before they are sent.
 *
 *     const handler = createHandler(store)
 *     Deno.serve(handler)
 *
 * @param {Store} store  the caller closes it, after the handler
 * @param {HandlerOptions} [options]
 * @returns {Handler}
 */
export function createHandler (store, options = {}) { return handlerOf(store, options) }

/**
 * Like `createHandler`, for a server that has hooks: see `ServerHooks`.
 *
 * @param {Store} store @param {HandlerOptions} options @param {ServerHooks} [hooks]
 * @returns {Handler}
 */
export function handlerOf (store, options, hooks = {}) {
  assertStore(store)
  const checked = checkedOptions(options)
  const sites = new Sites(store)
  const requests = new Requests({ store, options: checked, hooks, sites, mountedSites: new Sites(store) })
  return Object.assign((/** @type {Request} */ request) => requests.answer(request), {
    close: (/** @type {{ grace?: number } | undefined} */ options) => requests.close(options),
    stats: () => requests.stats
  })
}

/** The requests to one handler: those that are being answered, and counts of those that have ended. */
class Requests {
  #service
  #active = /** @type {Set<ServedRequest>} */ (new Set())
  #isClosing = false
  /** Resolve the calls of `close` that wait. @type {((value?: unknown) => void)[]} */
  #whenIdle = []
  #counts = {
    requests: 0,
    sent: 0,
    received: 0,
    statuses: /** @type {Record<string, number>} */ ({}),
    outcomes: { complete: 0, aborted: 0, stalled: 0, failed: 0 }
  }

  /** @param {Service} service */
  constructor (service) {
    this.#service = service
  }

  /** @returns {HandlerStats} */
  get stats () {
    const { statuses, outcomes, ...counts } = this.#counts
    return { active: this.#active.size, ...counts, statuses: { ...statuses }, outcomes: { ...outcomes } }
  }

  /** @param {Request} request @returns {Promise<Response>} */
  async answer (request) {
    // Servers make this URL from the `Host` header, which the client chooses.
    if (!URL.canParse(request.url)) return new Response(null, { status: 400, headers: { 'content-length': '0' } })
    const served = new ServedRequest(request, this.#service, event => this.#ended(served, event))
    this.#active.add(served)
    let response
    try {
      if (this.#isClosing) throw closing()
      response = await answerTo(served)
    } catch (error) {
      response = respondError(served, served.signal.aborted ? asAborted(served.signal.reason) : error)
    }
    served.answered(response.status)
    return response
  }

  /** @param {{ grace?: number }} [options] */
  async close (options) {
    const grace = graceOf(options)
    this.#isClosing = true
    if (this.#active.size === 0) return
    const idle = new Promise(resolve => this.#whenIdle.push(resolve))
    await within(idle, grace, () => { for (const served of this.#active) served.abort(closing()) })
  }

  /** @param {ServedRequest} served @param {RequestEvent} event */
  #ended (served, event) {
    const { status, outcome, sent, received } = event
    const counts = this.#counts
    counts.requests++
    counts.sent += sent
    counts.received += received
    counts.statuses[status] = (counts.statuses[status] ?? 0) + 1
    counts.outcomes[outcome]++
    this.#active.delete(served)
    if (this.#active.size === 0) for (const tell of this.#whenIdle.splice(0)) tell()
    try {
      this.#service.options.onRequest?.(event)
    } catch {} // an error of the caller's log must not break answers
  }
}
