// Answers with a slice: the size of the blob in 8 bytes, then pairs and bytes. iroh-blobs answers a Get with the same.

import { base16 } from 'multiformats/bases/base16'
import { concat, u64ToBytes } from '../../../lib/core/bytes.js'
import { sliceLen } from '../../../encoder/slice.js'
import { isKnown } from '../request/conditions.js'
import { SLICE_TYPE } from '../request/slice-query.js'
import { FOREVER, duplicateLinks, respond } from '../response/headers.js'
import { respondPieces } from './pieces.js'

/** @import { BlobRecord } from '../../../store/storage/format/records.js' */
/** @import { Exchange, FoundRoute } from '../exchange.js' */
/** @import { SliceQuery } from '../request/slice-query.js' */

/**
 * @param {Exchange} exchange @param {FoundRoute} route @param {BlobRecord} record @param {SliceQuery} query
 */
export async function answerSlice (exchange, route, record, { ranges, groupLog, label }) {
  const { request: { headers }, url, context, options: { mirrors } } = exchange
  const { target: { root }, cid, top } = route
  const hex = base16.baseEncode(root)
  const { size } = record
  const etag = `"${cid}.slice.${label}.g${groupLog}"`
  const common = {
    'content-type': `${SLICE_TYPE}; group-log=${groupLog}`,
    'accept-ranges': 'none', // a range of a slice proves nothing
    'cache-control': FOREVER,
    etag,
    // The link is for the blob, not for the slice.
    ...mirrors.length > 0 && { link: duplicateLinks(mirrors, hex, `; anchor="${top}${hex}"`).join(', ') },
    ...!url.searchParams.has('format') && { vary: 'Accept' }
  }
  if (isKnown(headers, etag)) return respond(null, 304, common)
  await exchange.requirePresent(root, record, ranges.canonical(size).roundToGroups(groupLog))

  return respondPieces(exchange, route.target.root, {
    status: 200,
    headers: common,
    len: sliceLen({ size, groupLog }, ranges),
    pieces: signal => {
      const options = { groupLog, header: false, signal }
      return withHeader(size, context.slices.slice(root, ranges, options, { readsAhead: false }))
    }
  })
}

/**
 * Puts the size in front of the first piece. A piece that comes is verified, while a size alone would not be.
 *
 * @param {number} size @param {AsyncGenerator<Uint8Array<ArrayBuffer>>} pieces
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
export async function * withHeader (size, pieces) {
  let header = /** @type {Uint8Array<ArrayBuffer> | undefined} */ (u64ToBytes(size))
  for await (const piece of pieces) {
    yield header === undefined ? piece : concat([header, piece])
    header = undefined
  }
  if (header !== undefined) yield header // of the empty blob there is nothing else
}
