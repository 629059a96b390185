// baobox tree: draws the upper levels of a hash tree.

import { CHUNK_LEN, HASH_LEN, MAX_GROUP_LOG } from '../../../lib/core/constants.js'
import { chunkCount, leftLen, toCid } from '../../../lib/index.js'
import { UsageError } from '../../terminal/errors.js'
import { formatCount, formatExact, hex } from '../../terminal/format.js'
import { deliver, print } from '../../terminal/output.js'
import { STORE_LOG, withBlob, withOutboard } from '../encodings/blobs.js'
import { drawSvg } from './tree-svg.js'

/** @import { OpenOutboard } from '../encodings/blobs.js' */
/** @import { Run } from '../../types.js' */

/**
 * @typedef {object} TreeNode
 * @property {string} cv  the chaining value in hexadecimal digits; the hash for the root
 * @property {number} start  first byte below the node
 * @property {number} end  of the bytes below the node, not included
 * @property {number} chunks
 * @property {TreeNode[]} children  left and right; none at the lowest level of the drawing
 */

const DEFAULT_DEPTH = 4
/** The number of digits of a chaining value that are printed without --long. */
const SHORT_LEN = 16

/** @type {Run<typeof import('../../table/hashing.js').tree>} */
export async function tree ({ values, operands: [name] }, context) {
  const { svg, output, long, json, store: dir, depth = DEFAULT_DEPTH } = values
  if (output !== undefined && !svg) throw new UsageError('--output needs --svg')
  await withBlob(name, dir, context, async blob => {
    const groupLog = values['group-log'] ?? logFor(blob.size, depth)
    // A tree with a smaller group log has all pairs that are needed, and a store has such a tree.
    const log = blob.stored ? Math.min(groupLog, STORE_LOG) : groupLog
    await withOutboard(blob, log, context, async outboard => {
      const root = await nodesOf(outboard, groupLog, depth)
      const title = `${toCid(outboard.root)}, ${formatExact(blob.size)} ${blob.size === 1 ? 'byte' : 'bytes'}`
      if (json) return print(`${JSON.stringify({ cid: `${toCid(outboard.root)}`, size: blob.size, root })}\n`)
      if (svg) return deliver(piecesOf(drawSvg(root, title)), output, { name: 'tree' })
      await print(`${title}\n${[...linesOf(root, long ? 2 * HASH_LEN : SHORT_LEN)].join('')}`)
    })
  })
}

/** The group log with which the tree of a blob has `depth` levels. @param {number} size @param {number} depth */
const logFor = (size, depth) =>
  Math.min(Math.max(Math.ceil(Math.log2(chunkCount(size))) - depth, 0), MAX_GROUP_LOG)

/**
 * The upper nodes of a tree.
 *
 * @param {OpenOutboard} outboard
 * @param {number} groupLog  of the leaves
 * @param {number} depth  levels below the root
 */
function nodesOf (outboard, groupLog, depth) {
  const groupLen = CHUNK_LEN * 2 ** groupLog
  /** @param {Uint8Array} cv @param {number} start @param {number} len @param {number} left  levels left to draw */
  const visit = async (cv, start, len, left) => {
    /** @type {TreeNode} */
    const node = { cv: hex(cv), start, end: start + len, chunks: chunkCount(len), children: [] }
    if (left === 0 || len <= groupLen) return node
    const middle = leftLen(len)
    // The node number of a parent is the index of the last chunk on its left side.
    const pair = await outboard.pair((start + middle) / CHUNK_LEN - 1)
    if (pair === undefined) return node
    node.children = [
      await visit(pair.slice(0, HASH_LEN), start, middle, left - 1),
      await visit(pair.slice(HASH_LEN), start + middle, len - middle, left - 1)
    ]
    return node
  }
  return visit(outboard.root, 0, outboard.size, depth)
}

/**
 * @param {TreeNode} node
 * @param {number} digits
 * @param {string} front  before the node's own line @param {string} below  before the lines of its children
 * @returns {Generator<string>}
 */
function * linesOf ({ cv, start, end, chunks, children }, digits, front = '', below = '') {
  yield `${front}${cv.slice(0, digits)}  ${start}-${end}  ${formatCount(chunks, 'chunk')}\n`
  for (const [i, child] of children.entries()) {
    const isLast = i === children.length - 1
    yield * linesOf(child, digits, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`)
  }
}

/** @param {string} text */
async function * piecesOf (text) { yield new TextEncoder().encode(text) }
