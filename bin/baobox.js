#!/usr/bin/env node
// The program `baobox`: finds the command, runs it, and says how it went.

import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { parse } from './arguments.js'
import { UsageError, lineOf } from './terminal/errors.js'
import { commandHelp, programHelp } from './help.js'
import { print, stopPrinting } from './terminal/output.js'

/** @import { Command } from './types.js' */

/** Commands are loaded when they are wanted: who hashes need not wait for a database. @type {Record<string, () => Promise<Command>>} */
const COMMANDS = {
  hash: async () => (await import('./commands/hash.js')).hash,
  add: async () => (await import('./commands/store.js')).add,
  get: async () => (await import('./commands/store.js')).get,
  ls: async () => (await import('./commands/store.js')).ls,
  rm: async () => (await import('./commands/store.js')).rm,
  tag: async () => (await import('./commands/tags.js')).tag,
  gc: async () => (await import('./commands/tags.js')).gc,
  fsck: async () => (await import('./commands/fsck.js')).fsck,
  outboard: async () => (await import('./commands/outboard.js')).outboard,
  slice: async () => (await import('./commands/slice.js')).slice,
  verify: async () => (await import('./commands/slice.js')).verify,
  receive: async () => (await import('./commands/slice.js')).receive,
  demo: async () => (await import('./commands/demo.js')).demo
}

const [OK, FAILED, USAGE] = [0, 1, 2]
/** What a shell says of a process that a signal ended is this and the signal's number. */
const BY_SIGNAL = 128
/** Milliseconds in which a signal that is repeated means the same one: npm passes on what the terminal has sent already. */
const SAME_SIGNAL = 1000

process.exitCode = await main(process.argv.slice(2))

/** @param {string[]} args @returns {Promise<number>} the exit code */
async function main ([name, ...args]) {
  const { signal, exitCode } = abortOnSignals()
  let code = OK
  /** @param {unknown} error */
  const fail = error => {
    if (signal.aborted || isGone(error)) throw error
    report(error)
    code = FAILED
  }
  try {
    await dispatch(name, args, { signal, fail })
    return code
  } catch (error) {
    if (signal.aborted) {
      report('interrupted')
      // Everything is cleaned up. A write that nobody takes would keep the process alive.
      process.exit(exitCode())
    }
    if (isGone(error)) return OK
    if (error instanceof UsageError) {
      report(`${error.message} (see 'baobox ${Object.hasOwn(COMMANDS, name) ? `${name} ` : ''}--help')`)
      return USAGE
    }
    report(error)
    return FAILED
  }
}

/** @param {string | undefined} name @param {string[]} args @param {import('./types.js').Context} context */
async function dispatch (name, args, context) {
  if (name === '--help' || name === '-h') return print(programHelp(await allCommands()))
  if (name === '--version' || name === '-V') return print(`${version()}\n`)
  if (name === undefined) throw new UsageError('a command is missing')
  if (!Object.hasOwn(COMMANDS, name)) throw new UsageError(`there is no command '${name}'`)
  const command = await COMMANDS[name]()
  const { isHelp, ...given } = parse(command, args)
  if (isHelp) return print(commandHelp(name, command))
  await command.run(given, context)
}

async function allCommands () {
  return Object.fromEntries(await Promise.all(Object.entries(COMMANDS).map(async ([name, load]) => [name, await load()])))
}

/** @returns {string} */
function version () {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

/** The first signal asks the work to stop and clean up; one that comes later than by mistake does not wait for that. */
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
      stopPrinting(controller.signal.reason)
    })
  }
  return { signal: controller.signal, exitCode: () => BY_SIGNAL + number }
}

/** Has the reader of stdout gone? `head` does that, and it is no failure. @param {unknown} error */
function isGone (error) {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}

/** @param {unknown} error */
function report (error) {
  process.stderr.write(`${lineOf(error)}\n`)
}
