// Encodes and decodes the keys of the two databases. All integers are big-endian, so that keys sort by them. records.js
// has the values.
//
// index   00                          the state of the store
//         01 | hash (32)              a blob
//         02 | hash (32)              when the blob was last used
//         03 | id (8)                 an id whose data is being deleted
//         04 | name (UTF-8)           a tag
//         05 | hash (32) | name       the same tag, in the order of the blobs that tags name
//         06 | position (8)           an entry of the log of changes
//         08 | multihash              an alias: another name of a blob
//         09 | hash (32) | multihash  the same alias, in the order of the blobs
//         0a | id (8)                 the path of an imported file
//         0b | base (8) | size (8)    a sharer: a blob that shares its bytes with others
// data    id (8) | chunk (8) | 00         an extent: verified bytes of the blob from this chunk on
//         id (8) | chunk (8) | 01 + band  a page of the tree (tree-pages.js), under the last chunk that it covers. So
//         the keys of a blob that is written from start to end are in order, and LevelDB never has to move its data
// files   blobs/id                    the bytes of a large blob, or of several that share them, instead of extents

import { CHUNK_LEN, HASH_LEN } from '../../../lib/core/constants.js'
import { compare } from 'uint8arrays/compare'
import { base16 } from 'multiformats/bases/base16'
import { encode, setU64, u64At } from './codec.js'
import { allocateFresh } from './buffers.js'

/** @import { Allocate } from './buffers.js' */

/** Options for keys and values as Uint8Arrays, whatever encodings a database was opened with. */
export const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' }

/**
 * Options for a batch. abstract-level copies these options for each operation and adds the properties of the operation.
 * The object already has all of these properties, so its copies need not grow, and V8 takes 1.2 us for each copy
 * instead of 4.5.
 */
export const BATCH = { type: 'put', key: undefined, value: undefined, ...VIEWS }

/** The first byte of a key of the index. 7 is not used. */
export const KIND = {
  state: 0,
  blob: 1,
  used: 2,
  deletion: 3,
  tag: 4,
  tagged: 5,
  event: 6,
  alias: 8,
  aliasOf: 9,
  path: 10,
  sharer: 11
}
const KINDS = new Set(Object.values(KIND))
const [EXTENT, PAGE] = [0, 1]
/** Bytes of an id. */
export const ID_LEN = 8
const KIND_AT = 16
const DATA_KEY_LEN = KIND_AT + 1
/** The greatest id. A store that used a million ids a second would reach it after nine years. */
export const MAX_ID = 2 ** 48 - 1
/** The greatest last chunk, and the highest band, of a page over 2^53 - 1 bytes. */
const MAX_CHUNK = 2 ** 46 - 1
const MAX_BAND = 6

export const stateKey = encode(KIND.state)

/** @param {Uint8Array} hash @param {Allocate} [allocate] */
export const blobKey = (hash, allocate) => hashKey(KIND.blob, hash, allocate)

/** @param {Uint8Array} hash @param {Allocate} [allocate] */
export const usedKey = (hash, allocate) => hashKey(KIND.used, hash, allocate)

/** @param {number} kind @param {Uint8Array} hash @param {Allocate} [allocate] */
function hashKey (kind, hash, allocate = allocateFresh) {
  const key = allocate(1 + HASH_LEN)
  key[0] = kind
  key.set(hash, 1)
  return key
}

/** @param {number} id @param {Allocate} [allocate] */
export function deletionKey (id, allocate = allocateFresh) {
  const key = allocate(1 + ID_LEN)
  key[0] = KIND.deletion
  setU64(key, 1, id)
  return key
}

/** @param {number} id */
export const pathKey = id => encode(KIND.path, { u64: id })

/**
 * Returns the key of a sharer. It does not need a hash, because two sharers of one base with the same size would be the
 * same blob.
 *
 * @param {number} base  the id of the base @param {number} size  of the blob, in bytes
 */
export const sharerKey = (base, size) => encode(KIND.sharer, { u64: base }, { u64: size })

/**
 * @param {Uint8Array} key  of a sharer
 * @returns {{ base: number, size: number } | undefined} undefined for a key that no store writes
 */
export function placeOfSharer (key) {
  const [base, size] = key.length === 1 + 2 * ID_LEN ? [u64At(key, 1), u64At(key, 1 + ID_LEN)] : [Infinity, 0]
  return base <= MAX_ID && size > 0 && size <= Number.MAX_SAFE_INTEGER ? { base, size } : undefined
}

/** No log reaches a greater position. Those that may follow it are exact numbers, too. */
export const MAX_POSITION = 2 ** 52

/** Returns the key of a log entry. @param {number} position  see `LogPlace` */
export const eventKey = position => encode(KIND.event, { u64: position })

