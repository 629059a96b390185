// What a byte string in the two databases means. Nothing else knows. All integers are big-endian, so that keys sort by them.
//
// index   00                         state of the store
//         01 | hash (32)             a blob: its record
//         02 | hash (32)             when the blob was last used
//         03 | id (8)                an id whose data is being deleted
//         04 | name (UTF-8)          a tag: what it names
//         05 | hash (32) | name      the same tag beside the blob that it names: these keys lie in the order of the blobs
//         08 | multihash             an alias, another name of a blob: the hash (32) of the blob
//         09 | hash (32) | multihash  the same by blob
//         0a | id (8)                the path of a file that the blob's bytes are in, elsewhere
// data    id (8) | chunk (8) | 00        an extent: verified bytes of the blob from this chunk on, inside one cell of 256 KiB
//         id (8) | chunk (8) | 01 + band  a page of the blob's tree (pages.js), beside the last chunk below it: so a blob that is written
//                                         from start to end is written in the order of its keys, and LevelDB never has to move it
// files   blobs/id                   the bytes of a large blob, instead of extents

import { CHUNK_LEN, HASH_LEN } from '../../../lib/core/constants.js'
import { equals } from 'uint8arrays/equals'
import { fromString } from 'uint8arrays/from-string'
import { areEqual } from '../../../lib/core/bytes.js'
import { hashInto } from '../../../lib/hash/hasher.js'
import { CHECK_LEN, checkOf, encode, setU64, u64At } from './codec.js'
import { freshRoom } from './buffers.js'

/** @import { Room } from './buffers.js' */

/** Keys and values as Uint8Arrays, whatever a database was opened with. */
export const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' }

/**
 * The same for a batch. Each of its operations becomes a copy of these options, upon which comes what the operation says: where all its names are here already
 * nothing has to grow, and V8 takes 1.2 us for each instead of 4.5.
 */
export const BATCH = { type: 'put', key: undefined, value: undefined, ...VIEWS }

/** How everything below is laid out. A store with a higher number was written by a later release. */
export const LAYOUT_VERSION = 1

const KINDS = [0, 1, 2, 3, 4, 5, 8, 9, 10]
const [STATE, BLOB, USED, DOOMED, TAG, TAGGED, ALIAS, ALIAS_OF, PATH] = KINDS
const [EXTENT, PAGE] = [0, 1]
const [ID_LEN, KIND_AT] = [8, 16]
const DATA_KEY_LEN = KIND_AT + 1
/** A million ids a second would take nine years to get there. */
export const MAX_ID = 2 ** 48 - 1
/** The last chunk of the last page over 2^53 - 1 bytes; and the band of it. */
const MAX_CHUNK = 2 ** 46 - 1
const MAX_BAND = 6

/**
 * @typedef {object} State
 * @property {number} version  of the layout
 * @property {boolean} isClean  was the store closed, with nothing under way?
 * @property {number} swept  ids below have been looked at: each has a record or no data
 * @property {number} nextId  ids from here on were never given away
 */

/**
 * @typedef {object} BlobRecord
 * @property {number} id  under which its data is kept: of nobody else
 * @property {number} size  bytes; a claim unless `sizeProven`
 * @property {boolean} sizeProven
 * @property {boolean} complete  is every byte here?
 * @property {Home} home
 * @property {number} created  milliseconds since 1970
 * @property {boolean} [isNameless]  is it kept for its aliases alone, not under its own hash?
 */

/**
 * @typedef {'extents' | 'file' | 'reference'} Home  where the bytes are: in the data database, in a file of the store,
 *   in a file of somebody else
 */

export const stateKey = encode(STATE)
/** @param {Uint8Array} hash @param {Room} [room] */
export function blobKey (hash, room = freshRoom) {
  const key = room(1 + HASH_LEN)
  key[0] = BLOB
  key.set(hash, 1)
  return key
}
/** @param {Uint8Array} hash @param {Room} [room] */
export function usedKey (hash, room = freshRoom) {
  const key = room(1 + HASH_LEN)
  key[0] = USED
  key.set(hash, 1)
  return key
}
/** @param {number} id @param {Room} [room] */
export function doomedKey (id, room = freshRoom) {
  const key = room(1 + ID_LEN)
  key[0] = DOOMED
  setU64(key, 1, id)
  return key
}
/** A note has a checksum, too: a flipped bit in its id would delete another blob. @param {number} id */
export const encodeDoomed = id => checkOf(doomedKey(id), NOTHING)
/** @param {Uint8Array} key  of a doomed id @param {Uint8Array} bytes @returns {number | undefined} the id; undefined when the note is damaged */
export const decodeDoomed = (key, bytes) => equals(bytes, checkOf(key, NOTHING)) ? u64At(key, 1) : undefined
/** @param {number} id */
export const pathKey = id => encode(PATH, { u64: id })
/** All blobs, when they were used, and all ids that are being deleted. */
export const allBlobs = { gte: encode(BLOB), lt: encode(BLOB + 1) }
export const allUsed = { gte: encode(USED), lt: encode(USED + 1) }
export const allDoomed = { gte: encode(DOOMED), lt: encode(DOOMED + 1) }
/** Everything in the index. */
export const allOfIndex = { gte: encode(STATE) }
/**
 * Does a key and its value have their right shape, of those that are not records? Of kinds that are unknown here nothing is said.
 *
 * @param {Uint8Array} key @param {Uint8Array} value
 */
