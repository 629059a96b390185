// The error classes of the command line, and the line that is printed for an error: text, or JSON with --json.

import { CHUNK_LEN } from '../../lib/core/constants.js'
import { BaoError } from '../../lib/core/errors.js'

/** @import { Place } from '../../lib/core/errors.js' */

/** The command line is wrong. The program exits with 2. */
export class UsageError extends Error {}

/** A failure that is not a bug, such as a missing store. The program exits with 1. */
export class Failure extends Error {}

const CUT_OTHERWISE = 'is HASH the hash of this blob? Were the range and --group-log the same when it was made?'

/**
 * Hints about errors, by code. A hint with an `option` is only for commands that have this option.
 *
 * @type {Record<string, Array<{ option?: string, hint: string }>>}
 */
const HINTS = {
  EISDIR: [{ option: 'recursive', hint: 'a folder needs --recursive' }],
  STORE_LOCKED: [
    { option: 'wait', hint: 'end that process, or wait for it with --wait' },
    { hint: 'end that process first' }
  ],
  STORE_TAGGED: [{ option: 'force', hint: "delete the tag with 'baobox tag --delete', or the blob with --force" }],
  BAO_SIZE_TOO_LARGE: [{ option: 'outboard', hint: 'a plain file needs its hash tree in --outboard' }]
}

/**
 * Adds a hint to an error if the options may be wrong and not the slice. If a slice was cut with other options, it
 * fails at a parent, or before anything was verified.
 *
 * @param {unknown} error
 * @param {boolean} isFirst  true if nothing was verified before
 * @param {string} [question]  the hint, a question about the options that may be wrong
 */
export function hintAtOptions (error, isFirst, question = CUT_OTHERWISE) {
  if (!(error instanceof BaoError)) return error
  const { code, message } = error
  const mayFitOtherOptions = code === 'BAO_PARENT_MISMATCH' ||
    (isFirst && (code === 'BAO_LEAF_MISMATCH' || code === 'BAO_TRUNCATED'))
  return mayFitOtherOptions ? new Failure(`${code}: ${message}: ${question}`, { cause: error }) : error
}

/**
 * @param {unknown} error
 * @param {object} [options]  the options that the command has
 * @returns {string} one line without its line break; with BAOBOX_DEBUG, the stacks of the error and its causes
 */
export function errorLine (error, options = {}) {
  if (!(error instanceof Error)) return oneLine(`baobox: ${error}`)
  if (process.env.BAOBOX_DEBUG) {
    return `baobox: ${error.stack}${causesOf(error).map(cause => `\ncaused by ${cause.stack}`).join('')}`
  }
  const code = error instanceof BaoError ? `${error.code}: ` : ''
  const hint = hintOf(error, options)
  // A hint is more useful than the reason that the system gave, so it replaces the reason.
  return oneLine(`baobox: ${code}${hint === undefined ? messageOf(error) : `${error.message}: ${hint}`}`)
}

/**
 * An error for programs: what --json prints of it.
 *
 * @param {unknown} error
 * @param {object} [options]  the options that the command has
 * @returns {{ code: string, message: string, hint?: string, [property: string]: unknown }} `code`: of a BaoError or of
 *   the system; USAGE, FAILED or INTERRUPTED for all others
 */
export function errorRecord (error, options = {}) {
  if (!(error instanceof Error)) return { code: 'INTERRUPTED', message: oneLine(`${error}`) }
  // A `Failure` may only add words to the error that led to it.
  const coded = [error, ...causesOf(error)].find(error => 'code' in error && typeof error.code === 'string')
  const code = coded && 'code' in coded ? `${coded.code}` : error instanceof UsageError ? 'USAGE' : 'FAILED'
  const { name: _name, code: _code, ...place } = coded instanceof BaoError ? coded : {}
  const cause = coded?.cause
  const errors = cause instanceof AggregateError ? cause.errors.map(error => errorRecord(error)) : undefined
  return { code, message: oneLine(messageOf(error)), hint: hintOf(error, options), ...plain(place), errors }
}

/** The properties of a BaoError as plain data. @param {Place} place */
const plain = ({ cid, actual, ranges, members, ...place }) => ({
  ...place,
  cid: cid && `${cid}`,
  actual: actual && `${actual}`,
  ranges: ranges && [...ranges].map(([start, end]) =>
    ({ start: start * CHUNK_LEN, ...end < Infinity && { end: end * CHUNK_LEN } })),
  members: members?.map(({ error, cid, ...member }) => ({ ...member, cid: `${cid}`, error: errorRecord(error) }))
})

/** @param {Error & { code?: unknown }} error @param {object} options @returns {string | undefined} */
function hintOf ({ code }, options) {
  const hints = Object.hasOwn(HINTS, `${code}`) ? HINTS[`${code}`] : []
  return hints.find(({ option }) => option === undefined || option in options)?.hint
}

/**
 * The message of an error, with the reason that the system gave, for example a full disk.
 *
 * @param {Error} error
 */
export function messageOf (error) {
  const { message } = error
  // The message of a BaoError already contains that of its cause.
  const reason = causesOf(error).filter(cause => !(cause instanceof BaoError)).at(-1)
  return reason === undefined || message.endsWith(reason.message) ? message : `${message}: ${reason.message}`
}

/** @param {Error} error @returns {Error[]} outermost first */
const causesOf = ({ cause }) => cause instanceof Error ? [cause, ...causesOf(cause)] : []

/** @param {string} text */
const oneLine = text => text.replace(/\s*[\r\n]+\s*/g, ' ')