/** Returns true for the key of a log entry. Keys of the data database are longer. @param {Uint8Array} key */
export const isEventKey = key => key[0] === KIND.event && key.length === 1 + ID_LEN

/** @param {number} kind */
const allOfKind = kind => ({ gte: encode(kind), lt: encode(kind + 1) })
export const allBlobs = allOfKind(KIND.blob)
export const allUsed = allOfKind(KIND.used)
export const allDeletions = allOfKind(KIND.deletion)
export const allEvents = allOfKind(KIND.event)
/** The keys of all sharers, in the order of the bases; for each base, from the shortest sharer to the longest. */
export const allSharers = allOfKind(KIND.sharer)
/** @param {number} base */
export const allSharersOf = base => ({ gte: sharerKey(base, 0), lt: sharerKey(base + 1, 0) })
/** The keys of all entries of the index. */
export const allOfIndex = { gte: stateKey }

/** Returns true if this release writes keys of this kind in the index. @param {Uint8Array} key */
export const isKnownKind = key => KINDS.has(key[0])

/**
 * @param {Uint8Array} key  of a blob
 * @returns {Uint8Array<ArrayBuffer> | undefined} undefined for a key that no store writes
 */
export const hashOfKey = key => key.length === 1 + HASH_LEN ? new Uint8Array(key.subarray(1)) : undefined

/**
 * @param {Uint8Array} key  of a deletion or of a path
 * @returns {number | undefined} undefined for a key that no store writes
 */
export const idOfIndexKey = key => key.length === 1 + ID_LEN ? u64At(key, 1) : undefined

/**
 * A range of blobs in the order of their hashes.
 *
 * @typedef {object} HashRange
 * @property {string} [prefix]  the beginning of the hashes: up to 64 hexadecimal digits, in lower case
 * @property {Uint8Array} [after]  only blobs after this hash
 * @property {boolean} [reverse]  true for the order from the last to the first. Default: false
 */

/** Returns the keys of the records of a range of blobs. @param {HashRange} range */
export const blobsIn = range => hashesIn(range, allBlobs, blobKey)

/** Returns the keys of the last uses of a range of blobs. @param {HashRange} range */
export const usedIn = range => hashesIn(range, allUsed, usedKey)

/**
 * @param {HashRange} range
 * @param {{ gte: Uint8Array, lt: Uint8Array }} all  all keys of the kind, even those that no store writes
 * @param {(hash: Uint8Array) => Uint8Array} keyOf
 * @returns {{ gte?: Uint8Array, gt?: Uint8Array, lte?: Uint8Array, lt?: Uint8Array, reverse: boolean }}
 */
function hashesIn ({ prefix = '', after, reverse = false }, all, keyOf) {
  const hashWith = (/** @type {string} */ digit) => base16.baseDecode(prefix.padEnd(2 * HASH_LEN, digit))
  const whole = prefix === '' ? all : { gte: keyOf(hashWith('0')), lte: keyOf(hashWith('f')) }
  if (after === undefined) return { ...whole, reverse }
  const afterKey = keyOf(after)
  const { gte, ...end } = whole
  const isOutside = reverse ? 'lte' in end && compare(afterKey, end.lte) > 0 : compare(afterKey, gte) < 0
  if (isOutside) return { ...whole, reverse }
  return reverse ? { gte, lt: afterKey, reverse } : { gt: afterKey, ...end, reverse }
}

/** @param {Uint8Array} multihash */
export const aliasKey = multihash => encode(KIND.alias, multihash)
/** @param {Uint8Array} hash @param {Uint8Array} multihash */
export const aliasOfKey = (hash, multihash) => encode(KIND.aliasOf, hash, multihash)
export const allAliases = allOfKind(KIND.alias)
/** The keys of all aliases, in the order of the blobs. */
export const allAliasesByBlob = allOfKind(KIND.aliasOf)
/**
 * Sorts after every multihash. No multihash begins with ten bytes of ff, because its first number, a varint, would not
 * end.
 */
const AFTER_MULTIHASHES = new Uint8Array(10).fill(0xff)
/** Returns the keys of all aliases of a blob. @param {Uint8Array} hash */
export const allAliasesOf = hash =>
  ({ gte: encode(KIND.aliasOf, hash), lt: encode(KIND.aliasOf, hash, AFTER_MULTIHASHES) })
/** @param {Uint8Array} key  of an alias */
export const multihashOfAlias = key => new Uint8Array(key.subarray(1))
/** @param {Uint8Array} key  of an alias, in the order of the blobs */
export const multihashOfAliasOf = key => new Uint8Array(key.subarray(1 + HASH_LEN))
/**
 * @param {Uint8Array} key  of an alias, in the order of the blobs
 * @returns {Uint8Array<ArrayBuffer> | undefined} the hash of the blob; undefined for a key that no store writes
 */
