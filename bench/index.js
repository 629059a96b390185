// All benches, or those that the command line names: `npm run bench -- hash-small verify --quick`; `micro` stands for all micro/*.
// Each runs in a process of its own: what one does to compiled code, to memory or to the globals is no matter of the next.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPeers } from './support/peers.js'
import { readKept, writeKept } from './support/report.js'
import { flags, names, printHeading } from './support/run.js'

const BENCHES = [
  'hash-small', 'hash-large', 'hash-js', 'incremental', 'file', 'threads', 'outboard', 'encode', 'verify', 'startup',
  'micro/steps', 'micro/mixing', 'micro/registers', 'micro/rounds', 'micro/windows', 'micro/pointers'
]
const MICRO = BENCHES.filter(name => name.startsWith('micro/'))

const wanted = names.length === 0 ? BENCHES : names.flatMap(name => name === 'micro' ? MICRO : [name])
const unknown = wanted.filter(name => !BENCHES.includes(name))
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are ${BENCHES.join(', ')}`)
  process.exit(2)
}

installPeers()
printHeading()
const folder = mkdtempSync(join(tmpdir(), 'baobox-bench-'))
try {
  const failed = wanted.filter(name => !hasRun(name))
  if (failed.length > 0) {
    console.error(`failed: ${failed.join(', ')}`)
    process.exitCode = 1
  }
  if (flags.json) keepAll(flags.json)
} finally {
  rmSync(folder, { recursive: true })
}

/** @param {string} name */
function hasRun (name) {
  const options = [
    '--part', '--json', partOf(name),
    ...flags.quick ? ['--quick'] : [],
    ...flags.markdown ? ['--markdown'] : [],
    ...flags.compare ? ['--compare', flags.compare] : []
  ]
  const file = fileURLToPath(new URL(`${name}.js`, import.meta.url))
  return spawnSync(process.execPath, [file, ...options], { stdio: 'inherit' }).status === 0
}

/** What the benches kept, in one file. @param {string} file */
function keepAll (file) {
  const parts = BENCHES.map(partOf).filter(part => existsSync(part)).map(readKept)
  if (parts.length > 0) writeKept({ environment: parts[0].environment, tables: parts.flatMap(({ tables }) => tables) }, file)
}

/** @param {string} name */
function partOf (name) { return join(folder, `${name.replace('/', '-')}.json`) }
