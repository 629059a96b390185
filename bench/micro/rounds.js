// Compares the seven rounds written out with a loop over one of them.
//
// Written out, every word of the message stays where it is and each round names the ones it takes; in a loop they
// change places between rounds. The loop is much less code, which counts until it is compiled. The first row
// is the code of lib.

import { layOut, createHash } from './tree.js'
import { KiB, MiB, randomBytes, sized } from '../support/inputs.js'
import { run } from '../support/run.js'
import { assertHashes } from './check.js'
import { compile, compressMany } from './kernel.js'
import { compressOf } from './steps/compress.js'

const inWasm = Object.fromEntries(await Promise.all([false, true].map(async isLooped =>
  [isLooped ? 'in a loop' : 'written out', await createHash({ choices: { isLooped } })])))
const inJavaScript = { 'written out': await plain(false), 'in a loop': await plain(true) }

const QUESTION = 'the seven rounds written out, or in a loop'
const timedInJavaScript = [KiB, 64 * KiB].map(size => timed(inJavaScript, size))
await run('micro/rounds', `${QUESTION}: WebAssembly`, [timed(inWasm, MiB), made()], { form: 'ranking' })
await run('micro/rounds', `${QUESTION}: JavaScript`, timedInJavaScript, { form: 'ranking' })

/** @param {boolean} isLooped */
async function plain (isLooped) {
  const { createHash } = await import(`./steps/offsets.js?looped=${isLooped}`)
  const compress = await compressOf({ state: 'locals', message: 'locals', isInPlace: true, isUnrolled: !isLooped })
  return createHash({ compress, keepsBuffers: true, readsWords: true })
}

/** @param {Record<string, (bytes: Uint8Array) => Uint8Array>} hashes @param {number} size */
function timed (hashes, size) {
  const input = randomBytes(size)
  for (const [name, hash] of Object.entries(hashes)) assertHashes(name, hash)
  const contestants = Object.fromEntries(Object.entries(hashes).map(([name, hash]) => [name, () => hash(input)]))
  return { name: sized(size), bytes: size, contestants }
}

/** Until the module can be called. */
function made () {
  const { memory, SCRATCH } = layOut(4)
  return {
    name: 'assembled and compiled',
    bytes: 0,
    contestants: {
      'written out': () => compile(memory, [compressMany(SCRATCH)]),
      'in a loop': () => compile(memory, [compressMany(SCRATCH, { isLooped: true })])
    }
  }
}
