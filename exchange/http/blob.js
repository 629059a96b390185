// Answers with the bytes of a blob.

import { base16 } from 'multiformats/bases/base16'
import { toCid } from '../../lib/hash/cid.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { PLAIN, acceptedBy, preferred, qualityOf } from './accept.js'
import { PIECE_LEN } from './body.js'
import { answerBytes } from './bytes.js'
import { isKnown } from './conditions.js'
import { notAcceptable } from './errors.js'
import { OUTBOARD_TYPE } from './outboard.js'
import { duplicateLinks, foreverFor, redirectToSigned, respond } from './respond.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { Piece } from './body.js' */
/** @import { Content } from './bytes.js' */
/** @import { Span } from './conditions.js' */
/** @import { BlobRoute } from './routes.js' */
/** @import { ServedRequest } from './served-request.js' */
/** @import { StoredBlob } from './stored-blob.js' */

const RAW_BLOCK = 'application/vnd.ipld.raw'
const CAR = 'application/vnd.ipld.car'

/** @param {ServedRequest} served @param {StoredBlob} blob @param {BlobRoute} route */
export const answerBlob = (served, blob, route) => answerBlobAs(served, blob, headersOf(served, blob, route))

/**
 * Redirects a GET request for a blob, or a range of it, to the place where the store keeps the bytes. URLs are signed
 * for GET only.
 *
 * @param {ServedRequest} served  whose `authorize` has allowed it @param {Uint8Array} root @param {BlobRoute} route
 * @param {number} seconds
 * @returns {Promise<Response | undefined>} undefined if the store has no URL of the blob
 */
export async function redirectBlob (served, root, route, seconds) {
  const { request, signal, store } = served
  const headers = headersOf(served, { root, cid: `${toCid(root)}` }, route)
  const { 'content-type': type, 'content-disposition': disposition, etag, link, vary } = headers
  const url = await store.url?.(root, seconds, { type, disposition, signal })
  if (url === undefined) return undefined
  if (isKnown(request.headers, etag)) return respond(served, null, 304, headers)
  return redirectToSigned(served, url, seconds, { link, ...vary !== undefined && { vary } })
}

/**
 * Answers with the bytes of a blob, with the given headers.
 *
 * @param {ServedRequest} served @param {StoredBlob} blob @param {Content['headers']} headers
 * @param {Content['status']} [status]
 */
export function answerBlobAs (served, blob, headers, status) {
  const { root, size, sizeProven } = blob
  return answerBytes(served, blob, {
    headers,
    size,
    status,
    isClaim: !sizeProven,
    chunksOf: ({ start, end }) => start === end ? ChunkRanges.last : ChunkRanges.fromBytes(start, end),
    read: (span, signal) => piecesOf(served.store, root, span, { hops: served.hops, signal })
  })
}

/**
 * Reads a span of a blob piece by piece, with a read for each piece, because one read of the whole span would read
 * ahead. A store holds a blob only while it is read, so another read stays open until the last piece.
 *
 * @param {Store} store @param {Uint8Array} root @param {Span} span
 * @param {{ hops: number, signal?: AbortSignal }} options
 * @returns {AsyncGenerator<Piece>}
 */
async function * piecesOf (store, root, { start, end }, options) {
  if (endOfPiece(start) >= end) return yield * store.get(root, { start, end }, options)
  const open = store.get(root, { start, end: start + 1 }, options)
  try {
    await open.next()
    for (let at = start; at < end; at = endOfPiece(at)) {
      yield * store.get(root, { start: at, end: Math.min(endOfPiece(at), end) }, options)
    }
  } finally {
    await open.return(undefined)
  }
}

/** Returns where the piece ends that has a byte. @param {number} at  the byte */
const endOfPiece = at => at - at % PIECE_LEN + PIECE_LEN

/**
 * @param {ServedRequest} served @param {Pick<StoredBlob, 'root' | 'cid'>} blob @param {BlobRoute} route
 * @returns {Content['headers']}
 */
function headersOf (served, { root, cid }, { family, topUrl }) {
  const { request, url, options } = served
  const format = url.searchParams.get('format')
  const type = family === 'ipfs' && isBlock(format, request.headers) ? RAW_BLOCK : options.contentType?.(cid)
  if (format !== null && format !== 'raw') throw notAcceptable(`"format=${format}" is not served here`)
  const hex = base16.baseEncode(root)
  const outboard = `<${topUrl}${hex}.obao${DEFAULT_GROUP_LOG}>; rel=describedby; type="${OUTBOARD_TYPE}"`
  return {
    'content-type': type ?? PLAIN,
    'content-disposition': type === undefined || type === RAW_BLOCK ? `attachment; filename="${cid}.bin"` : 'inline',
    'accept-ranges': 'bytes',
    'cache-control': foreverFor(served),
    etag: `"${cid}"`,
    link: [outboard, ...duplicateLinks(options.mirrors, hex)].join(', '),
    ...format === null && { vary: 'Accept' },
    ...family === 'oci' && { 'docker-content-digest': `blake3:${hex}` }
  }
}

/**
 * Returns true if an IPFS client asks for the raw block.
 *
 * @param {string | null} format @param {Headers} headers
 */
function isBlock (format, headers) {
  if (format !== null) return format === 'raw'
  const accepted = acceptedBy(headers.get('accept'))
  const wants = (/** @type {string} */ type) => qualityOf(accepted, type) > 0
  if (wants(CAR) && !wants(RAW_BLOCK) && !wants(PLAIN)) throw notAcceptable('no CARs are served')
  return preferred(accepted, RAW_BLOCK) !== undefined
}
