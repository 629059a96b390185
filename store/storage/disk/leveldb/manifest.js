// The manifest of a LevelDB: a log of changes to the set of its tables and logs. (leveldb: db/version_edit.cc)

import { Cursor, orIfMalformed } from './cursor.js'
import { readLog } from './log.js'

/**
 * @typedef {object} TableEntry
 * @property {number} number
 * @property {number} size  bytes
 * @property {Uint8Array} first  the first key, as LevelDB keeps it
 * @property {Uint8Array} last
 */

/**
 * @typedef {object} Manifest
 * @property {TableEntry[]} tables  in the order of their numbers
 * @property {number} log  number of the first log whose writes are not in tables; 0 when there is none yet
 * @property {number} previousLog  number of another log whose writes are not in tables; 0 when there is none
 * @property {boolean} isTorn  true if it ends with a torn change
 */

/** The kinds of facts in a change. Each is followed by its value. */
const COMPARATOR = 1
const LOG = 2
const NEXT_FILE = 3
const LAST_SEQUENCE = 4
const COMPACTION_POINTER = 5
const DELETED_TABLE = 6
const NEW_TABLE = 7
const PREVIOUS_LOG = 9
/** LevelDB's name for the order of the store's keys. */
const COMPARATOR_NAME = 'leveldb.BytewiseComparator'
const LEVELS = 7
const TEXT = new TextDecoder()
/** LevelDB does not open a database without these. */
const NEEDED = [LOG, NEXT_FILE, LAST_SEQUENCE]

/**
 * @param {Uint8Array} bytes @param {{ corrects?: boolean }} [options]  as for `readLog`
 * @returns {Manifest | undefined} undefined when it is damaged, or lacks a fact that LevelDB needs
 */
export function readManifest (bytes, options) {
  const tables = /** @type {Map<number, TableEntry>} */ (new Map())
  const logs = { log: 0, previousLog: 0 }
  const kinds = /** @type {Set<number>} */ (new Set())
  let isTorn = false
  for (const { payload, lost } of readLog(bytes, options)) {
    if (lost === undefined ? isTorn : !lost.isTorn) return undefined // It is damaged before its end.
    if (lost !== undefined) isTorn = true
    else if (orIfMalformed(() => apply(payload, tables, logs, kinds)) === undefined) return undefined
  }
  if (NEEDED.some(kind => !kinds.has(kind)) || (tables.size === 0 && logs.log === 0)) return undefined
  return { tables: [...tables.values()].sort((a, b) => a.number - b.number), ...logs, isTorn }
}

/**
 * @param {Uint8Array} change @param {Map<number, TableEntry>} tables
 * @param {{ log: number, previousLog: number }} logs @param {Set<number>} kinds  of the facts so far. The function adds
 *   to `tables`, `logs` and `kinds`
 * @returns {true | undefined} undefined for a fact that LevelDB does not write
 */
function apply (change, tables, logs, kinds) {
  const cursor = new Cursor(change)
  while (cursor.left > 0) {
    const kind = cursor.varint()
    kinds.add(kind)
    if (kind === COMPARATOR) {
      if (TEXT.decode(cursor.string()) !== COMPARATOR_NAME) return undefined
    } else if (kind === LOG) {
      logs.log = cursor.varint()
    } else if (kind === PREVIOUS_LOG) {
      logs.previousLog = cursor.varint()
    } else if (kind === NEXT_FILE || kind === LAST_SEQUENCE) {
      cursor.varint()
    } else if (kind === COMPACTION_POINTER || kind === DELETED_TABLE || kind === NEW_TABLE) {
      if (cursor.varint() >= LEVELS) return undefined
      if (kind === COMPACTION_POINTER) {
        cursor.string()
        continue
      }
      const number = cursor.varint()
      if (kind === DELETED_TABLE) tables.delete(number)
      else tables.set(number, { number, size: cursor.varint(), first: cursor.string(), last: cursor.string() })
    } else {
      return undefined
    }
  }
  return true
}
