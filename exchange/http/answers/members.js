// Answers with whole members of a sequence of hashes, one behind the other: for each, the size in 8 bytes, then its
// slice. iroh-blobs answers a Get of these members with the same bytes.

import { DEFAULT_GROUP_LOG, HASH_LEN } from '../../../lib/core/constants.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { concat, u64ToBytes } from '../../../lib/core/bytes.js'
import { GROUP_LEN } from '../../../store/storage/content/tree-pages.js'
import { notFound } from '../../../store/storage/errors.js'
import { sliceLen } from '../../../encoder/slice.js'
import { LOOKUP_COUNT } from '../../../store/read/get-many.js'
import { badRequest } from '../errors.js'
import { isKnown } from '../request/conditions.js'
import { MEMBERS_TYPE } from '../request/members-query.js'
import { FOREVER, respond } from '../response/headers.js'
import { PIECE_LEN, respondPieces } from './pieces.js'
import { withHeader } from './slice.js'

/** @import { BlobRecord } from '../../../store/storage/format/records.js' */
/** @import { StoreContext } from '../../../store/store-context.js' */
/** @import { Exchange, FoundRoute } from '../exchange.js' */
/** @import { MembersQuery } from '../request/members-query.js' */

/** @typedef {{ root: Uint8Array, size: number }} Member */

/**
 * The answer ends before the first member that the store does not have whole.
 *
 * @param {Exchange} exchange @param {FoundRoute} route @param {BlobRecord} record  of the sequence
 * @param {MembersQuery} query
 */
export async function answerMembers (exchange, { target: { root }, cid }, record, { spans, label }) {
  const { request: { headers }, context } = exchange
  const etag = `"${cid}.members.${label}.g${DEFAULT_GROUP_LOG}"`
  const common = { 'content-type': `${MEMBERS_TYPE}; group-log=${DEFAULT_GROUP_LOG}`, 'accept-ranges': 'none' }
  const lasting = { ...common, 'cache-control': FOREVER, etag }
  if (isKnown(headers, etag)) return respond(null, 304, lasting)
  const roots = await rootsOf(exchange, root, record, spans)
  const members = await presentOf(context, roots)
  if (members.length === 0) throw notFound(roots[0])
  return respondPieces(exchange, root, {
    status: 200,
    // An answer that ends too early will be longer when the store has more members.
    headers: members.length === roots.length ? lasting : { ...common, 'cache-control': 'no-store' },
    format: 'hashseq',
    len: members.reduce((sum, { size }) => sum + sliceLen({ size, groupLog: DEFAULT_GROUP_LOG }, ChunkRanges.all), 0),
    pieces: signal => slicesOf(context, members, signal)
  })
}

/**
 * The hashes of the members that are asked for.
 *
 * @param {Exchange} exchange @param {Uint8Array} root @param {BlobRecord} record @param {MembersQuery['spans']} spans
 */
async function rootsOf ({ store }, root, { size }, spans) {
  const count = size / HASH_LEN
  if (!Number.isInteger(count)) throw badRequest(`"members" expected a sequence of hashes, got a blob of ${size} bytes`)
  if (spans[spans.length - 1][1] > count) throw badRequest(`"members" expected some of the ${count} of the sequence`)
  const roots = []
  for (const [start, end] of spans) {
    const hashes = await store.bytes(root, { start: start * HASH_LEN, end: end * HASH_LEN })
    for (let at = 0; at < hashes.length; at += HASH_LEN) roots.push(hashes.subarray(at, at + HASH_LEN))
  }
  return roots
}

/**
 * The members up to the first that the store does not have whole.
 *
 * @param {StoreContext} context @param {Uint8Array[]} roots
 * @returns {Promise<Member[]>}
 */
async function presentOf ({ life, catalog }, roots) {
  const found = await life.run(() => catalog.findMany(roots))
  const members = []
  for (const [i, { record }] of found.entries()) {
    if (!record?.complete) break
    members.push({ root: roots[i], size: record.size })
  }
  return members
}

/**
 * The slices of members. Small ones are looked up together, as many as fit into a piece.
 *
 * @param {StoreContext} context @param {Member[]} members @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * slicesOf (context, members, signal) {
  for (let at = 0; at < members.length;) {
    const small = smallOnes(members, at)
    if (small.length > 0) {
      yield await smallSlices(context, small, signal)
      at += small.length
      continue
    }
    const { root, size } = members[at++]
    const options = { header: false, signal }
    yield * withHeader(size, context.slices.slice(root, ChunkRanges.all, options, { readsAhead: false }))
  }
}

/**
 * The next members that are one group each.
 *
 * @param {Member[]} members @param {number} start  the first of them
 */
function smallOnes (members, start) {
  let end = start
  for (let len = 0; end < members.length && end - start < LOOKUP_COUNT; end++) {
    const { size } = members[end]
    len += size
    if (size > GROUP_LEN || len > PIECE_LEN) break
  }
  return members.slice(start, end)
}

/**
 * A slice of one group is its bytes.
 *
 * @param {StoreContext} context @param {Member[]} members @param {AbortSignal} [signal]
 */
async function smallSlices (context, members, signal) {
  const parts = []
  for await (const { bytes, error } of context.manyReader.getMany(members.map(({ root }) => root), { signal })) {
    if (error !== undefined) throw error
    parts.push(u64ToBytes(bytes.length), bytes)
  }
  return concat(parts)
}
