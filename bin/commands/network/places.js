// Finds in the arguments of `baobox fetch` which blob is wanted, and where it may be; and the server of `baobox push`.

import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { HASHSEQ, parseRoot } from '../../../lib/hash/cid.js'
import { parseTicket } from '../../../exchange/iroh/index.js'
import { isTicket } from '../../../exchange/iroh/wire/ticket.js'
import { isRasl, parseRasl } from '../../../verifier/mirrors/server/rasl.js'
import { mirrorOf } from '../../../verifier/index.js'
import { uploadToken } from '../../line/values.js'
import { UsageError } from '../../terminal/errors.js'
import { cidOf, isRoot } from '../store/open.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Mirror } from '../../../verifier/mirrors/mirror.js' */
/** @import { Context } from '../../types.js' */
/** @import { StoreValues } from '../store/open.js' */

/**
 * @typedef {object} Wanted  a blob, and its mirrors
 * @property {Uint8Array} root
 * @property {boolean} [isSequence]  true if a ticket says that the members are also wanted. Default: false
 * @property {boolean} [isFolder]  true if the CID says that the blob is a sequence of hashes. Default: false
 * @property {MirrorPlace[]} from
 */
/**
 * @typedef {object} MirrorPlace
 * @property {string} place  a URL, a ticket, or the absolute path of a store
 * @property {[name: string, value: string][]} [headers]  for the server of the URL
 */

/**
 * @param {string} source  the first operand
 * @param {{ from?: string[], cid?: string, header?: [string, string][], token?: string } & StoreValues} values
 * @param {Context} context
 * @returns {Promise<Wanted>}
 */
export async function placeOf (source, { from: places = [], cid, header, token, ...values }, context) {
  const headers = headersOf(header, token)
  const from = await Promise.all(places.map(place => mirrorPlace(placeWith(place, headers))))
  const first = placeWith(source, headers)
  source = first.place
  if (isTicket(source)) {
    if (cid !== undefined) throw new UsageError('--cid is for a URL')
    const ticket = parseTicket(source)
    return { root: parseRoot(ticket.cid), isSequence: ticket.cid.code === HASHSEQ, from: [first, ...from] }
  }
  if (isRasl(source)) {
    if (cid !== undefined) throw new UsageError('--cid is for a URL without a CID')
    const { root, urls } = raslOf(source)
    if (urls.length + from.length === 0) throw new UsageError('the RASL URL has no hint: give a mirror with --from')
    return { root, from: [...urls.map(place => ({ place })), ...from] }
  }
  if (!/^https?:/i.test(source)) {
    if (cid !== undefined) throw new UsageError('--cid is for a URL')
    if (from.length === 0) throw new UsageError('missing --from: a place that has the blob')
    return { ...blobOf(await cidOf(source, values, context)), from }
  }
  checkUrl(source, 'SOURCE')
  const named = cid ?? nameIn(source)
  if (named === undefined) throw new UsageError('the URL has no CID in its path: give it with --cid')
  return { ...blobOf(await cidOf(named, values, context)), from: [first, ...from] }
}

/** @param {CID} cid */
const blobOf = cid => ({ root: parseRoot(cid), isFolder: cid.code === HASHSEQ })

/** @param {string} source @throws {UsageError} */
function raslOf (source) {
  try {
    return parseRasl(source)
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message)
  }
}

/**
 * The mirrors of `baobox serve`, from which it fetches what its store lacks.
 *
 * @param {string[]} origins  the values of --origin @param {[name: string, value: string][]} [headers]
 * @returns {Mirror[]}
 * @throws {UsageError}
 */
export const originsOf = (origins, headers = []) => origins.map(given => {
  const { place, headers: own } = placeWith(given, headers)
  checkUrl(place, '--origin')
  return mirrorOf(ofAnyBlob(place), { headers: own })
})

/**
 * The server of `baobox push`, and the headers that it gets. The token of the environment is for a server to which no
 * other credentials are sent.
 *
 * @param {string} given  the value of --to
 * @param {{ header?: [string, string][], token?: string }} values
 * @returns {{ place: string, headers: [name: string, value: string][], isKnown: boolean }} `isKnown`: true if there are
 *   credentials
 * @throws {UsageError}
 */
export function serverOf (given, { header, token }) {
  const { place, headers = [] } = placeWith(given, headersOf(header, token))
  if (!/^https?:\/\/[^?#]*$/i.test(place) || !URL.canParse(place)) {
    throw new UsageError(`--to: ${shown(place)} is not an HTTP URL without a query`)
  }
  const own = headers.some(isAuthorization) ? headers : headersOf(headers, uploadToken(undefined))
  return { place, headers: own, isKnown: own.some(isAuthorization) }
}

/**
 * @param {[name: string, value: string][]} [headers] @param {string} [token]
 * @returns {[name: string, value: string][]}
 */
function headersOf (headers = [], token) {
  if (token === undefined) return headers
  if (headers.some(isAuthorization)) throw new UsageError("--token excludes --header 'Authorization: ...'")
  return [...headers, ['authorization', `Bearer ${token}`]]
}

/** @param {[name: string, value: string]} header */
const isAuthorization = ([name]) => name.toLowerCase() === 'authorization'

/**
 * A place and its headers. The user and password of a URL become a header, so that no error shows them.
 *
 * @param {string} given @param {[name: string, value: string][]} headers
 * @returns {MirrorPlace}
 */
function placeWith (given, headers) {
  const [all, start, user] = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#\\]*)@/i.exec(given) ?? []
  if (all === undefined) return { place: given, headers }
  const [name, password = ''] = user.split(/:(.*)/s)
  const credentials = Buffer.from(`${decoded(name)}:${decoded(password)}`).toString('base64')
  return {
    place: start + given.slice(all.length),
    headers: [...headers.filter(header => !isAuthorization(header)), ['authorization', `Basic ${credentials}`]]
  }
}

/** A part of a URL, decoded. Where it has an invalid escape, it is taken as it is. @param {string} part */
function decoded (part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
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
    const example = `${new URL(place).origin}/{cid}`
    throw new UsageError(`'${place}' has only one blob: put {cid} or {hex} in the place of its name, as in ${example}`)
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
 * @param {MirrorPlace} given
 * @returns {Promise<MirrorPlace>}
 * @throws {UsageError}
 */
async function mirrorPlace (given) {
  const { place } = given
  if (isTicket(place)) return given
  if (/^https?:/i.test(place) || isUrl(place)) {
    checkUrl(place, '--from')
    return given
  }
  const index = await stat(join(place, 'index')).catch(() => undefined)
  if (index?.isDirectory()) return { place: resolve(place) }
  throw new UsageError(`--from: '${place}' is not an HTTP URL, and there is no store in a folder of that name`)
}

/** @param {string} url @param {string} name  of the argument */
function checkUrl (url, name) {
  if (/^http\+unix:/i.test(url)) {
    throw new UsageError(`${name}: '${url}' is a socket, which fetch cannot use: serve the store at a port, too`)
  }
  if (!/^https?:\/\/[^/\\]/i.test(url) || !URL.canParse(url)) {
    throw new UsageError(`${name}: ${shown(url)} is not an HTTP URL`)
  }
}

/** A wrong URL as errors show it. After an error in its form, a password may be left in it. @param {string} url */
const shown = url => url.includes('@') ? 'it' : `'${url}'`
