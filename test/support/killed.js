// Runs a worker process that works on a store and prints its steps, and kills it in the middle.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'

/**
 * Runs a worker, and kills it. The worker prints `begin JOB` and `done JOB`, and `over` after the last job. A job is
 * JSON.
 *
 * @param {string[]} args  the worker's file, and its arguments
 * @param {object} options
 * @param {number} options.job  the worker is killed after it has begun this job, counted from 1, or has done all
 * @param {number} options.pause  milliseconds between that moment and the kill
 * @param {(job: any) => void} options.onDone
 * @param {(event: any) => void} [options.onEvent]  gets the JSON that the worker prints after `event`
 * @returns {Promise<any[]>} the jobs that were under way when it was killed
 */
export async function killDuring (args, { job: left, pause, onDone, onEvent }) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const running = new Map()
  let killing
  const kill = async () => {
    await setTimeout(pause)
    child.kill('SIGKILL')
  }
  for await (const line of createInterface({ input: child.stdout })) {
    const [what] = line.split(' ', 1)
    const rest = line.slice(what.length + 1)
    if (what === 'begin') running.set(rest, JSON.parse(rest))
    if (what === 'event') onEvent?.(JSON.parse(rest))
    if (what === 'done') {
      onDone(running.get(rest))
      running.delete(rest)
    }
    if (what === 'over' || (what === 'begin' && --left === 0)) killing ??= kill()
  }
  await killing
  const [code, signal] = await exit
  expect(signal, `the process ended by itself with ${code}`).to.equal('SIGKILL')
  return [...running.values()]
}
