// Marks a store while a process rescues it, so that no process opens it, and only one process at a time rescues it.
//
// The mark is the folder `rescue`. A rescue that is interrupted leaves the mark, because it may have lost records. If a
// process then opened the store, the opening would delete the data of these records.
//
// The folder contains an empty database. The system releases its lock when the process ends. A rescue first takes this
// lock, and then checks whether another process holds the locks of the store. An opening first takes the locks of the
// store, and then looks for the mark. So if both happen at the same time, at least one of them sees the other.

import { Level } from 'level'
import { exists, makeFolder, moveFolder, realPath, removeFolder } from '#disk'
import { lockedElsewhere } from './location-lock.js'
import { NAMES, isLocked, isOpen } from '../level/levels.js'
import { VIEWS } from '../format/keys.js'

/** Returns the folder that is the mark. @param {string} location */
export const rescueFolder = location => `${location}/rescue`
/** Returns the name that the folder gets at the end of a rescue, so that it is not a mark. @param {string} location */
const doneFolder = location => `${location}/rescue.done`
/** Returns the folder of the empty database, whose lock a rescue holds. @param {string} location */
export const lockFolder = location => `${rescueFolder(location)}/lock`

/**
 * Finds out whether a store is marked, and whether its rescue is running.
 *
 * @param {string} location
 * @returns {Promise<'running' | 'interrupted' | undefined>} undefined if the store is not marked
 */
export async function rescueAt (location) {
  if (!await exists(rescueFolder(location))) return undefined
  return await isOpen(lockFolder(location)) ? 'running' : 'interrupted'
}

/**
 * Marks a store, and takes the lock of the rescue.
 *
 * @param {string} location  a directory, which the caller holds
 * @returns {Promise<{ end: EndMark }>}
 * @throws {BaoError} STORE_LOCKED when another process has the store open, or rescues it
 */
export async function markRescue (location) {
  const { isFirst, end } = await takeMark(location)
  await removeDoneFolder(location)
  for (const path of NAMES.map(name => `${location}/${name}`)) {
    if (!await exists(path) || !await isOpen(path)) continue
    await end({ keepsMark: !isFirst })
    throw await lockedElsewhere(location)
  }
  return { end }
}

/**
 * Deletes a store that the caller has open. It marks the store before it closes it, so that no other process opens the
 * store while it is deleted.
 *
 * @param {string} location  a directory
 * @param {object} steps
 * @param {() => Promise<void>} steps.close  closes the store
 * @param {() => Promise<void>} steps.remove  deletes everything but the folder `rescue`
 * @throws {BaoError} STORE_LOCKED when another process is about to rescue the store. Then the store stays open
 */
export async function removeMarked (location, { close, remove }) {
  const { end } = await takeMark(location)
  try {
    await close()
    await remove()
  } finally {
    await end({ keepsMark: false })
  }
}

/**
 * @typedef {(options: { keepsMark: boolean }) => Promise<void>} EndMark  releases the lock. If `keepsMark` is
 *   false, it also deletes the mark, with everything in its folder
 */

/**
 * Makes the mark if there is none, and takes its lock.
 *
 * @param {string} location
 * @returns {Promise<{ isFirst: boolean, end: EndMark }>} `isFirst`: true if the store was not marked before
 * @throws {BaoError} STORE_LOCKED when another process holds the lock
 */
async function takeMark (location) {
  const isFirst = await makeFolder(rescueFolder(location))
  // A crash may have damaged this database. Without the file CURRENT, LevelDB makes a new one. Only its lock is needed.
  await removeFolder(`${lockFolder(location)}/CURRENT`)
  const lock = new Level(await realPath(lockFolder(location)), VIEWS)
  try {
    await lock.open()
  } catch (error) {
    if (isLocked(error)) throw await lockedElsewhere(location, error)
    if (isFirst) await removeFolder(rescueFolder(location))
    throw error
  }

  const end = async (/** @type {{ keepsMark: boolean }} */ { keepsMark }) => {
    // Rename the folder before the lock is released, so that no other rescue uses the folder while it is deleted.
    // Windows cannot rename a folder with an open file. There the folder keeps its name until it is deleted.
    const isMoved = !keepsMark &&
      await moveFolder(rescueFolder(location), doneFolder(location)).then(() => true, () => false)
    await lock.close()
    if (!keepsMark) await removeFolder(isMoved ? doneFolder(location) : rescueFolder(location))
  }

  return { isFirst, end }
}

/** Deletes the renamed folder of an earlier rescue, if there is one. @param {string} location */
export const removeDoneFolder = location => removeFolder(doneFolder(location)).catch(() => {})
