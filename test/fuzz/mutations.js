// What liars do to an encoding. A lie starts as the truth and is changed in place, once or several times.
import { concat, flipped, hex } from '../support/bytes.js'
import { Bao, leftLen } from '../support/twin/index.js'
import { knownTo, otherKey, pairOf, siblingOf, someBoundaries, someGroupLog } from './cases.js'
import { walkShape, selectedSpans } from './oracle.js'

/** @import { Random } from './random.js' */
/** @import { Case } from './cases.js' */

/**
 * @typedef {object} Lie
 * @property {Uint8Array[]} parts  of the response, in order; the byte-level changes leave one
 * @property {bigint} size  what is claimed
 * @property {number} groupLog  that the receiver believes in
 * @property {number[]} boundaries
 * @property {Uint8Array} [key]
 * @property {Uint8Array} root
 * @property {string[]} told  what was done, in words
 */

/** @param {Case} truth @returns {Lie} */
export const truthOf = ({ blob, groupLog, boundaries, items }) =>
  ({
    parts: items.map(item => item.bytes),
    size: BigInt(blob.bytes.length),
    groupLog,
    boundaries,
    key: blob.key,
    root: blob.root,
    told: []
  })

/** How often each is chosen. */
const WEIGHTS = {
  flip: 8,
  truncate: 5,
  append: 2,
  cutOut: 2,
  insert: 2,
  overwrite: 2,
  swapParts: 3,
  repeatPart: 3,
  dropPart: 3,
  swapHalves: 3,
  foreignPart: 3,
  splice: 3,
  ownPart: 3,
  claimSize: 5,
  forge: 8,
  claimGroupLog: 2,
  claimLeaf: 2,
  claimRanges: 3,
  claimKey: 1,
  claimRoot: 2
}

/**
 * Tells some lies.
 *
 * @param {Random} random @param {Case} truth @param {Record<string, number>} [weights]
 * @returns {Lie}
 */
export function lieAbout (random, truth, weights = WEIGHTS) {
  const lie = truthOf(truth)
  for (let count = random.pick([0, 1, 1, 1, 1, 1, 2, 2, 3]); count > 0; count--) {
    const name = random.weighted(weights)
    LIES[name](random, lie, truth)
    lie.told.push(name)
  }
  return lie
}

/** The response of a lie in one piece. @param {Lie} lie */
export const responseOf = lie => lie.parts.length === 1 ? lie.parts[0] : concat(lie.parts)

/** Makes bytes of a lie something else. @param {Lie} lie @param {(bytes: Uint8Array) => Uint8Array} change */
const change = (lie, change) => { lie.parts = [change(responseOf(lie))] }

/** Bytes with one of them changed. @param {Random} random @param {Uint8Array} bytes */
export const oneFlipped = (random, bytes) => bytes.length === 0
  ? bytes
  : flipped(bytes, random.below(bytes.length), random.chance(0.5) ? 1 << random.below(8) : random.between(1, 255))

/** A place in a list, or undefined when it is empty. */
const placeIn = (random, { length }) => length === 0 ? undefined : random.below(length)

