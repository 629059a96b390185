// Reads the entries of a key range in batches, because reading a thousand entries takes hardly longer than reading one.

import { VIEWS } from '../format/keys.js'
import { isCorruption } from '../errors.js'

/** @import { SafeDatabase } from './safe-database.js' */

/** @typedef {[key: Uint8Array, value: Uint8Array]} Entry */

/** A batch has at most this many entries. */
export const BATCH_ENTRIES = 1000

/** Options for an iterator over small entries. Without them, LevelDB ends a batch at 16 KiB. */
export const SMALL_ENTRIES = { ...VIEWS, highWaterMarkBytes: 1 << 17 }

/**
 * Yields the entries of a range that LevelDB can read. LevelDB skips a block that it cannot read, reports that at the
 * end of the range, and then does not return the last batch. So this reads the entries of that batch again, one by one.
 *
 * @param {SafeDatabase} database
 * @param {{ gte?: Uint8Array, gt?: Uint8Array, lt?: Uint8Array, lte?: Uint8Array, reverse?: boolean }} range
 * @param {() => void} [onDamage]  called when LevelDB has skipped entries that it cannot read
 * @returns {AsyncGenerator<Entry[]>}
 */
export async function * readEntries (database, range, onDamage) {
  let rest = range
  for (const size of [BATCH_ENTRIES, 1]) {
    const iterator = database.iterator({ ...rest, ...SMALL_ENTRIES })
    try {
      for (let batch = await iterator.nextv(size); batch.length > 0; batch = await iterator.nextv(size)) {
        rest = restAfter(range, batch[batch.length - 1][0])
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

/**
 * Returns the part of a range after a key.
 *
 * @param {{ gte?: Uint8Array, gt?: Uint8Array, lt?: Uint8Array, lte?: Uint8Array, reverse?: boolean }} range
 * @param {Uint8Array} key  the last key that was read
 */
function restAfter ({ gte, gt, lt, lte, reverse }, key) {
  if (reverse) return { ...gte === undefined ? { gt } : { gte }, lt: key, reverse }
  return { gt: key, ...lte === undefined ? { lt } : { lte } }
}
