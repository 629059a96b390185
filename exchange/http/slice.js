// Answers with a slice: the size of the blob in 8 bytes, then pairs and bytes, as iroh-blobs answers a Get. A client
// asks for one by the query or the `Accept` header.

import { base16 } from 'multiformats/bases/base16'
import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { concat, u64ToBytes } from '../../lib/core/bytes.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { sliceLen } from '../../encoder/slice.js'
import { acceptedBy, preferred } from './accept.js'
import { sendPieces } from './body.js'
import { isKnown } from './conditions.js'
import { badRequest, notAcceptable } from './errors.js'
import { MAX_RANGES, boundariesIn, integer, labelOf, only } from './query.js'
import { duplicateLinks, foreverFor, plainLink, respond } from './respond.js'
import { requirePresent } from './stored-blob.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { Piece } from './body.js' */
/** @import { BlobRoute } from './routes.js' */
/** @import { ServedRequest } from './served-request.js' */
/** @import { StoredBlob } from './stored-blob.js' */

/**
 * @typedef {object} SliceQuery
 * @property {ChunkRanges} ranges
 * @property {number} groupLog
 * @property {string} label  names the ranges in an ETag
 */

export const SLICE_TYPE = 'application/vnd.bao-slice'
const FORMAT = 'bao-slice'
const PARAMETERS = ['start', 'end', 'chunks', 'group-log']

/** The maximum group log of a slice. If only a part of a group is wanted, all of it is read into memory, here 1 MiB. */
const MAX_SLICE_GROUP_LOG = 10
/**
 * The maximum group log of a slice with `MAX_RANGES` ranges. Each step above it halves the number of allowed ranges. A
 * group that is wanted only in part is read and hashed as a whole, and each range has at most two of these groups. So
 * at most 32 MiB are hashed that are not sent.
 */
const MAX_LOG_OF_MANY = 6

/** @param {ServedRequest} served @param {StoredBlob} blob @param {BlobRoute} route @param {SliceQuery} query */
export async function answerSlice (served, blob, { topUrl }, { ranges, groupLog, label }) {
  const { request, url, store, hops, options: { mirrors, redirect } } = served
  const { root, cid, size } = blob
  const hex = base16.baseEncode(root)
  const links = [
    ...redirect === undefined ? [] : [plainLink(topUrl, hex)],
    // These are links of the blob, not of the slice.
    ...duplicateLinks(mirrors, hex, `; anchor="${topUrl}${hex}"`)
  ]
  const headers = {
    'content-type': `${SLICE_TYPE}; group-log=${groupLog}`,
    'accept-ranges': 'none', // a range of a slice proves nothing
    'cache-control': foreverFor(served),
    etag: `"${cid}.slice.${label}.g${groupLog}"`,
    ...links.length > 0 && { link: links.join(', ') },
    ...!url.searchParams.has('format') && { vary: 'Accept' }
  }
  if (isKnown(request.headers, headers.etag)) return respond(served, null, 304, headers)
  await requirePresent(served, blob, ranges.canonical(size).roundToGroups(groupLog))
  const len = sliceLen({ size, groupLog }, ranges)
  const signal = served.signalFor(blob, len)
  const pieces = slicePieces(store, { root, size }, ranges, { groupLog, hops, signal })
  return sendPieces(served, { status: 200, headers, len, pieces })
}

/**
 * Gives a slice. The first piece begins with the size, which must not be sent in a piece of its own before it is
 * verified.
 *
 * @param {Store} store @param {{ root: Uint8Array, size: number }} blob @param {ChunkRanges} ranges
 * @param {{ groupLog?: number, hops?: number, signal?: AbortSignal }} options
 * @returns {AsyncGenerator<Piece>}
 */
export async function * slicePieces (store, { root, size }, ranges, options) {
  let header = /** @type {Piece | undefined} */ (u64ToBytes(size))
  for await (const piece of store.slice(root, ranges, { ...options, header: false, readAhead: false })) {
    yield header === undefined ? piece : concat([header, piece])
    header = undefined
  }
  if (header !== undefined) yield header // the empty blob has no other piece
}

/**
 * @param {URLSearchParams} query
 * @param {Headers} headers  of the request
 * @returns {SliceQuery | undefined} undefined if the client does not ask for a slice
 * @throws {import('./errors.js').HttpError} 400, 406
 */
export function sliceQueryOf (query, headers) {
  const format = only(query, 'format')
  const accepted = format === undefined ? acceptedLog(headers.get('accept')) : undefined
  if (format !== FORMAT && accepted === undefined) {
    const stray = PARAMETERS.find(name => query.has(name))
    if (stray === undefined) return undefined
    throw badRequest(`"${stray}" is for slices: add "format=${FORMAT}"`)
  }
  const groupLog = groupLogOf(only(query, 'group-log') ?? accepted ?? `${DEFAULT_GROUP_LOG}`)
  const chunks = only(query, 'chunks')
  const [start, end] = [only(query, 'start'), only(query, 'end')]
  if (chunks === undefined) return { groupLog, ...byteRange(start, end) }
  if (start !== undefined || end !== undefined) throw badRequest('"chunks" cannot be combined with "start" or "end"')
  return { groupLog, ...chunkRanges(chunks, groupLog) }
}

/**
 * The group log in an `Accept` header that prefers slices to plain bytes.
 *
 * @param {string | null} accept
 * @returns {string | undefined} undefined if it does not name slices, or prefers plain bytes
 */
function acceptedLog (accept) {
  if (!accept?.toLowerCase().includes(SLICE_TYPE)) return undefined
  const slices = preferred(acceptedBy(accept), SLICE_TYPE)
  return slices && (slices.parameters.get('group-log') ?? `${DEFAULT_GROUP_LOG}`)
}

/** @param {string} text */
function groupLogOf (text) {
  if (!/^\d\d?$/.test(text) || Number(text) > MAX_GROUP_LOG) {
    throw badRequest(`"group-log" expected an integer from 0 to ${MAX_GROUP_LOG}`)
  }
  if (Number(text) <= MAX_SLICE_GROUP_LOG) return Number(text)
  throw notAcceptable(`slices are served at group logs from 0 to ${MAX_SLICE_GROUP_LOG}`)
}

/**
 * Bytes from `start` to `end`; by default all. An empty range selects the last chunk, which proves the size. A client
 * that knows only the name of a blob asks for this first.
 *
 * @param {string | undefined} first @param {string | undefined} last
 */
function byteRange (first = '0', last = '') {
  const start = integer('start', first)
  const end = last === '' ? Infinity : integer('end', last)
  if (end < start) throw badRequest('"end" is before "start"')
  const ranges = start === end ? ChunkRanges.last : ChunkRanges.fromBytes(start, end)
  return { ranges, label: `${start}-${last}` }
}

/**
 * Ranges of chunks like `0-64,100-110`: half-open, increasing, not touching. The last one may lack its end: `100-`.
 *
 * @param {string} text @param {number} groupLog
 */
function chunkRanges (text, groupLog) {
  const most = MAX_RANGES >> Math.max(0, groupLog - MAX_LOG_OF_MANY)
  const boundaries = boundariesIn('chunks', text, { mayBeOpen: true, most })
  return { ranges: ChunkRanges.fromBoundaries(boundaries), label: `c${labelOf(text)}` }
}
