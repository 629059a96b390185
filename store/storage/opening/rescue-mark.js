// Marks a store that is being rescued, so that nobody opens it, and lets only one process rescue it at a time.
//
// The mark is the folder `rescue`. It stays when a rescue is interrupted: records may have been lost whose data is
// still to be looked at, and a store that is opened sweeps away data without a record. In it is a database with no
// entries, for its lock, which ends with its process. A rescue takes this lock and then looks at those of the
// store. A store takes its own locks and then looks for the mark. So one of the two sees the other.

import { Level } from 'level'
import { exists, makeFolder, moveFolder, removeFolder } from '#disk'
import { lockedElsewhere } from './location-lock.js'
import { NAMES, isLocked, isOpen } from '../level/levels.js'
import { VIEWS } from '../format/keys.js'

/** @param {string} location */
export const rescueFolder = location => `${location}/rescue`
/** What is to be deleted after a rescue: renamed first, so that it is no mark any more. @param {string} location */
const doneFolder = location => `${location}/rescue.done`
/** @param {string} location */
export const lockFolder = location => `${rescueFolder(location)}/lock`

/** @param {string} location @returns {Promise<'running' | 'interrupted' | undefined>} undefined when there is none */
export async function rescueAt (location) {
  if (!await exists(rescueFolder(location))) return undefined
  return await isOpen(lockFolder(location)) ? 'running' : 'interrupted'
}

/**
 * Marks a store, and holds the lock of its rescue.
 *
 * @param {string} location  a directory
 * @returns {Promise<{ end: (options: { isMarked: boolean }) => Promise<void> }>} `end` lets go of the lock; unless
 *   `isMarked` the mark goes, too, with everything in its folder
 * @throws {BaoError} STORE_LOCKED when the store is open, or somebody else rescues it
 */
export async function markRescue (location) {
  const isFirst = await makeFolder(rescueFolder(location))
  // A crash may have damaged the files of this database. The lock needs none of them.
  await removeFolder(`${lockFolder(location)}/CURRENT`)
  const lock = new Level(lockFolder(location), VIEWS)
  try {
    await lock.open()
  } catch (error) {
    if (isLocked(error)) throw await lockedElsewhere(location, error)
    if (isFirst) await removeFolder(rescueFolder(location))
    throw error
  }

  const end = async (/** @type {{ isMarked: boolean }} */ { isMarked }) => {
    // While the lock is held, no other rescue uses the folder. Windows renames no folder in which a file is open.
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

/** Removes what an earlier rescue has left to be deleted. @param {string} location */
export const removeRescued = location => removeFolder(doneFolder(location)).catch(() => {})
