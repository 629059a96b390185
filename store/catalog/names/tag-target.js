// Checks the arguments for a tag: its name, the blob or alias that it names, and when it expires.

import { HASHSEQ, codecOf, multihashOf, parseRoot } from '../../../lib/hash/cid.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { assertBoolean, assertInteger, describe } from '../../../lib/core/bytes.js'
import { MAX_TIME } from '../../storage/format/records.js'
import { TAG_FORMATS, encodeMeta, placeOfAlias } from '../../storage/format/tags.js'

/** @import { BlobName } from '../../blob-store.js' */
/** @import { Tag, TagFormat } from '../../storage/format/tags.js' */

/**
 * The properties of a tag other than its name and its blob.
 *
 * @typedef {object} TagOptions
 * @property {TagFormat} [format]  `raw`: the tag protects the blob. `hashseq`: the blob is a hash sequence, with 32
 *   bytes for each member, and the tag protects it and its members. Default: `hashseq` for a CID with the codec of hash
 *   sequences (0x80), otherwise `raw`
 * @property {boolean} [weak]  true for a key of a cache. The tag protects nothing, so `gc` may delete the blob, and a
 *   quota may evict it. After that, the tag counts as deleted. A weak tag must name a blob by BLAKE3. Default: false
 * @property {unknown} [meta]  anything that DAG-CBOR can hold in 4096 bytes: strings, numbers, bytes, CIDs, null,
 *   booleans, and arrays and plain objects of these, nested at most 64 deep
 * @property {number} [ttl]  milliseconds from now after which the tag expires; not together with `expires`
 * @property {Date} [expires]  the time at which the tag expires. Default: never
 */

/** The names of the options other than `format`. */
const PROPERTIES = ['weak', 'meta', 'ttl', 'expires']

/**
 * Reads the name of the blob that a tag should name.
 *
 * @param {BlobName} cid
 * @param {{ format?: TagFormat }} [options]  default: `hashseq` for a CID with the codec of hash sequences (0x80),
 *   otherwise `raw`
 * @returns {{ root: Uint8Array, format: TagFormat }}
 */
export function target (cid, options = {}) {
  return { root: parseRoot(cid, 'cid'), format: formatFor(cid, options) }
}

/**
 * Reads the name of the blob or alias that a tag should name.
 *
 * @param {BlobName} cid  of any hash function
 * @param {{ format?: TagFormat }} [options]  as for `target`; an alias can only be `raw`
 * @returns {Omit<Tag, 'name'>}
 */
function targetOrAlias (cid, options = {}) {
  const alias = multihashOf(cid)
  if (alias === undefined) return target(cid, options)
  if (formatFor(cid, options) === 'raw') return { root: placeOfAlias(alias), format: 'raw', alias }
  throw new TypeError('"format" expected \'raw\' for a CID of a hash function other than BLAKE3, got \'hashseq\'')
}

/** @param {BlobName} cid @param {{ format?: TagFormat }} options @returns {TagFormat} */
function formatFor (cid, options) {
  assertKnownOptions(options, ['format'])
  const { format = codecOf(cid) === HASHSEQ ? 'hashseq' : 'raw' } = options
  assertFormat(format)
  return format
}

/**
 * Makes a tag from a caller's arguments.
 *
 * @param {string} name @param {BlobName} cid @param {TagOptions} [options]
 * @returns {(now: number) => Tag} makes the tag. `now`: milliseconds since 1970, from which `ttl` counts
 */
export function tagFrom (name, cid, options = {}) {
  assertName('name', name)
  assertKnownOptions(options, ['format', ...PROPERTIES])
  const { format, ...properties } = options
  const named = targetOrAlias(cid, { format })
  const propertiesAt = tagPropertiesFrom(properties)
  if (properties.weak) assertMayBeWeak(named)
  return now => ({ name, ...named, ...propertiesAt(now) })
}

/** @param {Pick<Tag, 'format' | 'alias'>} tag @throws {TypeError} */
export function assertMayBeWeak ({ format, alias }) {
  if (format === 'hashseq') throw new TypeError('"weak" expected a tag with the format \'raw\', got \'hashseq\'')
  if (alias !== undefined) throw new TypeError('"weak" expected a tag of a BLAKE3 CID, got another hash function')
}

/**
 * Makes the properties of a tag from a caller's options.
 *
 * @param {Omit<TagOptions, 'format'>} options
 * @returns {(now: number) => Pick<Tag, 'weak' | 'meta' | 'expires'>} `now`: milliseconds since 1970, from which `ttl`
 *   counts
 */
export function tagPropertiesFrom ({ weak = false, meta, ttl, expires }) {
  assertBoolean('weak', weak)
  const bytes = meta === undefined ? undefined : encodeMeta(meta)
  if (ttl !== undefined && expires !== undefined) throw new TypeError('"expires" expected no value together with "ttl"')
  if (ttl !== undefined) assertInteger('ttl', ttl)
  const time = expires === undefined ? undefined : timeOf(expires)
  return now => ({ weak, meta: bytes, expires: ttl === undefined ? time : Math.min(now + ttl, MAX_TIME) })
}

/** @param {unknown} expires @returns {number} milliseconds since 1970, at least 1: 0 would mean never */
function timeOf (expires) {
  if (!(expires instanceof Date)) throw new TypeError(`"expires" expected a Date, got ${describe(expires)}`)
  const time = expires.getTime()
  if (Number.isNaN(time)) throw new RangeError('"expires" expected a valid Date, got an invalid one')
  return Math.max(1, time)
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
 * Checks the options of a list of tags.
 *
 * @param {{ prefix?: string, after?: string }} options
 * @returns {{ prefix: string, after?: string }}
 */
export function checkedTagListOptions (options) {
  assertKnownOptions(options, ['prefix', 'after'])
  const { prefix = '', after } = options
  if (typeof prefix !== 'string') throw new TypeError(`"prefix" expected a string, got ${describe(prefix)}`)
  assertWellFormed('prefix', prefix)
  if (after !== undefined) assertName('after', after)
  return { prefix, after }
}

/**
 * Rejects a string with half a surrogate pair. UTF-8 cannot express it, so different names would get the same bytes.
 *
 * @param {string} argument @param {string} text
 */
export function assertWellFormed (argument, text) {
  if (!/\p{Surrogate}/u.test(text)) return
  throw new RangeError(`"${argument}" expected text that UTF-8 can hold, got half a surrogate pair`)
}
