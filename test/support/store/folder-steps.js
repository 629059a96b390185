// Intercepts the calls of this process that change names in folders, so that a test can make any of them fail.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import process from 'node:process'

/** Calls that add, change or remove names. */
const STEPS = ['mkdir', 'link', 'rename', 'rm']

/**
 * Calls a function in place of each step.
 *
 * @param {(take: () => Promise<unknown>, step: string, path: string) => Promise<unknown>} happens  `take` makes the
 *   real call
 * @returns {() => void} ends it
 */
export function interceptSteps (happens) {
  const originals = Object.fromEntries(STEPS.map(step => [step, fs.promises[step]]))
  for (const step of STEPS) {
    fs.promises[step] = (path, ...args) => happens(() => originals[step](path, ...args), step, path)
  }
  syncBuiltinESMExports()
  return () => {
    Object.assign(fs.promises, originals)
    syncBuiltinESMExports()
  }
}

/**
 * Kills the process before one of its steps.
 *
 * @param {number} number  the number of the step, from 0
 */
export function killAtStep (number) {
  let steps = 0
  interceptSteps(async take => {
    if (steps++ === number) process.kill(process.pid, 'SIGKILL')
    return take()
  })
}
