// The keys of baobox in a bucket, which docs/decisions/0046 and 0048 describe.

import { base16 } from 'multiformats/bases/base16'
import { hash } from '../../lib/hash/hasher.js'

const ID = '\\.[\\da-f]{8}'
const HEX = '([\\da-f]{2})/\\1[\\da-f]{62}'
const OWN_KEY = new RegExp('^(?:baobox\\.json' +
  `|blobs/${HEX}(?:${ID})?(?:\\.obao4)?` +
  `|refs/${HEX.replace('\\1', '\\2')}(?:${ID})?` +
  `|adopted/${HEX.replace('\\1', '\\3')}(?:${ID}\\.\\d{8})?` +
  '|tags/[^/]+/\\d{16}' +
  '|gc/\\d+/(?:begin|dead|final|done)' +
  '|probe/[\\da-f]{16}/[^/]+)$')
/** Matches what follows the hash in the name of an object that was put again: its id. */
const WITH_ID = new RegExp(`^${ID}$`)
const OUTBOARD_WITH_ID = new RegExp(`^${ID}\\.obao4$`)

/** @param {string} folder @param {string} hex */
const keyIn = (folder, hex) => `${folder}/${hex.slice(0, 2)}/${hex}`

/** The key of the bytes of a blob. @param {string} hex */
export const blobKey = hex => keyIn('blobs', hex)

/** The key of the outboard of a blob. @param {string} hex */
export const outboardKey = hex => `${blobKey(hex)}.obao4`

/** The key of the reference to an adopted object. @param {string} hex */
export const referenceKey = hex => keyIn('refs', hex)

/** The key of the note about an adopted object. @param {string} key  of the object */
export const noteKey = key => keyIn('adopted', base16.baseEncode(hash(new TextEncoder().encode(key))))

/** True if the key has the form of those that baobox makes. @param {string} key */
export const isOwnKey = key => OWN_KEY.test(key)

/** True if the key is that of a blob or reference, with an id. @param {string} key @param {string} plain */
export const hasId = (key, plain) => key.startsWith(plain) && WITH_ID.test(key.slice(plain.length))

/** True if the key is that of an outboard with an id. @param {string} key @param {string} hex */
export const isOutboardWithId = (key, hex) =>
  key.startsWith(blobKey(hex)) && OUTBOARD_WITH_ID.test(key.slice(blobKey(hex).length))
