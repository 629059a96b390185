// Runs all benches, or those on the command line: `npm run bench -- hash-small verify --quick`; `micro` means all
// micro/*. Each runs in a process of its own, so that it does not change compiled code, memory or globals for the next.
// With --repeat, each runs in several processes: compilers produce different code for the same source from process to
// process.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPeers } from './support/peers.js'
import { pooled, readKept } from './support/report.js'
import { flags, names, report } from './support/run.js'

const BENCHES = [
  'hash-small', 'hash-large', 'hash-js', 'incremental', 'file', 'threads', 'outboard', 'encode', 'verify', 'slice',
  'memory', 'startup',
  'store-large', 'store-small', 'store-many', 'store-random', 'store-partial', 'store-copy', 'store-import',
  'store-compose', 'store-append', 'store-keys', 'bucket-store', 'directory', 'serve', 'download', 'browser-storage',
  'micro/steps', 'micro/single', 'micro/mixing', 'micro/registers', 'micro/rounds', 'micro/tails', 'micro/levels',
  'micro/windows', 'micro/pointers'
]
const MICRO = BENCHES.filter(name => name.startsWith('micro/'))

const wanted = names.length === 0 ? BENCHES : names.flatMap(name => name === 'micro' ? MICRO : [name])
const unknown = wanted.filter(name => !BENCHES.includes(name))
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are ${BENCHES.join(', ')}`)
  process.exit(2)
}

installPeers()
const folder = mkdtempSync(join(tmpdir(), 'baobox-bench-'))
try {
  for (const name of wanted) {
    const tries = Array.from({ length: Number(flags.repeat ?? 1) }, () => runOf(name))
    const runs = tries.filter(tables => tables !== undefined)
    if (runs.length === 0) continue
    for (const { bench, question, results, ...shape } of pooled(runs)) report(bench, question, results, shape)
  }
} finally {
  rmSync(folder, { recursive: true })
}

/** The tables of a bench, from a fresh process. @param {string} name */
function runOf (name) {
  const file = fileURLToPath(new URL(`${name}.js`, import.meta.url))
  const part = join(folder, 'part.json')
  const args = [file, '--json', part, ...flags.quick ? ['--quick'] : [], ...flags.rust ? ['--rust'] : []]
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status === 0) return readKept(part).tables
  console.error(`failed: ${name}`)
  process.exitCode = 1
}
