// Marks a store that is being rescued, so that nobody opens it, and lets only one process at a time rescue it.
//
// The mark is the folder `rescue`. It stays when a rescue is interrupted, because the rescue may have lost records, and
// opening the store would delete their data. The folder contains an empty database, whose lock ends with the process. A
// rescue takes this lock and then checks those of the store. A store takes its own locks and then checks for the mark.
// So at least one of the two sees the other.

import { Level } from 'level'
import { exists, makeFolder, moveFolder, realPath, removeFolder } from '#disk'
import { lockedElsewhere } from './location-lock.js'
import { NAMES, isLocked, isOpen } from '../level/levels.js'
import { VIEWS } from '../format/keys.js'

/** @param {string} location */
export const rescueFolder = location => `${location}/rescue`
/** Returns the name that the folder gets after a rescue, when it is no longer a mark. @param {string} location */
const doneFolder = location => `${location}/rescue.done`
/** @param {string} location */
export const lockFolder = location => `${rescueFolder(location)}/lock`

/** @param {string} location @returns {Promise<'running' | 'interrupted' | undefined>} undefined without a rescue */
export async function rescueAt (location) {
  if (!await exists(rescueFolder(location))) return undefined
  return await isOpen(lockFolder(location)) ? 'running' : 'interrupted'
}

/**
 * Marks a store, and takes the lock of its rescue.
 *
 * @param {string} location  a directory, which the caller holds
 * @returns {Promise<{ end: (options: { isMarked: boolean }) => Promise<void> }>} `end` releases the lock. Unless
 *   `isMarked` is true, it also deletes the mark, with everything in its folder
 * @throws {BaoError} STORE_LOCKED when the store is open, or another process rescues it
 */
export async function markRescue (location) {
  const isFirst = await makeFolder(rescueFolder(location))
  // A crash may have damaged the files of this database. The lock does not need them.
  await removeFolder(`${lockFolder(location)}/CURRENT`)
  const lock = new Level(await realPath(lockFolder(location)), VIEWS)
  try {
    await lock.open()
  } catch (error) {
    if (isLocked(error)) throw await lockedElsewhere(location, error)
    if (isFirst) await removeFolder(rescueFolder(location))
    throw error
  }

  const end = async (/** @type {{ isMarked: boolean }} */ { isMarked }) => {
    // Rename the folder under the lock, so that no other rescue uses it. Windows cannot rename a folder with an open
    // file.
    const isMoved = !isMarked &&
      await moveFolder(rescueFolder(location), doneFolder(location)).then(() => true, () => false)
    await lock.close()
    if (!isMarked) await removeFolder(isMoved ? doneFolder(location) : rescueFolder(location))
  }

  await removeRescued(location)
  for (const path of NAMES.map(name => `${location}/${name}`)) {
    if (!await exists(path) || !await isOpen(path)) continue
    await end({ isMarked: !isFirst })
    throw await lockedElsewhere(location)
  }
  return { end }
}

/** Removes the renamed folder of an earlier rescue, if there is one. @param {string} location */
export const removeRescued = location => removeFolder(doneFolder(location)).catch(() => {})
