// A process that hashes once and prints the time, with that of the import; startup.js starts it many times.
//
//   node first-hash.js NAME SIZE     prints the nanoseconds from before the import to the first hash
//   node first-hash.js NAME kernel   prints the cost of making the WebAssembly module: { ready, compiled, bytes }

import { randomBytes } from './inputs.js'
import { PEERS } from './peers.js'

const OURS = {
  baobox: { specifier: '../../lib/index.js', use: (/** @type {any} */ module) => module },
  'baobox/hash': { specifier: '../../lib/hash/index.js', use: (/** @type {any} */ module) => module }
}
/** The packages that assemble their module at run time, and the functions that make them do it now. */
const KERNELS = {
  baobox: { specifier: '../../lib/index.js', warmUp: 'warmup' },
  'blake3-jit': { specifier: 'blake3-jit', warmUp: 'warmupSimd' }
}

const [name, what] = process.argv.slice(2)
const said = what === 'kernel'
  ? await kernel(KERNELS[/** @type {keyof typeof KERNELS} */ (name)])
  : await firstHash({ ...OURS, ...PEERS }[name], Number(what))
console.log(JSON.stringify(said))

/** @param {{ specifier: string, use: Function }} contestant @param {number} size */
async function firstHash ({ specifier, use }, size) {
  const bytes = randomBytes(size)
  const start = performance.now()
  const { hash } = await use(await import(specifier))
  hash(bytes)
  return (performance.now() - start) * 1e6
}

/** @param {{ specifier: string, warmUp: string }} contestant */
async function kernel ({ specifier, warmUp }) {
  let compiled = 0
  let bytes = 0
  const { Module } = WebAssembly
  // Only this call gets the bytes of the module.
  WebAssembly.Module = class extends Module {
    /** @param {BufferSource} source */
    constructor (source) {
      const start = performance.now()
      super(source)
      compiled += (performance.now() - start) * 1e6
      bytes += source.byteLength
    }
  }
  const module = await import(specifier)
  const start = performance.now()
  module[warmUp]()
  return { ready: (performance.now() - start) * 1e6, compiled, bytes }
}
