#!/usr/bin/env node
// The program `baobox`: runs one command, and stops it when the process gets a signal.

import { constants } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { main } from './main.js'

/** If a signal has ended a process, shells report this number plus the number of the signal as its exit code. */
const BY_SIGNAL = 128
/**
 * Milliseconds in which a repeated signal counts as the same one, because npm passes on a signal that the terminal has
 * already sent.
 */
const SAME_SIGNAL = 1000
/** Milliseconds in which file operations that were under way at a signal must end, and between two looks at them. */
const GRACE = 500
const INTERVAL = 10

const { signal, ending } = abortOnSignals()
const code = await main(process.argv.slice(2), signal)
// The command has cleaned up. Without `exit`, a pending write to a reader that takes nothing would keep the process.
if (code === undefined) {
  for (let waited = 0; hasFileWork() && waited < GRACE; waited += INTERVAL) await setTimeout(INTERVAL)
  ending.now()
}
process.exitCode = code

/** The first signal tells the command to stop and clean up. A later one ends the process immediately. */
function abortOnSignals () {
  const controller = new AbortController()
  let by = /** @type {NodeJS.Signals} */ ('SIGTERM')
  let first = Infinity
  const ending = { now: () => endBy(by) }
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => {
      if (performance.now() - first > SAME_SIGNAL) ending.now()
      if (controller.signal.aborted) return
      first = performance.now()
      by = name
      controller.abort()
    })
  }
  return { signal: controller.signal, ending }
}

/**
 * Ends the process because of a signal. `process.exit` waits for file operations: one on a named pipe that nobody
 * writes to never ends. Then the signal itself ends the process, which shells report with the same number.
 *
 * @param {NodeJS.Signals} name
 */
function endBy (name) {
  if (!hasFileWork()) process.exit(BY_SIGNAL + constants.signals[name])
  process.removeAllListeners(name)
  process.kill(process.pid, name)
}

/** True while file operations are under way. Other runtimes than Node.js do not tell, and do not wait for them. */
function hasFileWork () {
  return process.getActiveResourcesInfo?.().some(name => name.startsWith('FSReq')) ?? false
}
