// Writes the text of `help` and --help, for the program and for each command.

import { parseSize } from './values.js'

/** @import { Definition, Option, Table } from '../types.js' */

const HELP = '-h, --help'
/** The maximum length of a line, in characters. */
const WIDTH = 100
/** The widest column for the names of options. The help of a longer name begins on its own line. */
const OPTION_WIDTH = 24

/** @param {Table} table */
export const programHelp = table => `baobox: BLAKE3 hashes, verified slices, and a store of blobs named by their hash

Usage:
  baobox COMMAND [OPTION...] [ARGUMENT...]

${Object.entries(table).map(([title, commands]) => `${title}:
${rows(Object.entries(commands).map(([name, { summary }]) => [name, summary]))}

`).join('')}Options:
${rows([
  [HELP, 'print this help; after a command, the help for that command'],
  ['-V, --version', 'print the version']
])}

Environment:
${rows([
  ['BAOBOX_STORE', 'the store to use when --store is not given'],
  ['BAOBOX_PUT_TOKEN', 'the token for uploads, if serve gets no --put-token and push no --token'],
  ['BAOBOX_DEBUG', 'if set, errors are printed with their stacks and causes'],
  ['NO_COLOR', 'if set, nothing is printed in colours']
])}

Exit codes:
${rows([
  ['0', 'success'],
  ['1', 'a failure: a file, a blob or a store is missing or damaged; a check failed'],
  ['2', 'the command line is wrong'],
  ['128 + N', 'ended by signal N: 130 after Ctrl-C']
])}

Example:
  baobox demo
`

/** @param {string} name @param {Definition} definition */
export const commandHelp = (name, { summary, operands, options, notes = [], examples }) => `baobox ${name}: ${summary}

Usage:
  ${`baobox ${name} ${Object.keys(options).length > 0 ? '[OPTION...] ' : ''}${operands}`.trimEnd()}

Options:
${rows([...Object.entries(options).map(optionRow), [HELP, 'print this help']])}
${[...notes, ...sizeNote(options, operands)].map(note => `\n${wrap(note)}\n`).join('')}
${examples.length === 1 ? 'Example' : 'Examples'}:
${examples.map(example => `  ${example}`).join('\n')}
`

/** @param {[name: string, option: Option<unknown>]} entry @returns {[string, string]} */
const optionRow = ([name, { short, value, help }]) =>
  [`${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`, help]

/** @param {Record<string, Option<unknown>>} options @param {string} operands */
const sizeNote = (options, operands) =>
  operands.includes('START') || Object.values(options).some(({ read }) => read === parseSize)
    ? ['Sizes and offsets are in bytes, or with a unit KiB, MiB, GiB or TiB, as in 16KiB. ' +
       'The first byte is byte 0.']
    : []

/** Breaks a paragraph into lines. @param {string} text @param {number} [width] */
const wrap = (text, width = WIDTH) => text.replaceAll(new RegExp(`(.{1,${width}})( |$)`, 'g'), '$1\n').trimEnd()

/** Makes two columns. The right one is wrapped. @param {[left: string, right: string][]} lines */
function rows (lines) {
  const width = Math.min(Math.max(...lines.map(([left]) => left.length)), OPTION_WIDTH) + 2
  const indent = ' '.repeat(width + 2)
  return lines.map(([left, right]) => {
    const text = wrap(right, WIDTH - width - 2).replaceAll('\n', `\n${indent}`)
    return left.length < width ? `  ${left.padEnd(width)}${text}` : `  ${left}\n${indent}${text}`
  }).join('\n')
}
