// Finds the blob that a name in a URL names. All routes use this code.
// Sources: CIDv1 and multihash specs; S5's "BlobId"; OCI image-spec, "Digests"; iroh's base32 form of a hash.

import { base16 } from 'multiformats/bases/base16'
import { base32 } from 'multiformats/bases/base32'
import { base58btc } from 'multiformats/bases/base58'
import { identity } from 'multiformats/hashes/identity'
import * as Digest from 'multiformats/hashes/digest'
import { HASH_LEN } from '../../lib/core/constants.js'
import { RAW, blake3, parseCid, parseRoot, toCid } from '../../lib/hash/cid.js'
import { hash } from '../../lib/hash/hasher.js'
import { HttpError } from './errors.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { CID } from 'multiformats/cid' */
/** @import { SiteName } from './options.js' */
/** @import { Family } from './routes.js' */
/** @import { ServedRequest } from './served-request.js' */

/**
 * @typedef {object} Target
 * @property {Uint8Array} root
 * @property {number} code  multicodec of the content
 * @property {'name' | 'alias' | 'tag'} by  the kind of the name. Aliases and tags have a meaning only in this store
 */

/** The first bytes of an S5 BlobId: the type, and the multicodec of BLAKE3. The hash and the size follow. */
const BLOB_ID = [0x5b, 0x82, 0x1e]
const MAX_SIZE_LEN = 8
/** The maximum number of characters in a name. It limits the time that decoding takes. */
const MAX_NAME_LEN = 353

/** Multicodecs of the hash functions in OCI digests. */
const DIGEST_CODES = /** @type {Record<string, number>} */ ({ blake3: blake3.code, sha256: 0x12, sha512: 0x13 })

/**
 * @param {ServedRequest} served @param {string} name
 * @returns {Promise<Target>}
 * @throws {HttpError} 404
 */
export async function resolveName ({ store, options }, name) {
  const named = parseName(name)
  if (named instanceof Uint8Array) return { root: named, code: RAW, by: 'name' }
  if (named !== undefined) {
    const { code, multihash } = named
    if (multihash.code === blake3.code && multihash.digest.length === HASH_LEN) {
      return { root: new Uint8Array(multihash.digest), code, by: 'name' }
    }
    // The name itself contains the content, but the store has this blob only if it was put there.
    if (multihash.code === identity.code) return { root: hash(multihash.digest), code: RAW, by: 'alias' }
    const known = multihash.code === blake3.code ? undefined : await store.resolve(named)
    if (known !== undefined) return { root: new Uint8Array(known.multihash.digest), code: RAW, by: 'alias' }
  }
  if (options.allowTags && name !== '') {
    const tag = await store.tags.get(name)
    const root = tag && await rootOfTag(store, tag)
    if (root !== undefined) return { root, code: tag?.cid.code ?? RAW, by: 'tag' }
  }
  const message = named === undefined ? 'the path ends with no name of a blob' : 'no blob of this store has this name'
  throw new HttpError(404, named === undefined ? 'HTTP_NOT_FOUND' : 'STORE_NOT_FOUND', message)
}

/** True if a string is a hash, a CID or a digest. @param {string} text */
export const isName = text => parseName(text) !== undefined

/**
 * The root of the blob that a tag names: for a tag of an alias, of the blob to which the alias leads now.
 *
 * @param {Store} store @param {{ cid: CID }} tag
 * @returns {Promise<Uint8Array | undefined>} undefined when the alias leads to no blob
 * @throws {BaoError} CID_UNSUPPORTED for a CID that no tag can name
 */
export async function rootOfTag (store, { cid }) {
  const known = isAlias(cid) ? await store.resolve(cid) : cid
  return known && parseRoot(known)
}

/** @param {CID} cid */
export const isAlias = ({ multihash }) => multihash.code !== blake3.code

/**
 * Finds the collection or manifest that is served at the top.
 *
 * @param {ServedRequest} served @param {SiteName} site
 * @throws {HttpError} 404 when there is no such tag
 */
export async function rootOfSite ({ store }, site) {
  if ('root' in site) return site.root
  const tag = await store.tags.get(site.tag)
  const root = tag && await rootOfTag(store, tag)
  if (root === undefined) throw new HttpError(404, 'STORE_NOT_FOUND', 'no site is here now')
  return root
}

/**
 * The canonical form of a name in the routes of a family.
 *
 * @param {Family} family @param {Target} target
 */
export function canonicalName (family, { root, code }) {
  if (family === 'plain') return base16.baseEncode(root)
  return family === 'oci' ? `blake3:${base16.baseEncode(root)}` : `${toCid(root, code)}`
}

/** @param {string} name @returns {Uint8Array | CID | undefined} a BLAKE3 hash, or a CID of any kind */
export function parseName (name) {
  if (name.length > MAX_NAME_LEN) return undefined
  try {
    if (/^[0-9a-f]{64}$/i.test(name)) return base16.baseDecode(name.toLowerCase())
    if (/^[a-z2-7]{52}$/i.test(name)) return base32.baseDecode(name.toLowerCase())
    const [, algorithm, digits] = /^(blake3|sha256|sha512):([0-9a-f]+)$/.exec(name) ?? []
    if (algorithm !== undefined) return cidOf(DIGEST_CODES[algorithm], base16.baseDecode(digits))
    // QR codes and DNS names have base32 in capitals.
    return hashInBlobId(name) ?? parseCid(name.startsWith('B') ? name.toLowerCase() : name)
  } catch {
    return undefined
  }
}

/** @param {number} code @param {Uint8Array} digest */
const cidOf = (code, digest) => parseCid(Uint8Array.of(1, RAW, ...Digest.create(code, digest).bytes))

/**
 * The hash in a BlobId. The size after it is a claim, so it is not used.
 *
 * @param {string} name
 */
function hashInBlobId (name) {
  const base = [base32, base58btc, base16].find(({ prefix }) => prefix === name[0])
  if (base === undefined) return undefined
  const bytes = base.decode(name)
  const isBlobId = BLOB_ID.every((byte, i) => bytes[i] === byte)
  const sizeLen = bytes.length - BLOB_ID.length - HASH_LEN
  if (!isBlobId || sizeLen < 0 || sizeLen > MAX_SIZE_LEN) return undefined
  return bytes.slice(BLOB_ID.length, BLOB_ID.length + HASH_LEN)
}
