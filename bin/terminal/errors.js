// Defines the error classes of the command line, and makes what a command prints for an error: a line of text, or with
// --json an object.

import { CHUNK_LEN } from '../../lib/core/constants.js'
import { BaoError } from '../../lib/core/errors.js'
import { visibleText } from './format.js'

/** @import { Place } from '../../lib/core/errors.js' */

/** The command line is wrong. The program exits with 2. */
export class UsageError extends Error {}

/** The command cannot do its work, for example because there is no store. The program exits with 1. */
export class Failure extends Error {}

const CUT_OTHERWISE = 'is HASH the hash of this blob? Was the input made with the same range and --group-log?'

/**
 * The hints for each code. A hint with an `option` is only for commands that have this option.
 *
 * @type {Record<string, Array<{ option?: string, hint: string }>>}
 */
const HINTS = {
  COLLECTION_INVALID: [{ option: 'recursive', hint: 'leave out --recursive if it is the blob of a file' }],
  COLLECTION_TOO_LONG: [
    { option: 'out', hint: 'the paths of all files together are too long for the worker: leave some out with --ignore' }
  ],
  EADDRINUSE: [{ option: 'port', hint: 'choose another port with --port, 0 for any free one' }],
  EISDIR: [{ option: 'recursive', hint: 'a folder needs --recursive' }],
  FETCH_EXHAUSTED: [
    { option: 'from', hint: 'add a mirror with --from, such as http://localhost:4700/{cid}, or try again later' }
  ],
  PATH_UNSAFE: [{ option: 'skip-errors', hint: 'rename it, or leave it out with --skip-errors' }],
  STORE_LOCKED: [
    { option: 'wait', hint: 'end that process, or wait longer with --wait' },
    { hint: 'end that process first' }
  ],
  STORE_MISSING: [{ option: 'store', hint: "get them with 'baobox fetch', or add the file again" }],
  STORE_TAGGED: [{ option: 'force', hint: "delete the tag with 'baobox tag --delete', or the blob with --force" }],
  BAO_SIZE_TOO_LARGE: [{ option: 'outboard', hint: 'a plain file has no header: give its hash tree with --outboard' }]
}

/**
 * Adds a hint to an error if the cause may be wrong options, and not wrong input. If the input was made with other
 * options, the verification fails at a parent, or before anything was verified.
 *
 * @param {unknown} error
 * @param {boolean} isFirst  true if nothing was verified before the error
 * @param {string} [question]  the hint: asks whether the options are right
 */
export function hintAtOptions (error, isFirst, question = CUT_OTHERWISE) {
  if (!(error instanceof BaoError)) return error
  const { code, message } = error
  const mayFitOtherOptions = code === 'BAO_PARENT_MISMATCH' ||
    (isFirst && (code === 'BAO_LEAF_MISMATCH' || code === 'BAO_TRUNCATED'))
  return mayFitOtherOptions ? new Failure(`${code}: ${message}: ${question}`, { cause: error }) : error
}

/**
 * Returns the text that a command prints for an error.
 *
 * @param {unknown} error
 * @param {object} [options]  the options that the command has
 * @returns {string} one line, without a line break at its end; with BAOBOX_DEBUG, the stacks of the error and of its
 *   causes
 */
export function errorLine (error, options = {}) {
  if (!(error instanceof Error)) return oneLine(`baobox: ${error}`)
  if (process.env.BAOBOX_DEBUG) {
    return `baobox: ${error.stack}${causesOf(error).map(cause => `\ncaused by ${cause.stack}`).join('')}`
  }
  const code = error instanceof BaoError ? `${error.code}: ` : ''
  const hint = hintOf(error, options)
  // The hint replaces the reason that the system gave, because the hint is more useful.
  return oneLine(`baobox: ${code}${hint === undefined ? messageOf(error) : `${error.message}: ${hint}`}`)
}

/**
 * Returns an error as the plain data that --json prints, for programs.
 *
 * @param {unknown} error
 * @param {object} [options]  the options that the command has
 * @returns {{ code: string, message: string, hint?: string, [property: string]: unknown }} `code`: that of the BaoError
 *   or of the system; USAGE, FAILED or INTERRUPTED for all other errors
 */
export function errorRecord (error, options = {}) {
  if (!(error instanceof Error)) return { code: 'INTERRUPTED', message: oneLine(`${error}`) }
  // A `Failure` has no code. If it adds words to another error, that error is its cause, and has the code.
  const coded = [error, ...causesOf(error)].find(error => 'code' in error && typeof error.code === 'string')
  const code = coded && 'code' in coded ? `${coded.code}` : error instanceof UsageError ? 'USAGE' : 'FAILED'
  const { name: _name, code: _code, ...place } = coded instanceof BaoError ? coded : {}
  const cause = coded?.cause
  const errors = cause instanceof AggregateError ? cause.errors.map(error => errorRecord(error)) : undefined
  return { code, message: oneLine(messageOf(error)), hint: hintOf(error, options), ...plain(place), errors }
}

/** Returns the properties of a BaoError as plain data. @param {Place} place */
const plain = ({ cid, actual, ranges, members, ...place }) => ({
  ...place,
  cid: cid && `${cid}`,
  actual: actual && `${actual}`,
  ranges: ranges && [...ranges].map(([start, end]) =>
    ({ start: start * CHUNK_LEN, ...end < Infinity && { end: end * CHUNK_LEN } })),
  members: members?.map(({ error, cid, ...member }) => ({ ...member, cid: `${cid}`, error: errorRecord(error) }))
})

/** Finds the hint for an error. @param {Error & { code?: unknown }} error @param {object} options */
function hintOf ({ code }, options) {
  const hints = Object.hasOwn(HINTS, `${code}`) ? HINTS[`${code}`] : []
  return hints.find(({ option }) => option === undefined || option in options)?.hint
}

/**
 * Returns the message of an error, and after it the reason that the system gave, for example that the disk is full.
 * Where the message names the call that rescues a store, this names the command.
 *
 * @param {Error} error
 */
export function messageOf (error) {
  const { message } = error
  // If a cause is a BaoError, the message of the error already contains the cause's message.
  const reason = causesOf(error).filter(cause => !(cause instanceof BaoError)).at(-1)
  const text = reason === undefined || message.endsWith(reason.message) ? message : `${message}: ${reason.message}`
  return text.replace(/(close the store, and )?call BlobStore\.rescue/, "run 'baobox rescue'")
}

/** @param {Error} error @returns {Error[]} its causes, the outermost first */
const causesOf = ({ cause }) => cause instanceof Error ? [cause, ...causesOf(cause)] : []

/** A message as one line. Servers may have chosen a part of it. @param {string} text */
export const oneLine = text => visibleText(text.replace(/\s*[\r\n]+\s*/g, ' '))
