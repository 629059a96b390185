// Finds the command, runs it, reports errors, and chooses the exit code.

import { readFileSync } from 'node:fs'
import { commandName } from './line/synonyms.js'
import { COMMANDS, TABLE } from './table/index.js'
import { commandHelp, programHelp } from './line/help.js'
import { areOptions, parse } from './line/parse.js'
import { unknownCommand } from './line/suggest.js'
import { paint } from './terminal/color.js'
import { UsageError, errorLine, errorRecord } from './terminal/errors.js'
import { print, stopPrinting } from './terminal/output.js'
import { showLines } from './terminal/progress.js'

/** @import { Context } from './types.js' */

const [OK, FAILED, USAGE] = [0, 1, 2]

/**
 * @param {string[]} line  the command and its arguments
 * @param {AbortSignal} signal  interrupts the command, which then cleans up
 * @returns {Promise<number | undefined>} the exit code; undefined when the signal ended the command
 */
export async function main (line, signal) {
  const { name, args } = commandIn(line)
  const report = reporterOf(name, args)
  signal.addEventListener('abort', () => stopPrinting(signal.reason))
  let code = OK
  /** @param {() => Promise<unknown>} work */
  const attempt = async work => {
    try {
      await work()
    } catch (error) {
      if (signal.aborted || isClosedPipe(error)) throw error
      code = report(error)
    }
  }
  try {
    if (line.length === 0) {
      await print(programHelp(TABLE))
      return OK
    }
    const fail = () => { code = FAILED }
    await dispatch(name, args, { signal, table: TABLE, attempt, fail, hasFailed: () => code !== OK })
    return code
  } catch (error) {
    if (!signal.aborted) return isClosedPipe(error) ? OK : report(error)
    report('interrupted')
  }
}

/**
 * Finds the command of a line. Options may come before it: then it is the first name of a command that has all of them,
 * because the value of an option may look like a command.
 *
 * @param {string[]} line
 */
function commandIn (line) {
  const isCommand = (/** @type {string} */ arg) => Object.hasOwn(COMMANDS, commandName(arg))
  let at = line.findIndex((arg, i) => isCommand(arg) && areOptions(COMMANDS[commandName(arg)], line.slice(0, i)))
  // If none fits, the error is that of the first one.
  if (at < 0) at = line.findIndex(isCommand)
  if (at < 0 || !line[0].startsWith('-')) at = 0
  return { name: commandName(line[at] ?? ''), args: line.toSpliced(at, 1) }
}

/** @param {string} name @param {string[]} args @param {Context} context */
async function dispatch (name, args, context) {
  if (name === '--help' || name === '-h') return print(programHelp(TABLE))
  if (['--version', '-V', '-v', 'version'].includes(name)) return print(`${version()}\n`)
  if (name.startsWith('-')) throw new UsageError('missing command')
  if (!Object.hasOwn(COMMANDS, name)) throw unknownCommand(name, Object.keys(COMMANDS))
  const command = COMMANDS[name]
  const { isHelp, ...given } = parse(command, args)
  if (isHelp) return print(commandHelp(name, command))
  const { json, quiet } = /** @type {{ json?: boolean, quiet?: boolean }} */ (given.values)
  showLines(!json && !quiet)
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
 * Makes a function that prints an error as one line on stderr, and returns the exit code.
 *
 * @param {string} name  of the command
 * @param {string[]} args  they may be wrong, so they are not parsed
 * @returns {(error: unknown) => number}
 */
function reporterOf (name, args) {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  const options = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length)
  const isJson = command !== undefined && 'json' in command.options && options.includes('--json')
  // `baobox help --help` lists no commands, so the program's help is named instead.
  const help = command && name !== 'help' ? `baobox ${name} --help` : 'baobox --help'
  return error => {
    const isUsageError = error instanceof UsageError
    if (isJson) {
      process.stderr.write(`${JSON.stringify({ error: errorRecord(error, command.options) })}\n`)
    } else {
      const line = errorLine(error, command?.options).replace(/^baobox:/, start => paint('red', start, process.stderr))
      process.stderr.write(`${line}${isUsageError ? ` (see '${help}')` : ''}\n`)
    }
    return isUsageError ? USAGE : FAILED
  }
}
