// Opening a store for the time of a command.

import { stat } from 'node:fs/promises'
import { BlobStore } from '../store/index.js'
import { Failure } from './errors.js'

const DEFAULT_STORE = '.baobox'

/**
 * @template T
 * @param {string | undefined} dir  what --store said
 * @param {(store: BlobStore) => Promise<T>} use
 * @param {{ create?: boolean }} [options]  `create`: make the store when there is none. Who only reads has mistyped then
 * @returns {Promise<T>}
 */
export async function withStore (dir, use, { create = false } = {}) {
  const location = dir ?? (process.env.BAOBOX_STORE || DEFAULT_STORE)
  if (!create && !await isDirectory(location)) throw new Failure(`there is no store at ${location}: 'baobox add' makes one, --store names another`)
  const store = await BlobStore.open(location)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** @param {string} path */
const isDirectory = path => stat(path).then(stats => stats.isDirectory(), () => false)
