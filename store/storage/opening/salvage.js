// Makes of the damaged files of a LevelDB what can be made of them.

import { exists, linkFolder, moveFolder, readText, removeFolder, syncFiles } from '#disk'
import { BATCH, VIEWS } from '../format/keys.js'
import { eachReadable } from '../errors.js'
import { isInOrder } from '../level/order.js'
import { repairFiles } from '../level/levels.js'

/** @import { AnyLevel } from '../level/levels.js' */

/** Bytes of entries that are copied in one batch, and how many. */
const ENTRIES_LEN = 1 << 22
const ENTRY_COUNT = 1000

/** Its batches are on the disk when they resolve. */
const SYNC = { ...BATCH, sync: true }
/** Entries are handed over one by one: with one that cannot be read all that come with it would be lost. */
const ONE_BY_ONE = { ...VIEWS, fillCache: false, highWaterMarkBytes: 1 }

/** The file of LevelDB's lock: a lock belongs to the file, whatever its name, so no two databases may have the same. */
const LOCK = 'LOCK'

/** What LevelDB repairs: the files of the old one, which stays as it is. @param {string} path */
const draft = path => `${path}.repairing`
/** A new database while it grows; and when it is whole, so that the old one counts no more. @param {string} path */
const growing = path => `${path}.rewriting`
/** @param {string} path */
export const wholeOf = path => `${path}.rewritten`

/** Is there a new one that has not taken its place yet? @param {string} path */
export const isHalfSalvaged = path => exists(wholeOf(path))

/**
 * LevelDB makes its files readable. What is out of order in them it keeps as it is: then all entries that can be seen go into a new database, for which there
 * must be room. The old one stays as it is until another takes its place: LevelDB moves its logs away before the tables that it makes of them count.
 *
 * @param {string} path @param {(path: string) => AnyLevel} make  a level of the kind that stands there
 * @returns {Promise<string>} where the new one is: `takePlace` is to follow
 */
export async function salvage (path, make) {
  await removeDrafts(path)
  if (await isHalfSalvaged(path)) await moveFolder(wholeOf(path), path)
  try {
    await linkFolder(path, draft(path), [LOCK])
    await repairFiles(draft(path))
    assertNothingGivenUp(await readText(`${draft(path)}/LOG`))
    const made = await rewrite(draft(path), make, growing(path)) ? growing(path) : draft(path)
    await syncFiles(made)
    return made
  } catch (error) {
    await removeDrafts(path)
    throw error
  }
}

/** @param {string} path @param {string} made  by `salvage` */
export async function takePlace (path, made) {
  await moveFolder(made, wholeOf(path))
  await moveFolder(wholeOf(path), path)
  await removeDrafts(path)
}

/** @param {string} path */
export async function removeDrafts (path) {
  for (const leftover of [draft(path), growing(path)]) await removeFolder(leftover)
}

/**
 * What LevelDB can read and cannot write again, on a disk that is full, it gives up, and says so nowhere but in its log.
 *
 * @param {string} log
 */
function assertNothingGivenUp (log) {
  const [, reason] = /ignoring conversion error: (.*)/.exec(log) ?? []
  if (reason !== undefined) throw Object.assign(new Error(reason), { code: 'LEVEL_IO_ERROR' })
  for (const [, table] of log.matchAll(/Table #(\d+): [1-9]\d* entries (?!OK|repaired)/g)) {
    if (!new RegExp(`Table #${table}: \\d+ entries repaired`).test(log)) throw new Error(`table ${table} could not be written again`)
  }
}

/** @param {string} path @param {(path: string) => AnyLevel} make @param {string} to @returns {Promise<boolean>} false when it is in order as it is */
async function rewrite (path, make, to) {
  const old = make(path)
  try {
    await old.open()
    if (await isInOrder(old)) return false
    const fresh = make(to)
    try {
      await fresh.open()
      // Either way some are hidden that the other shows: see order.js.
      await copy(old, fresh, true)
      await copy(old, fresh, false)
    } finally {
      await fresh.close()
    }
    return true
  } finally {
    await old.close()
  }
}

/** Entries that are not there yet. @param {AnyLevel} old @param {AnyLevel} fresh @param {boolean} reverse  from the last to the first? */
async function copy (old, fresh, reverse) {
  let puts = /** @type {{ type: 'put', key: Uint8Array, value: Uint8Array }[]} */ ([])
  let len = 0
  const write = async () => {
    const isCopied = await fresh.hasMany(puts.map(({ key }) => key), VIEWS)
    await fresh.batch(puts.filter((_, i) => !isCopied[i]), SYNC)
    puts = []
    len = 0
  }
  for await (const [key, value] of eachReadable(old.iterator({ ...ONE_BY_ONE, reverse }))) {
    puts.push({ type: 'put', key, value })
    len += value.length
    if (len >= ENTRIES_LEN || puts.length >= ENTRY_COUNT) await write()
  }
  await write()
}
