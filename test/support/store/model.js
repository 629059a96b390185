// What the property test of the store works with: its blobs, and what a store is expected to have of them.
import { ChunkRanges, hash, toCid } from '../../../lib/index.js'
import { concat, same } from '../bytes.js'
import { GROUP } from '../constants.js'
import { noise } from '../inputs.js'

/** Sizes around one group, and one that needs more than a page. Each of these blobs begins with those before it. */
const SIZES = [0, 1, GROUP - 1, GROUP, GROUP + 1, 3 * GROUP + 500, 9 * GROUP, 66 * GROUP + 5]
const LONGEST = noise(SIZES.at(-1), 111)
const MIDDLE = LONGEST.subarray(0, 9 * GROUP)
const replaced = (bytes, start, end, by) => concat([bytes.subarray(0, start), by, bytes.subarray(end)])
/** Small ones beside them, for calls that take many. */
export const CROWD = 14
const SMALL = Array.from({ length: CROWD }, (_, i) => noise(GROUP, 121 + i))
/** Made of the others: with bytes replaced, once by more of them; and two of them, one behind the other. */
const MADE = [
  replaced(MIDDLE, 2 * GROUP + 5, 3 * GROUP + 700, noise(GROUP + 695, 112)),
  replaced(MIDDLE, 4 * GROUP + 1, 4 * GROUP + 2, noise(4, 113)),
  replaced(LONGEST, 20 * GROUP, 40 * GROUP + 3, noise(20 * GROUP + 3, 114)),
  concat([LONGEST.subarray(0, GROUP + 1), LONGEST.subarray(0, 3 * GROUP + 500)]),
  concat([SMALL[0], SMALL[1]])
]
/** Few blobs, so that calls meet. */
export const FEW = SIZES.length + MADE.length
export const BLOBS = [
  ...SIZES.map(size => LONGEST.subarray(0, size)),
  ...MADE,
  ...SMALL
].map(bytes => ({ bytes, root: hash(bytes), chunks: Math.max(1, Math.ceil(bytes.length / 1024)) }))

/** The number of a blob: -1 when it is none of these. */
export const numberOf = cid => BLOBS.findIndex(({ root }) => same(root, cid.multihash.digest))

/** Lists of blobs, by number, which make another one when they stand one behind the other. */
export const JOINS = [
  [], [5], [6, 0], [0, 7], [4, 5], [FEW, FEW + 1]
].map(parts => ({ parts, whole: numberOf(toCid(hash(concat(parts.map(i => BLOBS[i].bytes))))) }))

/** The clock that a store sees while its calls come in turn: it stands still but for `sleep`. */
export const clock = { time: Date.now(), real: Date.now }

/** What the store is expected to have of a blob: whole groups. */
export class Model {
  #groups = new Map()
  /** Blobs that have lost groups to damage, and were not whole since. */
  #damaged = new Set()

  /** @param {number} i */
  of (i) {
    if (BLOBS[i].bytes.length === 0) return ChunkRanges.all.canonical(0)
    return this.#groups.get(i) ?? ChunkRanges.none
  }

  /** Does the store know it? Of a damaged blob nothing may be left. */
  isThere (i) { return BLOBS[i].bytes.length === 0 || this.#groups.has(i) }
  isWhole (i) { return this.of(i).contains(0, BLOBS[i].chunks) }
  add (i, ranges) {
    if (!ranges.isEmpty) this.#groups.set(i, this.of(i).union(ranges))
    if (this.isWhole(i)) this.#damaged.delete(i)
  }

  /** Some of it was found damaged. */
  lose (i, present) {
    if (!this.of(i).difference(present).isEmpty) this.#damaged.add(i)
    this.#groups.set(i, present)
  }

  get damaged () { return [...this.#damaged].sort((a, b) => a - b) }
  get known () { return [...this.#groups.keys()] }
  /** Blobs of which nothing is left. */
  get lost () { return [...this.#groups].flatMap(([i, groups]) => groups.isEmpty ? [i] : []) }
  delete (i) {
    this.#damaged.delete(i)
    return this.#groups.delete(i)
  }

  /** Names to numbers of blobs, and to the times at which the tags end. */
  tags = new Map()
  get liveTags () {
    return new Map([...this.tags].filter(([, { expires }]) => expires === undefined || clock.time < expires))
  }

  isTagged (i) { return [...this.liveTags.values()].some(({ blob }) => blob === i) }
  get ids () { return this.#groups.size }
}

/** Two places in a blob. @param {[number, number]} pair  shares of it */
export const span = ({ bytes }, [a, b]) => {
  const [start, end] = [a, b].map(share => Math.floor(share * bytes.length)).sort((x, y) => x - y)
  return { start, end }
}

/** The groups that a range touches; what lies beyond the end means the last. */
export const groupsOf = ({ bytes, chunks }, ranges) =>
  ranges.canonical(bytes.length).roundToGroups(4).intersect(new ChunkRanges([0, chunks]))

export const lenOf = (ranges, bytes) =>
  ranges.isEmpty ? 0 : ranges.toBytes(bytes.length).reduce((sum, { start, end }) => sum + end - start, 0)

/**
 * What has to be replaced in a blob so that it becomes another one.
 *
 * @param {number} share  of the bytes in front and at the end that might stay, and are replaced by themselves: 0 to 1
 * @returns {{ start: number, end: number, bytes: Uint8Array }}
 */
export function changeBetween ({ bytes: from }, { bytes: to }, share) {
  const len = Math.min(from.length, to.length)
  let front = 0
  while (front < len && from[front] === to[front]) front++
  let back = 0
  while (back < len - front && from.at(-1 - back) === to.at(-1 - back)) back++
  const [start, kept] = [front, back].map(len => len - Math.floor(len * share))
  return { start, end: from.length - kept, bytes: to.subarray(start, to.length - kept) }
}

/** Is a blob the beginning of another one? */
export const beginsWith = ({ bytes }, { bytes: front }) =>
  front.length <= bytes.length && same(front, bytes.subarray(0, front.length))
