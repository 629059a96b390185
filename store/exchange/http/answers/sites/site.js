// Answers with a file of a collection or manifest, or with a list of what is in a folder of it.

import { notFound } from '../../../../storage/errors.js'
import { toCid } from '../../../../../lib/hash/cid.js'
import { noRoute } from '../../errors.js'
import { isKnown } from '../../request/conditions.js'
import { FOREVER, redirectTo, respond } from '../../response/headers.js'
import { answerBytes } from '../blob.js'

/** @import { Exchange } from '../../exchange.js' */
/** @import { SiteFile } from './site-files.js' */
/** @import { Site, Sites } from './sites.js' */

/**
 * @typedef {object} SiteRules
 * @property {string} [index]  the file that stands for its folder. Default: `index.html`
 * @property {boolean} [listing]  is a folder without such a file answered with a list of what is in it? Default: false
 * @property {boolean} [sandbox]  do browsers give each page an origin of its own, so that none can read what others
 *   keep, or act for a user? Without it all collections have one origin. Default: true
 */

/** Entries of a list, at most. */
const MAX_LISTED = 10_000
/**
 * Lets pages do these things, besides reading files that are served to all origins. Source: HTML standard,
 * "Sandboxing".
 */
const SANDBOX = 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals'

/**
 * @typedef {object} SiteTerms
 * @property {Sites} sites
 * @property {Required<SiteRules>} rules
 * @property {boolean} isNamed  is the hash of the site in the URL? Then the answer never changes
 */

/**
 * @param {Exchange} exchange @param {string} path  decoded, without a slash in front
 * @param {Uint8Array} root  of the collection or manifest
 * @param {SiteTerms} terms
 */
export async function answerSite (exchange, path, root, terms) {
  const { sites, rules, isNamed } = terms
  const site = await sites.get(root)
  const isFolder = path === '' || path.endsWith('/')
  const file = site.files.get(path) ?? (isFolder ? site.files.get(path + rules.index) : undefined)
  if (file !== undefined) return answerFile(exchange, file, terms)
  if (!isFolder && isFolderOf(site, path, rules)) {
    const last = exchange.url.pathname.slice(exchange.url.pathname.lastIndexOf('/') + 1)
    return redirectTo(`./${last}/${exchange.url.search}`, isNamed)
  }
  if (isFolder && rules.listing) return answerListing(exchange, site, path, root)
  throw noRoute()
}

/**
 * Does a path without a slash at its end mean a folder?
 *
 * @param {Site} site @param {string} path @param {SiteRules} rules
 */
function isFolderOf ({ files, folders }, path, { index, listing }) {
  return files.get(`${path}/${index}`) !== undefined || (listing === true && folders.has(`${path}/`))
}

/** @param {Exchange} exchange @param {SiteFile} file @param {SiteTerms} terms */
async function answerFile (exchange, file, { sites, rules, isNamed }) {
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
    'cache-control': isNamed ? FOREVER : 'no-cache',
    etag: `"${cid}"`,
    ...rules.sandbox && { 'content-security-policy': SANDBOX }
  }
  if (isKnown(request.headers, headers.etag)) return respond(null, 304, headers)
  return answerBytes(exchange, root, record, headers)
}

/** @param {Exchange} exchange @param {Site} site @param {string} path @param {Uint8Array} root */
function answerListing (exchange, { folders }, path, root) {
  const { entries, count } = folders.entriesOf(path, MAX_LISTED)
  if (count === 0 && path !== '') throw noRoute()
  exchange.cid = `${toCid(root)}`
  const items = entries.map(name => {
    const href = name.endsWith('/') ? `${encodeURIComponent(name.slice(0, -1))}/` : encodeURIComponent(name)
    return `<li><a href="./${href}">${escaped(name)}</a>`
  })
  const title = escaped(`/${path}`)
  const head = `<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>`
  const rest = count > entries.length ? `<p>These are the first ${entries.length} of ${count} entries.` : ''
  const html = `${head}${rest}<ul>${items.join('')}</ul>\n`
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
