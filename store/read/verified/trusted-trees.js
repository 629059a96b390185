// Verifies bytes of stored blobs. It reads a pair of the tree when it needs the pair, verifies it once, and keeps it in
// memory as trusted. So the next read nearby hashes only its own bytes.

import { BLOCK, KEY, OUT, u8 } from '../../../lib/engine/arena.js'
import {
  CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG, HASH_LEN, PAIR_LEN, PARENT, ROOT
} from '../../../lib/core/constants.js'
import { LruCache } from '../../../lib/core/lru.js'
import { areEqual } from '../../../lib/core/bytes.js'
import { HASH_MODE, enter } from '../../../lib/engine/mode.js'
import { kernel } from '../../../lib/engine/kernel/index.js'
import { parentMismatch, truncated } from '../../../lib/core/errors.js'
import { Pages, placeInPages } from '../../storage/content/tree-pages.js'
import { GROUP_LEN } from '../../sizes.js'
import { hashesTo } from './subtrees.js'

/** @import { SafeDatabase } from '../../storage/level/safe-database.js' */
/** @import { PairReader, SliceOutboard } from '../../../lib/core/types.js' */
/** @import { Page, PageName } from '../../storage/content/tree-pages.js' */

/**
 * A parent above a subtree: its node, the page and slot of its pair, and whether the subtree is on its left side.
 *
 * @typedef {{ name: PageName, slot: number, node: number, goesLeft: boolean }} Above
 */

/** At most this many pages are kept for one blob, and for all blobs together. A page has 4 KiB and proves 1 MiB. */
const TREE_PAGES = 1024
const ALL_PAGES = 2048

export class TrustedTree {
  #root
  #size
  #pages
  #onCount
  /** The number of pages that `onCount` was told of. */
  #told = 0

  /**
   * @param {Uint8Array} root
   * @param {{ id: number, size: number, base?: number }} blob
   * @param {(change: number) => void} [onCount]  called with the number of added pages; negative for dropped ones
   */
  constructor (root, { id, size, base }, onCount = () => {}) {
    this.#root = root
    this.#size = size
    this.#pages = new Pages(id, base)
    this.#onCount = onCount
  }

