// Encodes and decodes the values of the index: records of blobs, the state of the store, aliases, paths and times.
// Most values end with a check, because no root reveals damage in them.

import { HASH_LEN } from '../../../lib/core/constants.js'
import { equals } from 'uint8arrays/equals'
import { areEqual } from '../../../lib/core/bytes.js'
import { hashInto } from '../../../lib/hash/hasher.js'
import { CHECK_LEN, checkOf, encode, setU64, u64At } from './codec.js'
import { allocateFresh } from './buffers.js'
import {
  ID_LEN, KIND, MAX_ID, MAX_POSITION, aliasKey, deletionKey, hashOfKey, idOfIndexKey, multihashOfAlias, pathKey,
  placeOfSharer, stateKey
} from './keys.js'

/** @import { Allocate } from './buffers.js' */

/** The number of the layout of keys and values. This release refuses stores with another number. */
export const LAYOUT_VERSION = 1

/**
 * @typedef {object} State
 * @property {number} version  of the layout
 * @property {boolean} isClean  true if the store was closed with nothing under way
 * @property {number} swept  below this id, every id that has data also has a record, or an opening has kept the data
 *   for a blob that is there in part; `gc` deletes it when it is of no use any more
 * @property {number} nextId  no blob has had this id or a higher one
 */

/**
 * @typedef {object} BlobRecord
 * @property {number} id  only the data of this blob is kept under this id
 * @property {number} size  bytes; a claim unless `sizeProven`
 * @property {boolean} sizeProven
 * @property {boolean} complete  true if every byte is present
 * @property {Home} home
 * @property {number} [base]  for the home `shared`: the id that has the file and the pairs that several blobs share
 * @property {number} created  milliseconds since 1970
 * @property {boolean} [isNameless]  true if the blockstore has the blob under its aliases only
 * @property {boolean} [isDamaged]  true if the blob has lost groups to damage and has not received all of them since
 */

/**
 * @typedef {'extents' | 'file' | 'reference' | 'shared'} Home  where the bytes are: in the data database; in a file of
 *   the store; in a file that does not belong to the store; or at the beginning of a file of the store that several
 *   blobs share
 */

/** Returns the ids under which a blob has data. @param {{ id: number, base?: number }} record */
export const idsOf = ({ id, base }) => base === undefined ? [id] : [id, base]

const SIZE_PROVEN = 1
const COMPLETE = 2
const NAMELESS = 4
/** The values of bits 3 and 4. @type {Home[]} */
const HOMES = ['extents', 'file', 'reference', 'shared']
const HOME_SHIFT = 3
const HOME_MASK = 3
const DAMAGED = 32
const MAX_FLAGS = 63
/** Bytes of a record without its check and its base. */
const RECORD_LEN = 25
const SHARED_LEN = RECORD_LEN + ID_LEN

/** @param {Uint8Array} root @param {BlobRecord} record @param {Allocate} [allocate] */
export function encodeRecord (root, record, allocate = allocateFresh) {
  const { id, size, sizeProven, complete, home, created, isNameless, isDamaged, base } = record
  const len = home === 'shared' ? SHARED_LEN : RECORD_LEN
  const bytes = allocate(len + CHECK_LEN)
  setU64(bytes, 0, id)
  setU64(bytes, 8, size)
  bytes[16] = (sizeProven ? SIZE_PROVEN : 0) | (complete ? COMPLETE : 0) | (isNameless ? NAMELESS : 0) |
    HOMES.indexOf(home) << HOME_SHIFT | (isDamaged ? DAMAGED : 0)
  setU64(bytes, 17, created)
  if (home === 'shared') setU64(bytes, RECORD_LEN, /** @type {number} */ (base))
  bytes.set(recordCheckOf(root, bytes, len), len)
  return bytes
}

/**
 * @param {Uint8Array} root @param {Uint8Array} bytes
 * @returns {BlobRecord | undefined} undefined when it is damaged, or holds values that no store writes
 */
