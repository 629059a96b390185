// Recovers a store that was not closed: completes deletions, and finds the next free id. If the store was closed,
// reading all records is not necessary. check/orphans.js restores or deletes orphans.

import { absentError, eachReadable, orIfUnreadable, unknownLayout } from '../errors.js'
import { recordedIds } from './recorded-ids.js'
import { VIEWS, allDeletions, idOfKey } from '../format/keys.js'
import { LAYOUT_VERSION, decodeDeletion } from '../format/records.js'

/** @import { Databases } from '../databases.js' */
/** @import { Recorded } from './recorded-ids.js' */

/**
 * @typedef {{ recorded: Recorded, swept: number }} Leftovers  tells where an earlier process may have left orphans:
 *   under ids that are not in `recorded`, from `swept` on. Every id below `swept` has a record or no data
 */

/**
 * Reads the state, recovers the store if it was not closed, and sets which ids are free.
 *
 * An index may have lost records if it lacks its state, or if there is data under an id that it has not given out. Such
 * an index was damaged, is an older copy, or belongs to another store. Then nothing is swept, and no state is written
 * until `fsck` has looked at all data.
 *
 * @param {Databases} databases  open, and not in use yet
 * @param {{ create: boolean, isRescue: boolean, takesLostIndex: boolean, signal?: AbortSignal }} options  see
 *   `openHeld`. `takesLostIndex`: true to accept an index without entries even though there is data
 * @returns {Promise<Leftovers | undefined>} for `Orphans.sweepLeftovers`; undefined when there is nothing to sweep
 * @throws {BaoError} STORE_ABSENT, STORE_VERSION
 */
export async function recover (databases, { create, isRescue, takesLostIndex, signal }) {
  const { index, ids, location } = databases
  const { isThere, state } = await ids.stored()
  const isEmpty = !isThere && (await index.keys({ limit: 1, ...VIEWS }).all()).length === 0
  const { given, taken } = await idsAfterData(databases)
  if (isEmpty && given > 0 && !takesLostIndex) throw new Error('its index has lost all entries: call BlobStore.rescue')
  if (isEmpty && !create) throw absentError(location)
  if (state !== undefined && state.version !== LAYOUT_VERSION) throw unknownLayout(location, state.version)
  const isWhole = state === undefined ? isEmpty && given === 0 : given <= state.nextId
  const swept = state?.swept ?? 0
  // LevelDB may have lost the last state and show an older one. So the records tell which ids are in use.
  const recorded = state?.isClean && isWhole ? undefined : await recordedIds(index, signal)
  const next = Math.max(state?.nextId ?? 0, taken, recorded?.after ?? 0)
  await finishDeletions(databases)
  const mustSweep = !isRescue && isWhole && recorded !== undefined
  await ids.begin({ next, swept, isSwept: !mustSweep, isWhole })
  return mustSweep ? { recorded, swept } : undefined
}

/**
 * @param {Databases} databases
 * @returns {Promise<{ given: number, taken: number }>} `given`: the id after the highest one that has data. `taken`:
 *   the id after that one and after all numbers that name other things in the folder of blob files
 */
async function idsAfterData ({ data, files }) {
  let [given, taken] = [0, 0]
  for (const { id, isFile } of await files?.names() ?? []) {
    taken = Math.max(taken, id + 1)
    if (isFile) given = Math.max(given, id + 1)
  }
  for await (const key of data.keys({ reverse: true, ...VIEWS })) {
    const id = idOfKey(key)
    if (id === undefined) continue
    given = Math.max(given, id + 1)
    break
  }
  return { given, taken: Math.max(given, taken) }
}

/** @param {Databases} databases */
async function finishDeletions (databases) {
  for await (const [key, value] of eachReadable(databases.index.iterator({ ...allDeletions, ...VIEWS }))) {
    const givenUp = decodeDeletion(key, value)?.map(id => ({ id }))
    if (givenUp === undefined) continue
    databases.noteDeletion(givenUp)
    await orIfUnreadable(databases.deleteGivenUp(givenUp)) // If it fails, the note stays.
  }
  await databases.dropNotes()
}