export const rootOfAliasOf = key =>
  key.length > 1 + HASH_LEN ? new Uint8Array(key.subarray(1, 1 + HASH_LEN)) : undefined

/** @param {string} name */
export const tagKey = name => encode(KIND.tag, utf8(name))
/** @param {Uint8Array} hash @param {string} name */
export const taggedKey = (hash, name) => encode(KIND.tagged, hash, utf8(name))
/**
 * Returns the keys of the tags whose names begin with a prefix, in the order of their UTF-8 bytes. UTF-8 never contains
 * the byte ff.
 *
 * @param {string} prefix
 * @param {string} [after]  a name: only keys after its key
 */
export function tagsWith (prefix, after) {
  const [first, before] = [tagKey(prefix), after === undefined ? undefined : tagKey(after)]
  const start = before !== undefined && compare(before, first) >= 0 ? { gt: before } : { gte: first }
  return { ...start, lt: encode(KIND.tag, utf8(prefix), 0xff) }
}
/** The keys of all tags, in the order of the blobs. */
export const allTagged = allOfKind(KIND.tagged)
/** Returns the keys of the tags of one blob. @param {Uint8Array} hash */
export const tagsOf = hash => ({ gte: encode(KIND.tagged, hash), lt: encode(KIND.tagged, hash, 0xff) })

/** @param {string} text */
const utf8 = text => new TextEncoder().encode(text)
/** Decodes names, which may begin with a byte order mark. @type {{ decode (bytes: Uint8Array): string }} */
export const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Reads the name in the key of a tag, for messages. The name of a damaged tag may be wrong.
 *
 * @param {Uint8Array} key
 */
export const nameOfTag = key => UTF8.decode(key.subarray(1))

/** Reads the name in the key of a tag in the order of the blobs. @param {Uint8Array} key */
export const nameBeside = key => UTF8.decode(key.subarray(1 + HASH_LEN))

/** @param {number} id @param {number} offset  bytes: a multiple of a chunk @param {Allocate} [allocate] */
export function extentKey (id, offset, allocate = allocateFresh) {
  const key = allocate(DATA_KEY_LEN)
  setU64(key, 0, id)
  setU64(key, ID_LEN, offset / CHUNK_LEN)
  key[KIND_AT] = EXTENT
  return key
}

/** @param {number} id @param {{ band: number, lastChunk: number }} page */
export const pageKey = (id, { band, lastChunk }) => encode({ u64: id }, { u64: lastChunk }, PAGE + band)

/** Returns the keys of all data under an id. @param {number} id */
export const allOfId = id => ({ gte: encode({ u64: id }), lt: encode({ u64: id + 1 }) })

/**
 * Returns the keys of the extents that start, and of the pages that end, in a range of chunks.
 *
 * @param {number} id @param {number} start  chunk @param {number} end  chunk, not included
 */
export function dataOf (id, start, end) {
  const gte = encode({ u64: id }, { u64: start })
  return { gte, lt: end > MAX_CHUNK ? encode({ u64: id + 1 }) : encode({ u64: id }, { u64: end }) }
}

/**
 * Returns the keys of the extents that start in [start, end), and of the pages between them.
 *
 * @param {number} id @param {number} start  bytes: a multiple of a chunk @param {number} end  bytes
 */
export const extentsOf = (id, start, end) =>
  ({ gte: extentKey(id, start), lt: extentKey(id, Math.ceil(end / CHUNK_LEN) * CHUNK_LEN) })

/**
 * Reads a key of the data database. A failing disk may have changed any byte of the key, so numbers that no store
 * writes are rejected.
 *
 * @param {Uint8Array} key
 * @returns {{ id: number, chunk: number, band?: number } | undefined} a page if `band` is set, otherwise an extent;
 *   undefined for a key that no store writes
 */
export function placeOfKey (key) {
  if (key.length !== DATA_KEY_LEN) return undefined
  const [id, chunk] = [u64At(key, 0), u64At(key, ID_LEN)]
  if (id > MAX_ID || chunk > MAX_CHUNK || key[KIND_AT] - PAGE > MAX_BAND) return undefined
  return key[KIND_AT] === EXTENT ? { id, chunk } : { id, chunk, band: key[KIND_AT] - PAGE }
}

/**
 * @param {Uint8Array} key  of the data database
 * @returns {number | undefined} undefined for a key that no store writes
 */
export const idOfKey = key => placeOfKey(key)?.id

/** Returns where an extent starts, in bytes; undefined for a page. @param {Uint8Array} key */
export const offsetOfExtent = key => key[KIND_AT] === EXTENT ? u64At(key, ID_LEN) * CHUNK_LEN : undefined
