// Finds subtrees of a stored blob that a new blob can keep: their chaining values and pairs. The pairs above a subtree
// prove these without the bytes.

import { CHUNK_LEN, HASH_LEN, PAIR_LEN } from '../../../lib/core/constants.js'
import { areEqual } from '../../../lib/core/bytes.js'
import { BaoError, parentMismatch, truncated } from '../../../lib/core/errors.js'
import { HASH_MODE } from '../../../lib/engine/mode.js'
import { parentCvIn } from '../../../lib/hash/subtree.js'
import { subtreesOf } from '../../read/verified/subtrees.js'
import { StoredOutboard } from '../../storage/content/tree-pages.js'
import { GROUP_LEN } from '../../sizes.js'
import { VIEWS } from '../../storage/format/keys.js'

/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { BlobAccess } from '../../read/blob-access.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { Subtree } from '../incoming-blob.js' */
/** @import { ByteRange } from '../../../lib/tree/ranges.js' */

export class StoredSubtrees {
  #data
  #tree
  #outboard

  /**
   * @param {{ access: BlobAccess, databases: Databases }} parts @param {Uint8Array} root @param {BlobRecord} record
   */
  constructor ({ access, databases: { data } }, root, record) {
    this.#data = data
    this.#tree = access.trees.of(root, record)
    this.#outboard = new StoredOutboard(data, root, record, VIEWS)
  }

  /**
   * @param {ByteRange} span  see `keptSpans`
   * @returns {Promise<Subtree | undefined>} undefined when pairs in the subtree or above it are lost or damaged; its
   *   bytes may still be right
   */
  async find ({ start, end }) {
    try {
      const cv = (await this.#tree.expected(start, end, this.#data, () => VIEWS)).slice()
      const subtree = { cv, len: end - start, pairs: /** @type {Subtree['pairs']} */ ([]) }
      if (end - start > GROUP_LEN) {
        await this.#outboard.prepare([middleOf(start, end)]) // One page has all pairs of 1 MiB.
        this.#addPairs(subtree.pairs, { start, end }, cv)
      }
      return subtree
    } catch (error) {
      if (error instanceof BaoError && FAULTS.includes(error.code)) return undefined
      throw error
    }
  }

  /**
   * Adds the pairs of a perfect subtree, after comparing each with the pair above it.
   *
   * @param {Subtree['pairs']} pairs @param {ByteRange} span @param {Uint8Array} cv  the expected chaining value of the
   *   span
   */
  #addPairs (pairs, { start, end }, cv) {
    if (end - start <= GROUP_LEN) return
    const node = middleOf(start, end)
    const pair = new Uint8Array(PAIR_LEN)
    if (!this.#outboard.copyPair({ node }, pair, 0)) throw truncated({ node, wanted: PAIR_LEN, got: 0 })
    if (!areEqual(cv, 0, parentCvIn(HASH_MODE, pair, false))) throw parentMismatch(node)
    pairs.push([node, pair])
    const middle = (start + end) / 2
    this.#addPairs(pairs, { start, end: middle }, pair.subarray(0, HASH_LEN))
    this.#addPairs(pairs, { start: middle, end }, pair.subarray(HASH_LEN))
  }
}

/** Error codes for wrong or missing pairs. */
const FAULTS = ['BAO_PARENT_MISMATCH', 'BAO_TRUNCATED']

/** Returns the node of the parent of a perfect subtree. @param {number} start @param {number} end */
const middleOf = (start, end) => (start + end) / 2 / CHUNK_LEN - 1

/**
 * Yields adjacent subtrees of at most 1 MiB that fill a span, which ends at the border of a group or at the end of the
 * blob. The first subtree may be the whole stored blob or the whole new one, and a root has no chaining value. So the
 * first subtree is divided in two.
 *
 * @param {ByteRange} span  more than the first group @param {number} size  of the blob
 * @returns {Generator<ByteRange>}
 */
export function * keptSpans (span, size) {
  for (const { start, end } of subtreesOf(span, size)) {
    if (start === 0 && end > GROUP_LEN) {
      yield { start, end: end / 2 }
      yield { start: end / 2, end }
    } else {
      yield { start, end }
    }
  }
}
