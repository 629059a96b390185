// Finds out which parts of a store are in its directory, before LevelDB opens them. Where LevelDB does not find a
// database, it makes one. LevelDB takes a folder without the file CURRENT for a new database, and deletes everything in
// it. But if the index was lost, or belongs to another store, opening it beside the data would make all data orphans.
//
// LevelDB ignores files with unknown names. So the folder of each database also has an empty file, whose name says
// which store the database belongs to.

import { randomBytes } from 'node:crypto'
import { opendir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { isId } from '../blob-folder.js'
import { unlessMissing } from '../folders.js'

/** The files that LevelDB leaves in a folder even if it does not make a database there. */
const TRACE = /^(LOCK|LOG|LOG\.old)$/
const TABLE = /^\d+\.(ldb|sst)$/
const STORE_ID = /^STORE-([0-9a-f]{16})$/
/** The files of a database. */
const LOG = /^\d+\.log$/
const FILES = [TABLE, LOG, STORE_ID, /^(CURRENT|MANIFEST-\d+)$/]

/**
 * @typedef {object} LevelPart  the state of the folder of a database
 * @property {'none' | 'whole' | 'broken' | 'foreign'} state  `none`: nobody has made a database there. `whole`: LevelDB
 *   can open it, unless its files are damaged. `broken`: it lacks the file CURRENT, or the manifest that CURRENT names.
 *   `foreign`: the files are not those of a database
 * @property {boolean} hasEntries  true if the database may have entries
 * @property {string} [storeId]  the id of its store; undefined when the folder has none
 */

/**
 * @typedef {{ index: LevelPart, data: LevelPart, hasBlobs: boolean }} Parts  `hasBlobs`: true if the store has blob
 *   files
 */

/** Returns true if there is a store, or a part of one. @param {string} location */
export async function isStoreAt (location) {
  const { index, data, hasBlobs } = await partsOf(location)
  return hasBlobs || [index, data].some(({ state }) => state === 'whole' || state === 'broken')
}

/**
 * Looks for parts that are lost, or that belong to different stores.
 *
 * @param {string} location  of a store
 * @returns {Promise<Error | undefined>} why the store cannot be opened
 */
export async function openingFault (location) {
  const find = async () => {
    const parts = await partsOf(location)
    return foreignFault(parts) ?? brokenFault(parts) ?? lossFault(parts)
  }
  // Another process may be making the store right now. Then the second look finds everything.
  const fault = await find() === undefined ? undefined : await find()
  return fault === undefined ? undefined : new Error(fault)
}

/**
 * Looks for files that a rescue must not replace.
 *
 * @param {string} location  of a store
 * @returns {Promise<Error | undefined>} why the store cannot be rescued
 */
export async function rescueFault (location) {
  const parts = await partsOf(location)
  const isNothing = parts.index.state === 'none' && parts.data.state === 'none' && !parts.hasBlobs
  const fault = isNothing ? 'neither of its databases has any files: check the path' : foreignFault(parts)
  return fault === undefined ? undefined : new Error(fault)
}

/** Returns the id of a store, or a new random one. @param {string} location */
export async function storeIdOf (location) {
  const { index, data } = await partsOf(location)
  return index.storeId ?? data.storeId ?? randomBytes(8).toString('hex')
}

/** Notes which store a database belongs to. @param {string} path  of its folder @param {string} storeId */
export const nameStore = (path, storeId) => writeFile(`${path}/STORE-${storeId}`, '')

const RESCUE = 'call BlobStore.rescue'

/** @param {Parts} parts */
function foreignFault ({ index, data }) {
  for (const [name, { state }] of Object.entries({ index, data })) {
    if (state === 'foreign') return `its folder '${name}' has files that are not those of a database: move them away`
  }
  const areOfTwo = index.storeId !== undefined && data.storeId !== undefined && index.storeId !== data.storeId
  return areOfTwo ? 'its index and its data belong to different stores: put the right one in its place' : undefined
}

/** @param {Parts} parts */
function brokenFault ({ index, data }) {
  for (const [name, { state }] of Object.entries({ index, data })) {
    if (state === 'broken') return `its ${name} lacks the file CURRENT, or the manifest it names: ${RESCUE}`
  }
}

/** @param {Parts} parts */
function lossFault ({ index, data, hasBlobs }) {
  if (index.state === 'whole' && data.state === 'whole') return undefined
  if (data.state === 'whole') return `its index is missing: ${RESCUE}`
  // The index is made before the data. So an index without entries may exist without data.
  if (index.state === 'whole') return index.hasEntries || hasBlobs ? `its data is missing: ${RESCUE}` : undefined
  return hasBlobs ? `its index and its data are missing: ${RESCUE}` : undefined
}

/** @param {string} location @returns {Promise<Parts>} */
async function partsOf (location) {
  const [index, data] = await Promise.all(['index', 'data'].map(name => lookAt(`${location}/${name}`)))
  return { index, data, hasBlobs: await hasBlobFiles(`${location}/blobs`) }
}

/** @param {string} path  of the folder of a database; may be missing @returns {Promise<LevelPart>} */
async function lookAt (path) {
  const names = (await readdir(path).catch(unlessMissing) ?? []).filter(name => !TRACE.test(name))
  if (names.length === 0) return { state: 'none', hasEntries: false }
  if (!names.some(name => FILES.some(file => file.test(name)))) return { state: 'foreign', hasEntries: false }
  const current = names.includes('CURRENT') && await readFile(`${path}/CURRENT`, 'utf8').catch(unlessMissing)
  const logs = names.filter(name => LOG.test(name)).map(name => `${path}/${name}`)
  const hasEntries = names.some(name => TABLE.test(name)) || (await Promise.all(logs.map(isFilled))).includes(true)
  const [storeId] = names.flatMap(name => STORE_ID.exec(name)?.[1] ?? [])
  return { state: current && names.includes(current.trim()) ? 'whole' : 'broken', hasEntries, storeId }
}

/** @param {string} path  of a log */
const isFilled = path => stat(path).then(({ size }) => size > 0, () => false)

/** @param {string} path  may be missing */
async function hasBlobFiles (path) {
  const folder = await opendir(path).catch(unlessMissing)
  if (folder === undefined) return false
  for await (const entry of folder) if (entry.isFile() && isId(entry.name)) return true
  return false
}
