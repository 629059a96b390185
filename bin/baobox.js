#!/usr/bin/env node
// The program `baobox`: runs one command, and stops it when the process gets a signal.

import { constants } from 'node:os'
import { main } from './main.js'

/** If a signal has ended a process, shells report this number plus the number of the signal as its exit code. */
const BY_SIGNAL = 128
/**
 * Milliseconds in which a repeated signal counts as the same one, because npm passes on a signal that the terminal has
 * already sent.
 */
const SAME_SIGNAL = 1000

const { signal, exitCode } = abortOnSignals()
const code = await main(process.argv.slice(2), signal)
// The command has cleaned up. Without `exit`, a pending write to a reader that has stopped reading would keep the
// process alive.
if (code === undefined) process.exit(exitCode())
process.exitCode = code

/** The first signal tells the command to stop and clean up. A later one ends the process immediately. */
function abortOnSignals () {
  const controller = new AbortController()
  let number = 0
  let first = Infinity
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => {
      if (performance.now() - first > SAME_SIGNAL) process.exit(BY_SIGNAL + number)
      if (controller.signal.aborted) return
      first = performance.now()
      number = constants.signals[name]
      controller.abort()
    })
  }
  return { signal: controller.signal, exitCode: () => BY_SIGNAL + number }
}
