// Measures what verification costs in addition to hashing.
//
// A row is a way to verify; `hash` is our own one-shot hash of exactly the verified bytes, measured in the same rounds.
// `x hash` is the remaining share of the hashing speed: verification must hash all of its input, so 1 is the limit. A
// combined encoding comes whole, in pieces as from files and HTTP bodies, or in pieces as small as network packets.
// Verified bytes have fresh memory unless a row says otherwise: `into` memory of the caller, `reused`, or `borrowed` by
// a callback. For slices see slice.js. Rows in Rust are also whole encodings; there `hash` is the hash function of the
// crate blake3.

import assert from 'node:assert/strict'
import { encode } from '../encoder/index.js'
import { hash } from '../lib/index.js'
import { SliceVerifier, verifySlice } from '../verifier/index.js'
import { KiB, MiB, randomBytes, sized, split } from './support/inputs.js'
import { measureRust, runBesideRust } from './support/rust.js'

/** @import { KeepOptions } from '../verifier/slice/leaves.js' */
/** @import { VerifyOptions } from '../verifier/slice/slice.js' */

const SIZE = 16 * MiB
const GROUP_LOGS = [0, 4]
const PIECE_LENS = [64 * KiB, 1400]

const blob = randomBytes(SIZE)

/** Looks at verified bytes. */
const onLeaf = () => {}

function * wholeEncodings () {
  for (const groupLog of GROUP_LOGS) {
    const { root, bytes: encoding } = encode(blob, { groupLog })
    const options = { cid: root, groupLog }
    assertVerified(verifySlice(encoding, options), blob)
    yield {
      name: `whole, group log ${groupLog}`,
      bytes: SIZE,
      contestants: { verify: () => verifySlice(encoding, options), hash: () => hash(blob) }
    }
    const memory = new Uint8Array(SIZE)
    const keeps = /** @type {[string, KeepOptions][]} */ ([['into', { into: memory }], ['borrowed', { onLeaf }]])
    for (const [kept, keep] of keeps) {
      yield {
        name: `whole, ${kept}, group log ${groupLog}`,
        bytes: SIZE,
        contestants: { verify: () => verifySlice(encoding, { ...options, ...keep }), hash: () => hash(blob) }
      }
    }
    assertVerified([{ bytes: memory }], blob)
    for (const pieceLen of PIECE_LENS) {
      const pieces = split(encoding, pieceLen)
      assertVerified(inPieces(pieces, options), blob)
      for (const [how, given] of /** @type {[string, Partial<VerifyOptions>][]} */ ([
        ['', {}],
        [', reused', { reuse: true }],
        [', borrowed', { onLeaf }],
        [', borrowed by leaf', { onLeaf, release: 'leaf' }],
        [', borrowed by window', { onLeaf, release: 'window' }]
      ])) {
        yield {
          name: `pieces of ${sized(pieceLen)}${how}, group log ${groupLog}`,
          bytes: SIZE,
          contestants: { verify: () => drain(pieces, { ...options, ...given }), hash: () => hash(blob) }
        }
      }
    }
  }
}

/**
 * Does what the reader of a stream does: looks at the leaves and drops them.
 *
 * @param {Uint8Array[]} pieces
 * @param {VerifyOptions} options
 */
function drain (pieces, options) {
  const verifier = new SliceVerifier(options)
  let leaves = 0
  for (const piece of pieces) leaves += verifier.write(piece).length
  return leaves + verifier.end().length
}

/** @param {Uint8Array[]} pieces @param {VerifyOptions} options */
function inPieces (pieces, options) {
  const verifier = new SliceVerifier(options)
  return [...pieces.flatMap(piece => verifier.write(piece)), ...verifier.end()]
}

/** @param {{ bytes: Uint8Array }[]} leaves @param {Uint8Array} expected */
function assertVerified (leaves, expected) {
  assert.ok(Buffer.concat(leaves.map(({ bytes }) => bytes)).equals(expected), 'verified bytes differ from the blob')
}

await runBesideRust('verify', 'verification as a share of our own hash', wholeEncodings(), measureRust('verify', SIZE))
