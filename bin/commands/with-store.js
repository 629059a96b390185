// Opens a store for the time of one command.

import { BlobStore } from '../../store/index.js'
import { Failure } from '../terminal/errors.js'

const DEFAULT_STORE = '.baobox'

/** @param {string | undefined} dir  the value of --store */
export const locationOf = dir => dir ?? (process.env.BAOBOX_STORE || DEFAULT_STORE)

/**
 * @template T
 * @param {string | undefined} dir  the value of --store
 * @param {(store: BlobStore) => Promise<T>} use
 * @param {{ create?: boolean }} [options]  `create`: make the store when it is missing; a command that only reads from
 *   a missing store was mistyped
 * @returns {Promise<T>}
 */
export async function withStore (dir, use, { create = false } = {}) {
  const location = locationOf(dir)
  const store = await BlobStore.open(location, { create }).catch(error => {
    if (error.code !== 'STORE_ABSENT') throw error
    throw new Failure(`there is no store at ${location}: make one with 'baobox add', or name another with --store`)
  })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
