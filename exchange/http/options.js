// The options of a handler, and their checks.

import { assertBoolean, assertInteger, assertOptions, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { assertName } from '../../store/interface.js'
import { MAX_TIMEOUT } from '../time-limits.js'
import { Cors } from './cors.js'

/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { Authorize } from './authorize.js' */
/** @import { CorsRules } from './cors.js' */
/** @import { MountRules, SiteRules } from './sites/answer-site.js' */
/** @import { RequestEvent } from './served-request.js' */

/**
 * @typedef {SiteRules & MountRules & { cid: BlobName }} SiteOptions  `cid`: of a collection or manifest, or a tag that
 *   names one. Default of the rules that it shares with `collections`: those
 */
/**
 * @typedef {object} HandlerOptions
 * @property {string} [basePath]  a prefix of all routes, like `/files`, for routers that do not remove it. Default:
 *   none
 * @property {boolean} [allowTags]  true allows tags as names, and serves `/tags/NAME`. Default: false
 * @property {boolean} [list]  true answers `GET /blobs`, and with `allowTags` `GET /tags`, with a list of all. Default:
 *   false
 * @property {Authorize} [authorize]  decides what a request may do; `bearer(token)` makes one. Default: everybody may
 *   read, and nobody may write
 * @property {number} [maxBytes]  bytes of one upload. Default: 1 GiB
 * @property {CorsRules} [cors]  which pages of other origins may read answers. Default: all, without credentials
 * @property {SiteRules | boolean} [collections]  rules for serving the files of collections and manifests by path; true
 *   for the default rules, false to serve none. Default: true
 * @property {BlobName | SiteOptions} [site]  the CID of a collection or manifest, or a tag that names one, whose files
 *   are served by their paths at the top; or this and more rules. `/about` also finds `about.html`. All paths for blobs
 *   work as before
 * @property {(cid: string) => string | undefined} [contentType]  gives the media type of a blob. Browsers show a blob
 *   that has a media type, so give one only to trusted content. Default: `application/octet-stream`, and
 *   browsers save the blob
 * @property {boolean | { seconds?: number }} [redirect]  true redirects requests for the bytes of a blob, or a range of
 *   them, to the place where the store keeps them, if the store has URLs: a store in a bucket does. Clients then get
 *   bytes that the server has not verified, without its headers. Outboards, slices and the files of sites still come
 *   from the server. `seconds`: for how long a URL is valid; default: 3600. Default: false
 * @property {string[]} [mirrors]  URLs of other servers, to which the hash is added. `Link` headers name them
 * @property {number} [idleTimeout]  milliseconds that a client may take for one piece, mostly of 256 KiB. Default:
 *   60000
 * @property {(event: RequestEvent) => void} [onRequest]  called when a request has ended. Its errors are ignored
 */

/** @typedef {{ root: Uint8Array } | { tag: string }} SiteName */
/** @typedef {{ name: SiteName, rules: Required<SiteRules>, mount: MountRules }} CheckedSite */

export const HANDLER_OPTIONS = [
  'basePath', 'allowTags', 'list', 'authorize', 'maxBytes', 'cors', 'collections', 'site', 'contentType', 'mirrors',
  'redirect', 'idleTimeout', 'onRequest'
]
/** The default rules of sites. @type {Required<SiteRules>} */
export const DEFAULT_RULES = { index: 'index.html', listing: false, sandbox: true }
export const DEFAULT_IDLE_TIMEOUT = 60_000
/** Seconds: an hour, and a week, which is the maximum of S3. */
const [DEFAULT_SECONDS, MAX_SECONDS] = [3600, 7 * 24 * 3600]
/** Bytes of an upload: 1 GiB. */
const MAX_BYTES = 1 << 30

/** @typedef {ReturnType<typeof checkedOptions>} CheckedOptions */

/** @param {HandlerOptions} options */
export function checkedOptions (options) {
  assertKnownOptions(options, HANDLER_OPTIONS)
  const { basePath = '', allowTags = false, list = false, maxBytes = MAX_BYTES, mirrors = [], ...rest } = options
  const { collections = true, site, redirect = false, idleTimeout = DEFAULT_IDLE_TIMEOUT } = rest
  const { authorize, cors = {}, contentType, onRequest } = rest
  if (typeof basePath !== 'string' || !/^(\/[^/?#]+)*$/.test(basePath)) {
    const given = typeof basePath === 'string' ? `'${basePath}'` : describe(basePath)
    throw new TypeError(`"basePath" expected a path like '/files', without a slash at its end, got ${given}`)
  }
  if (!Array.isArray(mirrors) || !mirrors.every(mirror => typeof mirror === 'string' && URL.canParse(mirror))) {
    throw new TypeError('"mirrors" expected URLs')
  }
  assertBoolean('allowTags', allowTags)
  assertBoolean('list', list)
  assertInteger('maxBytes', maxBytes)
  assertInteger('idleTimeout', idleTimeout, 1, MAX_TIMEOUT)
  for (const [name, value] of Object.entries({ authorize, contentType, onRequest })) {
    if (value !== undefined && typeof value !== 'function') {
      throw new TypeError(`"${name}" expected a function, got ${describe(value)}`)
    }
  }
  const urls = mirrors.map(mirror => new URL(mirror).href)
  const sites = checkedCollections(collections)
  return {
    basePath,
    allowTags,
    list,
    authorize,
    maxBytes,
    cors: new Cors(cors),
    collections: sites,
    site: site === undefined ? undefined : checkedSite(site, sites),
    contentType,
    mirrors: urls,
    redirect: checkedRedirect(redirect),
    idleTimeout,
    onRequest
  }
}

/** @param {boolean | { seconds?: number }} redirect @returns {number | undefined} seconds; undefined for false */
function checkedRedirect (redirect) {
  if (redirect === false) return undefined
  if (redirect === true) return DEFAULT_SECONDS
  assertOptions('redirect', redirect, 'a boolean or { seconds }')
  assertKnownOptions(redirect, ['seconds'])
  const { seconds = DEFAULT_SECONDS } = redirect
  assertInteger('redirect.seconds', seconds, 1, MAX_SECONDS)
  return seconds
}

/** @param {SiteRules | boolean} collections @returns {Required<SiteRules> | undefined} */
function checkedCollections (collections) {
  if (collections === false) return undefined
  return checkedRules('collections', collections === true ? {} : collections, DEFAULT_RULES)
}

/**
 * @param {string} name  of the option @param {SiteRules} rules @param {Required<SiteRules>} defaults
 * @returns {Required<SiteRules>}
 */
function checkedRules (name, rules, defaults) {
  assertOptions(name, rules, '{ index, listing, sandbox }')
  assertKnownOptions(rules, ['index', 'listing', 'sandbox'])
  const { index = defaults.index, listing = defaults.listing, sandbox = defaults.sandbox } = rules
  if (typeof index !== 'string' || !/^[^/]+$/.test(index)) {
    throw new TypeError(`"${name}.index" expected the name of a file, got ${describe(index)}`)
  }
  assertBoolean(`${name}.listing`, listing)
  assertBoolean(`${name}.sandbox`, sandbox)
  return { index, listing, sandbox }
}

/** Parts that are not empty, with slashes between them. */
const PATH = /^[^/]+(\/[^/]+)*$/

/** @param {BlobName | SiteOptions} site @param {Required<SiteRules>} [defaults] @returns {CheckedSite} */
export function checkedSite (site, defaults = DEFAULT_RULES) {
  if (Object(site) !== site || !('cid' in /** @type {object} */ (site))) {
    return { name: checkedSiteName(/** @type {BlobName} */ (site)), rules: defaults, mount: {} }
  }
  const { cid, top, fallback, ...rules } = /** @type {SiteOptions} */ (site)
  for (const [name, value] of Object.entries({ top: top || undefined, fallback })) {
    if (value !== undefined && (typeof value !== 'string' || !PATH.test(value))) {
      throw new TypeError(`"site.${name}" expected a path without a slash at either end, got ${describe(value)}`)
    }
  }
  return { name: checkedSiteName(cid), rules: checkedRules('site', rules, defaults), mount: { top, fallback } }
}

/** @param {BlobName} site @returns {SiteName} */
function checkedSiteName (site) {
  try {
    return { root: parseRoot(site, 'site') }
  } catch (error) {
    if (typeof site !== 'string' || site === '') throw error
    assertName('site', site)
    return { tag: site }
  }
}
