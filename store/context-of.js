// Gives the parts of a store to guests that do not use its interface yet.

import { describe } from '../lib/core/bytes.js'
import { partsOf } from './open.js'

/** @import { BlobStore } from './blob-store.js' */
/** @import { StoreParts } from './open.js' */

/**
 * @param {BlobStore} store
 * @param {string} [name]  of the argument, for the message
 * @returns {StoreParts}
 * @throws {TypeError} when it is no store
 */
export function contextOf (store, name = 'store') {
  const parts = partsOf(store)
  if (parts === undefined) throw new TypeError(`"${name}" expected a BlobStore, got ${describe(store)}`)
  return parts
}
