// Measures the hash of short inputs, beside other packages.
//
// A row is an input, at an aligned and at an odd address. A column is a package: the time of a call up to 1 KiB, bytes
// per second above; `x` after it is how many times as fast as the package we are, so above 1 we are faster. `x best
// npm` is the same for the fastest package on npm that is JavaScript or WebAssembly, and names it.
// @napi-rs/blake-hash is native code (AVX2 or AVX-512 if available) and not among these; sha256 is that of Node.js
// (OpenSSL, with the SHA instructions of the processor), another hash function, for scale.

import { Hasher, deriveKey, hash, hashInto, keyedHash } from '../lib/index.js'
import { KiB, randomBytes, sized } from './support/inputs.js'
import { contestants, hashCases } from './support/hashing.js'
import { RIVALS, loadPeers } from './support/peers.js'
import { run } from './support/run.js'

/** @import { Functions } from './support/peers.js' */

const SIZES = [0, 1, 32, 64, 96, 512, KiB, 2 * KiB, 3 * KiB, 5 * KiB, 7 * KiB, 12345]
const SIZES_OF_MODES = [32, 512, 5 * KiB]
const CONTEXT = 'baobox bench 2026-11-21 keys'

/** @type {Functions} */
const own = { hash, hashInto, keyedHash, deriveKey, keyed: key => new Hasher({ key }) }
const peers = await loadPeers()

await run('hash-small', 'one-shot hash, beside other packages', hashCases(own, peers, SIZES), { rivals: RIVALS })
await run('hash-small', 'keyed hashes and derived keys', modes(), { rivals: RIVALS })
await run('hash-small', 'keyed hashes by one hasher that is reset', resets(), { rivals: RIVALS })
await run('hash-small', 'hashInto memory of the caller\'s', into(), { rivals: RIVALS })

function * modes () {
  const key = randomBytes(32)
  for (const size of SIZES_OF_MODES) {
    const input = randomBytes(size)
    yield {
      name: `keyed ${sized(size)}`,
      bytes: size,
      contestants: contestants(own, peers, size, ({ keyedHash }) => keyedHash && (() => keyedHash(key, input)))
    }
    yield {
      name: `derived ${sized(size)}`,
      bytes: size,
      contestants: contestants(own, peers, size, ({ deriveKey }) => deriveKey && (() => deriveKey(CONTEXT, input)))
    }
  }
}

/** Peers without a `reset` make a new hasher for each input. */
function * resets () {
  const key = randomBytes(32)
  for (const size of [KiB, 64 * KiB]) {
    const input = randomBytes(size)
    yield {
      name: sized(size),
      bytes: size,
      contestants: contestants(own, peers, size, ({ keyed, keyedHash }) => {
        const hasher = keyed?.(key)
        if (hasher === undefined) return keyedHash && (() => keyedHash(key, input))
        return () => {
          hasher.reset()
          hasher.update(input)
          return hasher.digest()
        }
      })
    }
  }
}

function * into () {
  for (const size of SIZES_OF_MODES) {
    const input = randomBytes(size)
    const out = new Uint8Array(32)
    yield {
      name: sized(size),
      bytes: size,
      contestants: {
        ...contestants(own, peers, size, ({ hashInto }) => hashInto && (() => {
          hashInto(input, out)
          return out
        })),
        'own hash': () => hash(input)
      }
    }
  }
}
