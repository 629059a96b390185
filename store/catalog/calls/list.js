// Lists the blobs of a store.

import { assertKnownOptions } from '../../../lib/core/options.js'
import { statOf } from './stat.js'

/** @import { StoreContext } from '../../blob-store.js' */
/** @import { BlobStat } from './stat.js' */

/**
 * See `BlobStore.list`.
 *
 * @param {StoreContext} store @param {{ prefix?: string }} options
 * @returns {AsyncGenerator<BlobStat>}
 */
export async function * list ({ catalog, life }, options) {
  assertKnownOptions(options, ['prefix'])
  const { prefix = '' } = options
  if (typeof prefix !== 'string' || !/^[0-9a-f]{0,64}$/i.test(prefix)) {
    throw new TypeError('"prefix" expected up to 64 hexadecimal digits')
  }
  const hexPrefix = prefix.toLowerCase()
  const uses = catalog.uses.inOrder(hexPrefix)
  try {
    for await (const batch of catalog.recordBatches(hexPrefix)) {
      for (const { root, record } of batch) {
        yield statOf(root, record, await uses.of(root, record))
        life.assertOpen()
      }
    }
  } finally {
    await uses.close()
  }
}
