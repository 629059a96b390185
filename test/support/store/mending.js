// A blob that is damaged and mended: fsck.test.js and fsck-files.test.js look at it in the same way.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { same } from '../bytes.js'
import { noise } from '../inputs.js'
import { sliceOf } from './stores.js'

export const GROUP = 16384
export const EXTENT = 4 * GROUP
/** Three pages in the lowest band, the last one short, and the root's page above them. */
const WHOLE_GROUPS = 135
export const BYTES = noise(WHOLE_GROUPS * GROUP + 5001, 91)
export const ROOT = hash(BYTES)
export const ALL = ChunkRanges.all.canonical(BYTES.length)
/** Two parts, so that there is an edge in the middle of a cell, and no end. */
const PARTS = ChunkRanges.fromBytes(0, 50 * GROUP).union(ChunkRanges.fromBytes(70 * GROUP, 130 * GROUP))

export const FILLS = {
  put: { ranges: ALL, fill: store => store.put(BYTES) },
  received: { ranges: ALL, fill: store => store.receive(ROOT, sliceOf(BYTES)) },
  'received in part': { ranges: PARTS, fill: store => store.receive(ROOT, sliceOf(BYTES, PARTS), PARTS) }
}

const byteRanges = ranges => ranges.toBytes(BYTES.length)
/** The groups over bytes. */
export const groups = (start, end = start + 1) => ChunkRanges.fromBytes(start, end).roundToGroups(4).intersect(ALL)

export async function expectSound (store) {
  const { isSound, ...found } = await store.fsck()
  if (!isSound) expect.fail(`found ${JSON.stringify(found)}`)
}

/** What is here is right, and no more or less than this. */
export async function expectHere (store, ranges) {
  const { present, complete } = await store.stat(ROOT)
  expect(present.boundaries).to.deep.equal(ranges.boundaries)
  expect(complete).to.equal(ranges.equals(ALL))
  for (const [start, end] of byteRanges(ranges)) {
    if (!same(await store.bytes(ROOT, { start, end }), BYTES.subarray(start, end))) expect.fail(`bytes ${start} to ${end} are wrong`)
  }
}

/** Fetches what is missing, as a download would. */
export async function fetchMissing (store, wanted = ALL) {
  const missing = await store.missing(ROOT, wanted)
  if (missing.isEmpty) return
  await store.receive(ROOT, sliceOf(BYTES, missing), missing)
}
