// Measures hashing without WebAssembly, beside the plain JavaScript of other packages.
//
// WebAssembly is refused as by a content policy: modules do not compile. Packages that are only WebAssembly are left
// out.

WebAssembly.validate = () => false
WebAssembly.Module = class {
  constructor () { throw new WebAssembly.CompileError('refused by this bench') }
}

// Imported only now, because peers look for WebAssembly at import or at the first hash.
const { Hasher, hash, kernelName } = await import('../lib/index.js')
const { contestants, hashCases } = await import('./support/hashing.js')
const { KiB, MiB, randomBytes, sized, split } = await import('./support/inputs.js')
const { loadPeers } = await import('./support/peers.js')
const { run } = await import('./support/run.js')

const SIZES = [0, 64, KiB, 3 * KiB, 64 * KiB, MiB]
const PIECE_LENS = [100, 64 * KiB]
const RIVALS = ['blake3-jit', '@noble/hashes']

if (kernelName() !== 'js') throw new Error('WebAssembly was not refused')
const own = { hash, incremental: () => new Hasher() }
const peers = await loadPeers(RIVALS)

await run('hash-js', 'one-shot hash without WebAssembly', hashCases(own, peers, SIZES), { rivals: RIVALS })
await run('hash-js', `hashing of ${sized(MiB)} in pieces, without WebAssembly`, pieces(), { rivals: RIVALS })

function * pieces () {
  const input = randomBytes(MiB)
  for (const len of PIECE_LENS) {
    const pieces = split(input, len)
    yield {
      name: `pieces of ${sized(len)}`,
      bytes: MiB,
      contestants: contestants(own, peers, MiB, ({ incremental }) => incremental && (() => {
        const hasher = incremental()
        for (const piece of pieces) hasher.update(piece)
        return hasher.digest()
      }))
    }
  }
}
