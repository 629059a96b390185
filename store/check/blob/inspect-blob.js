// Inspects one stored blob: compares its bytes and pairs with the root, and looks for entries that do not belong to it.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { validOutboardRanges, validRanges } from '../../../verifier/valid.js'
import { contentOf } from '../../storage/content/content-of.js'
import { allChunks } from '../../storage/content/scan.js'
import { StoredOutboard, presentChunks } from '../../storage/content/tree-pages.js'
import { VIEWS } from '../../storage/format/keys.js'

/** @import { Content } from '../../storage/content/content-of.js' */
/** @import { Part } from './part.js' */
/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { ProgressOptions } from '../../../lib/core/types.js' */

/**
 * @typedef {object} Findings
 * @property {ChunkRanges} expected  chunks that the store says are present
 * @property {ChunkRanges} right  chunks that are stored and can be proven
 * @property {ChunkRanges} data  chunks whose pairs are right, but whose bytes are wrong or lost
 * @property {ChunkRanges} tree  chunks whose pairs are wrong or lost, or that are stored without a mark
 * @property {number} strays  how many entries do not belong to the blob, or have a wrong shape
 * @property {boolean} isUnreadable  true if LevelDB has skipped entries that it cannot read
 * @property {boolean} isFileUnreadable  true if the system cannot read the file, for lack of permission or because the
 *   disk fails. The bytes in it may be right
 * @property {boolean} isSound
 */

/**
 * @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record
 * @param {ProgressOptions} [options]
 * @returns {Promise<Findings>}
 */
export async function inspectBlob (databases, root, record, { signal, onProgress } = {}) {
  const { data } = databases
  const snapshot = data.supports.explicitSnapshots ? data.snapshot() : undefined
  const options = snapshot === undefined ? VIEWS : { ...VIEWS, snapshot }
  const scan = contentOf(databases, root, record).scan(options)
  try {
    const all = allChunks(record.size)
    const expected = record.complete ? all : (await presentChunks(data, record)).intersect(all)
    const outboard = new StoredOutboard(data, root, record, options)
    const valid = await validRanges(scan, outboard, expected, { signal, onProgress })
    await scan.finish(signal)
    const { stored, strays, isUnreadable } = scan
    const isFileUnreadable = scan.failure !== undefined
    const right = valid.intersect(stored)
    const doubtful = expected.difference(right)
    const proven = doubtful.isEmpty ? doubtful : await validOutboardRanges(outboard, doubtful, { signal })
    // In a blob that is present in part, marks say which groups are present. Stored groups may have lost their marks.
    const unknown = record.complete ? ChunkRanges.none : scan.found.difference(expected)
    const tree = doubtful.difference(proven).union(unknown)
    const isSound = doubtful.isEmpty && unknown.isEmpty && strays === 0 && !isFileUnreadable
    return { expected, right, data: doubtful.intersect(proven), tree, strays, isUnreadable, isFileUnreadable, isSound }
  } finally {
    await scan.close()
    await snapshot?.close()
  }
}

/**
 * Returns true if all bytes and pairs of a complete blob are right. This takes as long as reading the blob.
 *
 * @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record @param {AbortSignal} [signal]
 * @returns {Promise<boolean>} also false if the system cannot read the blob's file
 */
export async function isIntact (databases, root, record, signal) {
  if (record.size === 0) return true
  const { data, tree, isFileUnreadable } = await inspectBlob(databases, root, record, { signal })
  return data.isEmpty && tree.isEmpty && !isFileUnreadable
}

/**
 * Finds the chunks of groups that are stored as a whole, right or wrong.
 *
 * @param {Content} content @param {Part} part @param {AbortSignal} [signal]
 * @throws the reason when the system cannot read the file
 */
export async function storedChunks (content, part, signal) {
  const scan = content.scan(undefined, part.keys)
  try {
    await scan.finish(signal)
    if (scan.failure !== undefined) throw scan.failure
    return scan.stored.intersect(part.chunks)
  } finally {
    await scan.close()
  }
}
