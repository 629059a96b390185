// Finds the resources in the bytes of a manifest in one pass, and refuses bytes that are not a manifest. Source:
// dasl.ing, "MASL".

import { HASH_LEN } from '../../../lib/core/constants.js'
import { BaoError } from '../../../lib/core/errors.js'
import { RAW, blake3 } from '../../../lib/hash/cid.js'
import { DrislReader, SHA256, TEXT } from './drisl.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Span } from './drisl.js' */

/**
 * A resource in the bytes of a manifest.
 *
 * @typedef {object} FoundResource
 * @property {string} path
 * @property {number} src  offset of its CID, which has 36 bytes
 * @property {[name: string, value: string][]} headers  the wanted headers whose values are text
 */

/** Multicodec of DAG-CBOR, and of DRISL. */
export const DRISL = 0x71
/** The length of a CID of DASL in bytes: version, codec, hash function, length of the hash, and the hash. */
export const CID_LEN = 36

/** The one header whose value must be text. */
const TYPE = 'content-type'
const [RESOURCES, SRC, TYPE_BYTES] = ['resources', 'src', TYPE].map(text => new TextEncoder().encode(text))

/** @param {string} fault @returns {BaoError} */
export const invalid = fault => new BaoError('MANIFEST_INVALID', `this is not a MASL manifest: ${fault}`)

/**
 * Returns true if DASL allows CIDs of this kind.
 *
 * @param {number} version @param {number} codec @param {number} hash  the code of its function
 * @param {number} len  bytes of the hash
 */
const isKindOfDasl = (version, codec, hash, len) => version === 1 && (codec === RAW || codec === DRISL) &&
  (hash === blake3.code || hash === SHA256) && len === HASH_LEN

/** Returns true if a CID is of a kind that DASL allows. @param {CID} cid */
export const isDasl = ({ version, code, multihash }) =>
  isKindOfDasl(version, code, multihash.code, multihash.digest.length)

/**
 * Says what is wrong with the name of a header, or with a media type; undefined if nothing is.
 *
 * @param {string} path  the path of the resource @param {string} name @param {unknown} value
 */
export function faultOfHeader (path, name, value) {
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]{1,100}$/.test(name)) return `names of headers in lower case, got '${name}'`
  const isHeader = typeof value === 'string' && /^[\x20-\x7e]{0,4096}$/.test(value)
  return name === TYPE && !isHeader ? `a media type as "content-type" of '${path}'` : undefined
}

/**
 * Reads a whole manifest.
 *
 * @param {Uint8Array} bytes
 * @param {object} [options]
 * @param {number} [options.maxItems]  the maximum number of items of CBOR in it, including keys, tags and their content
 * @param {Set<string>} [options.wanted]  names of the headers to pass to `onResource`
 * @param {(resource: FoundResource) => void} [options.onResource]  called for each resource, in the order of the
 *   manifest
 * @throws {BaoError} MANIFEST_INVALID, possibly after calls of `onResource`
 */
export function readResources (bytes, { maxItems = Infinity, wanted = new Set(), onResource = () => {} } = {}) {
  const reader = new DrislReader(bytes, maxItems, invalid)
  let hasResources = false
  reader.eachKey(field => {
    if (!reader.is(field, RESOURCES)) {
      reader.skip()
      return
    }
    hasResources = true
    reader.eachKey(key => {
      const path = reader.textAt(key)
      if (!path.startsWith('/')) throw invalid(`expected paths that begin with a slash, got '${path}'`)
      onResource({ path, ...readResource(reader, path, wanted) })
    })
  })
  reader.end()
  if (!hasResources) throw invalid('it has no map "resources"')
}

/** @param {DrislReader} reader @param {string} path @param {Set<string>} wanted */
function readResource (reader, path, wanted) {
  let src = NaN
  const headers = /** @type {FoundResource['headers']} */ ([])
  reader.eachKey(key => {
    if (reader.is(key, SRC)) {
      const cid = reader.cid()
      if (isDaslCid(reader.bytes, cid)) src = cid.start
      return
    }
    const name = reader.is(key, TYPE_BYTES) ? TYPE : reader.textAt(key)
    const isWanted = (name === TYPE || wanted.has(name)) && reader.kind === TEXT
    const value = isWanted ? reader.textAt(reader.text()) : reader.skip()
    const fault = faultOfHeader(path, name, value)
    if (fault !== undefined) throw invalid(`expected ${fault}`)
    if (value !== undefined && wanted.has(name)) headers.push([name, value])
  })
  if (Number.isNaN(src)) throw invalid(`the resource at '${path}' has no CID as "src"`)
  return { src, headers }
}

/** Returns true if bytes are a CID of a kind that DASL allows. @param {Uint8Array} bytes @param {Span} span */
const isDaslCid = (bytes, { start, end }) => end - start === CID_LEN &&
  isKindOfDasl(bytes[start], bytes[start + 1], bytes[start + 2], bytes[start + 3])
