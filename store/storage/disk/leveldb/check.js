// Checks the files of a LevelDB before LevelDB reads them. LevelDB does not compare the checksums of its tables, so a
// flipped bit may hide an entry, or end the process.

import { equals } from 'uint8arrays/equals'
import { isOfSystem } from '../../errors.js'
import { loadChecksum } from './checksum.js'
import { currentManifest, filesByNumber, logsOf, readWhole, stampsIn } from './files.js'
import { readLog } from './log.js'
import { readManifest } from './manifest.js'
import { Table } from './table.js'
import { entriesOfBatch } from './write-batch.js'

/** @import { Stamp } from './files.js' */
/** @import { TableEntry } from './manifest.js' */

/**
 * @typedef {object} CheckOptions
 * @property {boolean} [isClosed]  true if the database was closed after its last write. Then a torn log or manifest
 *   counts as damage. Default: false
 * @property {boolean} [isInUse]  true if the database is open. Then files may appear and vanish, and logs are not
 *   checked. Default: false
 * @property {(name: string, stamp: Stamp) => boolean} [isKnown]  returns true for a table that was checked before and
 *   need not be read. Default: all are read
 * @property {number} [maxLen]  read at most this many bytes of tables, the newest first. Default: no limit
 * @property {boolean} [forgivesValues]  see `Table.fault`. Default: false
 * @property {boolean} [checksOrder]  see `Table.fault`. Default: false
 * @property {Map<string, Stamp>} [stamps]  the files of the database, if the caller has just listed them
 * @property {AbortSignal} [signal]
 */

/** How often a check is tried. It starts again when LevelDB has deleted a file during it. */
const TRIES = 100

/**
 * @param {string} path  of the database
 * @param {CheckOptions} [options]
 * @returns {Promise<{ fault?: string, checked: Map<string, Stamp> }>} `fault`: the first damage, for messages;
 *   `checked`: the tables that this check or an earlier one has found right
 */
export async function checkDatabase (path, options = {}) {
  await loadChecksum()
  const checked = /** @type {Map<string, Stamp>} */ (new Map())
  for (let tries = 1; ; tries++) {
    const before = options.isInUse ? await currentManifest(path) : undefined
    const { fault, isGone } = await findFault(path, options, checked)
    // When a file was missing, LevelDB may have deleted it after the manifest was read.
    const isRepeated = isGone && options.isInUse && tries < TRIES
    const isReplaced = options.isInUse && before !== await currentManifest(path) && tries < TRIES
    if (fault === undefined || !(isRepeated || isReplaced)) return { fault, checked }
  }
}

/**
 * @param {string} path @param {CheckOptions} options
 * @param {Map<string, Stamp>} checked  tables that are known to be right; more are added
 * @returns {Promise<{ fault?: string, isGone?: boolean }>}
 */
async function findFault (path, { isClosed = false, isInUse = false, stamps: known, ...options }, checked) {
  const name = await currentManifest(path)
  if (name === undefined) return { fault: 'CURRENT: it is damaged' }
  const bytes = await readWhole(`${path}/${name}`)
  const manifest = bytes && readManifest(bytes)
  if (manifest === undefined || (manifest.isTorn && isClosed)) return { fault: `${name}: it is damaged` }
  const stamps = known ?? await stampsIn(path)
  const { tables, logs } = filesByNumber([...stamps.keys()])
  const fault = await faultInTables(path, manifest.tables, tables, stamps, options, checked)
  if (fault !== undefined || isInUse) return fault ?? {}
  const names = logsOf(manifest, logs)
  if (names === undefined) return { fault: `${name}: the log that it names is missing` }
  for (const log of names) {
    for (const { payload, lost } of readLog(await readWhole(`${path}/${log}`) ?? new Uint8Array(0))) {
      const isWrong = lost === undefined ? entriesOfBatch(payload) === undefined : isClosed || !lost.isTorn
      if (isWrong) return { fault: `${log}: ${lost ? `the record at ${lost.start}` : 'a record'} is damaged` }
    }
  }
  return {}
}

/**
 * @param {string} path @param {TableEntry[]} entries  of the manifest @param {Map<number, string>} names
 * @param {Map<string, Stamp>} stamps
 * @param {Omit<CheckOptions, 'isClosed' | 'isInUse' | 'stamps'>} options @param {Map<string, Stamp>} checked
 */
async function faultInTables (path, entries, names, stamps, options, checked) {
  const { isKnown = () => false, maxLen = Infinity, forgivesValues = false, checksOrder = false, signal } = options
  let left = maxLen
  for (const entry of [...entries].reverse()) {
    signal?.throwIfAborted()
    const name = names.get(entry.number)
    const stamp = name === undefined ? undefined : stamps.get(name)
    if (name === undefined || stamp === undefined) return { fault: `table ${entry.number} is missing`, isGone: true }
    if (stamp.size !== entry.size) return { fault: `${name}: it has ${stamp.size} bytes instead of ${entry.size}` }
    const isRight = checked.has(name) || isKnown(name, stamp)
    if (!isRight && left < stamp.size) continue
    if (!isRight) {
      left -= stamp.size
      const bytes = await readWhole(`${path}/${name}`).catch(error => {
        if (!forgivesValues || !isOfSystem(error)) throw error
        return null
      })
      if (bytes === undefined) return { fault: `table ${entry.number} is missing`, isGone: true }
      if (bytes === null) continue // The system cannot read the table, which LevelDB will report.
      const table = Table.of(bytes)
      const fault = table === undefined ? 'its index is damaged' : table.fault({ forgivesValues, checksOrder })
      if (fault !== undefined) return { fault: `${name}: ${fault}` }
      if (!isOf(entry, table)) return { fault: `${name}: it is another table` }
    }
    checked.set(name, stamp)
  }
  return undefined
}

/** Returns true if this is the table that the manifest names. @param {TableEntry} entry @param {Table} [table] */
function isOf ({ first, last }, table) {
  const [start, end] = table?.ends() ?? []
  return start !== undefined && end !== undefined && equals(start, first) && equals(end, last)
}
