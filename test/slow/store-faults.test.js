// Makes each write to the disk fail, once or from then on, in each call to a store. Everything acknowledged before,
// during and after the failure is present. A failed call has its whole effect or none. When the disk works again, so
// does the store.
//
// POINTS is the number of writes that fail, SEED chooses them: `SEED=7 POINTS=2000 npm run test:slow -- -g 'write to'`.
// CALL=gc only tests that call. With EFFORT below 1, each call has one kind of failure, and each kind is that of
// some calls.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { Random } from '../fuzz/random.js'
import { atEffort, pairsOf } from '../support/effort.js'
import { CALLS } from './disk/faults-worker.js'
import { FAULTS, environmentOf, makeDisk } from './disk/shim.js'

const WORKER = fileURLToPath(new URL('disk/faults-worker.js', import.meta.url))
const { SEED = 1, CALL } = process.env
const POINTS = Number(process.env.POINTS ?? atEffort(500))
const PROCESSES = Math.min(availableParallelism(), 4)
/** Milliseconds without output after which a process counts as stuck. */
const PATIENCE = 60_000
/** The most tasks of one process. */
const TASKS = 100

/**
 * @typedef {{ what: string, fault: string, pass?: number, seed?: number }} Task  `pass`: how many calls to the disk are
 *   done before one fails; undefined: only counts them
 */

describe('store: every write to the disk', () => {
  let disk
  before(async function () {
    disk = await makeDisk()
    if (!disk.missing) return
    console.log(`    NOT RUN: a disk that fails ${disk.missing}`)
    this.skip()
  })
  after(() => disk.remove?.())

  let processes = 0
  /**
   * Lets a process do tasks. If it ends early, another process continues after the task at which it ended.
   *
   * @param {Task[]} tasks @returns {Promise<object[]>} the result of each
   */
  async function run (tasks) {
    if (tasks.length === 0) return []
    const folder = join(disk.folder, `disk ${++processes}`)
    const env = await environmentOf(disk.shim, folder, { control: `${folder}.control` })
    const args = [WORKER, folder, JSON.stringify(tasks)]
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const exit = once(child, 'exit')
    let timer
    const results = []
    for await (const line of createInterface({ input: child.stdout })) {
      clearTimeout(timer)
      timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE)
      const result = JSON.parse(line)
      if (!result.begun) results.push(result)
    }
    clearTimeout(timer)
    const [code, signal] = await exit
    if (results.length === tasks.length) return results
    results.push({ wrong: [`the process ended with ${signal ?? code}`] })
    return [...results, ...await run(tasks.slice(results.length))]
  }

  /** The same in several processes. @param {Task[]} tasks @returns {Promise<object[]>} in the order of the tasks */
  async function runAll (tasks) {
    const results = []
    let next = 0
    await Promise.all(Array.from({ length: PROCESSES }, async () => {
      while (next < tasks.length) {
        const from = next
        next += TASKS
        for (const [i, result] of (await run(tasks.slice(from, from + TASKS))).entries()) results[from + i] = result
      }
    }))
    return results
  }

  /**
   * Points at which to fail: for each task about the same number, spread over its writes.
   *
   * @param {Task[]} tasks @param {number[]} seen  the number of writes of each @param {Random} random
   */
  function pointsOf (tasks, seen, random) {
    let most = 1
    const sum = () => seen.reduce((sum, count) => sum + Math.min(count, most), 0)
    while (sum() < POINTS && seen.some(count => count > most)) most++
    return tasks.flatMap((task, i) => {
      const count = Math.min(seen[i], most)
      const step = seen[i] / count
      const passOf = n => Math.floor(n * step + random.next() / 2 ** 32 * step)
      return Array.from({ length: count }, (_, n) => ({ ...task, pass: passOf(n), seed: random.next() }))
    })
  }

  it(`may fail at ${POINTS} points (seed ${SEED}) and nothing acknowledged is lost`, async function () {
    this.timeout(Math.max(1_800_000, POINTS * 3000))
    const random = new Random(Number(SEED))
    const calls = Object.keys(CALLS).filter(what => CALL === undefined || what === CALL)
    const kinds = pairsOf(calls, Object.keys(FAULTS)).map(([what, fault]) => ({ what, fault }))
    const counted = await runAll(kinds)
    const seen = counted.map(({ seen, wrong }, i) => seen ?? expect.fail(`${JSON.stringify(kinds[i])}: ${wrong}`))
    const tasks = pointsOf(kinds, seen, random)
    const results = await runAll(tasks)
    const failures = []
    const outcomes = {}
    for (const [i, { wrong, outcome }] of results.entries()) {
      const { what, fault, pass } = tasks[i]
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      const told = [`${what}, ${fault}, after ${pass} calls: ${outcome}`, ...wrong.slice(0, 6)]
      if (wrong.length > 0) failures.push(told.join('\n  '))
    }
    const sum = seen.reduce((sum, count) => sum + count)
    console.log(`      ${tasks.length} points of ${sum}, ${failures.length} failures`)
    const each = Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count}`)
    console.log(`      results of the calls: ${each.join(', ')}`)
    expect(failures.length, failures.join('\n')).to.equal(0)
  })
})
