// Answers with a list of blobs, page by page, as JSON.

import { base16 } from 'multiformats/bases/base16'
import { badRequest } from './errors.js'
import { only } from './query.js'
import { respondJson } from './respond.js'

/** @import { ServedRequest } from './served-request.js' */

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000

/** @param {ServedRequest} served */
export async function answerList (served) {
  const { url: { searchParams }, store } = served
  const limit = limitIn(searchParams)
  const after = only(searchParams, 'after')
  if (after !== undefined && !/^[0-9a-f]{64}$/.test(after)) throw badRequest('"after" expected 64 hexadecimal digits')
  const blobs = []
  for await (const { cid, size, sizeProven, complete } of store.list({ after, maxBlobs: limit })) {
    blobs.push({ cid: `${cid}`, hash: base16.baseEncode(cid.multihash.digest), size, sizeProven, complete })
  }
  const next = blobs.length < limit ? undefined : `?after=${blobs[limit - 1].hash}&limit=${limit}`
  return respondJson(served, 200, { blobs, next })
}

/** How many entries a page has. @param {URLSearchParams} query */
function limitIn (query) {
  const given = only(query, 'limit') ?? `${DEFAULT_LIMIT}`
  const limit = /^\d{1,4}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw badRequest(`"limit" expected a number from 1 to ${MAX_LIMIT}`)
  return limit
}
