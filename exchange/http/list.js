// Answers with a list of blobs, page by page, as JSON.

import { base16 } from 'multiformats/bases/base16'
import { assertAllowed } from './authorize.js'
import { badRequest } from './errors.js'
import { limitIn, only } from './query.js'
import { respondJson } from './respond.js'

/** @import { ServedRequest } from './served-request.js' */

/** @param {ServedRequest} served */
export async function answerList (served) {
  const { url: { searchParams }, store } = served
  const limit = limitIn(searchParams)
  const after = only(searchParams, 'after')
  if (after !== undefined && !/^[0-9a-f]{64}$/.test(after)) throw badRequest('"after" expected 64 hexadecimal digits')
  await assertAllowed(served, { type: 'list' })
  const blobs = []
  for await (const { cid, size, sizeProven, complete } of store.list({ after, maxBlobs: limit })) {
    blobs.push({ cid: `${cid}`, hash: base16.baseEncode(cid.multihash.digest), size, sizeProven, complete })
  }
  const next = blobs.length < limit ? undefined : `?after=${blobs[limit - 1].hash}&limit=${limit}`
  return respondJson(served, 200, { blobs, next })
}
