// Makes the databases of a new store. LevelDB cannot open a database whose creation a power cut has interrupted. So the
// store makes each database under a temporary name, and renames it when all its files are on the disk. It makes the
// index first, because the data database gets the id of the store from it.

import { isMissing, nameStore, placeFolder, removeFolder, removeFoldersLike, storeIdOf, syncFiles } from '#disk'
import { NAMES, OUR_KIND, newLevel } from '../level/levels.js'

/**
 * Makes the databases that are missing. Several processes may call this at the same time: the first that finishes
 * renames its draft, and the others delete theirs.
 *
 * @param {string} location  a directory
 * @param {{ sync: boolean }} options  `sync`: true to make the databases survive a power cut
 */
export async function makeMissing (location, { sync }) {
  if (OUR_KIND !== 'LevelDB') return
  for (const name of NAMES) {
    const path = `${location}/${name}`
    if (!await isMissing(path)) continue
    const draft = `${path}.making-${Math.random().toString(36).slice(2)}`
    try {
      const level = newLevel(name, draft)
      await level.open()
      await level.close()
      await nameStore(draft, await storeIdOf(location))
      if (sync) await syncFiles(draft)
      await placeFolder(draft, path, { sync })
    } catch (error) {
      await removeFolder(draft)
      if (await isMissing(path)) throw error // no other process has made it
    }
    await removeFoldersLike(location, `${name}.making-`).catch(() => {}) // Drafts that stay do no harm.
  }
}