export function decodeRecord (root, bytes) {
  const len = bytes.length - CHECK_LEN
  if (len !== RECORD_LEN && len !== SHARED_LEN) return undefined
  if (!areEqual(bytes, len, recordCheckOf(root, bytes, len))) return undefined
  const [id, size, flags, created] = [u64At(bytes, 0), u64At(bytes, 8), bytes[16], u64At(bytes, 17)]
  const home = HOMES[flags >> HOME_SHIFT & HOME_MASK]
  // Anybody can write a right check beside wrong values, so check each value, too. The empty blob never has a record.
  const isSizePossible = size > 0 && size <= Number.MAX_SAFE_INTEGER
  if (id > MAX_ID || !isSizePossible || created > MAX_TIME || flags > MAX_FLAGS) return undefined
  if ((home === 'shared') !== (len === SHARED_LEN)) return undefined
  const base = home === 'shared' ? u64At(bytes, RECORD_LEN) : undefined
  if (base !== undefined && base > MAX_ID) return undefined
  return {
    id,
    size,
    sizeProven: (flags & SIZE_PROVEN) !== 0,
    complete: (flags & COMPLETE) !== 0,
    home,
    created,
    isNameless: (flags & NAMELESS) !== 0,
    isDamaged: (flags & DAMAGED) !== 0,
    ...base === undefined ? undefined : { base }
  }
}

const checkInput = new Uint8Array(HASH_LEN + SHARED_LEN)
const plainInput = checkInput.subarray(0, HASH_LEN + RECORD_LEN)
const checkHash = new Uint8Array(HASH_LEN)
const recordCheck = checkHash.subarray(0, CHECK_LEN)

/**
 * Computes the check of a record as `checkOf` does, without allocating.
 *
 * @param {Uint8Array} root @param {Uint8Array} bytes  begin with the record @param {number} len  of the record
 * @returns {Uint8Array} valid until the next call
 */
function recordCheckOf (root, bytes, len) {
  checkInput.set(root)
  for (let i = 0; i < len; i++) checkInput[HASH_LEN + i] = bytes[i]
  hashInto(len === RECORD_LEN ? plainInput : checkInput, checkHash)
  return recordCheck
}

/**
 * Encodes the state. In every layout, a state begins with the number of the layout and ends with a check.
 *
 * @param {State} state
 */
export function encodeState ({ version, isClean, swept, nextId }) {
  const state = encode({ u64: version }, isClean ? 1 : 0, { u64: swept }, { u64: nextId })
  return encode(state, checkOf(stateKey, state))
}

/** @param {Uint8Array} bytes @returns {State | undefined} undefined when it is damaged */
export function decodeState (bytes) {
  const state = checkedPart(stateKey, bytes)
  if (state === undefined) return undefined
  return { version: u64At(bytes, 0), isClean: bytes[8] === 1, swept: u64At(bytes, 9), nextId: u64At(bytes, 17) }
}

/**
 * Encodes the note that the data of some ids is being deleted. The note is kept under the first of the ids. It has a
 * check, because one flipped bit could otherwise delete another blob.
 *
 * @param {number[]} ids  at least one
 */
export function encodeDeletion (ids) {
  const bytes = new Uint8Array(ID_LEN * ids.length)
  ids.forEach((id, i) => setU64(bytes, ID_LEN * i, id))
  return encode(bytes, checkOf(deletionKey(ids[0]), bytes))
}

/**
 * @param {Uint8Array} key  of a deletion @param {Uint8Array} bytes
 * @returns {number[] | undefined} undefined for a note that is damaged, or that no store writes
 */
export function decodeDeletion (key, bytes) {
  const list = checkedPart(key, bytes)
  if (list === undefined || list.length === 0 || list.length % ID_LEN !== 0) return undefined
  const ids = Array.from({ length: list.length / ID_LEN }, (_, i) => u64At(list, ID_LEN * i))
  return ids[0] === idOfIndexKey(key) && ids.every(id => id <= MAX_ID) ? ids : undefined
}

/** @param {number} id @param {string} path */
export function encodePath (id, path) {
  const bytes = new TextEncoder().encode(path)
  return encode(bytes, checkOf(pathKey(id), bytes))
}

/** How absolute paths begin, on POSIX and on Windows. */
const ABSOLUTE = /^(\/|\\\\|[a-z]:[/\\])/i

/**
 * @param {number} id
 * @param {Uint8Array} bytes
 * @returns {string | undefined} undefined for a path that is damaged, or that no store writes
 */
export function decodePath (id, bytes) {
  const encoded = checkedPart(pathKey(id), bytes)
  if (encoded === undefined) return undefined
  const path = new TextDecoder().decode(encoded)
  return ABSOLUTE.test(path) && !path.includes('\0') ? path : undefined
}

