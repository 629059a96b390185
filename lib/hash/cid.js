// Names of blobs: BLAKE3 multihashes and version 1 CIDs.
// Sources: multiformats "multihash" and "CID" specs; the multicodec table.

import { CID } from 'multiformats/cid'
import { from as hasherFrom } from 'multiformats/hashes/hasher'
import * as Digest from 'multiformats/hashes/digest'
import { identity } from 'multiformats/hashes/identity'
import { base16 } from 'multiformats/bases/base16'
import { HASH_LEN } from '../core/constants.js'
import { BaoError } from '../core/errors.js'
import { assertBytesOf, assertInteger, describe } from '../core/bytes.js'
import { hash } from './hasher.js'

/** The multicodec of plain bytes. */
export const RAW = 0x55
/** The multicodec that iroh uses for a sequence of BLAKE3 hashes. */
export const HASHSEQ = 0x80

/** The maximum number of characters of a CID: one for each bit of 44 bytes, and a prefix. */
const MAX_NAME_LEN = 353

/** The multicodec of BLAKE3. */
const BLAKE3 = 0x1e

/** The multihash hasher `blake3` for multiformats: code 0x1e, 32 bytes. */
export const blake3 = /* @__PURE__ */ hasherFrom({
  name: 'blake3',
  code: BLAKE3,
  encode: (/** @type {Uint8Array} */ bytes) => hash(bytes)
})

/** The bytes before the hash in a CID of plain bytes, which is the most frequent kind. */
const RAW_PREFIX = CID.createV1(RAW, Digest.create(BLAKE3, new Uint8Array(HASH_LEN))).bytes.slice(0, -HASH_LEN)
/** The length of a multihash in bytes: the code of the hash function, the length of the hash, and the hash. */
const MULTIHASH_LEN = 2 + HASH_LEN

/**
 * Makes a CID of a BLAKE3 hash.
 *
 * @param {Uint8Array} hash  32 bytes; copied
 * @param {number} [code]  multicodec of the content; default: `RAW`
 * @returns {CID} version 1
 */
export function toCid (hash, code = RAW) {
  assertBytesOf('hash', hash, HASH_LEN)
  assertInteger('code', code)
  if (code !== RAW) return CID.createV1(code, Digest.create(BLAKE3, new Uint8Array(hash)))
  const bytes = new Uint8Array(RAW_PREFIX.length + HASH_LEN)
  bytes.set(RAW_PREFIX)
  bytes.set(hash, RAW_PREFIX.length)
  // One allocation for all parts: `CID.createV1` makes three, and takes twice the time.
  const multihash = bytes.subarray(-MULTIHASH_LEN)
  return new CID(1, RAW, new Digest.Digest(BLAKE3, HASH_LEN, bytes.subarray(-HASH_LEN), multihash), bytes)
}

/**
 * The BLAKE3 hash in a CID.
 *
 * @param {CID | string | Uint8Array} cid
 * @returns {Uint8Array<ArrayBuffer>} 32 fresh bytes
 * @throws {BaoError} CID_UNSUPPORTED if the hash function, length or version is another one, or if it is not a CID
 */
export function fromCid (cid) {
  const parsed = parseCid(cid)
  const { code, digest } = parsed.multihash
  if (parsed.version !== 1) throw unsupported(cid, `version ${parsed.version}, expected 1`)
  if (code !== BLAKE3) throw unsupported(cid, `hash function 0x${code.toString(16)}, expected BLAKE3 (0x1e)`)
  if (digest.length !== HASH_LEN) throw unsupported(cid, `a hash of ${digest.length} bytes, expected ${HASH_LEN}`)
  return new Uint8Array(digest)
}

/**
 * Returns the hash in a name. A name is 32 bytes, 64 hexadecimal digits, or a CID: an object, bytes, or a string in
 * base32, base36, base58btc or base16.
 *
 * @param {CID | string | Uint8Array} name
 * @param {string} [argument]  the name of the caller's argument, for errors
 * @returns {Uint8Array<ArrayBuffer>} 32 fresh bytes
 * @throws {BaoError} CID_UNSUPPORTED
 */
export function parseRoot (name, argument = 'cid') {
  if (name instanceof Uint8Array && name.length === HASH_LEN) return new Uint8Array(name)
  if (isHex(name)) return new Uint8Array(base16.baseDecode(name.toLowerCase()))
  if (CID.asCID(name) === null && typeof name !== 'string' && !(name instanceof Uint8Array)) {
    throw new TypeError(`"${argument}" expected 32 bytes, a CID or hexadecimal digits, got ${describe(name)}`)
  }
  return fromCid(name)
}

/** @typedef {Uint8Array | CID | string} BlobName  everything that `parseRoot` takes */
/** @typedef {{ cid: BlobName }} NamedBlob  options that name a blob */

/**
 * The codec of a name that is a CID; undefined for a hash.
 *
 * @param {CID | string | Uint8Array} name  that `parseRoot` takes
 */
export const codecOf = name => isHash(name) ? undefined : parseCid(name).code

/**
 * The multihash of a name that is a CID of a hash function other than BLAKE3, in its shortest encoding.
 *
 * @param {CID | string | Uint8Array} name
 * @returns {Uint8Array | undefined} undefined for a name that `parseRoot` takes
 * @throws {BaoError} CID_UNSUPPORTED for something that is not a CID, and for a CID that contains the bytes themselves
 */
export function multihashOf (name) {
  if (isHash(name)) return undefined
  const { code, digest } = parseCid(name).multihash
  if (code === BLAKE3) return undefined
  if (code === identity.code) throw unsupported(name, 'an identity CID holds the bytes themselves')
  return Digest.create(code, new Uint8Array(digest)).bytes
}

/** @param {unknown} name */
const isHash = name => name instanceof Uint8Array ? name.length === HASH_LEN : isHex(name)

/** @param {unknown} name @returns {name is string} */
const isHex = name => typeof name === 'string' && /^[0-9a-f]{64}$/i.test(name)

/**
 * Parses a CID of any version and hash function, in any form.
 *
 * @param {unknown} cid
 * @returns {CID}
 * @throws {BaoError} CID_UNSUPPORTED when it is not a CID
 */
export function parseCid (cid) {
  const known = CID.asCID(cid)
  if (known !== null) return known
  if (typeof cid !== 'string' && !(cid instanceof Uint8Array)) {
    throw new TypeError(`"cid" expected a CID, a string or a Uint8Array, got ${describe(cid)}`)
  }
  // In some bases, the time of decoding grows with the square of the length.
  if (typeof cid === 'string' && cid.length > MAX_NAME_LEN) {
    throw unsupported(cid, `${cid.length} characters, a CID has at most ${MAX_NAME_LEN}`)
  }
  try {
    return typeof cid === 'string' ? CID.parse(cid, cid.startsWith('f') ? base16 : undefined) : CID.decode(cid)
  } catch (cause) {
    throw unsupported(cid, 'not a CID', cause)
  }
}

/** @param {unknown} cid @param {string} why @param {unknown} [cause] */
export const unsupported = (cid, why, cause) => {
  const name = cid instanceof Uint8Array ? 'these bytes' : shortened(String(cid))
  return new BaoError('CID_UNSUPPORTED', `${name}: ${why}`, { cid, cause })
}

/** Shortens a caller's string for an error message. Valid names are short. @param {string} text */
const shortened = text => text.length > 100 ? `${text.slice(0, 100)}...` : text