/** @type {Record<string, (random: Random, lie: Lie, truth: Case) => void>} */
const LIES = {
  flip: (random, lie) => change(lie, bytes => oneFlipped(random, bytes)),
  truncate: (random, lie) => change(
    lie, bytes => bytes.slice(0, random.chance(0.2) ? Math.max(0, bytes.length - 1) : random.below(bytes.length + 1))
  ),
  append: (random, lie, { items }) => lie.parts.push(
    random.chance(0.5) ? random.bytes(random.between(1, 200)) : concat(items.map(item => item.bytes))
  ),
  cutOut: (random, lie) => change(lie, bytes => {
    const [from, to] = [random.below(bytes.length + 1), random.below(bytes.length + 1)].sort((a, b) => a - b)
    return concat([bytes.subarray(0, from), bytes.subarray(random.chance(0.5) ? to : Math.min(to, from + 1))])
  }),
  insert: (random, lie) => change(lie, bytes => {
    const at = random.below(bytes.length + 1)
    return concat([bytes.subarray(0, at), random.bytes(random.pick([1, 8, 32, 64, 1024])), bytes.subarray(at)])
  }),
  overwrite: (random, lie) => change(lie, bytes => {
    const at = random.below(bytes.length + 1)
    const out = bytes.slice()
    out.subarray(at, at + random.pick([1, 8, 32, 64, 1024])).fill(random.pick([0, 255]))
    return out
  }),
  swapParts (random, lie) {
    const [a, b] = [placeIn(random, lie.parts), placeIn(random, lie.parts)]
    if (a === undefined) return
    const neighbour = random.chance(0.5) ? Math.min(a + 1, lie.parts.length - 1) : b
    const parts = lie.parts.slice()
    ;[parts[a], parts[neighbour]] = [parts[neighbour], parts[a]]
    lie.parts = parts
  },
  repeatPart (random, lie) {
    const at = placeIn(random, lie.parts)
    if (at !== undefined) lie.parts = [...lie.parts.slice(0, at), lie.parts[at], ...lie.parts.slice(at)]
  },
  dropPart (random, lie) {
    const at = placeIn(random, lie.parts)
    if (at !== undefined) lie.parts = lie.parts.filter((_, i) => i !== at)
  },
  swapHalves (random, lie) {
    const pairs = lie.parts.flatMap((part, i) => part.length === 64 ? [i] : [])
    const at = placeIn(random, pairs)
    if (at === undefined) return
    const part = lie.parts[pairs[at]]
    const half = random.pick([
      () => [part.subarray(32), part.subarray(0, 32)], () => [part.subarray(0, 32), part.subarray(0, 32)],
      () => [part.subarray(32), part.subarray(32)]
    ])()
    lie.parts = lie.parts.map((other, i) => i === pairs[at] ? concat(half) : other)
  },
  /** One part of another blob that has the same shape. */
  foreignPart (random, lie, { blob, groupLog, boundaries, items }) {
    const at = placeIn(random, items)
    if (at === undefined || lie.parts.length !== items.length) return
    const foreign = Bao.items(siblingOf(blob).tree, groupLog, boundaries)
    lie.parts = lie.parts.map((part, i) => i === at ? foreign[at].bytes : part)
  },
  /** The beginning of this encoding and the end of another one. */
  splice (random, lie, { blob, groupLog, boundaries }) {
    const foreign = Bao.response(siblingOf(blob).tree, groupLog, random.chance(0.7) ? boundaries : [0])
    const at = random.below(foreign.length + 1)
    change(lie, bytes => concat(
      [bytes.subarray(0, at), foreign.subarray(random.chance(0.7) ? at : random.below(foreign.length + 1))]
    ))
  },
  /** A true part of the blob, where another one belongs. */
  ownPart (random, lie, { blob }) {
    const at = placeIn(random, lie.parts)
    if (at === undefined) return
    const tree = random.pick([...knownTo(blob).values()])
    const part = lie.parts[at].length === 64 && tree.left
      ? pairOf(tree)
      : tree.bytes.subarray(
        0, Math.max(64, lie.parts[at].length)
      )
    lie.parts = lie.parts.map((other, i) => i === at ? part : other)
  },
  claimSize: (random, lie, { blob }) => { lie.size = random.claim(blob.bytes.length) },
  /** Of another size, by somebody who knows the blob: every promise that can be kept is kept. */
  forge (random, lie, { blob, groupLog, boundaries }) {
    lie.size = random.claim(blob.bytes.length)
    if (lie.size > BigInt(Number.MAX_SAFE_INTEGER)) return
    lie.parts = forged(
      random, blob, { size: Number(lie.size), groupLog, spans: selectedSpans(Number(lie.size), boundaries) }
    )
  },
  claimGroupLog: (random, lie) => { lie.groupLog = someGroupLog(random) },
  /** A blob of one leaf, or a few, each of which would fill memory. */
  claimLeaf (random, lie) {
    lie.groupLog = random.pick([14, 15, 16])
    lie.size = 1024n * 2n ** BigInt(lie.groupLog) * random.pick([1n, 1n, 3n, 2n ** 20n]) + random.pick([-1n, 0n, 5n])
    lie.boundaries = [0]
  },
  claimRanges: (random, lie, { blob }) => { lie.boundaries = someBoundaries(random, blob.bytes.length) },
  claimKey: (random, lie) => { lie.key = otherKey(random, lie.key) },
  claimRoot (random, lie, { blob }) {
    lie.root = random.pick([
      () => oneFlipped(random, lie.root), () => siblingOf(blob).root,
      () => random.pick([...knownTo(blob).values()]).cv
    ])()
  }
}

const MOST_FORGED = 100_000

/**
 * @param {Random} random @param {import('./cases.js').Blob} blob
 * @param {{ size: number, groupLog: number, spans: number[][] }} shape
 */
function forged (random, blob, shape) {
  const known = knownTo(blob)
  const promised = new Map([[`0-${shape.size}`, blob.root]])
  const parts = []
  let len = 0
  let guesses = 0
  const put = bytes => {
    parts.push(bytes)
    len += bytes.length
  }
  walkShape(shape, ({ kind, start, end }) => {
    if (len > MOST_FORGED || guesses > 4) return false
    const tree = known.get(hex(promised.get(`${start}-${end}`)))
    if (kind === 'leaf') {
      const part = (tree?.bytes ?? random.bytes(Math.min(end - start, 1024))).subarray(0, end - start)
      if (tree?.bytes.length !== end - start) guesses++
      return put(part.length === end - start || random.chance(0.3)
        ? part
        : concat(
          [part, new Uint8Array(Math.min(end - start - part.length, 20_000))]
        ))
    }
    if (!tree?.left) guesses++
    const pair = tree?.left ? pairOf(tree) : random.bytes(64)
    put(pair)
    const split = start + leftLen(end - start)
    promised.set(`${start}-${split}`, pair.subarray(0, 32))
    promised.set(`${split}-${end}`, pair.subarray(32))
  })
  return parts
}