export function isSoundNote (key, value) {
  switch (key[0]) {
    case STATE: return key.length === 1
    case BLOB: return hashOfKey(key) !== undefined
    case USED: return key.length === 1 + HASH_LEN && decodeTime(value) !== undefined
    case DOOMED: return decodeDoomed(key, value) !== undefined
    case ALIAS: return key.length > 1 && value.length === HASH_LEN
    case ALIAS_OF: return key.length > 1 + HASH_LEN && value.length === 0
    case PATH: return key.length === 1 + ID_LEN && decodePath(u64At(key, 1), value) !== undefined
    default: return key.length > 0
  }
}
/** Does this release write such keys? @param {Uint8Array} key  in the index */
export const isKnownKind = key => KINDS.includes(key[0])
/** @param {Uint8Array} key  of a blob @returns {Uint8Array<ArrayBuffer> | undefined} undefined when no such key was ever written */
export const hashOfKey = key => key.length === 1 + HASH_LEN ? new Uint8Array(key.subarray(1)) : undefined
/** Blobs whose hash begins so. @param {string} prefix  up to 64 hexadecimal digits */
export const blobsWith = prefix => prefix === '' ? allBlobs : hashesWith(prefix, blobKey)
/** When those were last used. @param {string} prefix */
export const usedWith = prefix => prefix === '' ? allUsed : hashesWith(prefix, usedKey)
/** @param {string} prefix @param {(hash: Uint8Array) => Uint8Array} keyOf */
const hashesWith = (prefix, keyOf) => ({
  gte: keyOf(fromString(prefix.padEnd(2 * HASH_LEN, '0'), 'base16')),
  lte: keyOf(fromString(prefix.padEnd(2 * HASH_LEN, 'f'), 'base16'))
})

/** @param {Uint8Array} multihash */
export const aliasKey = multihash => encode(ALIAS, multihash)
/** @param {Uint8Array} hash @param {Uint8Array} multihash */
export const aliasOfKey = (hash, multihash) => encode(ALIAS_OF, hash, multihash)
export const allAliases = { gte: encode(ALIAS), lt: encode(ALIAS + 1) }
/** All aliases in the order of the blobs. */
export const allAliasesByBlob = { gte: encode(ALIAS_OF), lt: encode(ALIAS_OF + 1) }
/** All aliases of a blob. (No multihash begins with ten bytes of ones: its first number would not end.) @param {Uint8Array} hash */
export const allAliasesOf = hash => ({ gte: encode(ALIAS_OF, hash), lt: encode(ALIAS_OF, hash, new Uint8Array(10).fill(0xff)) })
/** @param {Uint8Array} key  of an alias */
export const multihashOfAlias = key => new Uint8Array(key.subarray(1))
/** @param {Uint8Array} key  of an alias, by blob */
export const multihashOfAliasOf = key => new Uint8Array(key.subarray(1 + HASH_LEN))

/** @param {string} name */
export const tagKey = name => encode(TAG, utf8(name))
/** @param {Uint8Array} hash @param {string} name */
export const taggedKey = (hash, name) => encode(TAGGED, hash, utf8(name))
/** Tags whose names begin so, in the order of their UTF-8 bytes. No byte of UTF-8 is ff. @param {string} prefix */
export const tagsWith = prefix => ({ gte: tagKey(prefix), lt: encode(TAG, utf8(prefix), 0xff) })
/** The same tags, in the order of the blobs; all of them, or those of one blob. */
export const allTagged = { gte: encode(TAGGED), lt: encode(TAGGED + 1) }
/** @param {Uint8Array} hash */
export const tagsOf = hash => ({ gte: encode(TAGGED, hash), lt: encode(TAGGED, hash, 0xff) })

