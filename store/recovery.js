// What an interrupted life left behind is put in order whenever a store is opened: deletions are ended, data that no record speaks of goes, and no id
// that is in use is given away again. After a clean end there is nothing of that, and nothing is looked through.

import { absent, eachReadable, readable } from './faults.js'
import { isInOrder } from './order.js'
import { upgrade } from './layout.js'
import { VIEWS, allBlobs, allDoomed, allOfIndex, decodeDoomed, decodeRecord, hashOfKey, idOfKey, isKnownKind, isSoundNote } from './keys.js'

/** @import { Databases } from './databases.js' */
/** @import { Database } from './levels.js' */

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
  if (state !== undefined) await upgrade(index, state.version, location)
  const swept = state?.swept ?? 0
  // The state may be one that LevelDB had replaced long ago and lost the later one of: no id that is in use is given away.
  const { behind, ...recorded } = state?.isClean ? { behind: 0 } : await recordedIds(index, swept, signal)
  const next = Math.max(state?.nextId ?? 0, await idBehindData(databases), behind)
  await deleteAllDoomed(databases)
  // Who has lost the state may have lost records too: then what has none is for `fsck` to judge.
  const isSwept = !sweeps || state === undefined || state.isClean || await sweep(databases, swept, recorded, signal)
  await ids.begin({ next, swept, isSwept })
}

/**
 * @typedef {object} Recorded
 * @property {Set<number>} [ids]  that have records, of those that were not looked at before; undefined when a record is damaged
 * @property {Set<number>} [packs]  that records name
 */

/**
 * @param {Database} index
 * @param {number} swept  ids below need not be looked at
 * @param {AbortSignal} [signal]
 * @returns {Promise<Recorded & { behind: number }>} `behind`: an id behind all
 */
async function recordedIds (index, swept, signal) {
  const [ids, packs] = [new Set(), new Set()]
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
      if (record.id >= swept) ids.add(record.id)
      if (record.home === 'pack') packs.add(record.id)
    }
  }
  return { ids: isDamaged ? undefined : ids, packs, behind }
}

/** An id greater than any that has data. @param {Databases} databases */
async function idBehindData ({ data, files, packs }) {
  const inFiles = [...(await files?.names() ?? []).map(({ id }) => id), ...await packs?.ids() ?? []]
  const behindFiles = inFiles.reduce((behind, id) => Math.max(behind, id + 1), 0)
  for await (const key of data.keys({ reverse: true, ...VIEWS })) {
    const id = idOfKey(key)
    if (id !== undefined) return Math.max(behindFiles, id + 1)
  }
  return behindFiles
}

/** @param {Databases} databases */
async function deleteAllDoomed (databases) {
  const packs = new Set(await databases.packs?.ids())
  for await (const [key, value] of eachReadable(databases.index.iterator({ ...allDoomed, ...VIEWS }))) {
    const id = decodeDoomed(key, value)
    if (id === undefined) continue
    await readable(packs.has(id) ? databases.deletePack(id) : databases.deleteDoomed([id])) // else the note stays
  }
}

/**
 * Deletes data that no record speaks of: of puts that did not end.
 *
 * @param {Databases} databases
 * @param {number} from  an id
 * @param {Recorded} recorded  ids from there on that have records
 * @param {AbortSignal} [signal]
 * @returns {Promise<boolean>} false when that cannot be told
 */
async function sweep (databases, from, { ids, packs: named = new Set() }, signal) {
  if (ids === undefined) return false
  const isLeft = (/** @type {number} */ id) => id >= from && !ids.has(id)
  // What LevelDB cannot read is left for `fsck`: it is no reason not to open.
  const leftovers = (await databases.files?.ids() ?? []).filter(isLeft)
  for await (const { id } of databases.dataIds(from)) if (id !== undefined && isLeft(id)) leftovers.push(id)
  const packs = await databases.packs?.ids() ?? []
  const leftPacks = packs.filter(isLeft)
  if (leftovers.length === 0 && leftPacks.length === 0) return true
  // One flipped bit in a table of LevelDB may hide records, or make something else of them: their data would be swept away with what nobody misses.
  if (!(await isInOrder(databases.index, signal) && await isIndexKnown(databases.index, signal))) return false
  // Records that name packs which are gone are older than the packs: what they say may be in one that no record names.
  for (const id of packs) named.delete(id)
  if (leftPacks.length > 0 && named.size > 0) return false
  for (const id of leftovers) await readable(databases.deleteData(id))
  for (const id of leftPacks) await readable(databases.deletePack(id))
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
