// Measures the hash of long inputs, beside other packages.
//
// Rows and columns are those of hash-small.js. Packages that would take too long are left out (`-`).

import { hash } from '../lib/index.js'
import { hashCases } from './support/hashing.js'
import { KiB, MiB } from './support/inputs.js'
import { RIVALS, loadPeers } from './support/peers.js'
import { flags, run } from './support/run.js'

const SIZES = [8 * KiB, 16 * KiB, 64 * KiB, 100_000, MiB, 16 * MiB, 256 * MiB]

const sizes = flags.quick ? SIZES.filter(size => size <= MiB) : SIZES
const cases = hashCases({ hash }, await loadPeers(), sizes)
await run('hash-large', 'one-shot hash, beside other packages', cases, { rivals: RIVALS })
