// Checks that LevelDB finds every entry that its iterators show. LevelDB trusts the index and the filters of its sorted
// tables. If one bit is flipped there, or in a key, an iterator may show an entry that a search for its key does not
// find, or a search may miss entries that are written later.

import { concat } from '../../../lib/core/bytes.js'
import { isCorruption } from '../errors.js'
import { VIEWS } from '../format/keys.js'
import { BATCH_ENTRIES } from './entries.js'

/** @import { AnyLevel } from './levels.js' */
/** @import { SafeDatabase } from './safe-database.js' */

/** How many bytes of entries are looked up together. */
const LOOKUP_LEN = 1 << 22

/**
 * Returns true if LevelDB can read everything, finds every shown entry by its key, does not find anything after the
 * last entry, and shows the same number of entries in both directions.
 *
 * It reads backwards. If damage has made a key greater, a forward iterator misses all entries that this key has
 * overtaken, but a backward one misses only one entry. A damaged index of a table may hide some entries from one
 * direction and others from the other.
 *
 * @param {SafeDatabase | AnyLevel} database  a database without snapshots is not a LevelDB, and counts as in order
 * @param {AbortSignal} [signal]
 */
export async function isInOrder (database, signal) {
  if (!database.supports.explicitSnapshots || !database.supports.has) return true
  const snapshot = database.snapshot()
  const options = { ...VIEWS, snapshot, fillCache: false }
  // Values are read, too, because their length limits how many entries are looked up together.
  const entries = database.iterator({ ...options, reverse: true, ...{ highWaterMarkBytes: LOOKUP_LEN } })
  try {
    let batch = await entries.nextv(BATCH_ENTRIES)
    if (batch.length > 0 && !await isLast(database, batch[0][0], options)) return false
    let shown = 0
    for (; batch.length > 0; batch = await entries.nextv(BATCH_ENTRIES)) {
      signal?.throwIfAborted()
      if (!await areFound(database, batch.map(([key]) => key), options)) return false
      shown += batch.length
    }
    return shown === await countForwards(database, options, signal)
  } catch (error) {
    if (!isCorruption(error)) throw error
    return false
  } finally {
    await entries.close()
    await snapshot.close()
  }
}

/** @param {SafeDatabase | AnyLevel} database @param {object} options @param {AbortSignal} [signal] */
async function countForwards (database, options, signal) {
  const keys = database.keys({ ...options, ...{ highWaterMarkBytes: LOOKUP_LEN } })
  try {
    let count = 0
    for (let batch = await keys.nextv(BATCH_ENTRIES); batch.length > 0; batch = await keys.nextv(BATCH_ENTRIES)) {
      signal?.throwIfAborted()
      count += batch.length
    }
    return count
  } finally {
    await keys.close()
  }
}

/** @param {SafeDatabase | AnyLevel} database @param {Uint8Array[]} keys @param {object} options */
async function areFound (database, keys, options) {
  const isSeen = await database.hasMany(keys, options)
  const values = await database.getMany(keys, options)
  return !isSeen.includes(false) && !values.includes(undefined)
}

/**
 * Returns true if a search after this key finds nothing.
 *
 * @param {SafeDatabase | AnyLevel} database
 * @param {Uint8Array} key
 * @param {object} options
 */
async function isLast (database, key, options) {
  const keys = database.keys(options)
  try {
    keys.seek(concat([key, new Uint8Array(1)]), VIEWS)
    return await keys.next() === undefined
  } finally {
    await keys.close()
  }
}
