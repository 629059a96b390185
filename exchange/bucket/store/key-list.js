// The objects `dead` and `final` of an epoch: condemned keys, one in each line, and a hash of all lines at the end.

import { base16 } from 'multiformats/bases/base16'
import { HashSet } from '../../../lib/core/hash-set.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { hash } from '../../../lib/hash/hasher.js'
import { bucketInvalid } from '../errors.js'
import { parseBlobKey } from '../layout.js'
import { readSmall } from '../read-all.js'

/** @import { Bucket } from '../bucket.js' */

/** The maximum number of keys in a list. An epoch condemns no more, so a list has at most 9 MB. */
export const MAX_KEYS = 100_000
/** The longest line: `blobs/`, two digits, the hash, an id, `.obao4`, and the end of the line. */
const MAX_LINE_LEN = 94
const MAX_LEN = (MAX_KEYS + 1) * MAX_LINE_LEN

const text = new TextEncoder()

/** @param {string[]} keys @returns {Uint8Array} the object */
export function encodeKeys (keys) {
  const lines = keys.map(key => `${key}\n`).join('')
  return text.encode(`${lines}${base16.baseEncode(hash(text.encode(lines)))}\n`)
}

/**
 * @param {Bucket} bucket @param {string} key @param {AbortSignal} [signal]
 * @returns {Promise<string[] | undefined>} undefined if there is no object
 * @throws {import('../../../lib/core/errors.js').BaoError} BUCKET_INVALID if the object is damaged, or no list of keys
 */
export async function readKeys (bucket, key, signal) {
  const bytes = await readSmall(bucket, key, { max: MAX_LEN, what: 'a list of keys', signal })
  if (bytes === undefined) return undefined
  const all = new TextDecoder().decode(bytes)
  const keys = all.split('\n').slice(0, -2)
  const isRight = all === new TextDecoder().decode(encodeKeys(keys)) && keys.every(key => parseBlobKey(key))
  if (isRight) return keys
  const why = 'it should be a list of keys, with the hash of the list at the end'
  throw bucketInvalid(`${bucket.location}/${key}`, why)
}

/** The name of a key in a `KeySet`. @param {string} key */
export const nameIn = key => nameOf(hash(text.encode(key)))

/** The keys of a list in little memory. Once in 10^19 times, it finds a key that is not in the list. */
export class KeySet {
  #hashes = new HashSet()

  /** @param {string[]} keys */
  constructor (keys) {
    for (const key of keys) this.#hashes.add(hash(text.encode(key)))
  }

  /** @param {string} name  what `nameIn` returns for the key */
  has (name) { return this.#hashes.has(name) }
}
