// Recovers a store that was not closed: completes deletions, deletes orphans, and finds the next free id. A store that
// was closed is opened without a look at all of it.

import { absentError, eachReadable, orIfUnreadable, unknownLayout } from '../errors.js'
import { cutOffBases, recordedIds, sweepOrphans } from './orphan-sweep.js'
import { VIEWS, allDoomed, idOfKey } from '../format/keys.js'
import { LAYOUT_VERSION, decodeDoomed } from '../format/records.js'

/** @import { Databases } from '../databases.js' */

/**
 * Reads the state, recovers the store if it was not closed, and sets which ids are free.
 *
 * @param {Databases} databases  open, and not in use yet
 * @param {{ create: boolean, sweeps: boolean, signal?: AbortSignal }} options  see `openHeld`
 * @throws {BaoError} STORE_ABSENT, STORE_VERSION
 */
export async function recover (databases, { create, sweeps, signal }) {
  const { index, ids, location } = databases
  const { isThere, state } = await ids.stored()
  if (!isThere && !create && (await index.keys({ limit: 1, ...VIEWS }).all()).length === 0) throw absentError(location)
  if (state !== undefined && state.version !== LAYOUT_VERSION) throw unknownLayout(location, state.version)
  const swept = state?.swept ?? 0
  // LevelDB may have lost the last state and show an older one, so look at the records for the ids that are in use.
  const recorded = state?.isClean ? undefined : await recordedIds(index, signal)
  const next = Math.max(state?.nextId ?? 0, await idAfterData(databases), recorded?.after ?? 0)
  await deleteAllDoomed(databases)
  // A store that has lost its state may have lost records, too: `fsck` decides what to do with their data.
  const isSettled = (/** @type {number} */ id) => id >= swept
  const isSwept = !sweeps || state === undefined || recorded === undefined ||
    await sweepOrphans(databases, recorded, isSettled, signal)
  if (sweeps && state !== undefined && recorded !== undefined) await cutOffBases(databases, recorded, signal)
  await ids.begin({ next, swept, isSwept })
}

/** An id greater than any that has data. @param {Databases} databases */
async function idAfterData ({ data, files }) {
  const idAfterFiles = (await files?.names() ?? []).reduce((after, { id }) => Math.max(after, id + 1), 0)
  for await (const key of data.keys({ reverse: true, ...VIEWS })) {
    const id = idOfKey(key)
    if (id !== undefined) return Math.max(idAfterFiles, id + 1)
  }
  return idAfterFiles
}

/** @param {Databases} databases */
async function deleteAllDoomed (databases) {
  for await (const [key, value] of eachReadable(databases.index.iterator({ ...allDoomed, ...VIEWS }))) {
    const doomed = decodeDoomed(key, value)?.map(id => ({ id }))
    if (doomed === undefined) continue
    databases.doom(doomed)
    await orIfUnreadable(databases.deleteDoomed(doomed)) // When it fails, the note stays.
  }
  await databases.dropNotes()
}
