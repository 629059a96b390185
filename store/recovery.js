// What an interrupted life left behind is put in order whenever a store is opened: deletions are ended, data that no record speaks of goes, and no id
// that is in use is given away again. After a clean end there is nothing of that, and nothing is looked through.

import { absent, eachReadable, readable, unknownLayout } from './faults.js'
import { isInOrder } from './order.js'
import { LAYOUT_VERSION, VIEWS, allBlobs, allDoomed, allOfIndex, decodeDoomed, decodeRecord, hashOfKey, idOfKey, isKnownKind, isSoundNote } from './keys.js'

/** @import { Databases } from './databases.js' */
/** @import { Database } from './database.js' */

/**
 * Reads the state, sees to leftovers, and begins to give away ids.
 *
 * @param {Databases} databases  which are open, and used by nobody yet
 * @param {{ create: boolean, sweeps: boolean, signal?: AbortSignal }} options  see `openHeld`
 * @throws {BaoError} STORE_ABSENT, STORE_VERSION
 */
export async function recover (databases, { create, sweeps, signal }) {
  const { index, ids, location } = databases
  const { isThere, state } = await ids.stored()
  if (!isThere && !create && (await index.keys({ limit: 1, ...VIEWS }).all()).length === 0) throw absent(location)
  if (state !== undefined && state.version !== LAYOUT_VERSION) throw unknownLayout(location, state.version)
  const swept = state?.swept ?? 0
  // The state may be one that LevelDB had replaced long ago and lost the later one of: no id that is in use is given away.
  const { recorded, behind } = state?.isClean ? { behind: 0 } : await recordedIds(index, swept, signal)
  const next = Math.max(state?.nextId ?? 0, await idBehindData(databases), behind)
  await deleteAllDoomed(databases)
  // Who has lost the state may have lost records too: then what has none is for `fsck` to judge.
  const isSwept = !sweeps || state === undefined || state.isClean || await sweep(databases, swept, recorded, signal)
  await ids.begin({ next, swept, isSwept })
}

/**
 * @param {Database} index
 * @param {number} swept  ids below need not be looked at
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ recorded?: Set<number>, behind: number }>} `recorded`: other ids that have records, undefined when a
 *   record is damaged; `behind`: an id behind all
 */
async function recordedIds (index, swept, signal) {
  const recorded = new Set()
  let behind = 0
  let isDamaged = false
  const entries = eachReadable(index.iterator({ ...allBlobs, ...VIEWS }), () => { isDamaged = true })
  for await (const [key, value] of entries) {
    signal?.throwIfAborted()
    const root = hashOfKey(key)
    const record = root && decodeRecord(root, value)
    if (record === undefined) isDamaged = true
    else {
      behind = Math.max(behind, record.id + 1)
      if (record.id >= swept) recorded.add(record.id)
    }
  }
  return { recorded: isDamaged ? undefined : recorded, behind }
}

/** An id greater than any that has data. @param {Databases} databases */
async function idBehindData ({ data, files }) {
  const behindFiles = (await files?.names() ?? []).reduce((behind, { id }) => Math.max(behind, id + 1), 0)
  for await (const key of data.keys({ reverse: true, ...VIEWS })) {
    const id = idOfKey(key)
    if (id !== undefined) return Math.max(behindFiles, id + 1)
  }
  return behindFiles
}

/** @param {Databases} databases */
async function deleteAllDoomed (databases) {
  for await (const [key, value] of eachReadable(databases.index.iterator({ ...allDoomed, ...VIEWS }))) {
    const id = decodeDoomed(key, value)
    if (id !== undefined) await readable(databases.deleteDoomed([{ id }])) // else the note stays
  }
}

/**
 * Deletes data that no record speaks of: of puts that did not end.
 *
 * @param {Databases} databases
 * @param {number} from  an id
 * @param {Set<number> | undefined} recorded  ids from there on that have records
 * @param {AbortSignal} [signal]
 * @returns {Promise<boolean>} false when that cannot be told
 */
async function sweep (databases, from, recorded, signal) {
  if (recorded === undefined) return false
  const isLeft = (/** @type {number} */ id) => id >= from && !recorded.has(id)
  // What LevelDB cannot read is left for `fsck`: it is no reason not to open.
  const leftovers = (await databases.files?.ids() ?? []).filter(isLeft)
  for await (const { id } of databases.dataIds(from)) if (id !== undefined && isLeft(id)) leftovers.push(id)
  if (leftovers.length === 0) return true
  // One flipped bit in a table of LevelDB may hide records, or make something else of them: their data would be swept away with what nobody misses.
  if (!(await isInOrder(databases.index, signal) && await isIndexKnown(databases.index, signal))) return false
  for (const id of leftovers) await readable(databases.deleteData(id))
  return true
}

/** Is there nothing in the index that was never written like that? @param {Database} index @param {AbortSignal} [signal] */
async function isIndexKnown (index, signal) {
  for await (const [key, value] of index.iterator({ ...allOfIndex, ...VIEWS })) {
    signal?.throwIfAborted()
    if (!isKnownKind(key) || !isSoundNote(key, value)) return false
  }
  return true
}
