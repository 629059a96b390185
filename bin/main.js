// Finds the command, runs it, reports errors, and chooses the exit code.

import { readFileSync } from 'node:fs'
import { COMMANDS, TABLE } from './table/index.js'
import { commandHelp, programHelp } from './line/help.js'
import { parse } from './line/parse.js'
import { paint } from './terminal/color.js'
import { UsageError, errorLine } from './terminal/errors.js'
import { print, stopPrinting } from './terminal/output.js'

/** @import { Context } from './types.js' */

const [OK, FAILED, USAGE] = [0, 1, 2]

/**
 * @param {string[]} args  the command and its arguments
 * @param {AbortSignal} signal  interrupts the command, which then cleans up
 * @returns {Promise<number | undefined>} the exit code; undefined when the signal ended the command
 */
export async function main ([name, ...args], signal) {
  signal.addEventListener('abort', () => stopPrinting(signal.reason))
  let code = OK
  /** @param {() => Promise<unknown>} work */
  const attempt = async work => {
    try {
      await work()
    } catch (error) {
      if (signal.aborted || isClosedPipe(error)) throw error
      code = report(error, name)
    }
  }
  try {
    const fail = () => { code = FAILED }
    await dispatch(name, args, { signal, table: TABLE, attempt, fail, hasFailed: () => code !== OK })
    return code
  } catch (error) {
    if (!signal.aborted) return isClosedPipe(error) ? OK : report(error, name)
    report('interrupted', name)
  }
}

/** @param {string | undefined} name @param {string[]} args @param {Context} context */
async function dispatch (name, args, context) {
  if (name === '--help' || name === '-h') return print(programHelp(TABLE))
  if (name === '--version' || name === '-V') return print(`${version()}\n`)
  if (name === undefined) throw new UsageError('missing command')
  if (!Object.hasOwn(COMMANDS, name)) throw new UsageError(`unknown command '${name}'`)
  const command = COMMANDS[name]
  const { isHelp, ...given } = parse(command, args)
  if (isHelp) return print(commandHelp(name, command))
  const run = await command.load()
  await run(given, context)
}

/** @returns {string} */
function version () {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

/** True if the reader of stdout has closed it, as `head` does. This is not a failure. @param {unknown} error */
function isClosedPipe (error) {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}

/**
 * Prints an error as one line on stderr.
 *
 * @param {unknown} error
 * @param {string} name  of the command
 * @returns {number} the exit code
 */
function report (error, name) {
  const isUsageError = error instanceof UsageError
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  // `baobox help --help` does not list the commands, so the message names the program's help instead.
  const help = command && name !== 'help' ? `baobox ${name} --help` : 'baobox --help'
  const line = errorLine(error, command?.options).replace(/^baobox:/, start => paint('red', start, process.stderr))
  process.stderr.write(`${line}${isUsageError ? ` (see '${help}')` : ''}\n`)
  return isUsageError ? USAGE : FAILED
}
