// Serves a store over HTTP: a function from Request to Response, for every server that uses the types of the Fetch
// standard. It routes a request, has it answered, and reports the outcome. docs/guide.md, "Serve", lists the routes.

import { notFound } from '../../store/storage/errors.js'
import { contextOf } from '../../store/context-of.js'
import { assertInteger } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { toCid } from '../../lib/hash/cid.js'
import { answerBlob } from './answers/blob.js'
import { answerList } from './answers/list.js'
import { answerMembers } from './answers/members.js'
import { answerOutboard } from './answers/outboard.js'
import { answerPut } from './answers/put.js'
import { answerSite } from './answers/sites/site.js'
import { answerSlice } from './answers/slice.js'
import { HttpError, asAborted, closing, noRoute } from './errors.js'
import { Exchange } from './exchange.js'
import { DEFAULT_RULES, checkedOptions } from './options.js'
import { Sites } from './answers/sites/sites.js'
import { canonicalName, resolveName, rootOfSite } from './request/names.js'
import { membersQueryOf } from './request/members-query.js'
import { MAX_URL_LEN, routeOf } from './request/routes.js'
import { sliceQueryOf } from './request/slice-query.js'
import { redirectTo, respondEmpty, respondError, respondJson, respondOptions } from './response/headers.js'

/** @import { BlobStore } from '../../store/blob-store.js' */
/** @import { HandlerOptions } from './options.js' */
/** @import { SiteName } from './options.js' */
/** @import { ServerHooks } from './exchange.js' */
/** @import { BlobRoute, MountedRoute, SiteRoute } from './request/routes.js' */
/** @import { Target } from './request/names.js' */
/** @import { Outcome } from './response/body.js' */

/**
 * @typedef {object} RequestEvent  one request that has ended
 * @property {string} method
 * @property {string} path
 * @property {number} status
 * @property {Outcome} outcome  `complete` when the server had everything, or with `serve` the operating system;
 *   `aborted` when the client went or the handler was closed; `stalled` when the client took nothing for too long;
 *   `failed` when the store could not give the rest
 * @property {string} [cid]  of the blob
 * @property {string} [code]  of the error
 * @property {unknown} [error]  for logs: its message is not for clients
 * @property {number} sent  bytes of the body that were given to the server, whether or not the client took them
 * @property {number} received  bytes of an upload
 * @property {number} ms
 */

/**
 * @typedef {object} HandlerStats
 * @property {number} active  requests that are answered now
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
 *   `grace` milliseconds (default: 10000) for those that are answered; then their bodies break. The store stays open
 * @property {() => HandlerStats} stats
 */

const DEFAULT_GRACE = 10_000

/** Characters of a header that is read here. */
const MAX_HEADER_LEN = 8192
const HEADERS = ['accept', 'authorization', 'if-match', 'if-none-match', 'if-range', 'range']

/**
 * A function that answers requests for blobs of a store. Mount it in any server that takes `Request` and gives
 * `Response`, or in a service worker. Bytes, slices and outboards are verified before they leave.
 *
 *     const handler = createHandler(store)
 *     Deno.serve(handler)
 *
 * @param {BlobStore} store  stays the caller's: close the handler first, then the store
 * @param {HandlerOptions} [options]
 * @returns {Handler}
 */
export const createHandler = (store, options = {}) => handlerOf(store, options)

/**
 * Like `createHandler`, for a server that gives more than requests: see `ServerHooks`.
 *
 * @param {BlobStore} store @param {HandlerOptions} options @param {ServerHooks} [hooks]
 * @returns {Handler}
 */
export function handlerOf (store, options, hooks = {}) {
  const server = new HttpServer(store, options, hooks)
  return Object.assign((/** @type {Request} */ request) => server.answer(request), {
    close: (/** @type {{ grace?: number } | undefined} */ options) => server.close(options),
    stats: () => server.stats
  })
}

