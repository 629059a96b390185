// Gives the context of a store to modules that are built upon stores. They import this file and not blob-store.js,
// because blob-store.js imports some of them.

import { describe } from '../lib/core/bytes.js'

/** @import { BlobStore } from './blob-store.js' */
/** @import { StoreContext } from './store-context.js' */

const contexts = /** @type {WeakMap<BlobStore, StoreContext>} */ (new WeakMap())

/** @param {BlobStore} store @param {StoreContext} context */
export const setContext = (store, context) => { contexts.set(store, context) }

/**
 * @param {BlobStore} store
 * @param {string} [name]  of the argument, for the message
 * @returns {StoreContext}
 * @throws {TypeError} when it is no store
 */
export function contextOf (store, name = 'store') {
  const context = contexts.get(store)
  if (context === undefined) throw new TypeError(`"${name}" expected a BlobStore, got ${describe(store)}`)
  return context
}
