// Reads a range of a database in batches: waiting for a thousand entries costs hardly more than waiting for one.

import { VIEWS } from '../format/keys.js'
import { isCorruption } from '../errors.js'

/** @import { SafeDatabase } from './safe-database.js' */

/** @typedef {[key: Uint8Array, value: Uint8Array]} Entry */

/** Entries in a batch, at most. */
export const BATCH_ENTRIES = 1000

/** Options for an iterator over small entries. LevelDB ends a batch at 16 KiB otherwise. */
export const SMALL_ENTRIES = { ...VIEWS, highWaterMarkBytes: 1 << 17 }

/**
 * Reads the entries of a range that LevelDB can read. LevelDB skips a block that it cannot read, tells so at the end of
 * the range, and then withholds the last batch: `entryBatches` reads the entries of that batch again, one by one.
 *
 * @param {SafeDatabase} database
 * @param {{ gte: Uint8Array, lt?: Uint8Array, lte?: Uint8Array }} range
 * @param {() => void} [onDamage]  called when LevelDB has left out entries that it cannot read; default: nothing
 * @returns {AsyncGenerator<Entry[]>}
 */
export async function * entryBatches (database, range, onDamage) {
  let from = /** @type {object} */ (range)
  for (const size of [BATCH_ENTRIES, 1]) {
    const iterator = database.iterator({ ...from, ...SMALL_ENTRIES })
    try {
      for (let batch = await iterator.nextv(size); batch.length > 0; batch = await iterator.nextv(size)) {
        const [last] = batch[batch.length - 1]
        const { gte, ...end } = range
        from = { gt: last, ...end }
        yield batch
      }
      return
    } catch (error) {
      if (!isCorruption(error)) throw error
    } finally {
      await iterator.close()
    }
  }
  onDamage?.()
}