class HttpServer {
  #store
  #options
  #hooks
  #sites
  /** The site at the top, which requests for others neither hold up nor push out. */
  #top
  #active = /** @type {Set<Exchange>} */ (new Set())
  #isClosing = false
  /** Calls of `close` that wait. @type {((value?: unknown) => void)[]} */
  #whenIdle = []
  #counts = {
    requests: 0,
    sent: 0,
    received: 0,
    statuses: /** @type {Record<string, number>} */ ({}),
    outcomes: { complete: 0, aborted: 0, stalled: 0, failed: 0 }
  }

  /** @param {BlobStore} store @param {HandlerOptions} options @param {ServerHooks} hooks */
  constructor (store, options, hooks) {
    contextOf(store) // throws when it is no store
    this.#store = store
    this.#options = checkedOptions(options)
    this.#hooks = hooks
    this.#sites = new Sites(store)
    this.#top = new Sites(store)
  }

  /** @returns {HandlerStats} */
  get stats () {
    const { statuses, outcomes, ...counts } = this.#counts
    return { active: this.#active.size, ...counts, statuses: { ...statuses }, outcomes: { ...outcomes } }
  }

  /** @param {Request} request @returns {Promise<Response>} */
  async answer (request) {
    // Servers make this URL from the `Host` header, which the client chooses.
    if (!URL.canParse(request.url)) return respondEmpty(400)
    const onEnd = (/** @type {RequestEvent} */ event) => this.#ended(exchange, event)
    const exchange = new Exchange(request, this.#store, this.#options, this.#hooks, onEnd)
    this.#active.add(exchange)
    let response
    try {
      response = await this.#answerOf(exchange)
    } catch (error) {
      response = respondError(exchange, exchange.signal.aborted ? asAborted(exchange.signal.reason) : error)
    }
    exchange.answered(response.status)
    return response
  }

  /** @param {{ grace?: number }} [options] */
  async close (options = {}) {
    assertKnownOptions(options, ['grace'])
    const { grace = DEFAULT_GRACE } = options
    assertInteger('grace', grace)
    this.#isClosing = true
    if (this.#active.size === 0) return
    const idle = new Promise(resolve => this.#whenIdle.push(resolve))
    const timer = setTimeout(() => { for (const exchange of this.#active) exchange.abort(closing()) }, grace)
    await idle
    clearTimeout(timer)
  }

  /** @param {Exchange} exchange @returns {Promise<Response>} */
  async #answerOf (exchange) {
    const { request, url } = exchange
    if (this.#isClosing) throw closing()
    assertBounded(request)
    const { basePath, site } = this.#options
    const hasSite = site !== undefined
    if (hasSite && url.pathname === basePath) return redirectTo(`./${basePath.split('/').pop()}/${url.search}`, false)
    if (!url.pathname.startsWith(`${basePath}/`)) throw noRoute()
    const route = routeOf(url.pathname.slice(basePath.length), { hasSite })
    const methods = this.#methodsOf(route)
    if (request.method === 'OPTIONS') return respondOptions(methods)
    if (!methods.split(', ').includes(request.method)) {
      throw new HttpError(405, 'HTTP_METHOD', `this path allows ${methods}`, { allow: methods })
    }
    if (route.kind === 'list') {
      if (!this.#options.list) throw noRoute()
      return answerList(exchange)
    }
    if (route.kind === 'registry') {
      return respondJson(exchange, 200, {}, { 'docker-distribution-api-version': 'registry/2.0' })
    }
    if (hasSite && route.kind === 'mounted') return this.#answerOfMounted(exchange, route, site)
    if (route.kind === 'site') return this.#answerOfSite(exchange, route)
    return this.#answerOfBlob(exchange, /** @type {BlobRoute} */ (route))
  }

  /** @param {Exchange} exchange @param {BlobRoute} route */
  async #answerOfBlob (exchange, route) {
    const { request, url, context } = exchange
    const target = await resolveName(exchange, route.name)
    const cid = `${toCid(target.root)}`
    exchange.cid = cid
    const name = canonicalName(route.family, target)
    if (route.written !== name) return redirect(route, name, target, url.search)

    const found = { ...route, target, cid }
    const { put } = this.#options
    if (request.method === 'PUT' && put !== undefined) return answerPut(exchange, found, put)
    const record = await context.life.run(() => context.catalog.get(target.root))
    if (record === undefined) throw notFound(target.root)
    if (found.groupLog !== undefined) return answerOutboard(exchange, { ...found, groupLog: found.groupLog }, record)
    const members = membersQueryOf(url.searchParams)
    if (members !== undefined) return answerMembers(exchange, found, record, members)
    const slice = sliceQueryOf(url.searchParams, request.headers)
    if (slice !== undefined) return answerSlice(exchange, found, record, slice)
    return answerBlob(exchange, found, record)
  }

  /** @param {Exchange} exchange @param {SiteRoute} route */
  async #answerOfSite (exchange, route) {
    const rules = this.#options.collections
    if (rules === undefined) throw noRoute()
    const target = await resolveName(exchange, route.name)
    exchange.cid = `${toCid(target.root)}`
    const name = canonicalName('blobs', target)
    if (route.written === name && route.rest !== undefined) {
      return answerSite(exchange, route.path, target.root, { sites: this.#sites, rules, isNamed: true })
    }
    const { rest = '' } = route
    const up = route.rest === undefined ? './' : '../'.repeat(rest.split('/').length)
    const location = `${up}${name}/${rest}${exchange.url.search}`
    return redirectTo(location, target.by === 'name')
  }

  /** @param {Exchange} exchange @param {MountedRoute} route @param {SiteName} site */
  async #answerOfMounted (exchange, { path }, site) {
    const rules = this.#options.collections ?? DEFAULT_RULES
    const root = await rootOfSite(exchange, site)
    exchange.cid = `${toCid(root)}`
    return answerSite(exchange, path, root, { sites: this.#top, rules, isNamed: false })
  }

  /** @param {import('./request/routes.js').Route} route */
  #methodsOf (route) {
    const canPut = route.kind === 'blob' && route.groupLog === undefined && ['blobs', 'plain'].includes(route.family)
    return this.#options.put !== undefined && canPut ? 'GET, HEAD, PUT, OPTIONS' : 'GET, HEAD, OPTIONS'
  }

  /** @param {Exchange} exchange @param {RequestEvent} event */
  #ended (exchange, event) {
    const { status, outcome, sent, received } = event
    const counts = this.#counts
    counts.requests++
    counts.sent += sent
    counts.received += received
    counts.statuses[status] = (counts.statuses[status] ?? 0) + 1
    counts.outcomes[outcome]++
    this.#active.delete(exchange)
    if (this.#active.size === 0) for (const tell of this.#whenIdle.splice(0)) tell()
    try {
      this.#options.onRequest?.(event)
    } catch {} // a fault of a log must not break answers
  }
}

/** @param {Request} request @throws {HttpError} 400, 414, 431 */
function assertBounded ({ method, url, headers }) {
  // Nobody reads such a body, so a client could send it for ever.
  if (['GET', 'HEAD', 'OPTIONS'].includes(method) && hasBody(headers)) {
    throw new HttpError(400, 'HTTP_BAD_REQUEST', `requests with ${method} have no body here`, { connection: 'close' })
  }
  if (url.length > MAX_URL_LEN) {
    throw new HttpError(414, 'HTTP_TOO_LONG', `URLs have at most ${MAX_URL_LEN} characters`)
  }
  const long = HEADERS.find(name => (headers.get(name)?.length ?? 0) > MAX_HEADER_LEN)
  if (long !== undefined) {
    throw new HttpError(431, 'HTTP_TOO_LONG', `"${long}" expected at most ${MAX_HEADER_LEN} characters`)
  }
}

/** @param {Headers} headers */
const hasBody = headers => headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) !== 0

/**
 * Sends a client to the one spelling of a name. What an alias or a tag means may change, and is asked again.
 *
 * @param {BlobRoute} route @param {string} name @param {Target} target @param {string} search
 */
function redirect ({ groupLog }, name, target, search) {
  return redirectTo(`./${name}${groupLog === undefined ? '' : `.obao${groupLog}`}${search}`, target.by === 'name')
}
