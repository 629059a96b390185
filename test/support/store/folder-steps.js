// Intercepts what this process does to the names in folders, so that a test can have any of these steps fail.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import process from 'node:process'

/** Steps that change which names there are. */
const STEPS = ['mkdir', 'link', 'rename', 'rm']

/**
 * Calls a function in place of each step.
 *
 * @param {(take: () => Promise<unknown>, step: string, path: string) => Promise<unknown>} happens  `take` takes the
 *   step
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
 * Has the process end before one of its steps, as a power cut would end it.
 *
 * @param {number} number  of the step, from 0
 */
export function killAtStep (number) {
  let steps = 0
  interceptSteps(async take => {
    if (steps++ === number) process.kill(process.pid, 'SIGKILL')
    return take()
  })
}
