// Runs cases of a target. A case is named by its seed: its lowest bit is the kernel, all else is drawn from it.
import { Hasher, hash, keyedHash } from '../../lib/index.js'
import { same } from '../support/bytes.js'
import { KEY, noise } from '../support/inputs.js'
import { hash as twinHash, keyed } from '../support/twin/index.js'
import { Random } from './random.js'
import { counted } from '../support/work.js'
import { finding } from './finding.js'

export const KERNELS = ['simd', 'js']

/** @param {number} seed */
export const kernelOf = seed => KERNELS[seed & 1]

/**
 * @typedef {object} Target
 * @property {string} name
 * @property {string} about  what is fed with what
 * @property {(random: Random) => unknown} run  one case; throws when something is not as it must be. May be async
 */

/**
 * Runs cases, all of one kernel.
 *
 * @param {Target} target
 * @param {string} kernel
 * @param {Iterable<number>} seeds
 * @param {(seed: number) => void} [onCase]  before each
 * @throws with `seed` when one of them finds something
 */
export async function runCases (target, kernel, seeds, onCase) {
  await counted(kernel, async () => {
    for (const seed of seeds) {
      onCase?.(seed)
      try {
        await target.run(new Random(seed))
        expectFit()
      } catch (error) {
        throw Object.assign(error, { seed })
      }
    }
  })
}

/** The seed of a case of a long run. @param {number} master @param {number} index @param {string} kernel */
export const seedOf = (master, index, kernel) => (
  (new Random(master ^ Math.imul(index, 0x9e3779b1)).next() & ~1) | KERNELS.indexOf(kernel)
) >>> 0

const INPUTS = [new Uint8Array(0), noise(64, 71), noise(1025, 72), noise(5000, 73)]
const HASHES = INPUTS.map(bytes => twinHash(bytes))
const MACS = INPUTS.map(bytes => twinHash(bytes, 32, keyed(KEY)))

/** Whatever happened before: known inputs have their known hashes. */
function expectFit () {
  INPUTS.forEach((bytes, i) => {
    if (!same(keyedHash(KEY, bytes), MACS[i])) finding(`afterwards the keyed hash of ${bytes.length} bytes is wrong`)
    if (!same(hash(bytes), HASHES[i])) finding(`afterwards the hash of ${bytes.length} bytes is wrong`)
  })
  if (!same(new Hasher().update(INPUTS[3]).digest(), HASHES[3])) finding('afterwards a hasher is wrong')
}
