// Answers with the outboard of a whole blob: pairs in pre-order, without the size in front, at any group log.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { outboardLen } from '../../../lib/tree/geometry.js'
import { isKnown, noSuchRange, rangeOf } from '../request/conditions.js'
import { FOREVER, respond } from '../response/headers.js'
import { respondPieces } from './pieces.js'

/** @import { BlobRecord } from '../../../store/storage/format/records.js' */
/** @import { Exchange, FoundRoute } from '../exchange.js' */

export const OUTBOARD_TYPE = 'application/vnd.bao-outboard'

/**
 * @param {Exchange} exchange @param {FoundRoute & { groupLog: number }} route @param {BlobRecord} record
 */
export async function answerOutboard (exchange, route, record) {
  const { request: { headers }, context } = exchange
  const { target: { root }, cid, groupLog } = route
  const etag = `"${cid}.obao${groupLog}"`
  const common = {
    'content-type': `${OUTBOARD_TYPE}; group-log=${groupLog}`,
    'accept-ranges': 'bytes',
    'cache-control': FOREVER,
    etag
  }
  if (isKnown(headers, etag)) return respond(null, 304, common)
  await exchange.requirePresent(root, record, ChunkRanges.all)

  const size = outboardLen(record.size, groupLog)
  const range = exchange.isHead ? 'whole' : rangeOf(headers, etag, size)
  if (range === 'none') throw noSuchRange(size)
  const { start, end } = range === 'whole' ? { start: 0, end: size } : range
  return respondPieces(exchange, route.target.root, {
    status: range === 'whole' ? 200 : 206,
    headers: range === 'whole' ? common : { ...common, 'content-range': `bytes ${start}-${end - 1}/${size}` },
    len: end - start,
    pieces: signal => context.slices.outboardPieces(root, { groupLog, start, end, signal })
  })
}
