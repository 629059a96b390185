// Answers with a file of a collection or manifest, or with a list of what is in a folder of it.

import { notFound } from '../../../../store/storage/errors.js'
import { concat } from '../../../../lib/core/bytes.js'
import { toCid } from '../../../../lib/hash/cid.js'
import { noRoute } from '../../errors.js'
import { isKnown } from '../../request/conditions.js'
import { integer, only } from '../../request/query.js'
import { MAX_URL_LEN } from '../../request/routes.js'
import { FOREVER, redirectTo, respond } from '../../response/headers.js'
import { answerBytes } from '../blob.js'
import { PIECE_LEN } from '../pieces.js'

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

/** Characters that are shown of a name which is too long. */
const CUT_LEN = 200
/**
 * Lets pages do these things, besides reading files that are served to all origins. Source: HTML standard,
 * "Sandboxing".
 */
const SANDBOX = 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals'

const encoder = new TextEncoder()
const encode = (/** @type {string} */ text) => encoder.encode(text)

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

/**
 * Answers with a page of the list of a folder, which `from` in the query begins. A page is about as long as a piece of
 * another answer, so a client that reads nothing costs no more.
 *
 * @param {Exchange} exchange @param {Site} site @param {string} path @param {Uint8Array} root
 */
function answerListing (exchange, { folders }, path, root) {
  const from = only(exchange.url.searchParams, 'from')
  const start = from === undefined ? undefined : integer('from', from)
  exchange.cid = `${toCid(root)}`
  const title = escaped(`/${path}`)
  const page = [encode(`<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><ul>`)]
  let len = 0
  let rest = '</ul>\n'
  for (const [index, name] of folders.entriesOf(path, start)) {
    if (len > PIECE_LEN) {
      rest = `</ul><a href="?from=${index}" rel="next">more</a>\n`
      break
    }
    const line = encode(lineOf(name))
    page.push(line)
    len += line.length
  }
  if (len === 0 && (path !== '' || start !== undefined)) throw noRoute()
  const body = concat([...page, encode(rest)])
  exchange.sent = exchange.isHead ? 0 : body.length
  return respond(exchange.isHead ? null : body, 200, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': `${body.length}`,
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-cache'
  }, exchange.Response)
}

/**
 * An entry of a list. A name that is too long for a URL is cut, because nobody can ask for it.
 *
 * @param {string} name
 */
function lineOf (name) {
  if (name.length > MAX_URL_LEN) return `<li>${escaped(name.slice(0, CUT_LEN))}…`
  const href = name.endsWith('/') ? `${encodeURIComponent(name.slice(0, -1))}/` : encodeURIComponent(name)
  return `<li><a href="./${href}">${escaped(name)}</a>`
}

/** @param {string} text */
const escaped = text => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
