// How should four lanes be rotated, and in what order be added to?
//
// WebAssembly has no rotation of vectors. Two shifts and an or always do; by 16 and 8 bits bytes only change places, which a shuffle with
// constant lanes or a swizzle does in one instruction, if the engine sees that. What is quickest differs from engine to engine and from
// version to version, so run this where it matters. The first row is what lib/kernel/simd.js does.

import { MiB, randomBytes, sized } from '../support/inputs.js'
import { run } from '../support/run.js'
import { assertHashes } from './check.js'
import { fourLanes } from './kernel.js'
import { createHash } from './tree.js'

const CHOICES = /** @type {Record<string, Parameters<typeof fourLanes>[0]>} */ ({
  '16 shuffled, 8 shifted': {},
  '16 and 8 shuffled': { by8: 'shuffle' },
  '16 shifted, 8 shuffled': { by16: 'shifts', by8: 'shuffle' },
  'both shifted': { by16: 'shifts' },
  '16 and 8 swizzled': { by16: 'swizzle', by8: 'swizzle' },
  '16 swizzled, 8 shifted': { by16: 'swizzle' },
  '16 shuffled, 8 shifted, the word added last': { addsWordLast: true }
})

const input = randomBytes(MiB)
/** @type {Record<string, () => unknown>} */
const contestants = {}
for (const [name, choice] of Object.entries(CHOICES)) {
  const hash = await createHash({ choices: { lanes: fourLanes(choice) } })
  assertHashes(name, hash)
  contestants[name] = () => hash(input)
}

await run('micro/rotations', 'rotations by 16 and 8 bits, and the order of additions', [{ name: sized(MiB), bytes: MiB, contestants }], { form: 'ranking' })
