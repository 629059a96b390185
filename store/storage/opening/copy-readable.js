// Copies every entry that can be read from a damaged LevelDB into a new one. The damaged files stay as they are.
//
// LevelDB's own repair works on links to the files. It turns logs into tables, leaves out what it cannot read, and
// needs neither the file CURRENT nor a manifest, so it also finds tables that a damaged manifest does not name. This
// file only reads the repaired database: the repair keeps tables whose keys are out of order, so a search for a key may
// find an older value. Iterators give the newest value of every key that they reach.

import { linkFiles, readText, removeFolder } from '#disk'
import { eachReadable } from '../errors.js'
import { BATCH, VIEWS } from '../format/keys.js'
import { newLevel, repairFiles } from '../level/levels.js'

/** @import { AnyLevel } from '../level/levels.js' */

/** @typedef {[key: Uint8Array, value: Uint8Array]} Entry */

/** Most bytes of values, and most entries, in a batch. */
const BATCH_LEN = 1 << 22
const BATCH_COUNT = 1000

/** Options that read entries one by one. When LevelDB cannot read an entry, all others in the same batch are lost. */
const ONE_BY_ONE = { ...VIEWS, fillCache: false, highWaterMarkBytes: 1 }

/** LevelDB locks a file and not its name. So a database must not open a link to the lock of another one. */
const LOCK = 'LOCK'

/**
 * @param {'index' | 'data'} name
 * @param {object} options
 * @param {string} options.from  the damaged database; may be missing
 * @param {string} options.links  a folder for links to its files: made here, and removed at the end
 * @param {string} options.to  a folder for the new database: made here; the database is closed, but not synced
 * @param {(entry: Entry) => Entry | undefined} options.change  returns the entry to write instead; undefined leaves it
 *   out
 * @param {AbortSignal} [options.signal]
 */
export async function copyReadable (name, { from, links, to, change, signal }) {
  await linkFiles(from, links, [LOCK])
  await repairFiles(links)
  assertAllWritten(await readText(`${links}/LOG`))
  const repaired = newLevel(name, links)
  try {
    await repaired.open()
    // A key that damage has made greater hides the entries that it overtakes from a forward reader, and others from a
    // backward reader. Both iterators begin now, so that LevelDB deletes no table that they need when it sorts its
    // tables.
    const passes = [false, true].map(reverse => repaired.iterator({ ...ONE_BY_ONE, reverse }))
    const copy = newLevel(name, to)
    try {
      await copy.open()
      for (const entries of passes) await addMissing(copy, eachReadable(entries), change, signal)
    } finally {
      await copy.close()
    }
  } finally {
    await repaired.close()
  }
  await removeFolder(links)
}

/**
 * Throws when the disk is full. LevelDB's repair gives up entries that it cannot write, and says so only in its log.
 *
 * @param {string} log
 */
function assertAllWritten (log) {
  const [, reason] = /ignoring conversion error: (.*)/.exec(log) ?? []
  if (reason !== undefined) throw Object.assign(new Error(reason), { code: 'LEVEL_IO_ERROR' })
  for (const [, table] of log.matchAll(/Table #(\d+): [1-9]\d* entries (?!OK|repaired)/g)) {
    const isRepaired = new RegExp(`Table #${table}: \\d+ entries repaired`).test(log)
    if (!isRepaired) throw new Error(`LevelDB could not write its table ${table} again`)
  }
}

/**
 * @param {AnyLevel} copy
 * @param {AsyncIterable<Entry>} entries
 * @param {(entry: Entry) => Entry | undefined} change
 * @param {AbortSignal} [signal]
 */
async function addMissing (copy, entries, change, signal) {
  let batch = /** @type {Entry[]} */ ([])
  let len = 0
  const write = async () => {
    const areThere = await copy.hasMany(batch.map(([key]) => key), VIEWS)
    const missing = batch.filter((_, i) => !areThere[i])
    await copy.batch(missing.map(([key, value]) => ({ type: 'put', key, value })), BATCH)
    batch = []
    len = 0
  }
  for await (const entry of entries) {
    signal?.throwIfAborted()
    const changed = change(entry)
    if (changed === undefined) continue
    batch.push(changed)
    len += entry[1].length
    if (len >= BATCH_LEN || batch.length >= BATCH_COUNT) await write()
  }
  await write()
}
