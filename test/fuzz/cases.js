// What a case is about: a blob with the tree that the twin has grown, a query, and the good encoding of it.
import { concat, hex } from '../support/bytes.js'
import { KEY, noise } from '../support/inputs.js'
import { Bao, modeOf } from '../support/twin/index.js'

/** @import { Random } from './random.js' */

const SMALL = [
  0, 1, 2, 63, 64, 65, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 3000, 3072, 3073, 4096, 4097, 5120, 6145, 7168,
  8191, 8192, 8193, 9217, 11_000
]
const MIDDLE = [
  15_360, 16_383, 16_384, 16_385, 17_409, 20_000, 24_576, 31_744, 32_768, 32_769, 33_793, 40_000, 49_153,
  65_536, 65_537
]
/** More than one window of 128 chunks, or nearly. */
const LARGE = [130_048, 131_071, 131_072, 131_073, 140_000, 148_480, 196_609, 262_144, 263_169, 300_000, 400_001]
/** More than a store keeps in its databases. */
const HUGE = [1_048_577, 1_150_000, 1_500_000]
const KEYS = [undefined, KEY, noise(32, 5)]
const KEPT = 120

/**
 * @typedef {object} Blob
 * @property {Uint8Array} bytes
 * @property {import('../support/twin/bao.js').Tree} tree
 * @property {Uint8Array} root
 * @property {Uint8Array | undefined} key
 * @property {object} mode  of the twin
 */

const grown = new Map()

/** Blobs come from a small number of them: the twin takes its time to grow one. @returns {Blob} */
function blobOf (size, seed, keyIndex) {
  const name = `${size} ${seed} ${keyIndex}`
  const found = grown.get(name)
  if (found) return found
  if (grown.size >= KEPT) grown.delete(grown.keys().next().value)
  const bytes = noise(size, seed)
  const key = KEYS[keyIndex]
  const mode = modeOf({ key })
  const tree = Bao.grow(bytes, mode)
  const blob = { bytes, tree, root: tree.cv, key, mode, seed, keyIndex }
  grown.set(name, blob)
  return blob
}

/** @param {Random} random @param {'small' | 'any' | 'huge'} [which] @returns {Blob} */
export function someBlob (random, which = 'any') {
  if (which === 'huge') return blobOf(random.pick(HUGE), 1, 0)
  const sizes = which === 'small' || random.chance(0.6) ? SMALL : random.chance(0.8) ? MIDDLE : LARGE
  return blobOf(random.pick(sizes), random.between(1, 3), random.chance(0.75) ? 0 : random.between(1, 2))
}

/** Of those that a store keeps: without a key, and not empty. @param {Random} random @returns {Blob} */
export function someStored (random) {
  for (;;) {
    const blob = someBlob(random)
    if (blob.key === undefined && blob.bytes.length > 0) return blob
  }
}

/** Another blob of the same size and key. @param {Blob} blob */
export const siblingOf = ({ bytes, seed, keyIndex }) => blobOf(bytes.length, seed % 3 + 1, keyIndex)

/** Another key, or none where there is one. @param {Random} random @param {Uint8Array} [key] */
export const otherKey = (random, key) => random.pick(KEYS.filter(other => other !== key))

/** @param {Random} random */
export const someGroupLog = random => random.chance(0.9) ? random.below(6) : random.pick([6, 7, 8, 9, 12, 16])

/**
 * Boundaries of a query over a blob of so many bytes; some lie behind its end.
 *
 * @param {Random} random @param {number} size
 */
export function someBoundaries (random, size) {
  if (random.chance(0.3)) return [0]
  if (random.chance(0.05)) return random.pick([[], [0, 1], [Number.MAX_SAFE_INTEGER], [0, 1, Number.MAX_SAFE_INTEGER]])
  const most = Math.ceil(size / 1024) + 3
  const places = new Set(Array.from({ length: random.between(1, 5) }, () => random.below(most)))
  return [...places].sort((a, b) => a - b)
}

/**
 * @typedef {object} Case
 * @property {Blob} blob
 * @property {number} groupLog
 * @property {number[]} boundaries
 * @property {{ name: string, bytes: Uint8Array }[]} items  of the good response
 */

/** @param {Random} random @param {{ which?: 'small' | 'any', whole?: boolean }} [options] @returns {Case} */
export function someCase (random, { which, whole = false } = {}) {
  const blob = someBlob(random, which)
  const groupLog = someGroupLog(random)
  const boundaries = whole ? [0] : someBoundaries(random, blob.bytes.length)
  return { blob, groupLog, boundaries, items: Bao.items(blob.tree, groupLog, boundaries) }
}

export const describeCase = ({ blob, groupLog, boundaries }) =>
  `${blob.bytes.length} bytes of seed ${blob.seed}, groups of 2^${groupLog}, chunks [${boundaries}]${blob.key ? `, key ${hex(blob.key).slice(0, 8)}` : ''}`

/** Every subtree of a blob by its chaining value (the whole by its root): what somebody knows who knows the blob. */
export function knownTo (blob) {
  if (blob.known) return blob.known
  const known = new Map()
  const visit = tree => {
    known.set(hex(tree.cv), tree)
    if (tree.left) {
      visit(tree.left)
      visit(tree.right)
    }
  }
  visit(blob.tree)
  return (blob.known = known)
}

export const pairOf = tree => concat([tree.left.cv, tree.right.cv])
