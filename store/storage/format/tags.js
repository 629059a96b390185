// Encodes and decodes tags. The index keeps each tag twice: under its name, and in the order of the blobs. Both entries
// hold the whole tag, with the same check.

import { decode, encode as encodeCbor } from '@ipld/dag-cbor'
import { equals } from 'uint8arrays/equals'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { hash } from '../../../lib/hash/hasher.js'
import { CHECK_LEN, checkOf, encode, u64At } from './codec.js'
import { KIND, UTF8, aliasKey, tagKey, taggedKey } from './keys.js'
import { MAX_TIME } from './records.js'

/**
 * @typedef {'raw' | 'hashseq'} TagFormat  `raw`: the tag protects its blob; `hashseq`: the tag protects a hash sequence
 *   and all its members
 */

/**
 * @typedef {object} Tag
 * @property {string} name
 * @property {Uint8Array} root  the root of the blob; for a tag of an alias, the result of `placeOfAlias`, which is not
 *   the root of a blob
 * @property {TagFormat} format  `raw` for an alias
 * @property {Uint8Array} [alias]  the multihash that the tag names; undefined for a tag of a blob
 * @property {boolean} [weak]  true for a tag that protects nothing, and counts as deleted once its blob is deleted
 * @property {number} [expires]  the time at which the tag expires, in milliseconds since 1970; undefined for never
 * @property {Uint8Array} [meta]  data that the caller keeps with the tag, as DAG-CBOR
 */

/** @type {TagFormat[]} */
export const TAG_FORMATS = ['raw', 'hashseq']
/** A weak tag has this number in place of its format, which is always `raw`. */
const WEAK = TAG_FORMATS.length

/** The maximum length of a tag's metadata, in bytes of DAG-CBOR. */
export const MAX_META_LEN = 4096

/** The maximum depth of nested arrays and objects. Without it, decoding stored metadata could overflow the stack. */
const MAX_META_DEPTH = 64
/** Bytes of a value between the hash and the alias: format, time, length of the alias. */
const FIXED_LEN = 11
const ALIAS_LEN_AT = 9
const NOTHING = new Uint8Array(0)

/**
 * Returns the hash at which the tags of an alias are placed in the order of the blobs.
 *
 * @param {Uint8Array} multihash
 */
export const placeOfAlias = multihash => hash(aliasKey(multihash))

/**
 * @param {Tag} tag
 * @returns {{ named: [key: Uint8Array, value: Uint8Array], beside: [key: Uint8Array, value: Uint8Array] }} the entry
 *   under the tag's name, and the entry in the order of the blobs
 */
export function encodeTag ({ name, root, format, weak = false, alias = NOTHING, expires = 0, meta = NOTHING }) {
  const { length } = alias
  const kind = weak ? WEAK : TAG_FORMATS.indexOf(format)
  const target = encode(root, kind, { u64: expires }, length >> 8, length & 255, alias, meta)
  const check = checkOf(tagKey(name), target)
  return {
    named: [tagKey(name), encode(target, check)],
    beside: [taggedKey(root, name), encode(target.subarray(HASH_LEN), check)]
  }
}

/**
 * @param {Uint8Array} key  a tag's name
 * @param {Uint8Array} value
 * @returns {Tag | undefined} undefined when it is damaged
 */
export const decodeTag = (key, value) =>
  tagOf(key.subarray(1), value.subarray(0, HASH_LEN), value.subarray(HASH_LEN))

/**
 * @param {Uint8Array} key  of a tag, in the order of the blobs @param {Uint8Array} value
 * @returns {Tag | undefined} undefined when it is damaged
 */
export const decodeTagged = (key, value) => tagOf(key.subarray(1 + HASH_LEN), key.subarray(1, 1 + HASH_LEN), value)

/**
 * @param {Uint8Array} name  UTF-8 @param {Uint8Array} root
 * @param {Uint8Array} rest  format, time, length of the alias, alias, metadata and check
 * @returns {Tag | undefined}
 */
