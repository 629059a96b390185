// Measures the memory that it takes to process a blob larger than the memory.
//
// A row is a task on a sparse file of 10 GiB, which takes no space on the disk, in a process of its own; the figures
// are peaks over the idle process, which has imported everything. `heap and buffers` is the memory of JavaScript that
// is not yet collected, sampled all the time; `resident` is all that the system counts, with compiled code and memory
// that the engine keeps for later. Outboards are files, except in `createOutboard`, whose outboard counts.
// `verifyStream` reads a pipe from another process.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, openSync, ftruncateSync, closeSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GiB, MiB, sized } from './support/inputs.js'
import { flags, report } from './support/run.js'

/** @import { Result } from './support/tables.js' */

const SIZE = flags.quick ? 16 * MiB : 10 * GiB
const CHILD = fileURLToPath(new URL('support/memory-job.js', import.meta.url))
const JOBS = [
  ['hashStream', { threads: 1 }],
  ['hashStream', { threads: 2 }],
  ['createOutboard', { groupLog: 4, threads: 1 }],
  ['writeOutboard', { groupLog: 4, threads: 1 }],
  ['writeOutboard', { groupLog: 0, threads: 1 }],
  ['writeOutboard', { groupLog: 0, threads: 2 }],
  ['writeOutboard of a stream', { groupLog: 0 }],
  ['encodeStream', { groupLog: 4 }],
  ['encodeStream', { groupLog: 4, reuse: true }],
  ['encodeStream', { groupLog: 0, reuse: true }],
  ['encodeStream to verifyStream', { groupLog: 4 }],
  ['encodeStream to verifyStream', { groupLog: 4, reuse: true }],
  ['encodeStream to verifyStream', { groupLog: 0, reuse: true }],
  ['verifyStream', { groupLog: 4 }],
  ['verifyStream', { groupLog: 4, reuse: true }],
  ['verifyStream', { groupLog: 0, reuse: true }],
  ['validRanges', { groupLog: 4 }],
  ['validRanges', { groupLog: 0 }]
]

/** @type {Record<string, (value: any) => string>} */
const WORDS = {
  groupLog: groupLog => `group log ${groupLog}`,
  threads: count => count === 1 ? 'one thread' : `${count} threads`,
  reuse: () => 'reuse'
}

const folder = mkdtempSync(join(tmpdir(), 'baobox-bench-'))
try {
  const file = openSync(join(folder, 'blob'), 'w')
  ftruncateSync(file, SIZE)
  closeSync(file)
  /** @type {Result[]} */
  const results = []
  for (const [job, options] of JOBS) {
    const args = [CHILD, String(job), JSON.stringify(options), folder]
    const { idle, held, resident } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
    const name = [job, ...Object.entries(options).map(([key, value]) => WORDS[key](value))].join(', ')
    const row = { name, bytes: SIZE, unit: /** @type {const} */ ('megabytes') }
    const peaks = { 'heap and buffers': held, resident: resident - idle }
    for (const [what, peak] of Object.entries(peaks)) {
      results.push({ ...row, name: `${name}: ${what}`, samples: { peak: [peak] } })
    }
  }
  report('memory', `memory over the idle process, for ${sized(SIZE)}`, results)
} finally {
  rmSync(folder, { recursive: true })
}
