// The blob that the tests of fsck() damage and repair, and their expectations.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { same } from '../bytes.js'
import { GROUP } from '../constants.js'
import { noise } from '../inputs.js'
import { sliceOf } from './stores.js'

/** A blob whose tree has three pages in the lowest band, the last one short, and the root's page above them. */
const WHOLE_GROUPS = 135
export const BYTES = noise(WHOLE_GROUPS * GROUP + 5001, 91)
export const ROOT = hash(BYTES)
export const ALL = ChunkRanges.all.canonical(BYTES.length)
/** Two ranges. One ends in the middle of a cell, and the last group of the blob is missing. */
const PARTS = ChunkRanges.fromBytes(0, 50 * GROUP).union(ChunkRanges.fromBytes(70 * GROUP, 130 * GROUP))

export const FILLS = {
  put: { ranges: ALL, fill: store => store.put(BYTES) },
  received: { ranges: ALL, fill: store => store.receive(ROOT, sliceOf(BYTES)) },
  'received in part': { ranges: PARTS, fill: store => store.receive(ROOT, sliceOf(BYTES, PARTS), PARTS) }
}

const byteRanges = ranges => ranges.toBytes(BYTES.length)
/** Returns the chunks of the groups that contain these bytes. */
export const groups = (start, end = start + 1) => ChunkRanges.fromBytes(start, end).roundToGroups(4).intersect(ALL)

export async function expectSound (store) {
  const { isSound, ...found } = await store.fsck()
  if (!isSound) expect.fail(`found ${JSON.stringify(found)}`)
}

/** Expects that exactly these chunks are present, and their bytes are right. */
export async function expectHere (store, ranges) {
  const { present, complete } = await store.stat(ROOT)
  expect(present.boundaries).to.deep.equal(ranges.boundaries)
  expect(complete).to.equal(ranges.equals(ALL))
  for (const { start, end } of byteRanges(ranges)) {
    if (!same(await store.bytes(ROOT, { start, end }), BYTES.subarray(start, end))) {
      expect.fail(`bytes ${start} to ${end} are wrong`)
    }
  }
}

/** Receives the missing chunks, as a download would. */
export async function fetchMissing (store, wanted = ALL) {
  const missing = await store.missing(ROOT, wanted)
  if (missing.isEmpty) return
  await store.receive(ROOT, sliceOf(BYTES, missing), missing)
}
