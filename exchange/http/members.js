// Answers with whole members of a sequence of hashes, one after the other: for each, the size in 8 bytes, then its
// slice. iroh-blobs answers a Get of these members with the same bytes.

import { DEFAULT_GROUP_LOG, HASH_LEN } from '../../lib/core/constants.js'
import { toCid } from '../../lib/hash/cid.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { concat, u64ToBytes } from '../../lib/core/bytes.js'
import { sliceLen } from '../../encoder/slice.js'
import { GROUP_LEN, LOOKUP_COUNT, notFound } from '../../store/interface.js'
import { assertAllowed } from './authorize.js'
import { PIECE_LEN, sendPieces } from './body.js'
import { isKnown } from './conditions.js'
import { badRequest, notAcceptable } from './errors.js'
import { boundariesIn, labelOf, only } from './query.js'
import { foreverFor, respond } from './respond.js'
import { slicePieces } from './slice.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { Piece } from './body.js' */
/** @import { ServedRequest } from './served-request.js' */
/** @import { StoredBlob } from './stored-blob.js' */

/** @typedef {{ root: Uint8Array, size: number }} Member */
/**
 * @typedef {object} MembersQuery
 * @property {[start: number, end: number][]} spans  of members: increasing, half-open, not touching
 * @property {string} label  names them in an ETag
 */

const MEMBERS_TYPE = 'application/vnd.bao-members'
const FORMAT = 'bao-members'
/** The maximum number of members in one answer. */
const MAX_MEMBERS = 1024
/** Parameters of slices, which exclude "members". */
const OTHERS = ['start', 'end', 'chunks']

/**
 * @param {URLSearchParams} query
 * @returns {MembersQuery | undefined} undefined if the query does not ask for members
 * @throws {import('./errors.js').HttpError} 400, 406
 */
export function membersQueryOf (query) {
  const text = only(query, 'members')
  if (only(query, 'format') !== FORMAT) {
    if (text !== undefined) throw badRequest(`"members" is for sequences of hashes: add "format=${FORMAT}"`)
    return undefined
  }
  if (text === undefined) throw badRequest(`"format=${FORMAT}" expected "members", like members=0-1000,1005-1010`)
  const other = OTHERS.find(name => query.has(name))
  if (other !== undefined) throw badRequest(`"members" and "${other}" exclude each other`)
  if ((only(query, 'group-log') ?? `${DEFAULT_GROUP_LOG}`) !== `${DEFAULT_GROUP_LOG}`) {
    throw notAcceptable(`members are served at group log ${DEFAULT_GROUP_LOG}`)
  }
  const boundaries = boundariesIn('members', text)
  const spans = /** @type {[number, number][]} */ ([])
  for (let i = 0; i < boundaries.length; i += 2) spans.push([boundaries[i], boundaries[i + 1]])
  const count = spans.reduce((sum, [start, end]) => sum + end - start, 0)
  if (count > MAX_MEMBERS) throw badRequest(`"members" expected at most ${MAX_MEMBERS} members, got ${count}`)
  return { spans, label: labelOf(text) }
}

/**
 * Answers with the members up to the first that the store does not have whole. It does not fetch others: a client asks
 * for them one by one.
 *
 * @param {ServedRequest} served @param {StoredBlob} blob  the sequence @param {MembersQuery} query
 */
export async function answerMembers (served, { root, cid, size }, { spans, label }) {
  const { request, store, hops } = served
  const etag = `"${cid}.members.${label}.g${DEFAULT_GROUP_LOG}"`
  const common = { 'content-type': `${MEMBERS_TYPE}; group-log=${DEFAULT_GROUP_LOG}`, 'accept-ranges': 'none' }
  const lasting = { ...common, 'cache-control': foreverFor(served), etag }
  if (isKnown(request.headers, etag)) return respond(served, null, 304, lasting)
  const roots = await rootsOf(store, { root, size }, spans, hops)
  await assertMembersAllowed(served, roots, cid)
  const members = await presentOf(store, roots)
  if (members.length === 0) throw notFound(roots[0])
  const len = members.reduce((sum, member) => sum + lenOf(member), 0)
  return sendPieces(served, {
    status: 200,
    // If the answer ends early, a later answer may have more members.
    headers: members.length === roots.length ? lasting : { ...common, 'cache-control': 'no-store' },
    len,
    pieces: piecesOf(store, root, members, served.signalFor({ complete: true }, len))
  })
}

/**
 * @param {ServedRequest} served @param {Uint8Array[]} roots  of the members
 * @param {string} collection  CID of their sequence
 */
async function assertMembersAllowed (served, roots, collection) {
  if (served.options.authorize === undefined) return // the names of a thousand members would take milliseconds
  for (const root of roots) await assertAllowed(served, { type: 'read', cid: `${toCid(root)}`, collection })
}

/** Bytes of a whole slice. @param {Member} member */
const lenOf = ({ size }) => sliceLen({ size, groupLog: DEFAULT_GROUP_LOG }, ChunkRanges.all)

/**
 * The hashes of the members that a client asks for.
 *
 * @param {Store} store @param {Member} sequence @param {MembersQuery['spans']} spans
 * @param {number} hops
 */
async function rootsOf (store, { root, size }, spans, hops) {
  const count = size / HASH_LEN
  if (!Number.isInteger(count)) throw badRequest(`"members" expected a sequence of hashes, got a blob of ${size} bytes`)
  if (spans[spans.length - 1][1] > count) throw badRequest(`"members" expected some of the ${count} of the sequence`)
  const roots = []
  for (const [start, end] of spans) {
    const hashes = await store.bytes(root, { start: start * HASH_LEN, end: end * HASH_LEN }, { hops })
    for (let at = 0; at < hashes.length; at += HASH_LEN) roots.push(hashes.subarray(at, at + HASH_LEN))
  }
  return roots
}

/**
 * The members up to the first that the store does not have whole.
 *
 * @param {Store} store @param {Uint8Array[]} roots
 * @returns {Promise<Member[]>}
 */
async function presentOf (store, roots) {
  const members = []
  for (const [i, blob] of (await store.statMany(roots)).entries()) {
    if (!blob?.complete) break
    members.push({ root: roots[i], size: blob.size })
  }
  return members
}

/**
 * Gives the slices of members. A tag protects the members until the last slice has been read. As many small members as
 * fit into a piece are looked up together.
 *
 * @param {Store} store @param {Uint8Array} root  of the sequence @param {Member[]} members
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Piece>}
 */
async function * piecesOf (store, root, members, signal) {
  const tag = store.tempTag(root, { format: 'hashseq' })
  try {
    for (let at = 0; at < members.length;) {
      const small = smallOnes(members, at)
      if (small.length > 0) yield await smallSlices(store, small, signal)
      else yield * slicePieces(store, members[at], ChunkRanges.all, { signal })
      at += Math.max(1, small.length)
    }
  } finally {
    tag.release()
  }
}

/**
 * The next members of at most one group each, as many as fit into a piece.
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
 * The slices of small members, in one piece. A slice of one group consists of the size and the bytes, without pairs.
 *
 * @param {Store} store @param {Member[]} members @param {AbortSignal} [signal]
 */
async function smallSlices (store, members, signal) {
  const parts = []
  for await (const { bytes, error } of store.getMany(members.map(({ root }) => root), { signal })) {
    if (error !== undefined) throw error
    parts.push(u64ToBytes(bytes.length), bytes)
  }
  return concat(parts)
}
