// Blobs that nobody could hold: a few chunks of them, wherever they stand, and the pairs that lead there.
import { ChunkRanges } from '../../../lib/index.js'
import { SliceVerifier, decode } from '../../../verifier/index.js'
import { sliceLen } from '../../../encoder/index.js'
import { concat, header } from '../../support/bytes.js'
import { errorOf, joined } from '../../support/feeding.js'
import { forge, modeOf } from '../../support/twin/index.js'
import { withinBudget } from '../budget.js'
import { otherKey } from '../cases.js'
import { expectFault, expectLeaves, expectThat } from '../finding.js'
import { oneFlipped } from '../mutations.js'
import { decodeBy, oneByOne, selectedSpans } from '../oracle.js'
import { inPieces } from '../random.js'

/** @import { Random } from '../random.js' */

/** Sizes from 1 MiB to 2^53 - 1, in every order of magnitude alike. @param {Random} random */
function someSize (random) {
  const bits = random.between(20, 53)
  const below = Math.floor(random.next() / 2 ** 32 * 2 ** bits)
  return Math.min(
    Number.MAX_SAFE_INTEGER,
    random.pick([2 ** bits, 2 ** bits - 1, 2 ** bits + 1, 2 ** bits - 1024, 2 ** (bits - 1) + below])
  )
}

/** @param {Random} random */
async function run (random) {
  const size = someSize(random)
  const chunks = Math.ceil(size / 1024)
  const count = random.between(1, random.chance(0.15) ? 300 : 6)
  const first = Math.max(0, Math.min(chunks - count, random.pick([
    () => 0,
    () => chunks - count,
    () => Math.floor(random.next() / 2 ** 32 * chunks),
    () => 2 ** random.below(Math.floor(Math.log2(chunks)) + 1) - random.below(4)
  ])()))
  const groupLog = random.below(8)
  const key = random.chance(0.8) ? undefined : otherKey(random)
  const mode = modeOf({ key })
  const { root, response } = forge({ size, first, count, groupLog, mode })
  const isTruth = random.chance(0.2)
  const lie = {
    flip: () => oneFlipped(random, response),
    cut: () => response.slice(0, random.below(response.length + 1)),
    shifted: () => concat([response.subarray(0, random.below(response.length)), response]),
    none: () => response
  }[isTruth ? 'none' : random.weighted({ flip: 6, cut: 3, shifted: 1, none: 2 })]()
  const claimed = isTruth || random.chance(0.7) ? size : Math.min(Number.MAX_SAFE_INTEGER, Number(random.claim(size)))
  const what = `chunks ${first} to ${first + count} of ${size} bytes, ${claimed} claimed, groups of 2^${groupLog}`

  const boundaries = [first, first + count]
  const due = decodeBy(
    { root, size: claimed, groupLog, spans: selectedSpans(claimed, boundaries), mode, take: oneByOne(lie) }
  )
  if (isTruth) {
    expectThat(
      due.fault === undefined && due.isSizeProven === (first + count === chunks),
      () => `${what}: the oracle does not believe the truth`
    )
  }
  const ranges = ChunkRanges.fromBoundaries(boundaries)
  const bytes = concat([header(claimed), lie])
  const verifier = new SliceVerifier(
    { cid: root, ranges, groupLog, key, release: random.pick(['soon', 'window', 'leaf']) }
  )
  const leaves = []
  const error = await errorOf(() => withinBudget(bytes.length, () => {
    for (const piece of inPieces(random, bytes)) leaves.push(...verifier.write(piece))
    leaves.push(...verifier.flush())
    verifier.end()
  }))
  expectFault(error, due.fault, what)
  expectLeaves(joined(leaves), joined(due.leaves), what)
  expectThat(verifier.sizeProven === due.isSizeProven, () => `${what}: sizeProven is ${verifier.sizeProven}`)
  if (!due.isSizeProven || claimed === size) {
    const len = withinBudget(0, () => sliceLen({ size, groupLog }, ranges, { header: false }))
    expectThat(len === response.length, () => `${what}: a length of ${len}, it is ${response.length}`)
  } else if (due.isSizeProven) {
    expectThat(false, () => `${what}: a wrong size was proven`)
  }

  // From its start a slice is as its whole encoding: that claims more than ever comes.
  if (first > 0) return
  const whole = decodeBy(
    { root, size: claimed, groupLog, spans: selectedSpans(claimed, [0]), mode, take: oneByOne(lie) }
  )
  const fault = await errorOf(() => withinBudget(bytes.length, () => decode(bytes, root, { groupLog, key })))
  expectFault(fault, whole.fault, `${what}, decoded`)
}

export default [
  {
    name: 'far',
    about: 'slices of blobs of up to 2^53 - 1 bytes, and decode: chunk numbers that no test data ' +
      'reaches, sizes of which little comes',
    run
  }
]
