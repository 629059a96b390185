// Makes the databases of a new store. LevelDB makes its files one after the other, and cannot open what a power cut
// leaves meanwhile. So each database is made under another name, and gets its own when all of it is on the disk.

import { isMissing, placeFolder, removeFoldersLike, syncFiles } from '#disk'
import { NAMES, OUR_KIND, newLevel } from './levels.js'

/**
 * Several processes may do this at a time: the first to be done gives a database its name.
 *
 * @param {string} location  a directory, made when it is missing
 * @param {{ sync: boolean }} options  `sync`: what is made outlasts a power cut
 */
export async function makeMissing (location, { sync }) {
  if (OUR_KIND !== 'LevelDB') return
  for (const name of NAMES) {
    const path = `${location}/${name}`
    if (!await isMissing(path)) continue
    const draft = `${path}.making-${Math.random().toString(36).slice(2)}`
    const level = newLevel(name, draft)
    await level.open()
    await level.close()
    if (sync) await syncFiles(draft)
    await placeFolder(draft, path, { sync })
    await removeFoldersLike(location, `${name}.making-`)
  }
}
