// Encodes and decodes requests to iroh-blobs. baobox sends and answers only one kind: Get, which asks for ranges of a
// blob and of its members.
// Source: iroh-blobs, src/protocol.rs.

import { HASH_LEN } from '../../../lib/core/constants.js'
import { assertBytes } from '../../../lib/core/bytes.js'
import { BaoError } from '../../../lib/core/errors.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { PostcardReader } from './postcard.js'
import { decodeWanted, encodeWanted } from './ranges.js'

/** @import { WantedRanges } from './ranges.js' */

/**
 * @typedef {object} GetRequest
 * @property {Uint8Array} root  the hash of the blob or sequence
 * @property {WantedRanges[]} wanted  the last entry applies to all members after it
 */

/** The maximum number of bytes of a request. */
export const MAX_REQUEST_LEN = 1 << 20

const GET = 0
/** The other requests, by their first byte. */
const OTHERS = /** @type {Record<number, string>} */ ({ 1: 'Observe', 8: 'Push', 9: 'GetMany' })
const LAST_VARIANT = 9

/**
 * Encodes a request for ranges of one blob.
 *
 * @param {Uint8Array} root @param {ChunkRanges} ranges  not empty
 * @returns {number[]} bytes
 */
export const encodeGet = (root, ranges) => encodeRequest({ root, wanted: [[0, ranges], [1, ChunkRanges.none]] })

/** @param {GetRequest} request @returns {number[]} bytes */
export const encodeRequest = ({ root, wanted }) => [GET, ...root, ...encodeWanted(wanted)]

/**
 * @param {Uint8Array} bytes  a whole request
 * @returns {GetRequest}
 * @throws {BaoError} REQUEST_UNSUPPORTED for a request other than Get; REQUEST_INVALID { start } for bytes that are not
 *   a request in the form that iroh writes
 */
export function decodeRequest (bytes) {
  assertBytes('bytes', bytes)
  if (bytes.length > MAX_REQUEST_LEN) throw invalid(`${bytes.length} bytes, of at most ${MAX_REQUEST_LEN}`, 0)
  const reader = new PostcardReader(bytes, invalid)
  const variant = reader.byte()
  if (variant > LAST_VARIANT) throw invalid('an unknown kind', 0)
  if (variant !== GET) {
    const kind = OTHERS[variant] ?? `${variant}`
    throw new BaoError('REQUEST_UNSUPPORTED', `requests of kind ${kind} are not answered, only Get`)
  }
  const root = reader.bytes(HASH_LEN).slice()
  const wanted = decodeWanted(reader)
  reader.end()
  return { root, wanted }
}

/** @param {string} fault @param {number} [start]  the offset of the wrong byte @returns {BaoError} */
export function invalid (fault, start) {
  const where = start === undefined ? '' : ` at byte ${start}`
  return new BaoError('REQUEST_INVALID', `this is not a request to iroh-blobs${where}: ${fault}`, { start })
}
