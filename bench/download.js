// Measures the download of a blob that is verified while it arrives.
//
// The servers are plain ones on loopback, with an outboard beside the blob; four mirrors are four processes. `curl`
// writes the same blob to a file, and verifies nothing. `fetch` reads it and writes nothing. `hash` reads it from the
// disk and hashes it on one thread: `x hash` is the remaining share of that speed. One thread needs at least the time
// of `fetch` and `hash` together (docs/decisions/0033-downloads.md). `download` writes to a store, `downloadFile` to a
// file; both sync it, curl does not. The second table has the peak memory of a process.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeOutboard } from '../encoder/index.js'
import { GiB, MiB, randomBytes, sized } from './support/inputs.js'
import { shuffled } from './support/measure.js'
import { flags, report } from './support/run.js'

const SIZE = flags.quick ? 16 * MiB : GiB
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 3)
const MIRRORS = 4
const SERVER = fileURLToPath(new URL('support/file-server.js', import.meta.url))
const JOB = fileURLToPath(new URL('support/download-job.js', import.meta.url))

/** Ways to get the blob, each with its number of mirrors. @type {Record<string, [job: string, mirrors: number]>} */
const WAYS = {
  hash: ['hash', 1],
  'fetchVerified, one mirror': ['fetchVerified', 1],
  'download, one mirror': ['download', 1],
  'download, four mirrors': ['download', MIRRORS],
  'download without sync, one mirror': ['download, without sync', 1],
  'downloadFile, one mirror': ['downloadFile', 1],
  fetch: ['fetch', 1]
}

const folder = mkdtempSync(join(tmpdir(), 'baobox-bench-'))
const blob = join(folder, 'blob')
const out = join(folder, 'out')
writeBlob()
const { cid } = await writeOutboard(blob, `${blob}.obao4`)
const servers = Array.from({ length: MIRRORS }, () => spawn(process.execPath, [SERVER, blob]))
try {
  const ports = await Promise.all(servers.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()))
  const urls = ports.map(port => `http://127.0.0.1:${port}/blob`)
  const names = [...Object.keys(WAYS), 'curl']
  /** @type {Record<string, number[]>} */
  const times = Object.fromEntries(names.map(name => [name, []]))
  /** @type {Record<string, number[]>} */
  const memory = Object.fromEntries(Object.keys(WAYS).map(name => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of shuffled(names)) {
      rmSync(out, { recursive: true, force: true })
      if (name === 'curl') {
        times[name].push(curl(urls[0]))
        continue
      }
      const [job, mirrors] = WAYS[name]
      const args = [JOB, job, folder, String(cid), ...urls.slice(0, mirrors)]
      const { ns, resident } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
      times[name].push(ns)
      memory[name].push(resident)
    }
  }
  report('download', `a blob of ${sized(SIZE)} over loopback`,
    [{ name: 'time', bytes: SIZE, samples: times }], { form: 'ranking' })
  report('download', `a blob of ${sized(SIZE)} over loopback: memory of the process`,
    [{ name: 'memory', bytes: SIZE, unit: 'megabytes', samples: memory }], { form: 'ranking' })
} finally {
  for (const server of servers) server.kill()
  rmSync(folder, { recursive: true })
}

/** Writes a blob of which no two MiB are the same. */
function writeBlob () {
  const file = openSync(blob, 'w')
  const piece = randomBytes(MiB)
  const view = new DataView(piece.buffer)
  for (let i = 0; i < SIZE / MiB; i++) {
    view.setUint32(0, i)
    writeSync(file, piece)
  }
}

/** @param {string} url @returns {number} nanoseconds */
function curl (url) {
  const since = process.hrtime.bigint()
  execFileSync('curl', ['--silent', '--show-error', '--output', out, url])
  return Number(process.hrtime.bigint() - since)
}
