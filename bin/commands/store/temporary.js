// A store for the time of one command.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BlobStore } from '../../../store/index.js'

/**
 * Opens a store that is deleted after its use. Files are put into it by `mode: 'reference'`, so that it has only their
 * trees.
 *
 * @template T
 * @param {(store: BlobStore) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withTemporaryStore (use) {
  const folder = await mkdtemp(join(tmpdir(), 'baobox-'))
  try {
    const store = await BlobStore.open(folder, { durability: 'process' })
    try {
      return await use(store)
    } finally {
      await store.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
