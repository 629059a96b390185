// Answers with the outboard of a whole blob: pairs in pre-order, without a header, at any group log.

import { ChunkRanges } from '../../lib/tree/ranges.js'
import { outboardLen } from '../../lib/tree/geometry.js'
import { answerBytes } from './bytes.js'
import { foreverFor } from './respond.js'

/** @import { ServedRequest } from './served-request.js' */
/** @import { StoredBlob } from './stored-blob.js' */

export const OUTBOARD_TYPE = 'application/vnd.bao-outboard'

/** @param {ServedRequest} served @param {StoredBlob} blob @param {number} groupLog */
export function answerOutboard (served, blob, groupLog) {
  const { root, cid, size } = blob
  return answerBytes(served, blob, {
    headers: {
      'content-type': `${OUTBOARD_TYPE}; group-log=${groupLog}`,
      'accept-ranges': 'bytes',
      'cache-control': foreverFor(served),
      etag: `"${cid}.obao${groupLog}"`
    },
    size: outboardLen(size, groupLog),
    chunksOf: () => ChunkRanges.all,
    read: (range, signal) => served.store.outboard(root, { groupLog, range, hops: served.hops, signal })
  })
}
