// Measures what a part of a blob costs the sender and the receiver.
//
// A row is a slice out of 16 MiB, and the time of a call; `hash` is our own one-shot hash of only the bytes that were
// asked for, measured in the same rounds. The pairs above them take time, too: the smaller the slice, the smaller the
// share of hashing, so `x hash` falls. At group log 4 a slice that ends within a group has pairs below the group level,
// which are computed from the group's bytes. A slice that is not validated hashes nothing else. In the rows in Rust,
// `hash` is the hash function of the crate blake3.

import assert from 'node:assert/strict'
import { createOutboardSync, encodeSliceSync } from '../encoder/index.js'
import { hash } from '../lib/index.js'
import { verifySlice } from '../verifier/index.js'
import { KiB, MiB, randomBytes, sized } from './support/inputs.js'
import { measureRust, runBesideRust } from './support/rust.js'

const SIZE = 16 * MiB
const GROUP_LOGS = [0, 4]
const SLICE_LENS = [KiB, 64 * KiB, MiB]
/** A chunk boundary inside a chunk group. */
const SLICE_START = 4883 * KiB

const blob = randomBytes(SIZE)
const rust = measureRust('slice', SIZE)
  .map(({ what, bytes, ...figures }) => ({ ...figures, bytes, what: `${what}, ${sized(bytes)} of ${sized(SIZE)}` }))
const [extracted, verified] = ['extract', 'verify'].map(verb => rust.filter(({ what }) => what.startsWith(verb)))

await runBesideRust('slice', 'slices on their way out, time of a call', extraction(), extracted, 'time')
await runBesideRust('slice', 'slices that come in, time of a call', verification(), verified, 'time')

function * extraction () {
  for (const { name, outboard, ranges, wanted } of slices()) {
    for (const verify of [true, false]) {
      yield {
        name: `${name}${verify ? '' : ', not validated'}`,
        bytes: wanted.length,
        unit: /** @type {const} */ ('time'),
        contestants: { extract: () => encodeSliceSync(blob, outboard, ranges, { verify }), hash: () => hash(wanted) }
      }
    }
  }
}

function * verification () {
  for (const { name, outboard, ranges, wanted } of slices()) {
    const { root, groupLog } = outboard
    const slice = encodeSliceSync(blob, outboard, ranges)
    const options = { cid: root, groupLog, ranges }
    const verified = Buffer.concat(verifySlice(slice, options).map(({ bytes }) => bytes))
    assert.ok(verified.equals(wanted), 'verified bytes differ from the blob')
    yield {
      name,
      bytes: wanted.length,
      unit: /** @type {const} */ ('time'),
      contestants: { verify: () => verifySlice(slice, options), hash: () => hash(wanted) }
    }
  }
}

function * slices () {
  for (const groupLog of GROUP_LOGS) {
    const outboard = createOutboardSync(blob, { groupLog })
    for (const len of SLICE_LENS) {
      const ranges = { start: SLICE_START, end: SLICE_START + len }
      const wanted = blob.subarray(ranges.start, ranges.end)
      yield { name: `${sized(len)} of ${sized(SIZE)}, group log ${groupLog}`, outboard, ranges, wanted }
    }
  }
}
