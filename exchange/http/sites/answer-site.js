// Answers a request for a path in a site: with the file at the path, or with a list of the entries of a folder.

import { concat } from '../../../lib/core/bytes.js'
import { toCid } from '../../../lib/hash/cid.js'
import { assertAllowed } from '../authorize.js'
import { noRoute } from '../errors.js'
import { integer, only } from '../query.js'
import { MAX_URL_LEN } from '../routes.js'
import { foreverFor, redirectTo, respond } from '../respond.js'
import { answerBlobAs } from '../blob.js'
import { PIECE_LEN } from '../body.js'
import { findBlob } from '../stored-blob.js'

/** @import { ServedRequest } from '../served-request.js' */
/** @import { SiteFile } from './site-files.js' */
/** @import { Site, Sites } from './sites.js' */

/**
 * @typedef {object} SiteRules
 * @property {string} [index]  the name of the file that answers for its folder. Default: `index.html`
 * @property {boolean} [listing]  true if a list of its entries answers for a folder without that file. Default: false
 * @property {boolean} [sandbox]  true if browsers give each page an origin of its own, so that a page can neither read
 *   the data of other pages nor act for a user. If false, all sites have the same origin. Default: true
 */

/**
 * @typedef {object} MountRules  further rules for the site at `/`
 * @property {string} [top]  the folder of the collection or manifest where the site begins, like `public`; empty if
 *   the site does not begin in a folder. Default: the folder in which all files of a collection are, if there is one
 * @property {string} [fallback]  the file that answers for paths without a file, as single-page applications need it.
 *   Default: `404.html`, with the status 404, if the site has this file
 */

/** Without `fallback`, this file answers for paths without a file, as on other static hosts. */
const NOT_FOUND_PAGE = '404.html'
/** How many characters a list shows of a name that is too long for a URL. */
const CUT_LEN = 200
/**
 * Gives a page an origin of its own, and says what the page may do. It may also read files, because they are served to
 * all origins. Source: HTML standard, "Sandboxing".
 */
const SANDBOX = 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals'

const encoder = new TextEncoder()
const encode = (/** @type {string} */ text) => encoder.encode(text)

/**
 * @typedef {object} SiteTerms
 * @property {Sites} sites
 * @property {Required<SiteRules>} rules
 * @property {MountRules} [mount]  the rules for the site at `/`; undefined for a site whose hash is in the URL
 * @property {boolean} isFinal  true if the hash of the site is in the URL, so that the answer never changes
 */

/**
 * Answers with the file at a path, or with a list of the folder at it.
 *
 * @param {ServedRequest} served @param {string} path  decoded, without a leading slash
 * @param {Uint8Array} root  of the collection or manifest
 * @param {SiteTerms} terms
 */
export async function answerSite (served, path, root, terms) {
  const { sites, rules, mount, isFinal } = terms
  const collection = served.cid
  const site = await sites.get(root, member =>
    assertAllowed(served, { type: 'read', cid: `${toCid(member)}`, collection }))
  const prefix = mount === undefined ? '' : prefixOf(site, mount)
  const isFolder = path === '' || path.endsWith('/')
  const fileAt = (/** @type {string} */ name) => site.files.get(prefix + name)
  const page = isFolder ? path + rules.index : mount && `${path}.html`
  const file = fileAt(path) ?? (page === undefined ? undefined : fileAt(page))
  if (file !== undefined) return answerFile(served, file, terms)
  if (!isFolder && isFolderOf(site, prefix + path, rules)) {
    const last = served.url.pathname.slice(served.url.pathname.lastIndexOf('/') + 1)
    return redirectTo(served, `./${last}/${served.url.search}`, isFinal)
  }
  if (isFolder && rules.listing && (path === '' || site.folders.has(prefix + path))) {
    return answerListing(served, site, { path, prefix, root })
  }
  if (mount === undefined) throw noRoute()
  const fallback = mount.fallback === undefined ? undefined : fileAt(mount.fallback)
  if (fallback !== undefined) return answerFile(served, fallback, terms)
  const notFound = fileAt(NOT_FOUND_PAGE)
  if (notFound === undefined) throw noRoute()
  return answerFile(served, notFound, terms, 404)
}

/**
 * Returns the folder where a site begins, with a slash at its end; empty if the site does not begin in a folder.
 *
 * @param {Site} site @param {MountRules} mount
 */
function prefixOf ({ files, folders }, { top }) {
  if (top === undefined) return files.hasFolderName ? folders.only() : ''
  return top === '' ? '' : `${top}/`
}

/**
 * Returns true if a path without a slash at its end names a folder, for which an index file or a list answers.
 *
 * @param {Site} site @param {string} path @param {SiteRules} rules
 */
function isFolderOf ({ files, folders }, path, { index, listing }) {
  return files.get(`${path}/${index}`) !== undefined || (listing === true && folders.has(`${path}/`))
}

/** @param {ServedRequest} served @param {SiteFile} file @param {SiteTerms} terms @param {number} [status] */
async function answerFile (served, file, { sites, rules, isFinal }, status) {
  const root = await sites.rootOf(file)
  if (root === undefined) throw noRoute()
  const collection = served.cid
  served.cid = `${toCid(root)}`
  await assertAllowed(served, { type: 'read', cid: served.cid, collection })
  const at = served.isHead ? undefined : 0
  const blob = await findBlob(served.store, root, { at, served })
  return answerBlobAs(served, blob, {
    'content-type': 'application/octet-stream',
    ...file.headers,
    'accept-ranges': 'bytes',
    'cache-control': isFinal ? foreverFor(served) : 'no-cache',
    etag: `"${blob.cid}"`,
    ...rules.sandbox && { 'content-security-policy': SANDBOX }
  }, status)
}

/**
 * Answers with one page of the list of a folder. The page begins at the index that the query names as `from`. It is
 * about as long as a piece of another answer, so a client that stops reading takes no more memory than with a file.
 *
 * @param {ServedRequest} served @param {Site} site
 * @param {{ path: string, prefix: string, root: Uint8Array }} place  `prefix`: the folder where the site begins;
 *   `path`: relative to that folder
 */
function answerListing (served, { folders }, { path, prefix, root }) {
  const from = only(served.url.searchParams, 'from')
  const start = from === undefined ? undefined : integer('from', from)
  served.cid = `${toCid(root)}`
  const title = escaped(`/${path}`)
  const page = [encode(`<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><ul>`)]
  let len = 0
  let rest = '</ul>\n'
  for (const [index, name] of folders.entriesOf(prefix + path, start)) {
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
  served.sent = served.isHead ? 0 : body.length
  return respond(served, served.isHead ? null : body, 200, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': `${body.length}`,
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-cache'
  })
}

/**
 * Returns a line of a list. If a name is too long for a URL, no client can ask for it, so the line has only the
 * beginning of the name, and no link.
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
