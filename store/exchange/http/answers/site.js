// Answers with a file of a collection or manifest, or with a list of what is in a folder of it.

import { notFound } from '../../../storage/errors.js'
import { toCid } from '../../../../lib/hash/cid.js'
import { noRoute } from '../errors.js'
import { isKnown } from '../request/conditions.js'
import { FOREVER, respond } from '../response/headers.js'
import { answerBytes } from './blob.js'

/** @import { Exchange } from '../exchange.js' */
/** @import { SiteRoute } from '../request/routes.js' */
/** @import { Site, SiteFile, Sites } from './sites.js' */

/**
 * @typedef {object} SiteRules
 * @property {string} [index]  the file that stands for its folder. Default: `index.html`
 * @property {boolean} [listing]  is a folder without such a file answered with a list of what is in it? Default: false
 * @property {boolean} [sandbox]  do browsers give each page an origin of its own, so that none can read what others
 *   keep, or act for a user? Without it all collections have one origin. Default: true
 */

/** Entries of a list, at most. */
const MAX_LISTED = 10_000
/** What pages may do, beside reading what is served to all origins. Source: HTML standard, "Sandboxing". */
const SANDBOX = 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals'

/**
 * @param {Exchange} exchange @param {SiteRoute} route  of the canonical name
 * @param {Uint8Array} root  of the collection or manifest
 * @param {{ sites: Sites, rules: Required<SiteRules> }} options
 */
export async function answerSite (exchange, { path }, root, { sites, rules }) {
  const site = await sites.get(root)
  const isFolder = path === '' || path.endsWith('/')
  const file = site.get(path) ?? (isFolder ? site.get(path + rules.index) : undefined)
  if (file !== undefined) return answerFile(exchange, file, { sites, rules })
  if (!isFolder && isFolderOf(site, path, rules)) {
    const last = exchange.url.pathname.slice(exchange.url.pathname.lastIndexOf('/') + 1)
    return respond(null, 308, { location: `./${last}/${exchange.url.search}`, 'cache-control': FOREVER })
  }
  if (isFolder && rules.listing) return answerListing(exchange, site, path, root)
  throw noRoute()
}

/**
 * Does a path without a slash at its end mean a folder?
 *
 * @param {Site} site @param {string} path @param {SiteRules} rules
 */
function isFolderOf (site, path, { index, listing }) {
  if (site.has(`${path}/${index}`)) return true
  return listing === true && [...site.keys()].some(name => name.startsWith(`${path}/`))
}

/** @param {Exchange} exchange @param {SiteFile} file @param {{ sites: Sites, rules: Required<SiteRules> }} options */
async function answerFile (exchange, file, { sites, rules }) {
  const { context, request } = exchange
  const root = await sites.rootOf(file)
  const record = root && await context.life.run(() => context.catalog.get(root))
  if (root === undefined) throw noRoute()
  if (record === undefined) throw notFound(root)
  const cid = `${toCid(root)}`
  exchange.cid = cid
  const headers = {
    'content-type': 'application/octet-stream',
    ...file.headers,
    'accept-ranges': 'bytes',
    'cache-control': FOREVER,
    etag: `"${cid}"`,
    ...rules.sandbox && { 'content-security-policy': SANDBOX }
  }
  if (isKnown(request.headers, headers.etag)) return respond(null, 304, headers)
  return answerBytes(exchange, root, record, headers)
}

/** @param {Exchange} exchange @param {Site} site @param {string} path @param {Uint8Array} root */
function answerListing (exchange, site, path, root) {
  const names = /** @type {Set<string>} */ (new Set())
  for (const name of site.keys()) {
    if (!name.startsWith(path) || name === path) continue
    const end = name.indexOf('/', path.length)
    names.add(name.slice(path.length, end < 0 ? undefined : end + 1))
    if (names.size === MAX_LISTED) break
  }
  if (names.size === 0 && path !== '') throw noRoute()
  exchange.cid = `${toCid(root)}`
  const items = [...names].sort().map(name => {
    const href = name.endsWith('/') ? `${encodeURIComponent(name.slice(0, -1))}/` : encodeURIComponent(name)
    return `<li><a href="./${href}">${escaped(name)}</a>`
  })
  const title = escaped(`/${path}`)
  const head = `<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>`
  const html = `${head}<ul>${items.join('')}</ul>\n`
  const body = new TextEncoder().encode(html)
  exchange.sent = exchange.isHead ? 0 : body.length
  return respond(exchange.isHead ? null : body, 200, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': `${body.length}`,
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-cache'
  }, exchange.Response)
}

/** @param {string} text */
const escaped = text => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
