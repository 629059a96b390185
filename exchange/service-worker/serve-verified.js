// Answers the requests of pages with the verified files of a site. The worker of a new version of the site is another
// script: browsers install it beside the old one, and start it when all pages of the old one are closed.

import { assertInteger, assertOptions, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot, toCid } from '../../lib/hash/cid.js'
import { isLie } from '../../verifier/mirrors/mirror-record.js'
import { fromMirrors } from '../download/from-mirrors.js'
import { checkedSite } from '../http/options.js'
import { baseOf, createVerifiedFetch } from '../http/verified-fetch.js'
import { NameBlobs } from './name-blobs.js'
import { openWorkerStore } from './worker-store.js'

/** @import { MirrorLike } from '../../verifier/mirrors/mirror.js' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { MirrorRequestEvent } from '../download/from-mirrors.js' */
/** @import { SiteOptions } from '../http/options.js' */
/** @import { RequestEvent } from '../http/served-request.js' */
/** @import { WorkerScope } from './types.js' */

/**
 * @typedef {{ type: 'request' } & RequestEvent
 *   | { type: 'mirror' } & MirrorRequestEvent
 *   | { type: 'store', place: 'IndexedDB' | 'memory', error?: unknown }} WorkerEvent  `request`: an answer to a page
 *   has ended. `mirror`: a request to a mirror has ended. `store`: the store was opened; in memory if IndexedDB fails,
 *   as `error` says
 */
/**
 * @typedef {object} Lie  what pages are told of a mirror that has sent wrong bytes, or an answer that proves nothing
 * @property {string} mirror  its origin
 * @property {string} cid  of the blob
 * @property {number} [offset]  of the wrong bytes, as far as it is known
 * @property {string} code  of the BaoError
 */
/**
 * @typedef {object} ServeVerifiedOptions
 * @property {BlobName | SiteOptions} site  the CID of a collection or manifest; or this and more rules, as for
 *   `createHandler`. Its pages have the origin of the worker, unless `sandbox` is true
 * @property {Iterable<MirrorLike>} from  mirrors of any blob, as for `fromMirrors`. URLs may be relative to the scope:
 *   `blobs/{cid}`
 * @property {string | URL} [scope]  the URL of the folder whose requests are answered, of the origin of the worker. It
 *   may be relative to the default: the scope with which the page has registered the worker
 * @property {number} [quota]  bytes that the worker keeps. Default: half of what the browser allows
 * @property {(event: WorkerEvent) => void} [onEvent]  its errors are ignored
 */

/** The status of an answer for which there was no space. */
const STATUS_FULL = 507
/** The name of the channel on which pages hear of bad answers. */
const CHANNEL = 'baobox'

/**
 * Makes a service worker answer the requests of pages with the verified files of a site. Call it once, when the script
 * of the worker starts:
 *
 *     import { serveVerified } from 'baobox/service-worker'
 *     serveVerified({ site: 'bafyr4i...', from: ['https://a.example/{cid}', 'https://b.example/{cid}'] })
 *
 * The worker keeps what it has fetched, and answers with that while no mirror can be reached. When a mirror has sent
 * wrong bytes, pages get a `Lie` on the BroadcastChannel `baobox`. The worker is installed when it has all names of the
 * files. A script with a new `site` is installed in the same way, and takes over when no page of the old one is open.
 *
 * @param {ServeVerifiedOptions} options
 */
