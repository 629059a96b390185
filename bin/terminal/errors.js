// What may go wrong, and the one line that says so.

import { BaoError } from '../../lib/index.js'

/** The command line means nothing. Exits with 2. */
export class UsageError extends Error {}

/** Something that is nobody's bug: a file that is a directory, a store that is not there. Exits with 1. */
export class Failure extends Error {}

/**
 * A fault of a slice with a hint behind it, where it may well be no lie: at a parent, or before anything was verified.
 *
 * @param {unknown} error @param {string} hint @param {boolean} isFirst  has nothing been verified?
 */
export function hinted (error, hint, isFirst) {
  if (!(error instanceof BaoError)) return error
  const { code, message } = error
  const isMisfit = code === 'BAO_PARENT_MISMATCH' || (isFirst && (code === 'BAO_LEAF_MISMATCH' || code === 'BAO_TRUNCATED'))
  return isMisfit ? new Failure(`${code}: ${message}: ${hint}`, { cause: error }) : error
}

/**
 * @param {unknown} error
 * @returns {string} a line without its end; with BAOBOX_DEBUG set, everything that is known
 */
export function lineOf (error) {
  if (process.env.BAOBOX_DEBUG && error instanceof Error) return `baobox: ${error.stack}${causesOf(error).map(cause => `\nbecause of ${cause.stack}`).join('')}`
  if (!(error instanceof Error)) return oneLine(`baobox: ${error}`)
  const code = error instanceof BaoError ? `${error.code}: ` : ''
  // What the system says names the reason: no space, no permission, not a directory. Causes of ours repeat what stands above them.
  const reason = causesOf(error).filter(cause => !(cause instanceof BaoError)).at(-1)
  return oneLine(`baobox: ${code}${error.message}${reason ? `: ${reason.message}` : ''}`)
}

/** @param {Error} error @returns {Error[]} outermost first */
const causesOf = ({ cause }) => cause instanceof Error ? [cause, ...causesOf(cause)] : []

/** @param {string} text */
const oneLine = text => text.replace(/\s*[\r\n]+\s*/g, ' ')
