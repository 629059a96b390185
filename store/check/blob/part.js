// Names the part of a stored blob that is inspected and repaired.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { allChunks } from '../../storage/content/scan.js'
import { PAGE_SPAN } from '../../storage/content/tree-pages.js'
import { allOfId, extentsOf } from '../../storage/format/keys.js'

/** @import { Content } from '../../storage/content/content-of.js' */
/** @import { KeyRange } from '../../storage/content/scan.js' */
/** @import { BlobRecord } from '../../storage/format/records.js' */

/**
 * The part of a blob that is inspected.
 *
 * @typedef {object} Part
 * @property {boolean} isWhole  true if the part is the whole blob
 * @property {ChunkRanges} chunks  the chunks of the part
 * @property {ChunkRanges} rest  all other chunks, which count as present
 * @property {KeyRange} keys  range of the part's extents and pages in the data database
 */

/** Returns the whole blob as a part. @param {BlobRecord} record @returns {Part} */
export const wholeOf = ({ id, size }) =>
  ({ isWhole: true, chunks: allChunks(size), rest: ChunkRanges.none, keys: allOfId(id) })

/**
 * Returns the part around some bytes: everything under the pages of the lowest band over them, which cover 1 MiB each.
 *
 * @param {Content} content
 * @param {{ start: number, end: number }} span  bytes
 * @param {ChunkRanges} present  chunks of the blob
 * @returns {Part}
 */
export function partAround (content, { start, end }, present) {
  const { id, size } = content.record
  const first = start - start % PAGE_SPAN
  const last = Math.max(1, Math.ceil(Math.min(end, size) / PAGE_SPAN)) * PAGE_SPAN
  const all = ChunkRanges.fromBytes(first, last)
  const chunks = content.certainlyStored(all, present)
  return { isWhole: false, chunks, rest: present.difference(all), keys: extentsOf(id, first, last) }
}
