// What a tag is called, and what it names: checks the arguments of callers.

import { HASHSEQ, codecOf, multihashOf, parseRoot } from '../../../lib/hash/cid.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { describe } from '../../../lib/core/bytes.js'
import { TAG_FORMATS, placeOfAlias } from '../../storage/format/records.js'

/** @import { BlobName } from '../../blob-store.js' */
/** @import { Tag, TagFormat } from '../../storage/format/records.js' */

/**
 * The blob that a tag is to name.
 *
 * @param {BlobName} cid
 * @param {{ format?: TagFormat }} [options]  default: `hashseq` for a CID with the codec of hash sequences (0x80),
 *   else `raw`
 * @returns {{ root: Uint8Array, format: TagFormat }}
 */
export function target (cid, options = {}) {
  return { root: parseRoot(cid, 'cid'), format: formatFor(cid, options) }
}

/**
 * The same, or the alias that a tag is to name.
 *
 * @param {BlobName} cid  of any hash function
 * @param {{ format?: TagFormat }} [options]  as for `target`; of an alias only `raw`
 * @returns {Omit<Tag, 'name'>}
 */
export function targetOrAlias (cid, options = {}) {
  const alias = multihashOf(cid)
  if (alias === undefined) return target(cid, options)
  if (formatFor(cid, options) === 'raw') return { root: placeOfAlias(alias), format: 'raw', alias }
  throw new TypeError('"format" expected \'raw\' for a CID of another hash function than BLAKE3, got \'hashseq\'')
}

/** @param {BlobName} cid @param {{ format?: TagFormat }} options @returns {TagFormat} */
function formatFor (cid, options) {
  assertKnownOptions(options, ['format'])
  const { format = codecOf(cid) === HASHSEQ ? 'hashseq' : 'raw' } = options
  assertFormat(format)
  return format
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
