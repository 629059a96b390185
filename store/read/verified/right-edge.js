// Reads the right edge of a stored tree, which is the part that appending to the blob needs. The root proves all of it.

import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { leftLen } from '../../../lib/tree/geometry.js'
import { concat } from '../../../lib/core/bytes.js'
import { GROUP_LEN } from '../../sizes.js'
import { VIEWS } from '../../storage/format/keys.js'

/** @import { TrustedTree } from './trusted-trees.js' */
/** @import { SafeDatabase } from '../../storage/level/safe-database.js' */

/**
 * @typedef {object} RightEdge
 * @property {{ cv: Uint8Array, len: number }[]} subtrees  from left to right; every blob that begins with this one also
 *   has them
 * @property {{ node: number, pair: Uint8Array }[]} pairs  pairs that a longer blob does not have, or that differ there
 * @property {number} start  where the last group begins, in bytes, if it is not full; otherwise the size
 */

/**
 * @param {TrustedTree} tree @param {SafeDatabase} data @param {number} size  bytes: more than a group
 * @returns {Promise<RightEdge>}
 * @throws {BaoError} BAO_PARENT_MISMATCH, BAO_TRUNCATED
 */
export async function readRightEdge (tree, data, size) {
  const expected = async (/** @type {number} */ start, /** @type {number} */ end) =>
    new Uint8Array(await tree.expected(start, end, data, () => VIEWS))
  /** @type {RightEdge} */
  const edge = { subtrees: [], pairs: [], start: 0 }
  while (size - edge.start > GROUP_LEN) {
    const { start } = edge
    const len = leftLen(size - start)
    const middle = start + len
    const cv = await expected(start, middle)
    edge.subtrees.push({ cv, len })
    if (size - start < 2 * len) {
      edge.pairs.push({ node: middle / CHUNK_LEN - 1, pair: concat([cv, await expected(middle, size)]) })
    }
    edge.start = middle
  }
  if (size - edge.start === GROUP_LEN) {
    edge.subtrees.push({ cv: await expected(edge.start, size), len: GROUP_LEN })
    edge.start = size
  }
  return edge
}
