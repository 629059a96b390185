// What a tag is called, and what it names: checks the arguments of callers.

import { HASHSEQ, codecOf, parseRoot } from '../../../lib/hash/cid.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { describe } from '../../../lib/core/bytes.js'
import { TAG_FORMATS } from '../../storage/format/records.js'

/** @import { BlobName } from '../../blob-store.js' */
/** @import { TagFormat } from '../../storage/format/records.js' */

/**
 * What a tag is to name.
 *
 * @param {BlobName} cid
 * @param {{ format?: TagFormat }} [options]  default: `hashseq` for a CID with the codec of hash sequences (0x80),
 *   else `raw`
 * @returns {{ root: Uint8Array, format: TagFormat }}
 */
export function target (cid, options = {}) {
  const root = parseRoot(cid, 'cid')
  assertKnownOptions(options, ['format'])
  const { format = codecOf(cid) === HASHSEQ ? 'hashseq' : 'raw' } = options
  assertFormat(format)
  return { root, format }
}

/** @param {unknown} format @returns {asserts format is TagFormat} */
export function assertFormat (format) {
  if (TAG_FORMATS.includes(/** @type {TagFormat} */ (format))) return
  const given = typeof format === 'string' ? `'${format}'` : describe(format)
  throw new TypeError(`"format" expected 'raw' or 'hashseq', got ${given}`)
}

/** @param {string} argument @param {unknown} name @returns {asserts name is string} */
export function assertName (argument, name) {
  if (typeof name !== 'string') throw new TypeError(`"${argument}" expected a string, got ${describe(name)}`)
  if (name === '') throw new RangeError(`"${argument}" expected a name, got an empty string`)
  assertWellFormed(argument, name)
}

/**
 * Half of a surrogate pair has no UTF-8: two such names would be kept as one.
 *
 * @param {string} argument @param {string} text
 */
export function assertWellFormed (argument, text) {
  if (!/\p{Surrogate}/u.test(text)) return
  throw new RangeError(`"${argument}" expected text that UTF-8 can hold, got half a surrogate pair`)
}
