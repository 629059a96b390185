// Reads the command line: which options a command has, and what was given for them.

import { parseArgs } from 'node:util'
import { DEFAULT_GROUP_LOG, KEY_LEN, MAX_GROUP_LOG, parseRoot } from '../lib/index.js'
import { UsageError } from './terminal/errors.js'

/** @import { Command, Option, Options, Values } from './types.js' */

/**
 * Returns the command it is given. Its purpose is the types: they are derived from the options.
 *
 * @template {Options} O
 * @param {Command<O>} command
 */
export const command = command => command

/** @param {string} help @returns {Option<boolean>} */
export const flag = help => ({ help, read: () => true })

/**
 * @param {string} value  its name in the help
 * @param {string} help
 * @param {string} [short]  one letter
 * @returns {Option<string>}
 */
export const text = (value, help, short) => ({ value, help, short, read: given => given })

/** @param {string} help @returns {Option<number>} */
export const size = help => ({ value: 'N', help, read: parseSize })

/** Options that several commands take. */
export const storeOption = text('DIR', 'the store; default: $BAOBOX_STORE, or .baobox')
export const outputOption = text('FILE', 'write to this file, once all bytes are there; default: stdout', 'o')
export const rangeOptions = {
  start: size('first byte; default: 0'),
  end: size('first byte after the range; default: the end of the blob')
}
/** @type {Option<number>} */
export const groupLogOption = {
  value: 'LOG',
  help: `chunk groups of 2^LOG KiB, 0 to ${MAX_GROUP_LOG}; bao uses 0; default: ${DEFAULT_GROUP_LOG}`,
  read: parseGroupLog
}
/** @type {Option<Uint8Array>} */
export const keyOption = { value: 'HEX', help: 'keyed hashing: the key as 64 hexadecimal digits', read: parseKey }

/**
 * @template {Options} O
 * @param {Command<O>} command
 * @param {string[]} args  what follows the command's name
 * @returns {{ values: Values<O>, operands: string[], isHelp: boolean }}
 * @throws {UsageError}
 */
export function parse ({ options, operands: { what, min, max } }, args) {
  const config = { help: { type: /** @type {const} */ ('boolean'), short: 'h' }, ...configOf(options) }
  const { values, positionals: operands } = asUsageError(() =>
    parseArgs({ args, allowPositionals: true, options: config }))
  if (values.help === true) return { values: {}, operands, isHelp: true }
  if (operands.length < min) throw new UsageError(`missing argument ${what}`)
  if (operands.length > max) throw new UsageError(`unexpected argument '${operands[max]}'`)
  /** @type {Record<string, unknown>} */
  const read = {}
  for (const [name, given] of Object.entries(values)) read[name] = readValue(name, options[name], String(given))
  return { values: /** @type {Values<O>} */ (read), operands, isHelp: false }
}

/**
 * The range that --start and --end name.
 *
 * @param {{ start?: number, end?: number }} values
 */
export function rangeOf ({ start = 0, end = Infinity }) {
  if (end < start) throw new UsageError(`--end ${end} is before --start ${start}`)
  return { start, end }
}

/**
 * The hash that an operand names.
 *
 * @param {string} name  a CID or 64 hexadecimal digits
 */
export const rootOf = name => asUsageError(() => parseRoot(name))

/** @param {Options} options @returns {Record<string, { type: 'boolean' | 'string', short?: string }>} */
const configOf = options => Object.fromEntries(Object.entries(options).map(([name, { value, short }]) =>
  [name, { type: value === undefined ? 'boolean' : 'string', ...short && { short } }]))

const UNITS = /** @type {Record<string, number>} */ ({ '': 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 })

/** @param {string} given @returns {number} bytes */
export function parseSize (given) {
  const [, digits, unit] = /^(\d+) ?(|KiB|MiB|GiB)$/i.exec(given) ?? []
  const bytes = Number(digits) * UNITS[unit?.toLowerCase()]
  if (!Number.isSafeInteger(bytes)) {
    throw new UsageError(`'${given}' is not a size: give a number of bytes, or a number with KiB, MiB or GiB`)
  }
  return bytes
}

/** @param {string} given */
function parseGroupLog (given) {
  if (!/^\d\d?$/.test(given) || Number(given) > MAX_GROUP_LOG) {
    throw new UsageError(`'${given}' is not a number from 0 to ${MAX_GROUP_LOG}`)
  }
  return Number(given)
}

/** @param {string} given */
function parseKey (given) {
  // The message must not contain the key: messages end up in logs.
  if (!/^[0-9a-f]*$/i.test(given) || given.length !== 2 * KEY_LEN) {
    throw new UsageError(`a key is ${2 * KEY_LEN} hexadecimal digits`)
  }
  return new Uint8Array(Buffer.from(given, 'hex'))
}

/** Turns errors about a malformed argument into usage errors. @template T @param {() => T} work @returns {T} */
function asUsageError (work) {
  try {
    return work()
  } catch (error) {
    const { code, message } = /** @type {Error & { code?: string }} */ (error)
    if (code === 'CID_UNSUPPORTED') throw new UsageError(`${code}: ${message}`, { cause: error })
    // The first sentence says what is wrong; the others give advice about Node's own options.
    if (code?.startsWith('ERR_PARSE_ARGS')) throw new UsageError(message.split(/\.\s/)[0], { cause: error })
    throw error
  }
}

/**
 * The value of an option. Its errors name the option.
 *
 * @param {string} name @param {Option<any>} option @param {string} given
 */
function readValue (name, { read }, given) {
  try {
    return read(given)
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`--${name}: ${error.message}`) : error
  }
}
