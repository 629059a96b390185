// Opens a combined encoding as a blob and its outboard. Both can be read at any offset. Source: Bao spec, "Combined
// Encoding Format".

import { CHUNK_LEN, DEFAULT_GROUP_LOG, MAX_GROUP_LOG, PAIR_LEN } from '../core/constants.js'
import { HEADER_LEN, assertInteger } from '../core/bytes.js'
import { assertKnownOptions } from '../core/options.js'
import { PageCache } from '../source/page-cache.js'
import { PagedOutboard } from './paged-outboard.js'
import { pairsBeforeLeaf } from '../tree/geometry.js'
import { parseRoot } from '../hash/cid.js'
import { readHeader } from '../source/header.js'
import { toRandomAccess } from '../source/source.js'

/** @import { BaoError } from '../core/errors.js' */
/** @import { NamedBlob } from '../hash/cid.js' */
/** @import { RandomAccess } from '../core/types.js' */

/**
 * @typedef {NamedBlob & { groupLog?: number, size?: number }} EncodingInfo  `groupLog`: default: 4, as
 *   for `encode`; `size`: bytes of the blob, needed if the encoding has no header
 */

/**
 * Opens a combined encoding, so that slices, proofs and audits can be made from it. Nothing in it is believed: pairs
 * and bytes are checked against the root when they are used. Missing pairs or bytes cause an error only when they are
 * needed.
 *
 *     const { source, outboard, close } = await openEncoding('movie.bao', { cid })
 *     for await (const piece of encodeSlice(source, outboard, { start: 5000, end: 6000 })) send(piece)
 *     await close()
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} encoded  bytes after the end of the encoding are ignored
 * @param {EncodingInfo} info
 * @returns {Promise<{ source: RandomAccess, outboard: PagedOutboard, close: () => Promise<void> }>}
 *   `source` returns the bytes of the blob, unverified; callers must call `close`
 * @throws {BaoError} BAO_BAD_HEADER, BAO_SIZE_TOO_LARGE
 */
export async function openEncoding (encoded, info) {
  assertKnownOptions(info, ['cid', 'groupLog', 'size'])
  const { groupLog = DEFAULT_GROUP_LOG, size } = info
  const hash = parseRoot(info.cid)
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  if (size !== undefined) assertInteger('size', size)
  const file = await toRandomAccess(encoded)
  try {
    const layout = { root: hash, size: size ?? await readHeader(file), groupLog, order: /** @type {const} */ ('pre') }
    // Pairs and bytes alternate in the file, so both are read through the same pages.
    const headerLen = size === undefined ? HEADER_LEN : 0
    const pages = new PageCache(file, headerLen)
    const outboard = new PagedOutboard(pages, layout, ({ pre }, start) => pre * PAIR_LEN + start)
    const blob = { ...layout, availableLen: file.size - headerLen }
    /** @type {RandomAccess} */
    const source = { size: blob.size, overlaps: file.overlaps, read: (start, end) => readBlob(pages, blob, start, end) }
    return { source, outboard, close: async () => file.close() }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * Reads bytes of the blob, without the pairs between them.
 *
 * @param {PageCache} pages
 * @param {{ size: number, groupLog: number, availableLen: number }} blob  `availableLen`: bytes of the
 *   encoding, without the header
 * @param {number} start
 * @param {number} end  at most `size`
 * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes where the encoding ends
 */
async function readBlob (pages, { size, groupLog, availableLen }, start, end) {
  const groupLen = CHUNK_LEN * 2 ** groupLog
  const parts = /** @type {[start: number, end: number][]} */ ([])
  for (let at = start; at < end;) {
    const stop = Math.min(end, (Math.floor(at / groupLen) + 1) * groupLen)
    const from = pairsBeforeLeaf(Math.floor(at / CHUNK_LEN), size, groupLog) * PAIR_LEN + at
    if (from >= availableLen) break // the size is only a claim
    parts.push([from, from + stop - at])
    at = stop
  }
  return parts.length === 0 ? new Uint8Array(0) : pages.read(parts)
}
