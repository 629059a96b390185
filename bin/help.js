// The text of --help.

import { parseSize } from './arguments.js'

/** @import { Command, Option } from './types.js' */

const HELP = '-h, --help'

/** @param {Record<string, Command>} commands */
export const programHelp = commands => `baobox: BLAKE3 hashes, verified slices, and a store of blobs named by their hash

Usage:
  baobox COMMAND [OPTION...] [OPERAND...]

Commands:
${table(Object.entries(commands).map(([name, { summary }]) => [name, summary]))}

Options:
${table([[HELP, 'this text; behind a command, what there is to say about it'], ['-V, --version', 'the version']])}

Environment:
${table([['BAOBOX_STORE', 'the store that is used unless --store names one'], ['BAOBOX_DEBUG', 'when set, failures show where they come from']])}

Exits with 0 when all went well, 1 when something failed, 2 when the command line means nothing.

Example:
  baobox demo
`

/** @param {string} name @param {Command} command */
export const commandHelp = (name, { summary, usage, options, notes = [], examples }) => `baobox ${name}: ${summary}

Usage:
${usage.map(line => `  baobox ${name} ${line}`.trimEnd()).join('\n')}

Options:
${table([...Object.entries(options).map(optionRow), [HELP, 'this text']])}
${[...notes, ...sizeNote(options)].map(note => `\n${note}\n`).join('')}
${examples.length === 1 ? 'Example' : 'Examples'}:
${examples.map(example => `  ${example}`).join('\n')}
`

/** @param {[name: string, option: Option<unknown>]} entry @returns {[string, string]} */
const optionRow = ([name, { short, value, help }]) => [`${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`, help]

/** @param {Record<string, Option<unknown>>} options */
const sizeNote = options => Object.values(options).some(({ read }) => read === parseSize)
  ? ['N counts bytes, from 0 on: a plain number, or one with KiB, MiB or GiB behind it, as in 16KiB.']
  : []

/** @param {[string, string][]} rows */
function table (rows) {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n')
}
