// Finds the ids that have entries in the data database. It reads all keys in order, but if an id has many keys, it
// skips most of them.

import { BATCH_ENTRIES, SMALL_ENTRIES } from './entries.js'
import { allOfId, idOfKey, offsetOfExtent } from '../format/keys.js'
import { orIfUnreadable } from '../errors.js'

/** @import { SafeDatabase } from './safe-database.js' */

/**
 * @typedef {object} FoundId
 * @property {number} [id]  undefined for a key that no store writes
 * @property {Uint8Array} key  the first key of the id
 * @property {boolean} isAlone  true if the id has only this key, which is that of the extent at the start of the blob
 */

/** How many keys of an id are read before the other ones are skipped. */
const FEW_KEYS = 16

/**
 * @param {SafeDatabase} data
 * @param {number} from  the first id to look for
 * @param {() => void} [onDamage]  called when LevelDB has skipped keys that it cannot read
 * @returns {AsyncGenerator<FoundId>} in the order of the ids
 */
export async function * dataIds (data, from, onDamage) {
  const open = (/** @type {object} */ start) => data.keys({ ...start, ...SMALL_ENTRIES })
  let keys = open({ gte: allOfId(from).gte })
  let size = FEW_KEYS
  let isDamaged = false
  /** @type {Uint8Array | undefined} */
  let last
  /** @type {FoundId | undefined} */
  let found
  /** How many keys of the last id have been read. */
  let count = 0
  try {
    for (;;) {
      const batch = await orIfUnreadable(keys.nextv(isDamaged ? 1 : size))
      if (batch === undefined) {
        if (isDamaged) {
          onDamage?.()
          break
        }
        // LevelDB reports damage at the end, and then does not return the last batch. So read the keys of that batch
        // again, one by one.
        isDamaged = true
        await keys.close()
        keys = open(last === undefined ? { gte: allOfId(from).gte } : { gt: last })
        continue
      }
      if (batch.length === 0) break
      let ids = 0
      for (const key of batch) {
        const isSame = last !== undefined && haveSameId(last, key)
        last = key
        count = isSame ? count + 1 : 1
        if (isSame && found?.id !== undefined) {
          found.isAlone = false
          continue
        }
        if (found !== undefined) yield found
        const id = idOfKey(key)
        found = { id, key, isAlone: id !== undefined && !isSame && offsetOfExtent(key) === 0 }
        ids++
      }
      size = Math.min(FEW_KEYS * Math.max(ids, 1), BATCH_ENTRIES)
      if (found?.id !== undefined && count >= FEW_KEYS) {
        await keys.close()
        keys = open({ gte: allOfId(found.id + 1).gte })
        count = 0
      }
    }
    if (found !== undefined) yield found
  } finally {
    await keys.close()
  }
}

/** @param {Uint8Array} a @param {Uint8Array} b  keys */
function haveSameId (a, b) {
  for (let i = 0; i < 8; i++) if (a[i] === undefined || a[i] !== b[i]) return false
  return true
}
