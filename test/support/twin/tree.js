// The shape of the tree by recursion, and sets of ranges by a test of every chunk: formats.md 2 to 4 in their simplest
// form.
import { leftLen } from './blake3.js'

export const chunkCount = size => Math.max(1, Math.ceil(size / 1024))

/** Returns the node number of the parent over bytes [start, end): the number of the last chunk of its left child. */
export const nodeNumber = (start, end) => (start + leftLen(end - start)) / 1024 - 1

/** Returns the level of a node: the number of its trailing one bits. */
export const levelOf = node => node % 2 === 0 ? 0 : 1 + levelOf((node - 1) / 2)

/**
 * Returns the chunks that a query selects in a blob of `size` bytes: those in one of its ranges, and the last chunk if
 * a range reaches the end or goes beyond it.
 *
 * @param {number} size
 * @param {Array<number | bigint>} boundaries  [start, end, start, ...]; an odd count leaves the last range open
 * @returns {Set<number>}
 */
export function selected (size, boundaries) {
  const chunks = chunkCount(size)
  const chosen = new Set()
  for (let i = 0; i < boundaries.length; i += 2) {
    const start = boundaries[i]
    const end = i + 1 < boundaries.length ? boundaries[i + 1] : Infinity
    for (let chunk = 0; chunk < chunks; chunk++) {
      if (start <= chunk && chunk < end) chosen.add(chunk)
    }
    if (end >= chunks) chosen.add(chunks - 1)
  }
  return chosen
}

/** Returns how many of the chunks in bytes [start, end) are selected: 'none', 'some' or 'all'. */
export function wanted (chosen, start, end) {
  const first = start / 1024
  const count = chunkCount(end - start)
  let hits = 0
  for (let chunk = first; chunk < first + count; chunk++) if (chosen.has(chunk)) hits++
  return hits === 0 ? 'none' : hits === count ? 'all' : 'some'
}

/** Returns true if bytes [start, end) are sent in one piece. */
export const isLeaf = (chosen, start, end, groupLog) =>
  end - start <= 1024 || (end - start <= 1024 * 2 ** groupLog && wanted(chosen, start, end) === 'all')

/**
 * The walk, which gives a parent before its children and again after them. It numbers the parents of the whole tree in
 * the order of the walk: these are the places of their pairs in pre-order and post-order.
 */
export function steps (size, groupLog, boundaries = [0]) {
  const chosen = selected(size, boundaries)
  const places = pairPlaces(size, groupLog)
  const isWanted = (start, end) => wanted(chosen, start, end) !== 'none'
  const out = []
  const visit = (start, end) => {
    if (!isWanted(start, end)) return
    const span = { start, len: end - start, isRoot: start === 0 && end === size }
    const { pairsBefore, ...place } = places.get(`${start} ${end}`)
    if (isLeaf(chosen, start, end, groupLog)) {
      out.push({ kind: 'leaf', ...span, pre: pairsBefore })
      return
    }
    const node = nodeNumber(start, end)
    const split = start + leftLen(end - start)
    const parent = {
      node, level: levelOf(node), ...span, ...place, hasLeft: isWanted(start, split), hasRight: isWanted(split, end)
    }
    out.push({ kind: 'enter', ...parent })
    visit(start, split)
    visit(split, end)
    out.push({ kind: 'leave', ...parent })
  }
  visit(0, size)
  return out
}

/**
 * Returns the places of subtrees, by "start end": the number of pairs before the subtree in pre-order, and for a parent
 * the numbers of its own pair. Below the group level, where outboards have no pairs, each group is numbered like a tree
 * of its own.
 *
 * @returns {Map<string, { pairsBefore: number, isStored?: boolean, pre?: number, post?: number }>}
 */
function pairPlaces (size, groupLog) {
  const places = new Map()
  const visit = (start, end, outboard) => {
    const place = { pairsBefore: outboard.pre }
    places.set(`${start} ${end}`, place)
    if (end - start <= 1024) return
    if (outboard.isStored && end - start <= 1024 * 2 ** groupLog) outboard = { isStored: false, pre: 0, post: 0 }
    const split = start + leftLen(end - start)
    place.isStored = outboard.isStored
    place.pre = outboard.pre++
    visit(start, split, outboard)
    visit(split, end, outboard)
    place.post = outboard.post++
  }
  visit(0, size, { isStored: true, pre: 0, post: 0 })
  return places
}
