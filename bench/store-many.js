// Measures what it costs to keep very many small blobs. With a million of them, each should cost as much as with a
// hundred thousand.
//
// A row is a task on a store, in a process of its own; a column is the number of blobs of 64 bytes. `gc` deletes half
// of them: the other half are the members of a tagged hash sequence. `peak memory` is the largest growth of the
// resident memory. It includes the mapped pages of LevelDB's files, which the system takes back when it needs them:
// `without files` leaves them out.

import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { flags, report } from './support/run.js'
import { inFolder } from './support/stores.js'

/** @import { Result } from './support/tables.js' */

const LEN = 64
const COUNTS = flags.quick ? [200, 400] : [100_000, 300_000, 1_000_000]
const CHILD = fileURLToPath(new URL('support/many-job.js', import.meta.url))
/** In this order: each works on the store that the one before has left. */
const JOBS = ['putMany', 'open', 'list', 'fsck', 'tagHalf', 'gc']
const SHOWN = JOBS.filter(job => job !== 'tagHalf')

/** @typedef {{ ns: number, resident: number, anonymous: number }} Cost  of a job, in nanoseconds and bytes */

const costs = /** @type {Record<string, Record<string, Cost>>} */ (Object.fromEntries(JOBS.map(job => [job, {}])))
for (const count of COUNTS) {
  await inFolder(async folder => {
    for (const job of JOBS) {
      const args = ['--expose-gc', CHILD, job, String(count), String(LEN), folder]
      costs[job][`${count} blobs`] = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
    }
  })
}

/**
 * @param {string} name @param {string} job @param {(cost: Cost, count: number) => number} figure
 * @param {Result['unit']} unit
 * @returns {Result}
 */
const row = (name, job, figure, unit) => ({
  name,
  bytes: LEN,
  unit,
  samples: Object.fromEntries(COUNTS.map(count => [`${count} blobs`, [figure(costs[job][`${count} blobs`], count)]]))
})

const times = SHOWN.map(job => row(job, job, ({ ns }, count) => ns / count, 'time'))
report('store-many', `blobs of ${LEN} B in a store: time for each blob`, times)
if (process.platform === 'linux') {
  report('store-many', `blobs of ${LEN} B in a store: peak memory`, SHOWN.flatMap(job => [
    row(job, job, ({ resident }) => resident, 'megabytes'),
    row(`${job}, without files`, job, ({ anonymous }) => anonymous, 'megabytes')
  ]))
}
