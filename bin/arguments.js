// The command line: what a command may be given, and what was.

import { parseArgs } from 'node:util'
import { KEY_LEN, MAX_GROUP_LOG, parseRoot } from '../lib/index.js'
import { UsageError } from './terminal/errors.js'

/** @import { Command, Option, Options, Values } from './types.js' */

/**
 * A command as it is; only the types of its options' values are worked out.
 *
 * @template {Options} O
 * @param {Command<O>} command
 */
export const command = command => command

/** @param {string} help @returns {Option<boolean>} */
export const flag = help => ({ help, read: () => true })

/** @param {string} value  as the help names it @param {string} help @param {string} [short] @returns {Option<string>} */
export const text = (value, help, short) => ({ value, help, short, read: given => given })

/** @param {string} help @returns {Option<number>} */
export const size = help => ({ value: 'N', help, read: parseSize })

/** Options that several commands take. */
export const storeOption = text('DIR', 'the store; $BAOBOX_STORE, or else .baobox, unless told')
export const outputOption = text('FILE', 'where the bytes go, once all are there; stdout unless told', 'o')
export const rangeOptions = {
  start: size('the first byte; 0 unless told'),
  end: size('the byte behind the last one; the end of the blob unless told')
}
/** @type {Option<number>} */
export const groupLogOption = {
  value: 'LOG',
  help: 'chunk groups of 2^LOG KiB, 0 to 16; 4 unless told, and 0 is what bao uses',
  read: parseGroupLog
}
/** @type {Option<Uint8Array>} */
export const keyOption = { value: 'HEX', help: 'keyed hashing: a key of 64 hexadecimal digits', read: parseKey }

/**
 * @template {Options} O
 * @param {Command<O>} command
 * @param {string[]} args  behind the command's name
 * @returns {{ values: Values<O>, operands: string[], isHelp: boolean }}
 */
export function parse ({ options, operands: { what, min, max } }, args) {
  const { values, positionals: operands } = attempt(() => parseArgs({
    args,
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' }, ...configOf(options) }
  }))
  if (values.help === true) return { values: {}, operands, isHelp: true }
  if (operands.length < min) throw new UsageError(`${what} is missing`)
  if (operands.length > max) throw new UsageError(`what is '${operands[max]}' for?`)
  /** @type {Record<string, unknown>} */
  const read = {}
  for (const [name, given] of Object.entries(values)) read[name] = within(`--${name}`, () => options[name].read(String(given)))
  return { values: /** @type {Values<O>} */ (read), operands, isHelp: false }
}

/**
 * The range that --start and --end name.
 *
 * @param {{ start?: number, end?: number }} values
 */
export function rangeOf ({ start = 0, end = Infinity }) {
  if (end < start) throw new UsageError(`--end ${end} lies before --start ${start}`)
  return { start, end }
}

/**
 * The hash that an operand names.
 *
 * @param {string} name  a CID or 64 hexadecimal digits
 */
export const rootOf = name => attempt(() => parseRoot(name))

/** @param {Options} options @returns {Record<string, { type: 'boolean' | 'string', short?: string }>} */
const configOf = options => Object.fromEntries(Object.entries(options).map(([name, { value, short }]) =>
  [name, { type: value === undefined ? 'boolean' : 'string', ...short && { short } }]))

const UNITS = /** @type {Record<string, number>} */ ({ '': 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 })

/** @param {string} given */
export function parseSize (given) {
  const [, digits, unit] = /^(\d+) ?(|KiB|MiB|GiB)$/i.exec(given) ?? []
  const bytes = Number(digits) * UNITS[unit?.toLowerCase()]
  if (!Number.isSafeInteger(bytes)) throw new UsageError(`'${given}' is no number of bytes: a plain one, or with KiB, MiB or GiB behind it`)
  return bytes
}

/** @param {string} given */
function parseGroupLog (given) {
  if (!/^\d\d?$/.test(given) || Number(given) > MAX_GROUP_LOG) throw new UsageError(`'${given}' is no number from 0 to ${MAX_GROUP_LOG}`)
  return Number(given)
}

/** @param {string} given */
function parseKey (given) {
  // The key itself is kept out of the message: messages end up in logs.
  if (!/^[0-9a-f]*$/i.test(given) || given.length !== 2 * KEY_LEN) throw new UsageError(`a key is ${2 * KEY_LEN} hexadecimal digits`)
  return new Uint8Array(Buffer.from(given, 'hex'))
}

/** What fails here was mistyped. @template T @param {() => T} work @returns {T} */
function attempt (work) {
  try {
    return work()
  } catch (error) {
    const { code, message } = /** @type {Error & { code?: string }} */ (error)
    if (code === 'CID_UNSUPPORTED') throw new UsageError(`${code}: ${message}`, { cause: error })
    // The first sentence says what is wrong, the rest is about Node.
    if (code?.startsWith('ERR_PARSE_ARGS')) throw new UsageError(message.split(/\.\s/)[0], { cause: error })
    throw error
  }
}

/** @template T @param {string} name @param {() => T} work @returns {T} */
function within (name, work) {
  try {
    return work()
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${name}: ${error.message}`) : error
  }
}
