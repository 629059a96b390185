// Opens the store of a service worker: in IndexedDB, or in memory where the browser has none for it.

import { MemoryLevel } from 'memory-level'
import { BlobStore } from '../../store/index.js'
import { BaoError } from '../../lib/core/errors.js'

/** @import { StoreOptions } from '../../store/index.js' */

/** Milliseconds to wait for the worker of an older version, which has the store open until it ends. */
const MAX_WAIT = 10_000
/** The share of the browser's quota that the store uses. Indexes and deleted data take some of the rest. */
const SHARE = 0.5
/** The maximum bytes of blobs in memory. */
const MAX_MEMORY = 1 << 28

/**
 * @param {string} name @param {Pick<StoreOptions, 'supply' | 'quota'>} options
 * @param {(store: BlobStore) => Promise<void>} fill  puts what the store must have. If IndexedDB fails even at this,
 *   the store is in memory
 * @returns {Promise<{ store: BlobStore, place: 'IndexedDB' | 'memory', error?: unknown }>} `error`: why the store is in
 *   memory
 * @throws {BaoError} STORE_LOCKED when another worker has the store open for too long
 */
export async function openWorkerStore (name, { supply, quota }, fill) {
  try {
    const limit = quota ?? await browserQuota()
    const store = await filled(await BlobStore.open(name, { supply, quota: limit, wait: MAX_WAIT }), fill)
    return { store, place: 'IndexedDB' }
  } catch (error) {
    if (error instanceof BaoError && error.code === 'STORE_LOCKED') throw error
    const store = await openMemoryStore({ supply, quota: Math.min(quota ?? Infinity, MAX_MEMORY) })
    return { store: await filled(store, fill), place: 'memory', error }
  }
}

/** @param {BlobStore} store @param {(store: BlobStore) => Promise<void>} fill */
async function filled (store, fill) {
  try {
    await fill(store)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** @param {Pick<StoreOptions, 'supply' | 'quota'>} options */
export function openMemoryStore (options) {
  const level = () => new MemoryLevel({ keyEncoding: 'view', valueEncoding: 'view', storeEncoding: 'view' })
  return BlobStore.open({ index: level(), data: level() }, options)
}

/** @returns {Promise<number | undefined>} bytes; undefined if the browser does not say */
async function browserQuota () {
  const { quota } = await navigator.storage?.estimate?.() ?? {}
  return quota === undefined ? undefined : Math.floor(SHARE * quota)
}
