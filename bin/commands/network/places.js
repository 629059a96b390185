// Finds in the arguments of `baobox fetch` which blob is wanted, and where it may be.

import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { HASHSEQ, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { parseTicket } from '../../../exchange/iroh/index.js'
import { isTicket } from '../../../exchange/iroh/wire/ticket.js'
import { isRasl, parseRasl } from '../../../verifier/mirrors/server/rasl.js'
import { UsageError } from '../../terminal/errors.js'
import { isRoot, rootOf } from '../store/open.js'

/** @import { Context } from '../../types.js' */
/** @import { StoreValues } from '../store/open.js' */

/**
 * @typedef {object} Wanted  a blob, and its mirrors
 * @property {Uint8Array} root
 * @property {boolean} [isSequence]  true if a ticket says that the members are also wanted. Default: false
 * @property {string[]} from  URLs, tickets and absolute paths of stores
 */

/**
 * @param {string} source  the first operand
 * @param {{ from?: string[], cid?: string } & StoreValues} values
 * @param {Context} context
 * @returns {Promise<Wanted>}
 */
export async function placeOf (source, { from: places = [], cid, ...values }, context) {
  const from = await Promise.all(places.map(mirrorPlace))
  if (isTicket(source)) {
    if (cid !== undefined) throw new UsageError('--cid is for a URL')
    const ticket = parseTicket(source)
    return { root: parseRoot(ticket.cid), isSequence: ticket.cid.code === HASHSEQ, from: [source, ...from] }
  }
  if (isRasl(source)) {
    if (cid !== undefined) throw new UsageError('--cid is for a URL without a CID')
    const { root, urls } = raslOf(source)
    if (urls.length + from.length === 0) throw new UsageError('the RASL URL has no hint: give a mirror with --from')
    return { root, from: [...urls, ...from] }
  }
  if (!/^https?:/i.test(source)) {
    if (cid !== undefined) throw new UsageError('--cid is for a URL')
    if (from.length === 0) throw new UsageError('missing --from: a place that has the blob')
    return { root: await rootOf(source, values, context), from }
  }
  checkUrl(source, 'SOURCE')
  const named = cid ?? nameIn(source)
  if (named === undefined) throw new UsageError('the URL has no CID in its path: give it with --cid')
  return { root: cid === undefined ? parseRoot(named) : await rootOf(named, values, context), from: [source, ...from] }
}

/** @param {string} source @throws {UsageError} */
function raslOf (source) {
  try {
    return parseRasl(source)
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message)
  }
}

/** Fills in the placeholders of a URL with the name of a blob. @param {string} url @param {Uint8Array} root */
export function expanded (url, root) {
  const hex = Buffer.from(root).toString('hex')
  return url.replaceAll('{cid}', `${toCid(root)}`).replaceAll('{hex}', hex).replaceAll('{hex2}', hex.slice(0, 2))
}

/**
 * Makes a URL template for all blobs of a server from the URL of one blob.
 *
 * @param {string} place  a URL, or a ticket or the path of a store, which are returned unchanged
 * @throws {UsageError} when the URL does not contain the name of the blob
 */
export function ofAnyBlob (place) {
  if (isTicket(place) || !isUrl(place) || /\{(cid|hex)\}/.test(place)) return place
  const name = nameIn(place)
  if (name === undefined) {
    throw new UsageError(`'${place}' has only one blob: put {cid} or {hex} in the place of its name`)
  }
  const at = /** @type {RegExpExecArray} */ (/^[^?#]*/.exec(place))[0].lastIndexOf(name)
  return `${place.slice(0, at)}${/^[0-9a-f]{64}$/i.test(name) ? '{hex}' : '{cid}'}${place.slice(at + name.length)}`
}

/** The last CID or hash in the path of a URL. @param {string} url */
const nameIn = url => new URL(url).pathname.split(/[/.]/).findLast(isRoot)

/** True if a place is a URL of any protocol, and not a path. @param {string} place */
export const isUrl = place => /^[a-z][a-z0-9+.-]*:\/\//i.test(place)

/**
 * Checks a value of --from. The path of a store is made absolute, because another process may open it.
 *
 * @param {string} place
 * @throws {UsageError}
 */
async function mirrorPlace (place) {
  if (isTicket(place)) return place
  if (/^https?:/i.test(place) || isUrl(place)) {
    checkUrl(place, '--from')
    return place
  }
  const index = await stat(join(place, 'index')).catch(() => undefined)
  if (index?.isDirectory()) return resolve(place)
  throw new UsageError(`--from: '${place}' is not an HTTP URL, and there is no store in a folder of that name`)
}

/** @param {string} url @param {string} name  of the argument */
function checkUrl (url, name) {
  if (/^http\+unix:/i.test(url)) {
    throw new UsageError(`${name}: '${url}' is a socket, which fetch cannot use: serve the store at a port, too`)
  }
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) throw new UsageError(`${name}: '${url}' is not an HTTP URL`)
}