/** @param {number} id @param {number} offset  bytes, whole chunks @param {Room} [room] */
export function extentKey (id, offset, room = freshRoom) {
  const key = room(DATA_KEY_LEN)
  setU64(key, 0, id)
  setU64(key, ID_LEN, offset / CHUNK_LEN)
  key[KIND_AT] = EXTENT
  return key
}
/** @param {number} id @param {{ band: number, lastChunk: number }} page */
export const pageKey = (id, { band, lastChunk }) => encode({ u64: id }, { u64: lastChunk }, PAGE + band)
/** Everything kept under an id. @param {number} id */
export const allOfId = id => ({ gte: encode({ u64: id }), lt: encode({ u64: id + 1 }) })
/** Extents that start in [start, end), and pages between them. @param {number} id @param {number} start  whole chunks @param {number} end  bytes */
export const extentsOf = (id, start, end) => ({ gte: extentKey(id, start), lt: extentKey(id, Math.ceil(end / CHUNK_LEN) * CHUNK_LEN) })

/**
 * What stands under a key of the data database. A disk may make any bytes of it, and ids that cannot be counted any more.
 *
 * @param {Uint8Array} key
 * @returns {{ id: number, chunk: number, band?: number } | undefined} an extent, or a page with a band; undefined when no such key was ever written
 */
export function placeOfKey (key) {
  if (key.length !== DATA_KEY_LEN) return undefined
  const [id, chunk] = [u64At(key, 0), u64At(key, ID_LEN)]
  if (id > MAX_ID || chunk > MAX_CHUNK || key[KIND_AT] - PAGE > MAX_BAND) return undefined
  return key[KIND_AT] === EXTENT ? { id, chunk } : { id, chunk, band: key[KIND_AT] - PAGE }
}
/** @param {Uint8Array} key  in the data database @returns {number | undefined} undefined when no such key was ever written */
export const idOfKey = key => placeOfKey(key)?.id
/** Where an extent starts, in bytes; undefined for a page. @param {Uint8Array} key */
export const offsetOfExtent = key => key[KIND_AT] === EXTENT ? u64At(key, ID_LEN) * CHUNK_LEN : undefined

const NOTHING = new Uint8Array(0)
const SIZE_PROVEN = 1
const COMPLETE = 2
const NAMELESS = 4
/** What bits 3 and 4 say together. @type {Home[]} */
const HOMES = ['extents', 'file', 'reference']
const HOME_SHIFT = 3
/** Without the checksum. */
const RECORD_LEN = 25

/**
 * A record has no root to be checked against: it ends with a checksum over itself and the hash that it belongs to.
 *
 * @param {Uint8Array} root @param {BlobRecord} record @param {Room} [room]
 */
export function encodeRecord (root, { id, size, sizeProven, complete, home, created, isNameless }, room = freshRoom) {
  const flags = (sizeProven ? SIZE_PROVEN : 0) | (complete ? COMPLETE : 0) | (isNameless ? NAMELESS : 0) | HOMES.indexOf(home) << HOME_SHIFT
  const bytes = room(RECORD_LEN + CHECK_LEN)
  setU64(bytes, 0, id)
  setU64(bytes, 8, size)
  bytes[16] = flags
  setU64(bytes, 17, created)
  bytes.set(lentCheckOf(root, bytes), RECORD_LEN)
  return bytes
}

/** @param {Uint8Array} root @param {Uint8Array} bytes @returns {BlobRecord | undefined} undefined when it is damaged, or never was one */
export function decodeRecord (root, bytes) {
  if (bytes.length !== RECORD_LEN + CHECK_LEN) return undefined
  if (!areEqual(bytes, RECORD_LEN, lentCheckOf(root, bytes))) return undefined
  const [id, size, flags, created] = [u64At(bytes, 0), u64At(bytes, 8), bytes[16], u64At(bytes, 17)]
  const home = HOMES[flags >> HOME_SHIFT]
  // The checksum is no secret. What no store writes is not believed: the empty blob, above all, has no record.
  if (id > MAX_ID || size === 0 || size > Number.MAX_SAFE_INTEGER || created > MAX_TIME || home === undefined) return undefined
  return {
    id,
    size,
    sizeProven: (flags & SIZE_PROVEN) !== 0,
    complete: (flags & COMPLETE) !== 0,
    home,
    created,
    isNameless: (flags & NAMELESS) !== 0
  }
}

const checkInput = new Uint8Array(HASH_LEN + RECORD_LEN)
const checkHash = new Uint8Array(HASH_LEN)
const lentCheck = checkHash.subarray(0, CHECK_LEN)

/**
 * What `checkOf` gives, without garbage.
 *
 * @param {Uint8Array} root @param {Uint8Array} bytes  begin with the record
 * @returns {Uint8Array} valid until the next call
 */
function lentCheckOf (root, bytes) {
  checkInput.set(root)
  for (let i = 0; i < RECORD_LEN; i++) checkInput[HASH_LEN + i] = bytes[i]
  hashInto(checkInput, checkHash)
  return lentCheck
}

/**
 * The state of the store begins with its layout and ends with a checksum, in this and every later layout.
 *
 * @param {State} state
 */
