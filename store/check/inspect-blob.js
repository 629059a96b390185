// What of one blob is right: its bytes and its tree against the root, and whether anything lies beside them.

import { ChunkRanges } from '../../lib/tree/ranges.js'
import { chunkCount } from '../../lib/tree/geometry.js'
import { validOutboardRanges, validRanges } from '../../verifier/valid.js'
import { BlobScan } from './scan.js'
import { StoredOutboard, presentChunks } from '../storage/content/tree-pages.js'
import { VIEWS } from '../storage/format/keys.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */

/**
 * @typedef {object} Findings
 * @property {ChunkRanges} expected  what the store says is here
 * @property {ChunkRanges} right  what is here, and can be proven
 * @property {ChunkRanges} data  chunks that could be proven, and are wrong or lost
 * @property {ChunkRanges} tree  chunks whose pairs are wrong or lost, or that are here unknown to the tree
 * @property {number} strays  entries that do not belong here, or not in this shape
 * @property {boolean} isUnreadable  has LevelDB left out what it cannot read?
 * @property {boolean} isFileUnreadable  could the system not read the file, for lack of permission or because the
 *   disk fails? Its bytes may be right
 * @property {boolean} isSound
 */

/** All chunks of a blob. @param {number} size */
export const allChunks = size => new ChunkRanges([0, chunkCount(size)])

/**
 * @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record
 * @param {ProgressOptions} [options]
 * @returns {Promise<Findings>}
 */
export async function examine (databases, root, record, { signal, onProgress } = {}) {
  const { data, files } = databases
  files?.forget(record.id)
  const snapshot = data.supports.explicitSnapshots ? data.snapshot() : undefined
  const options = snapshot === undefined ? VIEWS : { ...VIEWS, snapshot }
  const scan = new BlobScan(databases, root, record, options)
  try {
    const expected = record.complete ? allChunks(record.size) : (await presentChunks(data, record)).intersect(allChunks(record.size))
    const outboard = new StoredOutboard(data, root, record, options)
    const valid = await validRanges(scan, outboard, expected, { signal, onProgress })
    await scan.finish(signal)
    const { stored, marked, strays, isUnreadable } = scan
    const isFileUnreadable = scan.failure !== undefined
    const right = valid.intersect(stored)
    const doubtful = expected.difference(right)
    const proven = doubtful.isEmpty ? doubtful : await validOutboardRanges(outboard, doubtful, { signal })
    // A blob that is here in part is known by its marks: those that are wrong, and those that are lost.
    const unknown = record.complete ? ChunkRanges.none : (record.home === 'extents' ? stored.union(marked) : marked).difference(expected)
    const tree = doubtful.difference(proven).union(unknown)
    const isSound = doubtful.isEmpty && unknown.isEmpty && strays === 0 && !isFileUnreadable
    return { expected, right, data: doubtful.intersect(proven), tree, strays, isUnreadable, isFileUnreadable, isSound }
  } finally {
    await scan.close()
    await snapshot?.close()
  }
}
