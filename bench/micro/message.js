// Where should the words of the message wait for their rounds?
//
// In local variables they compete with the state for sixteen vector registers, and the compiler decides which of them go to the stack. At
// fixed places in memory every use is a load. The first row is what lib/kernel/simd.js does.

import { MiB, randomBytes, sized } from '../support/inputs.js'
import { run } from '../support/run.js'
import { assertHashes } from './check.js'
import { createHash } from './tree.js'

const input = randomBytes(MiB)
/** @type {Record<string, () => unknown>} */
const contestants = {}
for (const message of /** @type {const} */ (['locals', 'memory'])) {
  const hash = await createHash({ choices: { message } })
  assertHashes(message, hash)
  contestants[message === 'locals' ? 'in local variables' : 'in memory'] = () => hash(input)
}

await run('micro/message', 'the words of the message, once transposed', [{ name: sized(MiB), bytes: MiB, contestants }], { form: 'ranking' })
