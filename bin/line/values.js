// Reads the values of options and operands: sizes, numbers, ranges, group logs.

import { MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { UsageError } from '../terminal/errors.js'

/** The default of --wait: seconds in which most commands end, so that several can be started at once. */
export const DEFAULT_WAIT = 10

const UNITS = /** @type {Record<string, number>} */ ({ '': 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 })

/** @param {string} given @returns {number} bytes */
export function parseSize (given) {
  const [, digits, unit] = /^(\d+) ?(|KiB|MiB|GiB|TiB)$/i.exec(given) ?? []
  const bytes = Number(digits) * UNITS[unit?.toLowerCase()]
  if (!Number.isSafeInteger(bytes)) {
    throw new UsageError(`'${given}' is not a size: expected a number of bytes, or a number with KiB, MiB, GiB or TiB`)
  }
  return bytes
}

/**
 * Makes a function that reads an integer.
 *
 * @param {number} least @param {number} most
 * @returns {(given: string) => number}
 */
export const integerFrom = (least, most) => given => {
  const number = /^\d{1,9}$/.test(given) ? Number(given) : NaN
  if (!(number >= least && number <= most)) {
    throw new UsageError(`'${given}' is not a number from ${least} to ${most}`)
  }
  return number
}

export const parseGroupLog = integerFrom(0, MAX_GROUP_LOG)

/**
 * Makes a function that rejects the empty string.
 *
 * @param {string} name  of the value, for the error
 * @returns {(given: string) => string}
 */
export const filled = name => given => {
  if (given === '') throw new UsageError(`${name} must not be empty`)
  return given
}

/**
 * Reads a header of HTTP. It may be secret, so errors do not show it.
 *
 * @param {string} given  as in `Name: value`
 * @returns {[name: string, value: string]}
 */
export function parseHeader (given) {
  const [all, name, value] = /^([^:]+):(.*)$/s.exec(given) ?? []
  try {
    if (all !== undefined) return /** @type {[string, string]} */ ([...new Headers([[name, value]])][0])
  } catch {} // the runtime's error shows the value
  throw new UsageError("this is not a header: expected 'Name: value'")
}

/** Reads a token. It is secret, so errors do not show it. @param {string} given */
export function parseToken (given) {
  if (!/^[\x21-\x7e]+$/.test(given)) throw new UsageError('TOKEN is not visible ASCII without spaces')
  return given
}

/**
 * The token of uploads: that of an option, or that of the environment.
 *
 * @param {string | undefined} given  as `parseToken` returned it
 * @returns {string | undefined}
 */
export function uploadToken (given) {
  const token = given ?? process.env.BAOBOX_PUT_TOKEN
  return token ? parseToken(token) : undefined
}

/**
 * Makes a function that reads one of several words.
 *
 * @template {string} T
 * @param {readonly T[]} words
 * @returns {(given: string) => T}
 */
export const oneOf = words => given => {
  const word = words.find(word => word === given)
  if (word === undefined) throw new UsageError(`'${given}' is not one of ${words.join(', ')}`)
  return word
}

/**
 * The range of --start, --end and --count.
 *
 * @param {{ start?: number, end?: number, count?: number }} values  bytes; `end` and `count` exclude each other
 */
export function rangeOf ({ start = 0, end = Infinity, count }) {
  if (count !== undefined) return spanOf(start, count)
  if (end < start) throw new UsageError(`--end ${end} is before --start ${start}`)
  return { start, end }
}

/**
 * The range of the operands START and COUNT.
 *
 * @param {string} start @param {string} count
 */
export const parseSpan = (start, count) => spanOf(parseSize(start), parseSize(count))

/** Makes a range. Its end is Infinity if it exceeds the largest offset. @param {number} start @param {number} count */
function spanOf (start, count) {
  const end = start + count
  return { start, end: Number.isSafeInteger(end) ? end : Infinity }
}
