// Fuzzers: `node test/fuzz/run.js [--minutes N] [--seed S] [--target NAME]... [--case SEED]`. All that
// happens follows from the seed, which is printed; `--case` runs one case again. What is found is
// printed with its case, and ends the run with status 1.
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { KERNELS, kernelOf, runCases, seedOf } from './engine.js'
import { targets } from './targets/index.js'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 32)) },
    target: { type: 'string', multiple: true, default: [] },
    case: { type: 'string' }
  }
})
const chosen = targets.filter(({ name }) => values.target.length === 0 || values.target.includes(name))
const unknown = values.target.filter(name => !targets.some(target => target.name === name))
if (unknown.length > 0) {
  throw new Error(
  `no target ${unknown.join(', ')}: there are ${targets.map(({ name }) => name).join(', ')}`
  )
}

const BATCH_MS = 2000
const MOST_FINDINGS = 10

/**
 * What a second thread sees while this one is busy: which case, and since when. A hang is told; nothing
 * is judged by the clock.
 */
const shared = new SharedArrayBuffer(24)
const [seenCase, seenTarget] = [new Uint32Array(shared, 0, 1), new Uint32Array(shared, 4, 1)]
const watchdog = new Worker(
  new URL('./watchdog.js', import.meta.url), { workerData: { shared, names: chosen.map(({ name }) => name) } }
)
watchdog.unref()

const state = new Map(chosen.map(target => [target.name, { target, cases: 0, ms: 0, slowest: { ms: 0, seed: 0 } }]))
const findings = []
let mostMemory = 0

/**
 * @param {(typeof state extends Map<any, infer T> ? T : never)} one @param {string} kernel
 * @param {Iterable<number>} seeds
 */
async function run (one, kernel, seeds) {
  let since = performance.now()
  let current = 0
  const note = () => {
    const ms = performance.now() - since
    if (ms > one.slowest.ms) one.slowest = { ms, seed: current }
    one.ms += ms
  }
  try {
    await runCases(one.target, kernel, seeds, seed => {
      if (one.cases++ > 0) note()
      since = performance.now()
      seenCase[0] = current = seed
      seenTarget[0] = chosen.indexOf(one.target)
      Atomics.add(new Int32Array(shared, 8, 1), 0, 1)
    })
  } catch (error) {
    findings.push(`${one.target.name} ${error.seed}`)
    console.log(
      `FOUND by ${one.target.name}, kernel ${kernel}, case ${error.seed}: ${error.stack}\nAgain: node test/fuzz/run.js --target ${one.target.name} --case ${error.seed}`
    )
  }
  mostMemory = Math.max(mostMemory, process.memoryUsage().rss)
}

if (values.case !== undefined) {
  for (const one of state.values()) await run(one, kernelOf(Number(values.case)), [Number(values.case)])
} else {
  const master = Number(values.seed) >>> 0
  const until = performance.now() + Number(values.minutes) * 60_000
  console.log(`seed ${master}, ${values.minutes} minutes, ${chosen.map(({ name }) => name).join(' ')}`)
  for (let round = 0; performance.now() < until && findings.length < MOST_FINDINGS; round++) {
    for (const one of state.values()) {
      if (round > 0 && performance.now() >= until) break
      const kernel = KERNELS[round % KERNELS.length]
      const stop = performance.now() + BATCH_MS
      const seeds = function * () { while (performance.now() < stop) yield seedOf(master, one.cases, kernel) }
      while (performance.now() < stop && findings.length < MOST_FINDINGS) await run(one, kernel, seeds())
    }
    if (round % 10 === 9) summarize()
  }
}
summarize()
process.exitCode = findings.length > 0 ? 1 : 0
await watchdog.terminate()

function summarize () {
  console.log(`${new Date().toISOString()}  memory at most ${Math.round(mostMemory / 2 ** 20)} MiB`)
  for (const [name, { cases, ms, slowest }] of state) {
    console.log(
      `  ${name.padEnd(12)} ${String(cases).padStart(9)} cases  ${(ms / 1000).toFixed(0).padStart(5)} s  slowest ${slowest.ms.toFixed(0)} ms (case ${slowest.seed})`
    )
  }
  console.log(`  ${findings.length} findings${findings.length > 0 ? `: ${findings.join(', ')}` : ''}`)
}
