// Writes the text of --help, for the program and for each command.

import { parseSize } from './arguments.js'

/** @import { Command, Option } from './types.js' */

const HELP = '-h, --help'
/** Columns of a paragraph. */
const WIDTH = 100

/** @param {Record<string, Command>} commands */
export const programHelp = commands => `baobox: BLAKE3 hashes, verified slices, and a store of blobs named by their hash

Usage:
  baobox COMMAND [OPTION...] [ARGUMENT...]

Commands:
${table(Object.entries(commands).map(([name, { summary }]) => [name, summary]))}

Options:
${table([
  [HELP, 'print this help; after a command, the help for that command'],
  ['-V, --version', 'print the version']
])}

Environment:
${table([
  ['BAOBOX_STORE', 'the store to use when --store is not given'],
  ['BAOBOX_DEBUG', 'when set, errors are printed with their stack and their causes']
])}

Exit codes: 0 on success, 1 on a failure, 2 on a usage error.

Example:
  baobox demo
`

/** @param {string} name @param {Command} command */
export const commandHelp = (name, { summary, usage, options, notes = [], examples }) => `baobox ${name}: ${summary}

Usage:
${usage.map(line => `  baobox ${name} ${line}`.trimEnd()).join('\n')}

Options:
${table([...Object.entries(options).map(optionRow), [HELP, 'print this help']])}
${[...notes, ...sizeNote(options)].map(note => `\n${wrap(note)}\n`).join('')}
${examples.length === 1 ? 'Example' : 'Examples'}:
${examples.map(example => `  ${example}`).join('\n')}
`

/** @param {[name: string, option: Option<unknown>]} entry @returns {[string, string]} */
const optionRow = ([name, { short, value, help }]) =>
  [`${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`, help]

/** @param {Record<string, Option<unknown>>} options */
const sizeNote = options => Object.values(options).some(({ read }) => read === parseSize)
  ? ['N is a number of bytes: a plain number, or one with KiB, MiB or GiB, as in 16KiB. The first byte is byte 0.']
  : []

/** Breaks a paragraph into lines. @param {string} text */
const wrap = text => text.replaceAll(new RegExp(`(.{1,${WIDTH}})( |$)`, 'g'), '$1\n').trimEnd()

/** @param {[string, string][]} rows */
function table (rows) {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`).join('\n')
}
