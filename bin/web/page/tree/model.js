// The tree of a file, as it is drawn: nodes with their hashes, down to the groups of 16 KiB.

import { leftLen } from '../../../../lib/index.js'

/** @import { Outboard } from '../../../../encoder/index.js' */

/**
 * @typedef {object} TreeNode
 * @property {string} id
 * @property {number} start  of its bytes in the file
 * @property {number} len
 * @property {Uint8Array} cv  its hash, 32 bytes
 * @property {boolean} isLeaf
 * @property {TreeNode} [parent]
 */

export const GROUP_LEN = 1 << 14
const CHUNK_LEN = 1 << 10
const HASH_LEN = 32

export class FileTree {
  /** @param {Blob} file @param {Outboard} outboard */
  constructor (file, outboard) {
    this.file = file
    this.outboard = outboard
    this.root = node(0, outboard.size, outboard.root)
  }

  /** The two nodes below a node; none below a leaf. @param {TreeNode} parent @returns {TreeNode[]} */
  children (parent) {
    if (parent.isLeaf) return []
    const { start, len } = parent
    const left = leftLen(len)
    const pair = /** @type {Uint8Array} */ (this.outboard.pair(this.number(parent)))
    return [
      node(start, left, pair.slice(0, HASH_LEN), parent),
      node(start + left, len - left, pair.slice(HASH_LEN), parent)
    ]
  }

  /** The number of a parent, as errors give it. @param {TreeNode} parent */
  number ({ start, len }) { return (start + leftLen(len)) / CHUNK_LEN - 1 }

  /** The nodes from the root to the group that has a byte. @param {number} offset @returns {TreeNode[]} */
  path (offset) {
    const path = [this.root]
    for (let last = this.root; !last.isLeaf;) {
      const [left, right] = this.children(last)
      path.push(last = offset < right.start ? left : right)
    }
    return path
  }
}

/** @param {number} start @param {number} len @param {Uint8Array} cv @param {TreeNode} [parent] @returns {TreeNode} */
const node = (start, len, cv, parent) =>
  ({ id: `${start}-${len}`, start, len, cv, isLeaf: len <= GROUP_LEN, ...parent && { parent } })