/**
 * Compares the check at the end of a value, and returns the bytes before it.
 *
 * @param {Uint8Array} name  see `checkOf` @param {Uint8Array} bytes
 * @returns {Uint8Array | undefined} undefined when the check does not match, or nothing comes before it
 */
function checkedPart (name, bytes) {
  const part = bytes.subarray(0, -CHECK_LEN)
  return part.length > 0 && equals(bytes.subarray(-CHECK_LEN), checkOf(name, part)) ? part : undefined
}

/**
 * Names the blob that is a sharer: it uses a file that it shares with other blobs. The index has this entry in addition
 * to the record, so that the record can be computed again if it is damaged.
 *
 * @typedef {object} Sharer
 * @property {Uint8Array} root
 * @property {number} id
 */

const SHARER_LEN = HASH_LEN + ID_LEN

/** @param {Uint8Array} key  of the sharer @param {Sharer} sharer */
export function encodeSharer (key, { root, id }) {
  const value = encode(root, { u64: id })
  return encode(value, checkOf(key, value))
}

/**
 * @param {Uint8Array} key @param {Uint8Array} bytes
 * @returns {Sharer & { base: number, size: number } | undefined} undefined for an entry that is damaged, or that no
 *   store writes
 */
export function decodeSharer (key, bytes) {
  const place = placeOfSharer(key)
  const value = checkedPart(key, bytes)
  if (place === undefined || value?.length !== SHARER_LEN) return undefined
  const id = u64At(value, HASH_LEN)
  return id <= MAX_ID ? { ...place, root: new Uint8Array(value.subarray(0, HASH_LEN)), id } : undefined
}

/** Bytes of an alias without its check. */
const ALIAS_LEN = HASH_LEN + 1

/**
 * @typedef {object} Alias
 * @property {Uint8Array} root  the root of the blob to which the alias leads
 * @property {boolean} isForgotten  true if the alias was deleted from the blockstore, and stays for tags that name it
 */

/** @param {Uint8Array} multihash @param {Alias} alias */
export function encodeAlias (multihash, { root, isForgotten }) {
  const value = encode(root, isForgotten ? 1 : 0)
  return encode(value, checkOf(aliasKey(multihash), value))
}

/**
 * @param {Uint8Array} multihash @param {Uint8Array} bytes
 * @returns {Alias | undefined} undefined when it is damaged
 */
export function decodeAlias (multihash, bytes) {
  const value = checkedPart(aliasKey(multihash), bytes)
  if (value?.length !== ALIAS_LEN || value[HASH_LEN] > 1) return undefined
  return { root: new Uint8Array(value.subarray(0, HASH_LEN)), isForgotten: value[HASH_LEN] === 1 }
}

const TIME_LEN = 8
/** The greatest time that a Date can hold. */
export const MAX_TIME = 8.64e15

/** @param {number} time  milliseconds since 1970 */
export const encodeTime = time => encode({ u64: time })

/**
 * @param {Uint8Array} bytes
 * @returns {number | undefined} undefined when it is obviously damaged; a time has no check
 */
export function decodeTime (bytes) {
  const time = bytes.length === TIME_LEN ? u64At(bytes, 0) : Infinity
  return time <= MAX_TIME ? time : undefined
}

/**
 * Returns true if a key and its value have the form in which this release writes them. It does not decode records, and
 * accepts all tags and all entries of unknown kinds.
 *
 * @param {Uint8Array} key @param {Uint8Array} value
 */
export function isWellFormed (key, value) {
  switch (key[0]) {
    case KIND.state: return key.length === 1
    case KIND.blob: return hashOfKey(key) !== undefined
    case KIND.used: return hashOfKey(key) !== undefined && decodeTime(value) !== undefined
    case KIND.event: return key.length === 9 && u64At(key, 1) <= MAX_POSITION && value.length >= 16
    case KIND.deletion: return decodeDeletion(key, value) !== undefined
    case KIND.alias: return key.length > 1 && decodeAlias(multihashOfAlias(key), value) !== undefined
    case KIND.aliasOf: return key.length > 1 + HASH_LEN && value.length === 0
    case KIND.path: return isPath(key, value)
    case KIND.sharer: return decodeSharer(key, value) !== undefined
    default: return key.length > 0
  }
}

/** @param {Uint8Array} key @param {Uint8Array} value */
function isPath (key, value) {
  const id = idOfIndexKey(key)
  return id !== undefined && decodePath(id, value) !== undefined
}
