// The errors of the command line, and the line in which any error is printed.

import { BaoError } from '../../lib/core/errors.js'

/** The command line is wrong. The program exits with 2. */
export class UsageError extends Error {}

/** A failure that is not a bug, such as a missing store. The program exits with 1. */
export class Failure extends Error {}

const CUT_OTHERWISE = 'was it made for another range, or with another --group-log?'

/**
 * Adds a hint to the error of a slice that may be right and only read with the wrong options. A slice that was cut with
 * other options fails at a parent or before anything was verified.
 *
 * @param {unknown} error
 * @param {boolean} isFirst  true when nothing was verified before
 */
export function hintAtOptions (error, isFirst) {
  if (!(error instanceof BaoError)) return error
  const { code, message } = error
  const mayFitOtherOptions = code === 'BAO_PARENT_MISMATCH' ||
    (isFirst && (code === 'BAO_LEAF_MISMATCH' || code === 'BAO_TRUNCATED'))
  return mayFitOtherOptions ? new Failure(`${code}: ${message}: ${CUT_OTHERWISE}`, { cause: error }) : error
}

/**
 * @param {unknown} error
 * @returns {string} one line without its line break; with BAOBOX_DEBUG set, the stacks of the error and its causes
 */
export function errorLine (error) {
  if (!(error instanceof Error)) return oneLine(`baobox: ${error}`)
  if (process.env.BAOBOX_DEBUG) {
    return `baobox: ${error.stack}${causesOf(error).map(cause => `\ncaused by ${cause.stack}`).join('')}`
  }
  const code = error instanceof BaoError ? `${error.code}: ` : ''
  // The system's own message gives the reason, such as a full disk. Messages of BaoErrors repeat what they caused.
  const reason = causesOf(error).filter(cause => !(cause instanceof BaoError)).at(-1)
  return oneLine(`baobox: ${code}${error.message}${reason ? `: ${reason.message}` : ''}`)
}

/** @param {Error} error @returns {Error[]} outermost first */
const causesOf = ({ cause }) => cause instanceof Error ? [cause, ...causesOf(cause)] : []

/** @param {string} text */
const oneLine = text => text.replace(/\s*[\r\n]+\s*/g, ' ')
