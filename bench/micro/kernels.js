// A table of kernels that differ in one choice each, and give the same hashes.

import { MiB, randomBytes, sized } from '../support/inputs.js'
import { run } from '../support/run.js'
import { assertHashes } from './check.js'
import { createHash } from './tree.js'

/** @import { Choices } from './kernel.js' */

/**
 * @param {string} bench
 * @param {string} question
 * @param {Record<string, Choices>} kernels  the one that ships first
 */
export async function compareKernels (bench, question, kernels) {
  const input = randomBytes(MiB)
  /** @type {Record<string, () => unknown>} */
  const contestants = {}
  for (const [name, choices] of Object.entries(kernels)) {
    const hash = await createHash({ choices })
    assertHashes(name, hash)
    contestants[name] = () => hash(input)
  }
  await run(bench, question, [{ name: sized(MiB), bytes: MiB, contestants }], { form: 'ranking' })
}
