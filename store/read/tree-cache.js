// The tree of one stored blob as far as it is believed: pairs are read when they are needed, compared once, and then trusted, because
// nobody else writes to this memory.

import { BLOCK, KEY, OUT, u8 } from '../../lib/engine/arena.js'
import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG, HASH_LEN, PAIR_LEN, PARENT, ROOT } from '../../lib/core/constants.js'
import { areEqual } from '../../lib/core/bytes.js'
import { HASH_MODE, enter } from '../../lib/engine/mode.js'
import { kernel } from '../../lib/engine/kernel/index.js'
import { parentMismatch, truncated } from '../../lib/core/errors.js'
import { GROUP_LEN, Pages, placeInPages } from '../storage/content/tree-pages.js'

/** @import { Database } from '../storage/level/database.js' */
/** @import { Page, PageName } from '../storage/content/tree-pages.js' */

/** @typedef {{ name: PageName, slot: number, node: number, goesLeft: boolean }} Above  a parent, where its pair stands, and on which side of it one is */

/** Pages that are kept of one blob, and of all: 4 KiB each, which prove 1 MiB. */
const TREE_PAGES = 1024
const ALL_PAGES = 2048

export class TrustedTree {
  #root
  #size
  #pages
  #onCount
  /** Pages, as they were told. */
  #told = 0

  /** @param {Uint8Array} root @param {{ id: number, size: number }} blob @param {(change: number) => void} [onCount]  told of pages that come and go */
  constructor (root, { id, size }, onCount = () => {}) {
    this.#root = root
    this.#size = size
    this.#pages = new Pages(id)
    this.#onCount = onCount
  }

  get pageCount () { return this.#told }

  /** @param {Uint8Array} root @param {number} size */
  isOf (root, size) { return size === this.#size && areEqual(root, 0, this.#root) }

  /**
   * The chaining value that a subtree must have; the hash, if that is the whole blob.
   *
   * @param {number} start  bytes
   * @param {number} end  bytes; a node of the tree must cover exactly these, whole groups
   * @param {Database} data
   * @param {() => object} options  for the database
   * @returns {Promise<Uint8Array>} a view of 32 bytes
   * @throws {BaoError} BAO_PARENT_MISMATCH { node }, BAO_TRUNCATED { node }
   */
  async promised (start, end, data, options) {
    if (this.#pages.count >= TREE_PAGES) {
      this.#pages.clear()
      this.#tell()
    }
    const doubtful = /** @type {Above[]} */ ([])
    const known = this.#climb(start, end, doubtful)
    let isRoot = known === undefined
    let promised = known ?? this.#root
    for (let above = doubtful.pop(); above !== undefined; above = doubtful.pop()) {
      promised = half(await this.#pair(above, promised, isRoot, data, options), above.goesLeft)
      isRoot = false
    }
    return promised
  }

  /**
   * The pair of a parent, compared. What is kept of a page may be from before a repair: it is read once more before it is blamed.
   *
   * @param {Above} above @param {Uint8Array} promised @param {boolean} isRoot @param {Database} data @param {() => object} options
   */
  async #pair ({ name, slot, node }, promised, isRoot, data, options) {
    const kept = this.#pages.find(name)
    const known = kept && compared(kept, slot, promised, isRoot)
    if (known !== undefined) return known
    const page = await this.#pages.read(data, name, options())
    this.#tell()
    const pair = compared(page, slot, promised, isRoot)
    if (pair !== undefined) return pair
    throw page.pair(slot) === undefined ? truncated({ node, wanted: PAIR_LEN, got: 0 }) : parentMismatch(node)
  }

  /**
   * The same when nothing has to be read or compared for it, because who was there before has gone the whole way from the root.
   *
   * @param {number} start @param {number} end @returns {Uint8Array | undefined}
   */
  known (start, end) {
    return end - start === this.#size ? this.#root : this.#climb(start, end)
  }

  /**
   * What the lowest parent promises whose pair is trusted, on the way from a subtree up to the root.
   *
   * @param {number} start @param {number} end
   * @param {Above[]} [doubtful]  gets the parents below it, upwards; without it only the lowest of all is looked at
   * @returns {Uint8Array | undefined} undefined when there is none
   */
  #climb (start, end, doubtful) {
    let level = GROUP_LOG
    let len = GROUP_LEN
    for (; len < end - start; len *= 2) level++
    for (; len < this.#size; len *= 2, level++) {
      const middle = start - start % (2 * len) + len
      if (middle >= this.#size) continue // the last subtree has no sibling at this height
      const node = middle / CHUNK_LEN - 1
      const { page: name, slot } = placeInPages(node, level)
      const goesLeft = start < middle
      const page = this.#pages.find(name)
      const pair = page?.isTrusted(slot) ? page.pair(slot) : undefined
      if (pair !== undefined) return half(pair, goesLeft)
      if (doubtful === undefined) return undefined
      doubtful.push({ name, slot, node, goesLeft })
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

/** Trees of blobs that are whole, and so do not change: those last used. */
export class TrustedTrees {
  #trees = /** @type {Map<number, TrustedTree>} */ (new Map())
  /** What the trees hold: each counts as one page, and has more. */
  #count = 0

  /** @param {Uint8Array} root @param {{ id: number, size: number, complete: boolean }} record */
  of (root, record) {
    // Blobs of one group have no pairs to be kept.
    if (!record.complete || record.size <= GROUP_LEN) return new TrustedTree(root, record)
    const { id } = record
    const known = this.#trees.get(id)
    // In an index that is damaged two blobs may have the same id.
    if (known !== undefined && !known.isOf(root, record.size)) this.#forget(id)
    else if (known !== undefined) {
      this.#trees.delete(id)
      this.#trees.set(id, known)
      return known
    }
    // One that was let go of goes on for those who still read it.
    const tree = new TrustedTree(root, record, change => { if (this.#trees.get(id) === tree) this.#add(change) })
    this.#trees.set(id, tree)
    this.#add(1)
    return tree
  }

  /** @param {number} id */
  #forget (id) {
    const tree = this.#trees.get(id)
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

/** @param {Page} page @param {number} slot @param {Uint8Array} promised @param {boolean} isRoot @returns {Uint8Array | undefined} a pair; undefined when it is not the promised one */
function compared (page, slot, promised, isRoot) {
  const pair = page.pair(slot)
  if (pair === undefined || page.isTrusted(slot)) return pair
  if (!joinsTo(pair, promised, isRoot)) return undefined
  page.trust(slot)
  return pair
}

/** @param {Uint8Array} pair @param {Uint8Array} promised @param {boolean} isRoot */
function joinsTo (pair, promised, isRoot) {
  const flags = enter(HASH_MODE) | PARENT | (isRoot ? ROOT : 0)
  u8.set(pair, BLOCK)
  kernel.compressBlock(KEY, BLOCK, PAIR_LEN, flags, 0, 0, OUT)
  return areEqual(u8, OUT, promised)
}
