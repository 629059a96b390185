// Makes of the damaged files of a LevelDB what can be made of them.

import { Level } from 'level'
import { isThere, moveFolder, removeFolder } from '#disk'
import { VIEWS } from './keys.js'
import { eachReadable } from './faults.js'
import { isInOrder } from './order.js'

/** @import { Database } from './databases.js' */

/** What is copied in one batch. */
const BATCH_LEN = 1 << 22
const BATCH_COUNT = 1000

/** Its batches are on the disk when they resolve. */
const SYNC = { ...VIEWS, sync: true }
/** Entries are handed over one by one: with one that cannot be read all that come with it would be lost. */
const ONE_BY_ONE = { ...VIEWS, fillCache: false, highWaterMarkBytes: 1 }

/** A new database while it grows; and when it is whole, so that the old one counts no more. @param {string} path */
const growing = path => `${path}.rewriting`
/** @param {string} path */
const whole = path => `${path}.rewritten`

/** Is there a new one that has not taken its place yet? @param {string} path */
export const isHalfSalvaged = path => isThere(whole(path))

/**
 * LevelDB makes its files readable. What is out of order in them it keeps as it is: then all entries that can be seen go into a new database, which takes
 * the place of the old one. There must be room for both. Interrupted, it is to be called again.
 *
 * @param {string} path @param {(path: string) => Database} make  a level of the kind that stands there
 */
export async function salvage (path, make) {
  const { repair } = /** @type {{ repair?: (location: string) => Promise<void> }} */ (/** @type {unknown} */ (Level))
  if (repair === undefined) return // no LevelDB
  if (await isHalfSalvaged(path)) await moveFolder(whole(path), path)
  await repair.call(Level, path)
  if (await rewrite(path, make)) await moveFolder(whole(path), path)
}

/** @param {string} path @param {(path: string) => Database} make @returns {Promise<boolean>} false when it is in order as it is */
async function rewrite (path, make) {
  const old = make(path)
  try {
    await old.open()
    if (await isInOrder(old)) return false
    await removeFolder(growing(path))
    const fresh = make(growing(path))
    try {
      await fresh.open()
      // Either way some are hidden that the other shows: see order.js.
      await copy(old, fresh, true)
      await copy(old, fresh, false)
    } finally {
      await fresh.close()
    }
    await moveFolder(growing(path), whole(path)) // while nobody else can open the old one
    return true
  } finally {
    await old.close()
  }
}

/** Entries that are not there yet. @param {Database} old @param {Database} fresh @param {boolean} reverse  from the last to the first? */
async function copy (old, fresh, reverse) {
  let puts = /** @type {{ type: 'put', key: Uint8Array, value: Uint8Array }[]} */ ([])
  let len = 0
  const write = async () => {
    const isThere = await fresh.hasMany(puts.map(({ key }) => key), VIEWS)
    await fresh.batch(puts.filter((_, i) => !isThere[i]), SYNC)
    puts = []
    len = 0
  }
  for await (const [key, value] of eachReadable(old.iterator({ ...ONE_BY_ONE, reverse }))) {
    puts.push({ type: 'put', key, value })
    len += value.length
    if (len >= BATCH_LEN || puts.length >= BATCH_COUNT) await write()
  }
  await write()
}
