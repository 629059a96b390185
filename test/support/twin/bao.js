// Outboards, responses, slices and their decoder, by recursion over a tree that is built once for each blob.
// Sources: formats.md 2.1, 2.3, 3.4, 4.3, 4.5.
import { concat, header, same } from '../bytes.js'
import { HASH, cvBytes, leftLen, parent, rootBytes, subtree } from './blake3.js'
import { isLeaf, nodeNumber, selected, wanted } from './tree.js'

/** @typedef {{ start: number, end: number, cv: Uint8Array, bytes: Uint8Array, left?: Tree, right?: Tree }} Tree
 *  `cv` of the topmost node is the root hash. */

/** @returns {Tree} */
export function grow (bytes, mode = HASH) {
  const { last, ...tree } = growAt(bytes, 0, mode)
  return { ...tree, cv: rootBytes(last) }
}

/** Builds a subtree: its bytes are at `start` in their blob. */
export function growAt (bytes, start, mode) {
  const end = start + bytes.length
  if (bytes.length <= 1024) {
    const last = subtree(bytes, start / 1024, mode)
    return { start, end, bytes, last, cv: cvBytes(last) }
  }
  const split = leftLen(bytes.length)
  const left = growAt(bytes.subarray(0, split), start, mode)
  const right = growAt(bytes.subarray(split), start + split, mode)
  const last = parent(left.cv, right.cv, mode)
  return { start, end, bytes, last, left, right, cv: cvBytes(last) }
}

const pairOf = tree => concat([tree.left.cv, tree.right.cv])

const isStored = (tree, groupLog) => tree.end - tree.start > 1024 * 2 ** groupLog

export const preOrder = (tree, groupLog) => concat(preOrderPairs(tree, groupLog))

const preOrderPairs = (tree, groupLog) => isStored(tree, groupLog)
  ? [pairOf(tree), ...preOrderPairs(tree.left, groupLog), ...preOrderPairs(tree.right, groupLog)]
  : []

export const postOrder = (tree, groupLog) => concat(postOrderPairs(tree, groupLog))

const postOrderPairs = (tree, groupLog) => isStored(tree, groupLog)
  ? [...postOrderPairs(tree.left, groupLog), ...postOrderPairs(tree.right, groupLog), pairOf(tree)]
  : []

/** Returns the parts of a response in order, each with its name in the vectors. */
export function items (tree, groupLog, boundaries) {
  const chosen = selected(tree.end, boundaries)
  const visit = tree => {
    const { start, end, left, right } = tree
    if (wanted(chosen, start, end) === 'none') return []
    if (isLeaf(chosen, start, end, groupLog)) return [{ name: `L${start}+${end - start}`, bytes: tree.bytes }]
    return [{ name: `P${nodeNumber(start, end)}`, bytes: pairOf(tree) }, ...visit(left), ...visit(right)]
  }
  return visit(tree)
}

export const response = (tree, groupLog, boundaries) =>
  concat(items(tree, groupLog, boundaries).map(item => item.bytes))

export const slice = (tree, groupLog, boundaries) => concat([header(tree.end), response(tree, groupLog, boundaries)])

export const combined = (tree, groupLog) => slice(tree, groupLog, [0])

/**
 * Decodes a response as a decoder must: everything before the first fault, and the fault.
 *
 * @param {Uint8Array} response  without a header
 * @param {object} options
 * @param {Uint8Array} options.root
 * @param {number} options.size
 * @param {number} options.groupLog
 * @param {Array<number | bigint>} options.boundaries
 * @param {import('./blake3.js').Mode} [options.mode]
 * @returns {{ items: string[], leaves: Array<{ offset: number, bytes: Uint8Array }>, fault?: object }}
 */
export function decode (response, { root, size, groupLog, boundaries, mode = HASH }) {
  const result = { items: [], leaves: [] }
  const chosen = selected(size, boundaries)
  let rest = response

  const take = (count, place) => {
    if (rest.length < count) throw new Fault({ code: 'BAO_TRUNCATED', ...place, wanted: count, got: rest.length })
    const taken = rest.subarray(0, count)
    rest = rest.subarray(count)
    return taken
  }

  const check = (last, expected, isRoot, fault) => {
    if (!same(isRoot ? rootBytes(last) : cvBytes(last), expected)) throw new Fault(fault)
  }

  const visit = (start, end, expected) => {
    if (wanted(chosen, start, end) === 'none') return
    const isRoot = start === 0 && end === size
    if (isLeaf(chosen, start, end, groupLog)) {
      const bytes = take(end - start, { start })
      const fault = { code: 'BAO_LEAF_MISMATCH', start, len: end - start }
      check(subtree(bytes, start / 1024, mode), expected, isRoot, fault)
      result.items.push(`L${start}+${end - start}`)
      result.leaves.push({ offset: start, bytes })
      return
    }
    const node = nodeNumber(start, end)
    const pair = take(64, { node })
    const [left, right] = [pair.subarray(0, 32), pair.subarray(32)]
    check(parent(left, right, mode), expected, isRoot, { code: 'BAO_PARENT_MISMATCH', node })
    result.items.push(`P${node}`)
    const split = start + leftLen(end - start)
    visit(start, split, left)
    visit(split, end, right)
  }

  try {
    visit(0, size, root)
  } catch (err) {
    if (!(err instanceof Fault)) throw err
    result.fault = err.fault
  }
  return result
}

class Fault {
  constructor (fault) {
    this.fault = fault
  }
}
