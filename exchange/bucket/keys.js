// Checks keys and prefixes, and compares keys in the order in which buckets list them.

import { describe } from '../../lib/core/bytes.js'

/** The maximum length of a key with its prefix, in bytes of UTF-8. Source: Amazon S3, "Naming objects". */
const MAX_LEN = 1024

const encoder = new TextEncoder()

/**
 * Matches what keys must not have: empty segments, `.`, `..`, control characters, lone surrogates. URLs drop segments
 * that are dots, and XML has no control characters.
 */
// eslint-disable-next-line no-control-regex
const BAD_KEY = /^$|^\/|\/\/|\/$|(?:^|\/)\.\.?(?:\/|$)|[\0-\x1f\x7f]|\p{Surrogate}/u
/** The same for the start of a key, which may end with a slash, or in the middle of a segment. */
// eslint-disable-next-line no-control-regex
const BAD_START = /^\/|\/\/|(?:^|\/)\.\.?\/|[\0-\x1f\x7f]|\p{Surrogate}/u

/** @param {unknown} key @param {string} [prefix]  that of the bucket @returns {string} the key with the prefix */
export function fullKey (key, prefix = '') {
  if (typeof key !== 'string') throw new TypeError(`"key" expected a string, got ${describe(key)}`)
  if (BAD_KEY.test(key)) {
    const expected = 'segments with a slash between them, none of them empty, "." or "..", without control characters'
    throw new TypeError(`"key" expected ${expected}, got ${JSON.stringify(key)}`)
  }
  const full = prefix + key
  const { length } = encoder.encode(full)
  if (length > MAX_LEN) throw new TypeError(`"key" expected at most ${MAX_LEN} bytes with the prefix, got ${length}`)
  return full
}

/** @param {string} name @param {unknown} start @returns {string} the start of a key */
export function startOfKeys (name, start = '') {
  if (typeof start !== 'string') throw new TypeError(`"${name}" expected a string, got ${describe(start)}`)
  if (!BAD_START.test(start)) return start
  throw new TypeError(`"${name}" expected the start of a key, got ${JSON.stringify(start)}`)
}

/** @param {unknown} prefix  of a bucket @returns {string} the prefix, with a slash at its end unless it is empty */
export function prefixOf (prefix) {
  const start = startOfKeys('prefix', prefix)
  return start === '' || start.endsWith('/') ? start : `${start}/`
}

/**
 * Compares keys by their bytes in UTF-8, which is the order of buckets. Strings of JavaScript are compared by the units
 * of UTF-16, which is another order for characters above U+FFFF.
 *
 * @param {string} a @param {string} b @returns {number} below 0 if `a` is before `b`, 0 if they are equal
 */
export function compareKeys (a, b) {
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  const [unitA, unitB] = [a, b].map(key => at < key.length ? key.charCodeAt(at) : -1)
  // A surrogate belongs to a character above U+FFFF, which is after all others.
  const rank = (/** @type {number} */ unit) => unit >= 0xD800 && unit <= 0xDFFF ? unit + 0x10000 : unit
  return rank(unitA) - rank(unitB)
}