export function encodeState ({ version, isClean, swept, nextId }) {
  const state = encode({ u64: version }, isClean ? 1 : 0, { u64: swept }, { u64: nextId })
  return encode(state, checkOf(stateKey, state))
}

/** @param {Uint8Array} bytes @returns {State | undefined} undefined when it is damaged */
export function decodeState (bytes) {
  const state = bytes.subarray(0, -CHECK_LEN)
  if (bytes.length <= CHECK_LEN || !equals(bytes.subarray(-CHECK_LEN), checkOf(stateKey, state))) return undefined
  return { version: u64At(bytes, 0), isClean: bytes[8] === 1, swept: u64At(bytes, 9), nextId: u64At(bytes, 17) }
}

/** @param {number} id @param {string} path */
export function encodePath (id, path) {
  const bytes = new TextEncoder().encode(path)
  return encode(bytes, checkOf(pathKey(id), bytes))
}

/** How paths begin that do not depend on a working directory, on POSIX and on Windows. */
const ABSOLUTE = /^(\/|\\\\|[a-z]:[/\\])/i

/**
 * @param {number} id
 * @param {Uint8Array} bytes
 * @returns {string | undefined} undefined when it is damaged, or no store would write it
 */
export function decodePath (id, bytes) {
  const encoded = bytes.subarray(0, -CHECK_LEN)
  if (bytes.length <= CHECK_LEN || !equals(bytes.subarray(-CHECK_LEN), checkOf(pathKey(id), encoded))) return undefined
  const path = new TextDecoder().decode(encoded)
  return ABSOLUTE.test(path) && !path.includes('\0') ? path : undefined
}

/** @typedef {'raw' | 'hashseq'} TagFormat  what a tag protects: a blob, or also all blobs whose hashes it is made of */
/** @typedef {{ name: string, root: Uint8Array, format: TagFormat }} Tag */

/** @type {TagFormat[]} */
export const TAG_FORMATS = ['raw', 'hashseq']

/**
 * Both places of a tag hold all of it, with the same checksum.
 *
 * @param {Tag} tag
 * @returns {{ named: [key: Uint8Array, value: Uint8Array], beside: [key: Uint8Array, value: Uint8Array] }}
 */
export function encodeTag ({ name, root, format }) {
  const what = encode(root, TAG_FORMATS.indexOf(format))
  const check = checkOf(tagKey(name), what)
  return { named: [tagKey(name), encode(what, check)], beside: [taggedKey(root, name), encode(what.subarray(HASH_LEN), check)] }
}

/** A tag from under its name. @param {Uint8Array} key @param {Uint8Array} value @returns {Tag | undefined} undefined when it is damaged */
export const decodeTag = (key, value) => tagOf(key.subarray(1), value.subarray(0, HASH_LEN), value.subarray(HASH_LEN))

/** A tag from beside its blob. @param {Uint8Array} key @param {Uint8Array} value @returns {Tag | undefined} undefined when it is damaged */
export const decodeTagged = (key, value) => tagOf(key.subarray(1 + HASH_LEN), key.subarray(1, 1 + HASH_LEN), value)

/** @param {Uint8Array} nameBytes @param {Uint8Array} root @param {Uint8Array} rest  the format and the checksum @returns {Tag | undefined} */
function tagOf (nameBytes, root, rest) {
  const what = encode(root, rest.subarray(0, 1))
  if (what.length !== HASH_LEN + 1 || TAG_FORMATS[rest[0]] === undefined || !equals(rest.subarray(1), checkOf(encode(TAG, nameBytes), what))) return undefined
  return { name: UTF8.decode(nameBytes), root: new Uint8Array(root), format: TAG_FORMATS[rest[0]] }
}

/** By which both places of a tag can be told to be the same, as one number. @param {Uint8Array} value  of either */
export const checkOfTag = value => new DataView(value.buffer, value.byteOffset).getBigUint64(value.length - CHECK_LEN)

/** The name in a key, for messages: the tag is damaged, and maybe its name is too. @param {Uint8Array} key */
export const nameOfTag = key => UTF8.decode(key.subarray(1))

/** @param {string} text */
const utf8 = text => new TextEncoder().encode(text)
/** A name may begin with a byte order mark. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

const TIME_LEN = 8
/** Where a Date ends. */
const MAX_TIME = 8.64e15

/** @param {number} time  milliseconds since 1970 */
export const encodeTime = time => encode({ u64: time })
/** @param {Uint8Array} bytes @returns {number | undefined} undefined when it is damaged as far as can be seen */
export function decodeTime (bytes) {
  const time = bytes.length === TIME_LEN ? u64At(bytes, 0) : Infinity
  return time <= MAX_TIME ? time : undefined
}
