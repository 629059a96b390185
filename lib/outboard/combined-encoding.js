// Combined encodings as what they hold: a blob, and its outboard. Source: Bao spec, "Combined Encoding Format".

import { CHUNK_LEN, MAX_GROUP_LOG, PAIR_LEN } from '../core/constants.js'
import { HEADER_LEN, assertInteger } from '../core/bytes.js'
import { PageCache } from '../source/page-cache.js'
import { PagedOutboard } from './paged-outboard.js'
import { pairsBeforeLeaf } from '../tree/geometry.js'
import { parseRoot } from '../hash/cid.js'
import { readHeader } from '../source/header.js'
import { toRandomAccess } from '../source/source.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { RandomAccess } from '../core/types.js' */

/**
 * Opens a combined encoding, so that slices, proofs and audits can be made from it. Nothing in it is believed: what it gives is checked against the root
 * when it is used. What is not there is missed only where it is needed.
 *
 *     const { source, outboard, close } = await openEncoding('movie.bao', { root })
 *     for await (const piece of encodeSlice(source, outboard, { start: 5000, end: 6000 })) send(piece)
 *     await close()
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} encoded  bytes behind its end are not looked at
 * @param {{ root: Uint8Array | CID | string, groupLog?: number, size?: number }} what  `groupLog`: 0 unless told, as for `encode`; `size`: bytes of the
 *   blob, of an encoding without a header
 * @returns {Promise<{ source: RandomAccess, outboard: PagedOutboard, close: () => Promise<void> }>} `source`: the bytes of the blob, not verified
 * @throws {BaoError} BAO_BAD_HEADER, BAO_SIZE_TOO_LARGE
 */
export async function openEncoding (encoded, { root, groupLog = 0, size }) {
  const hash = parseRoot(root)
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  if (size !== undefined) assertInteger('size', size)
  const file = await toRandomAccess(encoded)
  try {
    const what = { root: hash, size: size ?? await readHeader(file), groupLog, order: /** @type {const} */ ('pre') }
    // Both read through the same pages: pairs and bytes lie among each other.
    const headerLen = size === undefined ? HEADER_LEN : 0
    const pages = new PageCache(file, headerLen)
    const outboard = new PagedOutboard(pages, what, ({ pre }, start) => pre * PAIR_LEN + start)
    const there = file.size - headerLen
    const source = { size: what.size, overlaps: file.overlaps, read: (/** @type {number} */ start, /** @type {number} */ end) => readBlob(pages, { ...what, there }, start, end) }
    return { source, outboard, close: async () => file.close() }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * Bytes of the blob, without the pairs that stand between them.
 *
 * @param {PageCache} pages @param {{ size: number, groupLog: number, there: number }} what  `there`: bytes of the pages @param {number} start
 * @param {number} end  at most `size`
 * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes where the encoding ends
 */
async function readBlob (pages, { size, groupLog, there }, start, end) {
  const groupLen = CHUNK_LEN * 2 ** groupLog
  const parts = /** @type {[start: number, end: number][]} */ ([])
  for (let at = start; at < end;) {
    const stop = Math.min(end, (Math.floor(at / groupLen) + 1) * groupLen)
    const from = pairsBeforeLeaf(Math.floor(at / CHUNK_LEN), size, groupLog) * PAIR_LEN + at
    if (from >= there) break // the size may lie
    parts.push([from, from + stop - at])
    at = stop
  }
  return parts.length === 0 ? new Uint8Array(0) : pages.read(parts)
}
