// The blobs of the property test of the store, and a model of the expected store.
import { ChunkRanges, hash, toCid } from '../../../lib/index.js'
import { concat, same } from '../bytes.js'
import { GROUP } from '../constants.js'
import { noise } from '../inputs.js'

/** Sizes around one group, and one that needs more than a page. Each of these blobs begins with the one before it. */
const SIZES = [0, 1, GROUP - 1, GROUP, GROUP + 1, 3 * GROUP + 500, 9 * GROUP, 66 * GROUP + 5]
const LONGEST = noise(SIZES.at(-1), 111)
const MIDDLE = LONGEST.subarray(0, 9 * GROUP)
const replaced = (bytes, start, end, by) => concat([bytes.subarray(0, start), by, bytes.subarray(end)])
/** Number of small blobs, for calls that take many blobs. */
export const CROWD = 14
const SMALL = Array.from({ length: CROWD }, (_, i) => noise(GROUP, 121 + i))
/** Blobs made of the others: some with replaced bytes, some joined. */
const MADE = [
  replaced(MIDDLE, 2 * GROUP + 5, 3 * GROUP + 700, noise(GROUP + 695, 112)),
  replaced(MIDDLE, 4 * GROUP + 1, 4 * GROUP + 2, noise(4, 113)),
  replaced(LONGEST, 20 * GROUP, 40 * GROUP + 3, noise(20 * GROUP + 3, 114)),
  concat([LONGEST.subarray(0, GROUP + 1), LONGEST.subarray(0, 3 * GROUP + 500)]),
  concat([SMALL[0], SMALL[1]])
]
/** Calls mostly choose among these few blobs, so that they meet. */
export const FEW = SIZES.length + MADE.length
export const BLOBS = [
  ...SIZES.map(size => LONGEST.subarray(0, size)),
  ...MADE,
  ...SMALL
].map(bytes => ({ bytes, root: hash(bytes), chunks: Math.max(1, Math.ceil(bytes.length / 1024)) }))

/** Returns the number of a blob; -1 for any other blob. */
export const numberOf = cid => BLOBS.findIndex(({ root }) => same(root, cid.multihash.digest))

/** Lists of blobs, by number, which make another blob when they are joined. */
export const JOINS = [
  [], [5], [6, 0], [0, 7], [4, 5], [FEW, FEW + 1]
].map(parts => ({ parts, whole: numberOf(toCid(hash(concat(parts.map(i => BLOBS[i].bytes))))) }))

/** The clock of a store whose calls run one after the other: it moves only in `sleep`. */
export const clock = { time: Date.now(), real: Date.now }

/** The expected state of a store: which groups of each blob it has. */
export class Model {
  #groups = new Map()
  /** Blobs that have lost groups to damage, and were not whole since then. */
  #damaged = new Set()

  /** @param {number} i */
  of (i) {
    if (BLOBS[i].bytes.length === 0) return ChunkRanges.all.canonical(0)
    return this.#groups.get(i) ?? ChunkRanges.none
  }

  /** Returns true if the store has a record of the blob. A damaged blob may have no group left. */
  isThere (i) { return BLOBS[i].bytes.length === 0 || this.#groups.has(i) }
  isWhole (i) { return this.of(i).contains(0, BLOBS[i].chunks) }
  add (i, ranges) {
    if (!ranges.isEmpty) this.#groups.set(i, this.of(i).union(ranges))
    if (this.isWhole(i)) this.#damaged.delete(i)
  }

  /** Notes that only these groups are present, because others were found damaged. */
  lose (i, present) {
    if (!this.of(i).difference(present).isEmpty) this.#damaged.add(i)
    this.#groups.set(i, present)
  }

  get damaged () { return [...this.#damaged].sort((a, b) => a - b) }
  get known () { return [...this.#groups.keys()] }
  /** Blobs without any group left. */
  get lost () { return [...this.#groups].flatMap(([i, groups]) => groups.isEmpty ? [i] : []) }
  delete (i) {
    this.#damaged.delete(i)
    return this.#groups.delete(i)
  }

  /** Tags by name, with the number of the blob, the time at which the tag expires, and whether it is weak. */
  tags = new Map()
  get liveTags () {
    return new Map([...this.tags].filter(([, { blob, expires, weak }]) =>
      (expires === undefined || clock.time < expires) &&
      (!weak || this.isThere(blob) || BLOBS[blob].bytes.length === 0)))
  }

  /** Tags that protect their blobs. */
  get strongTags () { return [...this.liveTags.values()].filter(({ weak }) => !weak) }
  isTagged (i) { return this.strongTags.some(({ blob }) => blob === i) }
  get ids () { return this.#groups.size }
}

/** Returns a range of a blob. @param {[number, number]} pair  its ends, as shares of the blob */
export const span = ({ bytes }, [a, b]) => {
  const [start, end] = [a, b].map(share => Math.floor(share * bytes.length)).sort((x, y) => x - y)
  return { start, end }
}

/** Returns the groups that a range touches. Beyond the end it means the last group. */
export const groupsOf = ({ bytes, chunks }, ranges) =>
  ranges.canonical(bytes.length).roundToGroups(4).intersect(new ChunkRanges([0, chunks]))

export const lenOf = (ranges, bytes) =>
  ranges.isEmpty ? 0 : ranges.toBytes(bytes.length).reduce((sum, { start, end }) => sum + end - start, 0)

/**
 * Returns the bytes to replace in a blob so that it becomes another one.
 *
 * @param {number} share  the share of the equal bytes at both ends that is replaced, too: 0 to 1
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

/** Returns true if a blob begins with another one. */
export const beginsWith = ({ bytes }, { bytes: front }) =>
  front.length <= bytes.length && same(front, bytes.subarray(0, front.length))
