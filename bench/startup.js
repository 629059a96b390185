// Measures the time until the first hash.
//
// Every figure is from fresh processes: the time from before the import of a package to its first hash. `baobox/hash`
// is our entry point without the tree, the ranges and the CIDs. The second table is about the WebAssembly modules that
// are assembled at run time: the time until they are ready, the part of it for compiling, and their size (`x` there:
// how many times as small).

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { KiB, sized } from './support/inputs.js'
import { shuffled } from './support/measure.js'
import { PEERS, RIVALS, loadPeers } from './support/peers.js'
import { flags, report } from './support/run.js'

const SIZES = [0, KiB, 64 * KiB]
const ROUNDS = flags.quick ? 1 : 21
const CHILD = fileURLToPath(new URL('support/first-hash.js', import.meta.url))

const peers = Object.keys(await loadPeers())

report('startup', 'from import to first hash, in fresh processes', SIZES.map(firstHashes), { rivals: RIVALS })
report('startup', 'the module that is assembled at run time', kernels())

/** @param {number} size */
function firstHashes (size) {
  const able = peers.filter(name => size <= (PEERS[name].upTo ?? Infinity))
  const names = ['baobox', 'baobox/hash', ...able]
  const samples = interleaved(names, name => fresh(name, String(size)))
  return { name: sized(size), bytes: size, unit: /** @type {const} */ ('time'), samples }
}

function kernels () {
  const said = interleaved(['baobox', ...peers.filter(name => name === 'blake3-jit')], name => fresh(name, 'kernel'))
  /** @param {string} key */
  const each = key =>
    Object.fromEntries(Object.entries(said).map(([name, list]) => [name, list.map(entry => entry[key])]))
  return [
    { name: 'assembled and compiled', bytes: 0, samples: each('ready') },
    { name: 'compiled alone', bytes: 0, samples: each('compiled') },
    { name: 'size', bytes: 0, unit: /** @type {const} */ ('memory'), samples: each('bytes') }
  ]
}

/** @template T @param {string[]} names @param {(name: string) => T} sample @returns {Record<string, T[]>} */
function interleaved (names, sample) {
  const samples = Object.fromEntries(names.map(name => [name, /** @type {T[]} */ ([])]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of shuffled(names)) samples[name].push(sample(name))
  }
  return samples
}

/** @param {string} name @param {string} what */
function fresh (name, what) {
  return JSON.parse(execFileSync(process.execPath, [CHILD, name, what], { encoding: 'utf8' }))
}
