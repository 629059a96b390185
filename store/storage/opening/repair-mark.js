// One repair at a time, and no store meanwhile; nor after a repair that was interrupted: it may have lost records whose data is still to be looked at,
// and a store that is opened sweeps away what has no record.
//
// The mark of a repair is a database with nothing in it beside the others, for its lock: LevelDB's ends with its process. A repair takes that lock
// first and then asks for those of the store; a store takes its own first and then asks for the mark. So one of them sees the other.

import { Level } from 'level'
import { exists, makeFolder, moveFolder, removeFolder } from '#disk'
import { isLocked, isOpen } from '../level/levels.js'
import { VIEWS } from '../format/keys.js'

/** @param {string} location */
const markOf = location => `${location}/repairing`
/** @param {string} location */
const doneOf = location => `${location}/repairing.done`

/** @param {string} location @returns {Promise<'under way' | 'interrupted' | undefined>} undefined when there is none */
export async function repairAt (location) {
  if (!await exists(markOf(location))) return undefined
  return await isOpen(markOf(location)) ? 'under way' : 'interrupted'
}

/**
 * @param {string} location  a directory
 * @param {string[]} paths  of the databases that are to be repaired
 * @returns {Promise<{ isFirst: boolean, end: (isDone: boolean) => Promise<void> } | undefined>} `isFirst`: none was interrupted before. `end`: one that is
 *   not done stays marked. undefined when somebody else is at it, or has the store open
 */
export async function beginRepair (location, paths) {
  const isFirst = await makeFolder(markOf(location))
  await removeFolder(`${markOf(location)}/CURRENT`) // what a crash left of its files is not read; the lock needs none of them
  const mark = new Level(markOf(location), VIEWS)
  try {
    await mark.open()
  } catch (error) {
    if (isLocked(error)) return undefined
    throw error
  }
  /** @param {boolean} isDone */
  const end = async isDone => {
    // While the lock is held nobody else is in there; under another name it is no mark any more, and nobody comes.
    const isMoved = isDone && await moveFolder(markOf(location), doneOf(location)).then(() => true, () => false)
    await mark.close()
    if (isDone) await removeFolder(isMoved ? doneOf(location) : markOf(location))
  }
  for (const path of paths) {
    if (!await isOpen(path)) continue
    await end(isFirst)
    return undefined
  }
  return { isFirst, end }
}
