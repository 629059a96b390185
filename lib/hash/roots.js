// Converts root hashes to names, which are the keys of maps in memory, and recognises the root of the empty blob.

import { areEqual } from '../../lib/core/bytes.js'
import { hash } from '../../lib/hash/hasher.js'

const EMPTY_ROOT = hash(new Uint8Array(0))

/** Returns the name of a root in memory: one character for each byte. @param {Uint8Array} root @returns {string} */
export const nameOf = root => String.fromCharCode.apply(null, /** @type {any} */ (root))

/** Returns the root that has this name. @param {string} name */
export const rootOf = name => Uint8Array.from(name, character => character.charCodeAt(0))

/** True for the root of the empty blob, which every store has without keeping it. @param {Uint8Array} root */
export const isEmptyRoot = root => areEqual(root, 0, EMPTY_ROOT)
