// Gives the context of a store to modules that are built upon stores. They import this file and not blob-store.js,
// because blob-store.js imports some of them.

/** @import { BlobStore } from '../blob-store.js' */
/** @import { StoreContext } from './store-context.js' */

const contexts = /** @type {WeakMap<BlobStore, StoreContext>} */ (new WeakMap())

/** @param {BlobStore} store @param {StoreContext} context */
export const setContext = (store, context) => { contexts.set(store, context) }

/**
 * @param {BlobStore} store
 * @returns {StoreContext}
 * @throws {TypeError} when it is no store
 */
export function contextOf (store) {
  const context = contexts.get(store)
  if (context === undefined) throw new TypeError('"store" expected a BlobStore')
  return context
}
