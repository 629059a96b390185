// Opening a store for the time of a command.

import { BlobStore } from '../../store/index.js'
import { Failure } from '../terminal/errors.js'

const DEFAULT_STORE = '.baobox'

/** @param {string | undefined} dir  what --store said */
export const locationOf = dir => dir ?? (process.env.BAOBOX_STORE || DEFAULT_STORE)

/**
 * @template T
 * @param {string | undefined} dir  what --store said
 * @param {(store: BlobStore) => Promise<T>} use
 * @param {{ create?: boolean }} [options]  `create`: make the store when there is none. Who only reads has mistyped then
 * @returns {Promise<T>}
 */
export async function withStore (dir, use, { create = false } = {}) {
  const location = locationOf(dir)
  const store = await BlobStore.open(location, { create }).catch(error => {
    if (error.code !== 'STORE_ABSENT') throw error
    throw new Failure(`there is no store at ${location}: 'baobox add' makes one, --store names another`)
  })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
