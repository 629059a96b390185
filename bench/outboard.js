// Measures what keeping the tree costs in addition to hashing.
//
// A row is an outboard of 16 MiB: of every chunk (group log 0, as bao has it) or of groups of 16 KiB (group log 4), in
// both orders. `own hash` is our one-shot hash of the same bytes, so `x` after it is the remaining share of the hashing
// speed; blake3-jit hashes and drops the tree. In the rows in Rust, `own hash` is the hash function of the crate
// blake3.

import assert from 'node:assert/strict'
import { createOutboardSync } from '../encoder/index.js'
import { hash } from '../lib/index.js'
import { MiB, randomBytes } from './support/inputs.js'
import { loadPeers } from './support/peers.js'
import { measureRust, runBesideRust } from './support/rust.js'

const GROUP_LOGS = [0, 4]
const ORDERS = /** @type {const} */ (['pre', 'post'])
const SIZE = 16 * MiB
const PEERS = ['blake3-jit', '@fuzdev/blake3_wasm']

const blob = randomBytes(SIZE)
const peers = Object.entries(await loadPeers(PEERS)).map(([name, { hash }]) => [`${name} hash`, () => hash(blob)])

await runBesideRust('outboard', 'outboards beside hashes that keep nothing', cases(), measureRust('outboard', SIZE))

function * cases () {
  for (const groupLog of GROUP_LOGS) {
    const [pre, post] = ORDERS.map(order => createOutboardSync(blob, { groupLog, order }))
    assert.ok(Buffer.from(pre.bytes).equals(post.flip().bytes), 'the orders differ by more than their order')
    assert.ok(Buffer.from(pre.root).equals(hash(blob)), 'the root is not the hash')
    for (const order of ORDERS) {
      yield {
        name: `group log ${groupLog}, ${order}-order`,
        bytes: blob.length,
        contestants: {
          outboard: () => createOutboardSync(blob, { groupLog, order }),
          'own hash': () => hash(blob),
          ...Object.fromEntries(peers)
        }
      }
    }
  }
}
