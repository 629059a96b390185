// Answers with a list of blobs, page by page, as JSON.

import { base16 } from 'multiformats/bases/base16'
import { badRequest } from '../errors.js'
import { respondJson } from '../response/headers.js'

/** @import { Exchange } from '../exchange.js' */

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000

/** @param {Exchange} exchange */
export async function answerList (exchange) {
  const { url: { searchParams }, store } = exchange
  const limit = searchParams.get('limit') ?? `${DEFAULT_LIMIT}`
  const after = searchParams.get('after')
  if (!/^[1-9]\d{0,3}$/.test(limit) || Number(limit) > MAX_LIMIT) {
    throw badRequest(`"limit" expected a number from 1 to ${MAX_LIMIT}`)
  }
  if (after !== null && !/^[0-9a-f]{64}$/.test(after)) throw badRequest('"after" expected 64 hexadecimal digits')
  const blobs = []
  let next
  for await (const { cid, size, sizeProven, complete } of store.list()) {
    const hash = base16.baseEncode(cid.multihash.digest)
    if (after !== null && hash <= after) continue
    if (blobs.length === Number(limit)) {
      next = `?after=${blobs[blobs.length - 1].hash}&limit=${limit}`
      break
    }
    blobs.push({ cid: `${cid}`, hash, size, sizeProven, complete })
  }
  return respondJson(exchange, 200, { blobs, next })
}
