// The keys of baobox in a bucket, which docs/decisions/0046, 0048 and 0049 describe.

import { base16 } from 'multiformats/bases/base16'
import { hash } from '../../lib/hash/hasher.js'
import { bucketInvalid } from './errors.js'

const ID = '\\.[\\da-f]{8}'
const HEX = '([\\da-f]{2})/\\1[\\da-f]{62}'
const OWN_KEY = new RegExp('^(?:baobox\\.json' +
  `|blobs/${HEX}(?:${ID})?(?:\\.obao4)?` +
  `|refs/${HEX.replace('\\1', '\\2')}(?:${ID})?` +
  `|adopted/${HEX.replace('\\1', '\\3')}(?:${ID}\\.\\d{8})?` +
  '|tags/[^/]+/\\d{16}' +
  '|aliases/[\\da-f]+/\\d{16}-(?:[\\da-f]{64}|deleted)' +
  '|gc/\\d+\\.[\\da-f]{16}/(?:begin|dead|final|done)' +
  '|probe/[\\da-f]{16}/[^/]+)$')
const BLOB_KEY = /^(blobs|refs)\/([\da-f]{2})\/(\2[\da-f]{62})(?:\.([\da-f]{8}))?(\.obao4)?$/
const VERSION_LEN = 16
const ID_BYTES = 4

/** The file that says which layout the bucket has. */
export const STORE_KEY = 'baobox.json'

/**
 * @typedef {object} BlobKey  what the name of an object of a blob says
 * @property {'bytes' | 'outboard' | 'reference'} kind
 * @property {string} hex  the hash of the blob, in 64 digits
 * @property {string} id  of an object that was put again; empty for the first one
 */

/** @param {string} folder @param {string} hex @param {string} id */
const keyIn = (folder, hex, id) => `${folder}/${hex.slice(0, 2)}/${hex}${id && `.${id}`}`

/** The key of the bytes of a blob. @param {string} hex @param {string} [id] */
export const blobKey = (hex, id = '') => keyIn('blobs', hex, id)

/** The key of the outboard of a blob. @param {string} hex @param {string} [id] */
export const outboardKey = (hex, id) => `${blobKey(hex, id)}.obao4`

/** The key of the reference to an adopted object. @param {string} hex @param {string} [id] */
export const referenceKey = (hex, id = '') => keyIn('refs', hex, id)

/** The key of the note about an adopted object. @param {string} key  of the object */
export const noteKey = key => keyIn('adopted', base16.baseEncode(hash(new TextEncoder().encode(key))), '')

/**
 * The key of one version of a name: `folder/0000000000000007`.
 *
 * @param {string} folder @param {number} version  one more than the highest that the bucket lists: a claim
 * @returns {string}
 * @throws {import('../../lib/core/errors.js').BaoError} BUCKET_INVALID if there is no higher number
 */
export function versionKey (folder, version) {
  if (Number.isSafeInteger(version)) return `${folder}/${String(version).padStart(VERSION_LEN, '0')}`
  throw bucketInvalid(folder, 'somebody has used the highest number')
}

/** True if the key has the form of those that baobox makes. @param {string} key */
export const isOwnKey = key => OWN_KEY.test(key)

/**
 * Reads the name of an object that belongs to a blob.
 *
 * @param {string} key @returns {BlobKey | undefined} undefined for all other keys
 */
export function parseBlobKey (key) {
  const match = BLOB_KEY.exec(key)
  if (match === null) return undefined
  const [, folder, , hex, id = '', ending] = match
  if (folder === 'blobs') return { kind: ending === undefined ? 'bytes' : 'outboard', hex, id }
  return ending === undefined ? { kind: 'reference', hex, id } : undefined
}

/** The opposite of `parseBlobKey`. @param {BlobKey} parts */
export const keyOf = ({ kind, hex, id }) =>
  (kind === 'bytes' ? blobKey : kind === 'outboard' ? outboardKey : referenceKey)(hex, id)

/** Draws the id of an object that is put again. */
export const newId = () => base16.baseEncode(crypto.getRandomValues(new Uint8Array(ID_BYTES)))
