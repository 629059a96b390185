// Measures hashing of input in pieces.
//
// A row is the length of the pieces of 4 MiB. `own hash` is our one-shot hash of the same bytes, which shows the cost
// of the pieces. The others are the incremental hashers of other packages (@webbuf/blake3 has none). Each small piece
// costs a call, large ones should cost nothing.

import { Hasher, hash } from '../lib/index.js'
import { contestants } from './support/hashing.js'
import { KiB, MiB, randomBytes, sized, split } from './support/inputs.js'
import { RIVALS, loadPeers } from './support/peers.js'
import { flags, run } from './support/run.js'

const SIZE = flags.quick ? MiB : 4 * MiB
const PIECE_LENS = [100, KiB, 64 * KiB]

const own = { hash, incremental: () => new Hasher() }
const peers = await loadPeers()

await run('incremental', `hashing of ${sized(SIZE)} in pieces, beside other packages`, cases(), { rivals: RIVALS })

function * cases () {
  const input = randomBytes(SIZE)
  for (const len of PIECE_LENS) {
    const pieces = split(input, len)
    const { baobox, ...others } = contestants(own, peers, SIZE, ({ incremental }) => incremental && (() => {
      const hasher = incremental()
      for (const piece of pieces) hasher.update(piece)
      return hasher.digest()
    }))
    yield {
      name: `pieces of ${sized(len)}`,
      bytes: SIZE,
      contestants: { baobox, 'own hash': () => hash(input), ...others }
    }
  }
}
