// Measures where a store in a browser keeps a long blob fastest: as Blobs in IndexedDB, as it does; as bytes in
// IndexedDB, as it does where the browser refuses Blobs; or in a file of the origin-private file system (OPFS), which a
// store would read and write by synchronous handles in a dedicated worker, or by streams and Blobs elsewhere. For OPFS,
// support/browser/opfs-folder.js takes the place of the folder of blob files that a store has in Node.js.
//
// The contestants of a store run in the same worker. Reads are verified, and find the bytes in the cache of the system.
// The other tables show what each engine takes for other values in IndexedDB. It runs in each engine that test/browser
// finds, or in those that are named: `node bench/browser-storage.js chromium`.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { ENGINES, prepare } from '../test/browser/engines/index.js'
import { serve } from '../test/browser/server.js'
import { KiB, MiB, sized } from './support/inputs.js'
import { shuffled } from './support/measure.js'
import { flags, names, report } from './support/run.js'

/** @import { Result } from './support/tables.js' */

/** @typedef {{ contestant: string, times: Record<string, number> }} Sample  `times`: milliseconds, by case */

const SIZE = flags.quick ? 8 * MiB : 64 * MiB
const READ_LEN = 16 * KiB
const READS = flags.quick ? 10 : 200
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 7)
/** The contestants of each table. */
const TABLES = {
  'a blob of a store': ['IndexedDB', 'IndexedDB without Blobs', 'OPFS, synchronous handles', 'OPFS, streams and Blobs'],
  'IndexedDB without a store': ['values of 256 KiB', 'Blobs of 256 KiB', 'values of 1 MiB', 'Blobs of 1 MiB']
}
const CONTESTANTS = Object.values(TABLES).flat()
const CASES = { put: SIZE, get: SIZE, read: READ_LEN }

/** WebKitGTK has these, as Safari does, but leaves them off. */
const FEATURES = ['StorageAPI', 'FileSystem', 'AccessHandle', 'FileSystemWritableStream']

const pathOf = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))

const { outputFiles } = await build({
  entryPoints: {
    suites: pathOf('support/browser/page.js'),
    cases: pathOf('support/browser/cases.js'),
    worker: pathOf('../lib/parallel/threads/worker.js')
  },
  alias: { '#disk': pathOf('support/browser/disk.js') },
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  outdir: '/',
  write: false,
  logLevel: 'error'
})
const scripts = new Map([
  ...outputFiles.map(({ path, contents }) => /** @type {const} */ ([`/${basename(path)}`, contents])),
  ['/report.js', new Uint8Array(0)]
])

for (const [name, engine] of Object.entries(ENGINES)) {
  if (names.length > 0 && !names.includes(name)) continue
  const { found, reason } = prepare(engine, false)
  if (found === undefined) {
    console.error(`NOT MEASURED: ${engine.title}: ${reason}`)
    continue
  }
  const samples = await samplesIn(engine.title, (url, onGone) =>
    name === 'webkit' ? startKeeping(found, url) : startDriven(engine, found, url, onGone))
  for (const [place, contestants] of Object.entries(TABLES)) {
    const results = Object.entries(CASES).map(([what, bytes]) => resultOf(what, bytes, contestants, samples))
    report('browser-storage', `${place}, ${sized(SIZE)}, in ${engine.title}`, results, { form: 'ranking' })
  }
}

/**
 * @param {string} what  the name of the case @param {number} bytes @param {string[]} contestants
 * @param {Sample[]} samples @returns {Result}
 */
function resultOf (what, bytes, contestants, samples) {
  const ns = contestants.map(name => [
    name, samples.filter(({ contestant }) => contestant === name).map(({ times }) => times[what] * 1e6)])
  return {
    name: what === 'read' ? `reads of ${sized(READ_LEN)}` : what,
    bytes,
    unit: 'speed',
    samples: Object.fromEntries(ns.filter(([, times]) => times.length > 0))
  }
}

/**
 * Runs all rounds in one page. The first round only warms up.
 *
 * @param {string} title  of the engine
 * @param {(url: string, onGone: (reason: unknown) => void) => Promise<() => Promise<void>>} start  opens a page;
 *   returns a function that ends the browser
 * @returns {Promise<Sample[]>}
 */
async function samplesIn (title, start) {
  const rounds = Array.from({ length: ROUNDS + 1 }, () => shuffled(CONTESTANTS))
  const jobs = rounds.flatMap((contestants, round) => contestants.map(contestant => (
    { contestant, isWarmUp: round === 0, size: SIZE, reads: READS, readLen: READ_LEN })))
  const samples = /** @type {Sample[]} */ ([])
  const failures = new Map()
  let end = (/** @type {unknown} */ _reason) => {}
  const ended = new Promise(resolve => { end = resolve })
  const { url, close } = await serve(scripts, {}, {
    '/report' (/** @type {any} */ { isEnd, isWarmUp, contestant, times, error }) {
      if (isEnd) end(undefined)
      else if (error !== undefined) failures.set(contestant, error)
      else if (!isWarmUp) samples.push({ contestant, times })
    }
  })
  const stop = await start(`${url}?${new URLSearchParams({ jobs: JSON.stringify(jobs) })}`, end)
  const reason = await ended
  if (reason !== undefined) console.error(`${title}: ${reason}`)
  await stop()
  close()
  for (const [contestant, error] of failures) console.error(`NOT MEASURED: ${contestant} in ${title}: ${error}`)
  return samples
}

/**
 * @param {import('../test/browser/engines/index.js').Engine} engine @param {any} found @param {string} url
 * @param {(reason: unknown) => void} onGone
 */
async function startDriven (engine, found, url, onGone) {
  const browser = await engine.start(found, onGone)
  browser.open(url).catch(onGone)
  return () => browser.close()
}

/**
 * Starts WebKitGTK's small browser without its driver: a browser that is driven keeps nothing on the disk.
 *
 * @param {{ browser: string }} found @param {string} url
 */
async function startKeeping ({ browser }, url) {
  const folder = mkdtempSync(join(tmpdir(), 'baobox-bench-'))
  const homes = { HOME: folder, XDG_DATA_HOME: folder, XDG_CACHE_HOME: folder, XDG_CONFIG_HOME: folder }
  const args = ['-a', browser, `--features=${FEATURES.map(name => `+${name}`).join(',')}`, url]
  const child = spawn('xvfb-run', args, { env: { ...process.env, ...homes }, stdio: 'ignore', detached: true })
  return async () => {
    process.kill(-Number(child.pid))
    await once(child, 'exit')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
