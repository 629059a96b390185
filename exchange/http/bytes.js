// Answers with bytes made from a blob: all of them, one range, or a 304 if the client already has them.

import { isKnown, noSuchRange, rangeOf } from './conditions.js'
import { sendPieces } from './body.js'
import { respond } from './respond.js'
import { requirePresent } from './stored-blob.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { Piece } from './body.js' */
/** @import { Span } from './conditions.js' */
/** @import { ServedRequest } from './served-request.js' */
/** @import { StoredBlob } from './stored-blob.js' */

/**
 * @typedef {object} Content  bytes that are made from a blob
 * @property {Record<string, string> & { etag: string }} headers  of every answer with these bytes
 * @property {number} size  how many bytes there are
 * @property {boolean} [isClaim]  true if their size is not proven. Default: false
 * @property {(span: Span) => ChunkRanges} chunksOf  gives the chunks of the blob from which a span is made
 * @property {(span: Span, signal?: AbortSignal) => AsyncGenerator<Piece>} read  gives a span. No piece is empty
 */

/** @param {ServedRequest} served @param {StoredBlob} blob @param {Content} content */
export async function answerBytes (served, blob, { headers, size, isClaim, chunksOf, read }) {
  const { request, isHead } = served
  if (isKnown(request.headers, headers.etag)) return respond(served, null, 304, headers)
  const range = isHead ? 'whole' : rangeOf(request.headers, headers.etag, size)
  // A range after the end needs the last bytes, because they prove the size.
  const span = range === 'whole' ? { start: 0, end: size } : range === 'none' ? { start: size, end: size } : range
  await requirePresent(served, blob, chunksOf(span))
  if (range === 'none') throw noSuchRange(size)
  const { start, end } = span
  return sendPieces(served, {
    status: range === 'whole' ? 200 : 206,
    headers: range === 'whole'
      ? headers
      : { ...headers, 'content-range': `bytes ${start}-${end - 1}/${isClaim ? '*' : size}` },
    len: end - start,
    pieces: read(span, served.signalFor(blob, end - start))
  })
}
