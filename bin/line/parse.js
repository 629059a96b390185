// Parses the command line according to the definition of a command.

import { parseArgs } from 'node:util'
import { UsageError } from '../terminal/errors.js'

/** @import { Definition, Given, Options } from '../types.js' */
/** @typedef {{ name: string, isOptional: boolean, isMany: boolean }} Operand */
/** @typedef {{ kind: 'option', name: string, rawName: string, value?: string, inlineValue?: boolean }} OptionToken */

const HELP = { help: { type: /** @type {const} */ ('boolean'), short: 'h' } }

/**
 * @param {Definition} definition
 * @param {string[]} args  the arguments after the command's name
 * @returns {Given & { isHelp: boolean }} with --help, the other options are not checked
 * @throws {UsageError}
 */
export function parse (definition, args) {
  const { options } = definition
  const config = { args, options: { ...HELP, ...configOf(options) }, allowPositionals: true, strict: false }
  const { values: given, positionals: operands, tokens } = parseArgs({ ...config, tokens: true })
  if (given.help === true) return { values: {}, operands, isHelp: true }
  /** @type {Record<string, unknown>} */
  const values = {}
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    checkOption(token, options)
    const { isMany } = options[token.name]
    const before = values[token.name]
    if (before !== undefined && !isMany) throw new UsageError(`${token.rawName} was given twice`)
    const value = readValue(token, options)
    values[token.name] = isMany && Array.isArray(before) ? [...before, ...value] : value
  }
  checkTogether(definition, values)
  checkOperands(operandsOf(definition), operands)
  return { values, operands, isHelp: false }
}

/**
 * The operands of a definition: `'HASH [INPUT]'` is HASH, and INPUT, which is optional.
 *
 * @param {Definition} definition @returns {Operand[]}
 */
export const operandsOf = ({ operands }) => operands.split(' ').filter(word => word !== '').map(word => ({
  name: word.replace(/[[\].]/g, ''),
  isOptional: word.startsWith('['),
  isMany: word.includes('...')
}))

/** @param {Options} options @returns {Record<string, { type: 'boolean' | 'string', short?: string }>} */
const configOf = options => Object.fromEntries(Object.entries(options).map(([name, { value, short }]) =>
  [name, { type: value === undefined ? 'boolean' : 'string', ...short && { short } }]))

/** @param {OptionToken} token @param {Options} options @throws {UsageError} */
function checkOption ({ name, rawName, value, inlineValue }, options) {
  if (!Object.hasOwn(options, name)) throw new UsageError(`unknown option '${rawName}'`)
  const { value: valueName } = options[name]
  if (valueName === undefined && value !== undefined) throw new UsageError(`${rawName} takes no value`)
  if (valueName === undefined) return
  if (value === undefined) throw new UsageError(`${rawName} needs a value: ${rawName} ${valueName}`)
  if (!inlineValue && /^-./.test(value)) {
    throw new UsageError(`${rawName} needs a value; one that begins with '-' is written --${name}=${value}`)
  }
}

/** Reads the value of an option. Errors name the option. @param {OptionToken} token @param {Options} options */
function readValue ({ name, rawName, value }, options) {
  try {
    return options[name].read(value ?? '')
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${rawName}: ${error.message}`) : error
  }
}

/** @param {Definition} definition @param {Record<string, unknown>} values @throws {UsageError} */
function checkTogether ({ excludes = {}, requires = {} }, values) {
  for (const [name, others] of Object.entries(excludes)) {
    const other = others?.find(other => other in values)
    if (name in values && other !== undefined) throw new UsageError(`--${name} excludes --${other}`)
  }
  for (const [name, other] of Object.entries(requires)) {
    if (name in values && !(/** @type {string} */ (other) in values)) throw new UsageError(`--${name} needs --${other}`)
  }
}

/** @param {Operand[]} expected @param {string[]} given @throws {UsageError} */
function checkOperands (expected, given) {
  const missing = expected.find(({ isOptional }, i) => !isOptional && i >= given.length)
  if (missing) throw new UsageError(`missing argument ${missing.name}`)
  const most = expected.some(({ isMany }) => isMany) ? Infinity : expected.length
  if (given.length > most) throw new UsageError(`unexpected argument '${given[most]}'`)
}