  get pageCount () { return this.#told }

  /** @param {Uint8Array} root @param {number} size */
  isOf (root, size) { return size === this.#size && areEqual(root, 0, this.#root) }

  /**
   * Returns true if the blob has these bytes at this position.
   *
   * @param {Uint8Array} bytes  of a whole subtree
   * @param {number} start  where the subtree begins, in bytes
   * @param {SafeDatabase} data
   * @param {() => object} options  for the database
   * @returns {boolean | Promise<boolean>} a promise only when the pair above the subtree is not trusted yet. The result
   *   is also false when pairs above the subtree are wrong or missing
   */
  isRight (bytes, start, data, options) {
    const end = start + bytes.length
    const known = this.known(start, end)
    if (known !== undefined) return hashesTo(bytes, start, this.#size, known)
    const hashes = (/** @type {Uint8Array} */ expected) => hashesTo(bytes, start, this.#size, expected)
    return this.expected(start, end, data, options).then(hashes, () => false)
  }

  /**
   * Returns the expected chaining value of a subtree, or the root if the subtree is the whole blob.
   *
   * @param {number} start  bytes
   * @param {number} end  bytes; there must be a node of the tree that covers exactly these bytes, in whole groups
   * @param {SafeDatabase} data
   * @param {() => object} options  for the database
   * @returns {Promise<Uint8Array>} a view of 32 bytes
   * @throws {BaoError} BAO_PARENT_MISMATCH { node }, BAO_TRUNCATED { node }
   */
  async expected (start, end, data, options) {
    if (this.#pages.count >= TREE_PAGES) {
      this.#pages.clear()
      this.#tell()
    }
    const untrusted = /** @type {Above[]} */ ([])
    const known = this.#climb(start, end, untrusted)
    let isRoot = known === undefined
    let expected = known ?? this.#root
    for (let above = untrusted.pop(); above !== undefined; above = untrusted.pop()) {
      expected = half(await this.#pair(above, { expected, isRoot }, data, options), above.goesLeft)
      isRoot = false
    }
    return expected
  }

  /**
   * Returns the verified pair of a parent. The page in memory may be older than a repair, so if the pair in it is
   * wrong, this reads the page again before it throws.
   *
   * @param {Above} above @param {Parent} parent @param {SafeDatabase} data @param {() => object} options
   */
  async #pair ({ name, slot, node }, parent, data, options) {
    const kept = this.#pages.find(name)
    const known = kept && compared(kept, slot, parent)
    if (known !== undefined) return known
    const page = await this.#pages.read(data, name, options())
    this.#tell()
    const pair = compared(page, slot, parent)
    if (pair !== undefined) return pair
    throw page.pair(slot) === undefined ? truncated({ node, wanted: PAIR_LEN, got: 0 }) : parentMismatch(node)
  }

  /**
   * Returns the expected chaining value of a subtree if the pair above it is already trusted.
   *
   * @param {number} start @param {number} end @returns {Uint8Array | undefined}
   */
  known (start, end) {
    return end - start === this.#size ? this.#root : this.#climb(start, end)
  }

  /**
   * Makes an outboard that has only pairs that are trusted: see `expected`.
   *
   * @returns {SliceOutboard & PairReader}
   */
  get outboard () {
    return {
      root: this.#root,
      size: this.#size,
      groupLog: GROUP_LOG,
      copyPair: ({ node }, out, at) => {
        const { page: name, slot } = placeInPages(node)
        const page = this.#pages.find(name)
        const pair = page?.isTrusted(slot) ? page.pair(slot) : undefined
        if (pair !== undefined) out.set(pair, at)
        return pair !== undefined
      }
    }
  }

  /**
   * Climbs from a subtree towards the root, up to the first trusted pair. Returns the chaining value in this pair that
   * belongs to the child on the way.
   *
   * @param {number} start @param {number} end
   * @param {Above[]} [untrusted]  gets the parents below the trusted pair, from bottom to top. Without it, this looks
   *   only at the first pair above the subtree
   * @returns {Uint8Array | undefined} undefined when no pair on the way is trusted
   */
  #climb (start, end, untrusted) {
    let level = GROUP_LOG
    let len = GROUP_LEN
    for (; len < end - start; len *= 2) level++
    for (; len < this.#size; len *= 2, level++) {
      const middle = start - start % (2 * len) + len
      if (middle >= this.#size) continue // At this height, the last subtree has no sibling.
      const node = middle / CHUNK_LEN - 1
      const { page: name, slot } = placeInPages(node, level)
      const goesLeft = start < middle
      const page = this.#pages.find(name)
      const pair = page?.isTrusted(slot) ? page.pair(slot) : undefined
      if (pair !== undefined) return half(pair, goesLeft)
      if (untrusted === undefined) return undefined
      untrusted.push({ name, slot, node, goesLeft })
    }
    return undefined
  }

  #tell () {
    const change = this.#pages.count - this.#told
    this.#told += change
    if (change !== 0) this.#onCount(change)
  }
}

/** @param {Uint8Array} pair @param {boolean} isLeft */
const half = (pair, isLeft) => isLeft ? pair.subarray(0, HASH_LEN) : pair.subarray(HASH_LEN)

/** Keeps the trees of the complete blobs that were read last. Complete blobs never change. */
export class TrustedTrees {
  #trees = /** @type {LruCache<number, TrustedTree>} */ (new LruCache())
  /** Pages of all trees, plus one for each tree. */
  #count = 0

  /** @param {Uint8Array} root @param {{ id: number, size: number, complete: boolean, base?: number }} record */
  of (root, record) {
    // A blob of one group has no pairs, so its tree is not kept.
    if (!record.complete || record.size <= GROUP_LEN) return new TrustedTree(root, record)
    const { id } = record
    const known = this.#trees.get(id)
    // In a damaged index, two blobs may have the same id.
    if (known !== undefined && !known.isOf(root, record.size)) this.#forget(id)
    else if (known !== undefined) return known
    // Readers may still use a tree that was dropped. Its pages no longer count.
    const tree = new TrustedTree(root, record, change => { if (this.#trees.peek(id) === tree) this.#add(change) })
    this.#trees.set(id, tree)
    this.#add(1)
    return tree
  }

  /** @param {number} id */
  #forget (id) {
    const tree = this.#trees.peek(id)
    if (tree === undefined) return
    this.#trees.delete(id)
    this.#count -= 1 + tree.pageCount
  }

  /** @param {number} pages */
  #add (pages) {
    this.#count += pages
    for (const id of this.#trees.keys()) {
      if (this.#count <= ALL_PAGES || this.#trees.size === 1) return
      this.#forget(id)
    }
  }
}

/** @typedef {{ expected: Uint8Array, isRoot: boolean }} Parent  the chaining value or root to which a pair must hash */

/**
 * @param {Page} page @param {number} slot @param {Parent} parent
 * @returns {Uint8Array | undefined} the pair, trusted from now on; undefined when it is missing or wrong
 */
function compared (page, slot, parent) {
  const pair = page.pair(slot)
  if (pair === undefined || page.isTrusted(slot)) return pair
  if (!joinsTo(pair, parent)) return undefined
  page.trust(slot)
  return pair
}

/** @param {Uint8Array} pair @param {Parent} parent */
function joinsTo (pair, { expected, isRoot }) {
  const flags = enter(HASH_MODE) | PARENT | (isRoot ? ROOT : 0)
  u8.set(pair, BLOCK)
  kernel.compressBlock(KEY, BLOCK, PAIR_LEN, flags, 0, 0, OUT)
  return areEqual(u8, OUT, expected)
}
