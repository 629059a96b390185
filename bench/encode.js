// Measures what encodings cost in addition to hashing.
//
// A row is an encoding of 16 MiB; `hash` is our own one-shot hash of the same bytes, measured in the same rounds. `x
// hash` is the remaining share of the hashing speed. An encoding copies the blob, and keeps the pairs that hashing
// drops; a validated slice is hashed once more before it is given, but one that is not validated hashes nothing and may
// be faster than hashing. `into memory at hand` needs no fresh pages from the system, which cost up to as much as
// hashing their bytes. In Rust, the rows `combined` also make the tree, the others have an outboard, and `hash` is the
// hash function of the crate blake3.

import assert from 'node:assert/strict'
import { createOutboardSync, encode, encodeSlice, encodeSliceSync, sliceLen } from '../encoder/index.js'
import { hash } from '../lib/index.js'
import { decode } from '../verifier/index.js'
import { MiB, randomBytes } from './support/inputs.js'
import { measureRust, runBesideRust } from './support/rust.js'

const GROUP_LOGS = [0, 4]
const SIZE = 16 * MiB

const blob = randomBytes(SIZE)

/** Long enough for all encodings. */
const into = new Uint8Array(sliceLen({ size: SIZE, groupLog: 0 })).fill(1)

/** @type {Record<string, () => unknown>} */
const waysToMake = {}
for (const groupLog of GROUP_LOGS) {
  const name = `combined, group log ${groupLog}`
  waysToMake[name] = () => encode(blob, { groupLog })
  waysToMake[`${name}, into memory at hand`] = () => encode(blob, { groupLog, into })
}
for (const groupLog of GROUP_LOGS) {
  const outboard = createOutboardSync(blob, { groupLog })
  for (const verify of [true, false]) {
    const name = `slice of everything, group log ${groupLog}${verify ? '' : ', not validated'}`
    waysToMake[name] = () => encodeSliceSync(blob, outboard, undefined, { verify })
    waysToMake[`${name}, into memory at hand`] = () => encodeSliceSync(blob, outboard, undefined, { verify, into })
    waysToMake[`${name}, streamed`] = () => drain(encodeSlice(blob, outboard, undefined, { verify }))
    waysToMake[`${name}, streamed, memory reused`] = () =>
      drain(encodeSlice(blob, outboard, undefined, { verify, reuse: true }))
  }
}

/** @param {AsyncIterable<Uint8Array>} pieces */
async function drain (pieces) {
  for await (const piece of pieces) assert.ok(piece.length > 0)
}

for (const groupLog of GROUP_LOGS) {
  const root = hash(blob)
  const { bytes } = encode(blob, { groupLog })
  assert.ok(Buffer.from(decode(bytes, root, { groupLog })).equals(blob), 'the encoding does not lead back to the blob')
  const slice = encodeSliceSync(blob, createOutboardSync(blob, { groupLog }))
  assert.ok(Buffer.from(slice).equals(bytes), 'a slice of everything is not the encoding')
}

const cases = Object.entries(waysToMake).map(([name, make]) => ({
  name,
  bytes: blob.length,
  contestants: { encode: make, hash: () => hash(blob) }
}))
await runBesideRust('encode', 'encodings as a share of our own hash', cases, measureRust('encode', SIZE))
