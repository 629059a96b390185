// Computes lost pairs again, from the pairs or bytes below them. A pair is right if it hashes to its expected chaining
// value, which the pair above it has.

import { CHUNK_LEN, HASH_LEN, PAIR_LEN } from '../../../lib/core/constants.js'
import { concat } from '../../../lib/core/bytes.js'
import { equals } from 'uint8arrays/equals'
import { leftLen } from '../../../lib/tree/geometry.js'
import { parentCv, rootHash, subtreeCv } from '../../../lib/hash/subtree.js'
import { validOutboardRanges } from '../../../verifier/valid.js'
import { PageEditor, StoredOutboard, placeInPages } from '../../storage/content/tree-pages.js'
import { GROUP_LEN } from '../../sizes.js'
import { VIEWS } from '../../storage/format/keys.js'

/** @import { BytesReader, Content } from '../../storage/content/content-of.js' */
/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */
/** @import { Databases } from '../../storage/databases.js' */

/**
 * @param {Content} content
 * @param {{ stored: ChunkRanges, wanted: ChunkRanges }} groups  `stored`: groups that are stored; `wanted`: those of
 *   them that should be proven
 * @param {AbortSignal} [signal]
 */
export async function recomputePairs (content, { stored, wanted }, signal) {
  const { databases: { data }, root, record } = content
  const provable = await validOutboardRanges(new StoredOutboard(data, root, record, VIEWS), wanted, { signal })
  const doubtful = wanted.difference(provable)
  if (doubtful.isEmpty) return
  const reader = content.reader()
  try {
    await new PairRecomputer({ data, root, record, stored, doubtful, reader, signal }).visit(0, record.size, root)
  } finally {
    await reader.close()
  }
}

class PairRecomputer {
  #task
  #outboard

  /**
   * @param {object} task
   * @param {Databases['data']} task.data
   * @param {Uint8Array} task.root
   * @param {BlobRecord} task.record
   * @param {ChunkRanges} task.stored  groups that are stored
   * @param {ChunkRanges} task.doubtful  groups that should be proven, and that the stored pairs do not prove
   * @param {BytesReader} task.reader
   * @param {AbortSignal} [task.signal]
   */
  constructor (task) {
    this.#task = task
    this.#outboard = this.#newOutboard()
  }

  /**
   * Computes the pair of a node again if it is wrong, and then the pairs below it, which are compared with the chaining
   * values in that pair.
   *
   * @param {number} start  bytes @param {number} end
   * @param {Uint8Array} expected  chaining value, or the root
   */
  async visit (start, end, expected) {
    const { doubtful, signal } = this.#task
    signal?.throwIfAborted()
    if (end - start <= GROUP_LEN || !doubtful.intersects(start / CHUNK_LEN, Math.ceil(end / CHUNK_LEN))) return
    const middle = start + leftLen(end - start)
    const node = middle / CHUNK_LEN - 1
    const isExpected = (/** @type {Uint8Array | undefined} */ pair) =>
      pair !== undefined && equals(this.#cvOfPair(pair, start, end), expected)
    let pair = await this.#pair(node)
    const { page } = placeInPages(node)
    // First compute the pair from the stored pairs right below. These may be wrong, too. Then compute it from stored
    // pairs of other pages only, and finally from the bytes.
    const isOnOtherPage = (/** @type {number} */ below) => placeInPages(below).page.band !== page.band
    for (const trusts of [() => true, isOnOtherPage, () => false]) {
      if (isExpected(pair)) break
      pair = await this.#compute(start, middle, end, trusts)
      if (isExpected(pair)) await this.#keep(node, /** @type {Uint8Array} */ (pair))
    }
    if (pair === undefined || !isExpected(pair)) return
    await this.visit(start, middle, pair.slice(0, HASH_LEN))
    await this.visit(middle, end, pair.slice(HASH_LEN))
  }

  /**
   * @param {number} start @param {number} middle @param {number} end
   * @param {(node: number) => boolean} trusts  returns true if the stored pair of this node may be used
   */
  async #compute (start, middle, end, trusts) {
    const left = await this.#cv(start, middle, trusts)
    const right = left && await this.#cv(middle, end, trusts)
    return left && right && concat([left, right])
  }

  /**
   * @param {number} start @param {number} end @param {(node: number) => boolean} trusts
   * @returns {Promise<Uint8Array | undefined>} undefined when bytes are missing
   */
  async #cv (start, end, trusts) {
    const { stored, reader, signal } = this.#task
    signal?.throwIfAborted()
    if (end - start <= GROUP_LEN) {
      if (!stored.has(start / CHUNK_LEN)) return undefined
      const bytes = await reader.read(start, end)
      return bytes.length === end - start ? subtreeCv(bytes, start / CHUNK_LEN) : undefined
    }
    const middle = start + leftLen(end - start)
    const node = middle / CHUNK_LEN - 1
    const pair = (trusts(node) ? await this.#pair(node) : undefined) ?? await this.#compute(start, middle, end, trusts)
    return pair && parentCv(pair.subarray(0, HASH_LEN), pair.subarray(HASH_LEN))
  }

  /** @param {Uint8Array} pair @param {number} start @param {number} end  where the bytes below it begin and end */
  #cvOfPair (pair, start, end) {
    const isRoot = start === 0 && end === this.#task.record.size
    return (isRoot ? rootHash : parentCv)(pair.subarray(0, HASH_LEN), pair.subarray(HASH_LEN))
  }

  /** @param {number} node @returns {Promise<Uint8Array | undefined>} the stored pair */
  async #pair (node) {
    const pair = new Uint8Array(PAIR_LEN)
    await this.#outboard.prepare([node])
    return this.#outboard.copyPair({ node }, pair, 0) ? pair : undefined
  }

  /** @param {number} node @param {Uint8Array} pair  proven */
  async #keep (node, pair) {
    const { data, record } = this.#task
    const editor = new PageEditor(record.id)
    await editor.load(data, [placeInPages(node).page])
    editor.setPair(node, pair, 0)
    await data.batch(editor.take())
    this.#outboard = this.#newOutboard()
  }

  #newOutboard () {
    const { data, root, record } = this.#task
    return new StoredOutboard(data, root, record, VIEWS)
  }
}
