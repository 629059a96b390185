// Compares how many chunks are hashed before their parents.
//
// A window is copied in, hashed in one call, and reduced. Small windows mean many calls and levels that do not
// fill four lanes; large ones do not fit into the caches and take memory that is never freed. The first row is that of
// lib/engine/arena.js.

import { WINDOW_CHUNKS } from '../../lib/engine/arena.js'
import { KiB, MiB, randomBytes, sized } from '../support/inputs.js'
import { run } from '../support/run.js'
import { assertHashes } from './check.js'
import { createHash } from './tree.js'

const WINDOWS = [WINDOW_CHUNKS, ...[4, 8, 16, 32, 64, 128, 256, 512, 1024].filter(chunks => chunks !== WINDOW_CHUNKS)]

/** @type {Record<string, (bytes: Uint8Array) => Uint8Array>} */
const hashes = {}
for (const windowChunks of WINDOWS) {
  const name = `${windowChunks} chunks`
  hashes[name] = await createHash({ windowChunks })
  assertHashes(name, hashes[name])
}

await run('micro/windows', 'chunks in a window', [64 * KiB, 100_000, 16 * MiB].map(size => {
  const input = randomBytes(size)
  const contestants = Object.fromEntries(Object.entries(hashes).map(([name, hash]) => [name, () => hash(input)]))
  return { name: sized(size), bytes: size, contestants }
}), { form: 'ranking' })
