// Answers with the bytes of a blob, or a range of them.

import { base16 } from 'multiformats/bases/base16'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { notAcceptable } from '../errors.js'
import { PLAIN, acceptedBy, preferred, qualityOf } from '../request/accept.js'
import { isKnown, noSuchRange, rangeOf } from '../request/conditions.js'
import { FOREVER, duplicateLinks, respond } from '../response/headers.js'
import { OUTBOARD_TYPE } from './outboard.js'
import { PIECE_LEN, respondPieces } from './pieces.js'

/** @import { BlobRecord } from '../../../store/storage/format/records.js' */
/** @import { Exchange, FoundRoute } from '../exchange.js' */

const RAW_BLOCK = 'application/vnd.ipld.raw'
const CAR = 'application/vnd.ipld.car'

/** @param {Exchange} exchange @param {FoundRoute} route @param {BlobRecord} record */
export async function answerBlob (exchange, route, record) {
  const etag = `"${route.cid}"`
  const headers = headersOf(exchange, route, etag)
  if (isKnown(exchange.request.headers, etag)) return respond(null, 304, headers)
  return answerBytes(exchange, route.target.root, record, headers)
}

/**
 * Answers with the bytes that the client asks for, unless it has the blob already.
 *
 * @param {Exchange} exchange @param {Uint8Array} root @param {BlobRecord} record
 * @param {Record<string, string> & { etag: string }} common  headers of the answer
 */
export async function answerBytes (exchange, root, record, common) {
  const { request: { headers }, store } = exchange
  const { size } = record
  const range = exchange.isHead ? 'whole' : rangeOf(headers, common.etag, size)
  const span = typeof range === 'object' ? range : { start: 0, end: size }
  await exchange.requirePresent(root, record, range === 'none' ? ChunkRanges.last : chunksOf(span))
  if (range === 'none') throw noSuchRange(size)

  const total = record.sizeProven ? size : '*'
  return respondPieces(exchange, root, {
    status: range === 'whole' ? 200 : 206,
    headers: range === 'whole'
      ? common
      : { ...common, 'content-range': `bytes ${span.start}-${span.end - 1}/${total}` },
    len: span.end - span.start,
    pieces: async function * (signal) {
      for (let at = span.start; at < span.end;) {
        const end = Math.min(span.end, at - at % PIECE_LEN + PIECE_LEN)
        yield * store.get(root, { start: at, end }, { signal })
        at = end
      }
    }
  })
}

/** The chunks of a span; of an empty blob, its one chunk. @param {{ start: number, end: number }} span */
const chunksOf = ({ start, end }) => end === 0 ? ChunkRanges.last : ChunkRanges.fromBytes(start, end)

/**
 * @param {Exchange} exchange @param {FoundRoute} route @param {string} etag
 * @returns {Record<string, string> & { etag: string }}
 */
function headersOf ({ request, url, options }, { family, cid, target, top }, etag) {
  const format = url.searchParams.get('format')
  const type = family === 'ipfs' && isBlock(format, request.headers) ? RAW_BLOCK : options.contentType?.(cid)
  if (format !== null && format !== 'raw') throw notAcceptable(`"format=${format}" is not served here`)
  const hex = base16.baseEncode(target.root)
  const outboard = `<${top}${hex}.obao${DEFAULT_GROUP_LOG}>; rel=describedby; type="${OUTBOARD_TYPE}"`
  return {
    'content-type': type ?? PLAIN,
    'content-disposition': type === undefined || type === RAW_BLOCK ? `attachment; filename="${cid}.bin"` : 'inline',
    'accept-ranges': 'bytes',
    'cache-control': FOREVER,
    etag,
    link: [outboard, ...duplicateLinks(options.mirrors, hex)].join(', '),
    ...format === null && { vary: 'Accept' },
    ...family === 'oci' && { 'docker-content-digest': `blake3:${hex}` }
  }
}

/**
 * Does a client of IPFS want the block as it is?
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