function tagOf (name, root, rest) {
  if (root.length !== HASH_LEN || rest.length < FIXED_LEN + CHECK_LEN) return undefined
  const metaAt = FIXED_LEN + (rest[ALIAS_LEN_AT] << 8 | rest[ALIAS_LEN_AT + 1])
  const metaLen = rest.length - CHECK_LEN - metaAt
  const weak = rest[0] === WEAK
  const format = weak ? 'raw' : TAG_FORMATS[rest[0]]
  if (metaLen < 0 || metaLen > MAX_META_LEN || format === undefined) return undefined
  const target = encode(root, rest.subarray(0, -CHECK_LEN))
  if (!equals(rest.subarray(-CHECK_LEN), checkOf(encode(KIND.tag, name), target))) return undefined
  // Anybody can write a right check beside wrong values, so check each value, too.
  const expires = u64At(rest, 1)
  const alias = metaAt === FIXED_LEN ? undefined : rest.slice(FIXED_LEN, metaAt)
  const meta = metaLen === 0 ? undefined : rest.slice(metaAt, metaAt + metaLen)
  if (expires > MAX_TIME || (meta !== undefined && decodeMeta(meta) === undefined)) return undefined
  if (alias !== undefined && (format !== 'raw' || weak)) return undefined
  const tag = { name: UTF8.decode(name), root: new Uint8Array(root), format, weak, alias, meta }
  return { ...tag, expires: expires || undefined }
}

/**
 * Returns the check of a tag as one number, which is the same in both of its entries.
 *
 * @param {Uint8Array} value  of either entry
 */
export const checkOfTag = value => new DataView(value.buffer, value.byteOffset).getBigUint64(value.length - CHECK_LEN)

/** Returns true if a tag has not expired. @param {Tag} tag @param {number} now  milliseconds since 1970 */
export const isLive = ({ expires }, now) => expires === undefined || now < expires

/**
 * Returns true if an entry in the order of the blobs protects its blob. A damaged entry does, because its tag may not
 * have expired.
 *
 * @param {Uint8Array} key @param {Uint8Array} value @param {number} now  milliseconds since 1970
 */
export function protects (key, value, now) {
  const isForever = value.length >= FIXED_LEN && value[0] !== WEAK && u64At(value, 1) === 0
  if (isForever) return true
  const tag = decodeTagged(key, value)
  return tag === undefined || (!tag.weak && isLive(tag, now))
}

/** @param {Tag} tag @param {Tag | undefined} other */
export const areSameTags = (tag, other) => other !== undefined && tag.name === other.name &&
  tag.format === other.format && (tag.weak ?? false) === (other.weak ?? false) && tag.expires === other.expires &&
  equals(tag.root, other.root) &&
  equals(tag.meta ?? NOTHING, other.meta ?? NOTHING)

/**
 * @param {unknown} meta  metadata as the caller gives it
 * @returns {Uint8Array}
 * @throws {TypeError | RangeError} when DAG-CBOR cannot hold the metadata, or it is too long or nested too deeply
 */
export function encodeMeta (meta) {
  const bytes = cborOf(meta)
  if (bytes.length <= MAX_META_LEN) return bytes
  throw new RangeError(`"meta" expected at most ${MAX_META_LEN} bytes as DAG-CBOR, got ${bytes.length}`)
}

/** @param {unknown} meta */
function cborOf (meta) {
  if (!isShallow(meta, MAX_META_DEPTH)) throw new RangeError(`"meta" expected at most ${MAX_META_DEPTH} levels`)
  try {
    const bytes = encodeCbor(meta)
    if (bytes.length <= MAX_META_LEN) decode(bytes) // This refuses metadata that could not be decoded later.
    return bytes
  } catch (cause) {
    throw new TypeError(
      `"meta" expected a value that DAG-CBOR can hold: ${/** @type {Error} */ (cause).message}`, { cause })
  }
}

/**
 * @param {unknown} value @param {number} depth  how deeply arrays and objects in it may be nested
 * @returns {boolean}
 */
const isShallow = (value, depth) => typeof value !== 'object' || value === null || ArrayBuffer.isView(value) ||
  (depth > 0 && Object.values(value).every(part => isShallow(part, depth - 1)))

/** @param {Uint8Array} bytes @returns {{ value: unknown } | undefined} undefined when they are not DAG-CBOR */
export function decodeMeta (bytes) {
  try {
    const value = decode(bytes)
    return isShallow(value, MAX_META_DEPTH) ? { value } : undefined
  } catch {} // Deep nesting can overflow the stack, which also means that the bytes are damaged.
}
