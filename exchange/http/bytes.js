// Answers with some bytes, with the one range of them that a client wants, or with nothing when it has them already.

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
 * @typedef {object} Content  bytes that follow from a blob
 * @property {Record<string, string> & { etag: string }} headers  of every answer with them
 * @property {number} size  of all of them
 * @property {boolean} [isClaim]  true if their size is not proven. Default: false
 * @property {(span: Span) => ChunkRanges} chunksOf  chunks of the blob that the bytes in a span follow from
 * @property {(span: Span, signal?: AbortSignal) => AsyncGenerator<Piece>} read  none of the pieces is empty
 */

/** @param {ServedRequest} served @param {StoredBlob} blob @param {Content} content */
export async function answerBytes (served, blob, { headers, size, isClaim, chunksOf, read }) {
  const { request, isHead } = served
  if (isKnown(request.headers, headers.etag)) return respond(null, 304, headers)
  const range = isHead ? 'whole' : rangeOf(request.headers, headers.etag, size)
  // The last bytes prove that there are no bytes after them.
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