export function serveVerified (options) {
  const worker = /** @type {WorkerScope} */ (/** @type {unknown} */ (globalThis))
  const { site, mirrors, base, quota, onEvent } = checkedOptions(options, worker.registration.scope)
  const tell = (/** @type {WorkerEvent} */ event) => {
    try {
      onEvent?.(event)
    } catch {} // an error of the caller's log must not break answers
  }
  const supply = fromMirrors(mirrors, {
    onRequest (event) {
      if (isBad(event)) tellPages(event)
      tell({ type: 'mirror', ...event })
    }
  })
  const nameBlobs = new NameBlobs(worker.caches, { base: base.href, site: site.cid })

  /** Opens the store, and returns the function that answers requests from it. */
  const open = async () => {
    const name = `baobox ${base.pathname}`
    const { store, place, error } = await openWorkerStore(name, { supply, quota }, store => nameBlobs.putInto(store))
    tell({ type: 'store', place, ...error !== undefined && { error } })
    let refusals = 0 // how often the browser has refused to store more
    /** @type {Promise<unknown> | undefined} */
    let clearing
    const verifiedFetch = createVerifiedFetch({
      store,
      base,
      site,
      onRequest (event) {
        if (isOfBrowsersQuota(event.error)) refusals++
        tell({ type: 'request', ...event })
      }
    })
    return async (/** @type {Request} */ request) => {
      const before = refusals
      const response = await verifiedFetch(request)
      if (response.status !== STATUS_FULL || refusals === before) return response
      // The browser gives less than it has promised, so the quota of the store evicts nothing. Requests that have
      // failed together wait for one garbage collection: a second one would delete what was fetched after the first.
      clearing ??= store.gc().catch(() => {}).finally(() => { clearing = undefined }) // then the answer is as before
      await clearing
      return verifiedFetch(request)
    }
  }

  /** @type {ReturnType<typeof open> | undefined} */
  let opening
  const answer = async (/** @type {Request} */ request) => {
    const opened = opening ??= open()
    let answerFromStore
    try {
      answerFromStore = await opened
    } catch (error) {
      if (opening === opened) opening = undefined // the next request tries again
      return new Response(`${error}`, { status: 503, headers: { 'retry-after': '1', 'content-type': 'text/plain' } })
    }
    return answerFromStore(request)
  }

  worker.addEventListener('install', event => event.waitUntil(nameBlobs.fetch(supply)))
  worker.addEventListener('activate', event => {
    event.waitUntil(nameBlobs.dropOthers().then(() => worker.clients.claim()))
  })
  worker.addEventListener('fetch', event => {
    const { origin, pathname } = new URL(event.request.url)
    const isOurs = origin === base.origin && pathname.startsWith(base.pathname)
    if (isOurs) event.respondWith(answer(event.request))
  })
}

/** @param {ServeVerifiedOptions} options @param {string} registered  the scope of the worker */
function checkedOptions (options, registered) {
  assertOptions('options', options, '{ site, from, scope, quota, onEvent }')
  assertKnownOptions(options, ['site', 'from', 'scope', 'quota', 'onEvent'])
  const { site, from, scope = registered, quota, onEvent } = options
  if (onEvent !== undefined && typeof onEvent !== 'function') {
    throw new TypeError(`"onEvent" expected a function, got ${describe(onEvent)}`)
  }
  if (quota !== undefined) assertInteger('quota', quota)
  if (typeof from === 'string' || typeof from?.[Symbol.iterator] !== 'function') {
    throw new TypeError(`"from" expected mirrors, got ${describe(from)}`)
  }
  const { origin } = new URL(registered)
  const base = baseOf('scope', scope, new URL(registered))
  if (base.origin !== origin) throw new TypeError(`"scope" expected a URL of ${origin}, got one of ${base.origin}`)
  const { cid, ...rules } = isOptions(site) ? site : { cid: site }
  const checked = { sandbox: false, ...rules, cid: `${toCid(parseRoot(cid, 'site'))}` }
  checkedSite(checked) // A wrong rule fails now, and not at the first request.
  return {
    site: checked,
    mirrors: [...from].map(mirror => typeof mirror === 'string' ? absolute(mirror, base) : mirror),
    base,
    quota,
    onEvent
  }
}

/** @param {BlobName | SiteOptions} site @returns {site is SiteOptions} */
const isOptions = site => Object(site) === site && 'cid' in /** @type {object} */ (site)

/**
 * Returns an absolute URL or template. A URL has its braces encoded, so those of a template are put back.
 *
 * @param {string} mirror @param {URL} base
 */
const absolute = (mirror, base) =>
  URL.canParse(mirror) ? mirror : new URL(mirror, base).href.replaceAll('%7B', '{').replaceAll('%7D', '}')

/** True if the browser has refused to store more. @param {unknown} error @returns {boolean} */
const isOfBrowsersQuota = error => error instanceof Error &&
  (error.name === 'QuotaExceededError' || isOfBrowsersQuota(error.cause))

/** The codes of answers that cannot be right: too short again and again, or without what proves the bytes. */
const UNUSABLE = ['BAO_TRUNCATED', 'FETCH_REFUSED']

/** True if a mirror has sent what cannot be right. @param {MirrorRequestEvent} event */
const isBad = ({ error }) => error !== undefined && (isLie(error) || UNUSABLE.includes(error.code ?? ''))

/** Tells all pages of this origin of a bad answer. @param {MirrorRequestEvent} event */
function tellPages ({ mirror, cid, error = new Error() }) {
  const channel = new BroadcastChannel(CHANNEL)
  channel.postMessage(/** @type {Lie} */ ({ mirror, cid: `${cid}`, offset: error.start, code: error.code }))
  channel.close()
}
