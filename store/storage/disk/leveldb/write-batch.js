// A batch of writes in a log of LevelDB. (leveldb: db/write_batch.cc)
//
//   u64 sequence number of the first operation, u32 count, operations
//   operation: 1, key, value; for a deletion: 0, key. A varint before each key and value is its length

import { DELETION, VALUE } from './block.js'
import { Cursor, orIfMalformed } from './cursor.js'

/** @import { Versioned } from './block.js' */

/**
 * @param {Uint8Array} payload  of a record of a log
 * @returns {Versioned[] | undefined} undefined when it is not a batch
 */
export function entriesOfBatch (payload) {
  return orIfMalformed(() => {
    const cursor = new Cursor(payload)
    const first = cursor.u64()
    const entries = /** @type {Versioned[]} */ ([])
    for (let i = cursor.u32(); i > 0; i--) {
      const kind = cursor.u8()
      if (kind !== VALUE && kind !== DELETION) return undefined
      const key = cursor.string()
      entries.push({ key, value: kind === VALUE ? cursor.string() : undefined, sequence: first + entries.length })
    }
    return cursor.left === 0 ? entries : undefined
  })
}
