// Turns anything that can give slices of blobs into a mirror. Everything that fetches blobs uses this interface.

import { DEFAULT_GROUP_LOG, HASH_LEN, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { LruCache } from '../../lib/core/lru.js'
import { HttpFile } from '../sources/http/file.js'
import { withHops } from '../sources/http/hops.js'
import { HTTP_OPTIONS, withoutCredentials } from '../sources/http/options.js'
import { urlOf } from '../sources/http/urls.js'
import { UrlMirror } from './server/url-mirror.js'
import { areEqual, assertBytesOf, assertInteger, assertOptions, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { base16 } from 'multiformats/bases/base16'
import { fetchRefused } from '../../lib/core/errors.js'
import { isRasl, parseRasl } from './server/rasl.js'
import { pairsOf } from '../../lib/outboard/paged-outboard.js'
import { readPieces } from '../../lib/source/read-pieces.js'
import { piecesOfPlain } from './plain/plain-blob.js'
import { HASHSEQ, toCid } from '../../lib/hash/cid.js'
import { toPieces, toRandomAccess } from '../../lib/source/source.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { HttpOptions } from '../sources/http/options.js' */
/** @import { SliceRequest } from './server/url-mirror.js' */
/** @import { RandomAccess, SliceOutboard, Source } from '../../lib/core/types.js' */

/**
 * Gives a slice that proves some ranges of a blob: the size in 8 bytes, then pairs and bytes at group log 4. An error
 * means that the mirror cannot give the slice, or cannot give it now. After STORE_MISSING or STORE_NOT_FOUND, it is
 * still asked for other ranges of the blob.
 *
 * @callback GiveSlice
 * @param {CID} cid
 * @param {ChunkRanges} ranges  whole chunk groups, or the last chunk alone (`ChunkRanges.last`), which proves the size.
 *   Chunks beyond the end of the blob mean its last chunk
 * @param {{ hops?: number, signal?: AbortSignal }} options  `hops`: as for `slice` of a store
 * @returns {Source | Promise<Source>}
 */

/**
 * Gives whole members of a hash sequence, as slices one after the other. If the sequence or a member is missing,
 * the slices end there, or STORE_NOT_FOUND is thrown.
 *
 * @callback GiveMembers
 * @param {CID} cid  the sequence
 * @param {number[]} indices  in increasing order, counted from 0
 * @param {{ signal?: AbortSignal }} options
 * @returns {Source | Promise<Source>}
 */

/**
 * @typedef {object} SliceGiver  a `BlobStore` is one
 * @property {GiveSlice} slice
 * @property {GiveMembers} [members]  present if one request can give many blobs
 * @property {string} [location]  the name of the mirror in errors and progress
 */

/**
 * @typedef {object} PlainParts  a blob and its outboard, which may be in different places
 * @property {Uint8Array | Blob | RandomAccess | string | URL} source  the blob: an `http:` URL, a path, ...
 * @property {SliceOutboard} outboard
 */

/**
 * A place from which blobs can be fetched: a URL of one blob; a URL of any blob, with `{cid}`, `{hex}` or `{hex2}` (the
 * first two digits) in it; `rasl://{cid}/?hint=example.org`; a store, or another `{ slice }`; a function that gives
 * slices; `{ source, outboard }`; or a `Mirror`.
 *
 * `Omit<string, 'slice'>` means `string`. A string has a method `slice` of its own, and with it TypeScript could not
 * tell the types of the parameters in `{ slice: (cid, ranges) => ... }`.
 *
 * @typedef {Omit<string, 'slice'> | URL | SliceGiver | GiveSlice | PlainParts | Mirror} MirrorLike
 */

/** For how many URLs a mirror remembers how their servers have answered. Another number of hops is another URL. */
const MAX_URLS = 8

const PLACEHOLDER = /\{(cid|hex|hex2)\}/g

/** A place from which slices of blobs can be fetched. None of its bytes are believed. */
export class Mirror {
  #give
  #isSequential
  /**
   * Gives many whole members of a sequence in one stream, unverified; undefined if the mirror cannot do that.
   *
   * @type {((root: Uint8Array, indices: number[], signal: AbortSignal) => AsyncIterable<Uint8Array>) | undefined}
   */
  members
  /** True if the mirror can be asked for any blob, and false if only for one. */
  hasAnyBlob
  /** The mirrors of the other hints of the same RASL URL. @type {readonly Mirror[]} */
  others
  /** The name of the mirror in errors and progress: usually a URL without its query. */
  location

  /**
   * Callers use `mirrorOf`.
   *
   * @param {string} location
   * @param {(request: SliceRequest, signal: AbortSignal) => AsyncIterable<Uint8Array>} give
   * @param {{
   *   isSequential?: () => boolean, hasAnyBlob?: boolean, others?: Mirror[], members?: Mirror['members']
   * }} [options]  the defaults are, in this order, false, true, none and undefined
   */
  constructor (location, give, { isSequential = () => false, hasAnyBlob = true, others = [], members } = {}) {
    this.location = location
    this.members = members
    this.#give = give
    this.#isSequential = isSequential
    this.hasAnyBlob = hasAnyBlob
    this.others = others
  }

  /** True if the mirror reads blobs only from their start, so that one long range costs less than many short ones. */
  get isSequential () { return this.#isSequential() }

  /**
   * Yields the slice with its header as it arrives, unverified; for a caller with `onPlain`, maybe groups alone.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {AsyncIterable<Uint8Array>} a piece is borrowed until the next one
   */
  pieces (request, signal) {
    assertOptions('request', request, '{ root, ranges, groupLog }')
    const { root, ranges, groupLog } = request
    assertBytesOf('root', root, HASH_LEN)
    if (!(ranges instanceof ChunkRanges)) throw new TypeError(`"ranges" expected ChunkRanges, got ${describe(ranges)}`)
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    return this.#give(request, signal)
  }
}

/**
 * Makes a mirror: a place from which blobs can be fetched by `fetchVerified`, `download` and `fromMirrors`.
 *
 * A URL may lead to a Bao endpoint or to a plain file. The mirror looks for the outboard of a plain file where the
 * header `Link: <...>; rel=describedby` says, then beside the file, with `.obao4` and `.obao6` after its name. If there
 * is no outboard, it reads a blob of up to 16 MiB whole. For ten minutes, requests to the same origin with the same
 * headers begin with the way that has worked.
 *
 * A RASL URL names servers by its hints. They are asked without headers and credentials. The returned mirror is that of
 * the first hint, and its `others` are those of the other hints. Every call that takes a mirror uses its `others`, too.
 *
 *     const mirror = mirrorOf('https://example.org/blobs/{cid}', { headers: { authorization: 'Bearer ...' } })
 *
 * @param {MirrorLike} from
 * @param {HttpOptions & { location?: string }} [options]  for requests to URLs; `location`: another name for errors
 *   and progress
 * @returns {Mirror}
 */
export function mirrorOf (from, options = {}) {
  assertKnownOptions(options, [...HTTP_OPTIONS, 'location'])
  const { location, ...http } = options
  if (from instanceof Mirror) return from
  if ((typeof from === 'string' || from instanceof URL) && isRasl(from)) return mirrorOfRasl(`${from}`, http, location)
  if (typeof from === 'string' && from.search(PLACEHOLDER) >= 0) return mirrorOfTemplate(from, http, location)
  if (typeof from === 'string' || from instanceof URL) return mirrorOfUrl(from, http, location)
  if (typeof from === 'function') return mirrorOfSlices({ slice: from }, location ?? (from.name || 'a function'))
  if (typeof from === 'object' && from !== null && !hasOtherSlice(from)) {
    if ('slice' in from && typeof from.slice === 'function') {
      return mirrorOfSlices(from, location ?? from.location ?? from.constructor.name)
    }
    if ('source' in from && 'outboard' in from) return mirrorOfPlain(from, http, location)
  }
  const expected = 'a URL, a store, { slice }, { source, outboard } or a function'
  throw new TypeError(`"from" expected ${expected}, got ${describe(from)}`)
}

/** True for lists and bytes, whose `slice` is another function than that of a store. @param {object} value */
const hasOtherSlice = value => Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof ArrayBuffer ||
  value instanceof Blob

/**
 * Returns all mirrors of a value: several for a RASL URL with several hints, otherwise one.
 *
 * @param {MirrorLike} from @param {HttpOptions} [http]
 * @returns {Mirror[]}
 */
export function mirrorsOf (from, http) {
  const mirror = mirrorOf(from, http)
  return [mirror, ...mirror.others]
}

/** @param {string} text @param {HttpOptions} http @param {string} [location] */
function mirrorOfRasl (text, http, location) {
  const { root, urls } = parseRasl(text)
  if (urls.length === 0) throw new TypeError(`"from" expected a RASL URL with a hint: '${text}' does not name a server`)
  const [first, ...others] = urls.map(url => new UrlMirror(url, withoutCredentials(http)))
  const mirrorAt = (/** @type {UrlMirror} */ server, /** @type {Mirror[]} */ others = []) => {
    const place = location ?? server.location
    return new Mirror(place, (request, signal) => {
      if (!areEqual(root, 0, request.root)) throw fetchRefused(place, `the RASL URL names another blob, ${toCid(root)}`)
      return server.slice(request, signal)
    }, { isSequential: () => server.isSequential, hasAnyBlob: false, others })
  }
  return mirrorAt(first, others.map(server => mirrorAt(server)))
}

/** @param {string | URL} from @param {HttpOptions} http @param {string} [location] */
function mirrorOfUrl (from, http, location) {
  const url = urlOf(from, { name: 'from' }).href
  const mirrorAt = urlMirrors(http)
  const mirror = mirrorAt(url)
  return new Mirror(
    location ?? mirror.location,
    (request, signal) => mirrorAt(url, request.hops).slice(request, signal),
    { isSequential: () => mirror.isSequential, hasAnyBlob: false }
  )
}

/**
 * Returns a function that gives the mirror at a URL, and remembers some mirrors.
 *
 * @param {HttpOptions} http
 * @returns {(url: string, hops?: number) => UrlMirror} `hops`: as in a `SliceRequest`
 */
function urlMirrors (http) {
  const mirrors = /** @type {LruCache<string, UrlMirror>} */ (new LruCache(MAX_URLS))
  return (url, hops = 0) => {
    const key = `${hops} ${url}`
    const mirror = mirrors.get(key) ?? new UrlMirror(url, { ...http, headers: withHops(http.headers, hops) })
    mirrors.set(key, mirror)
    return mirror
  }
}

/** @param {string} template @param {HttpOptions} http @param {string} [location] */
function mirrorOfTemplate (template, http, location) {
  const mirrorAt = urlMirrors(http)
  const urlFor = (/** @type {Uint8Array} */ root) => filledIn(template, root)
  const { origin } = urlOf(urlFor(new Uint8Array(HASH_LEN)), { name: 'from', shown: template })
  return new Mirror(
    location ?? origin,
    (request, signal) => mirrorAt(urlFor(request.root), request.hops).slice(request, signal),
    { members: (root, indices, signal) => mirrorAt(urlFor(root)).members(indices, signal) }
  )
}

/** Replaces the placeholders in a URL by the name of a blob. @param {string} template @param {Uint8Array} root */
export function filledIn (template, root) {
  const hex = base16.baseEncode(root)
  const values = { hex, hex2: hex.slice(0, 2), cid: String(toCid(root)) }
  return template.replace(PLACEHOLDER, (_all, name) => values[/** @type {keyof typeof values} */ (name)])
}

/** @param {SliceGiver} giver @param {string} location */
function mirrorOfSlices (giver, location) {
  /** @type {Mirror['members']} */
  const members = async function * (root, indices, signal) {
    const cid = toCid(root, HASHSEQ)
    yield * toPieces(await /** @type {Required<SliceGiver>} */ (giver).members(cid, indices, { signal }), { signal })
  }
  /** @param {SliceRequest} request @param {AbortSignal} signal */
  const pieces = async function * ({ root, ranges, hops = 0 }, signal) {
    const options = { signal, ...hops > 0 && { hops } }
    yield * toPieces(await giver.slice(toCid(root), ranges, options), { signal })
  }
  return new Mirror(location, (request, signal) => {
    if (request.groupLog !== DEFAULT_GROUP_LOG || request.key !== undefined) {
      throw new TypeError('"groupLog" and "key" are for URLs and outboards: others give slices at group log 4')
    }
    return pieces(request, signal)
  }, { members: giver.members && members })
}

/** @param {PlainParts} parts @param {HttpOptions} http @param {string} [location] */
function mirrorOfPlain ({ source, outboard }, http, location) {
  pairsOf(outboard)
  const size = outboard.size
  const isRemote = (source instanceof URL || typeof source === 'string') && /^https?:/i.test(String(source))
  if (isRemote) {
    const file = new HttpFile(/** @type {URL} */ (source), http, { isLenient: true })
    const pieces = file.pieces.bind(file)
    const plain = { size, outboard, pieces }
    const slice = piecesOfPlain.bind(undefined, plain)
    return new Mirror(location ?? file.location, slice, { isSequential: () => file.ignoresRanges, hasAnyBlob: false })
  }
  const name = typeof source === 'string' ? source : source instanceof URL ? source.pathname : describe(source)
  return new Mirror(location ?? name, async function * (request, signal) {
    const opened = await toRandomAccess(source, signal)
    try {
      const pieces = (/** @type {number} */ start, /** @type {number} */ end) =>
        readPieces(opened, start, Math.min(end, opened.size), signal)
      yield * piecesOfPlain({ size, outboard, pieces, isBorrowed: true }, request, signal)
    } finally {
      await opened.close()
    }
  }, { hasAnyBlob: false })
}
