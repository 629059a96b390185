// Opens a store for reading, and leaves its directory as it is. LevelDB writes when it opens a database. So this module
// copies the two databases to a temporary folder, and opens the copies. The files of large blobs are read in place.
//
// Another process may have the store open. The index is copied before the data, because a store writes data before the
// record that names it. So the copy has the data of each of its records, unless the other process has deleted the blob.

import {
  checkDatabase, copyLive, identityOf, isStoreAt, makeCopyFolder, moveFolder, openingFault, readFolder, realPath,
  removeFolder, stampOf
} from '#disk'
import { describe } from '../../../lib/core/bytes.js'
import { BaoError } from '../../../lib/core/errors.js'
import { Databases } from '../databases.js'
import { absentError, unknownLayout } from '../errors.js'
import { LAYOUT_VERSION } from '../format/records.js'
import { NAMES, OUR_KIND, levelsAt } from '../level/levels.js'
import { assertOwnFolders, notOpened } from './open.js'
import { copyReadable } from './copy-readable.js'
import { isHalfReplaced } from './rescue.js'

/**
 * See `BlobStore.open`.
 *
 * @param {unknown} where  a directory
 * @param {{ tempDir?: string, signal?: AbortSignal }} options
 * @returns {Promise<Databases>}
 * @throws {BaoError} STORE_ABSENT, STORE_VERSION, STORE_OPEN_FAILED, STORE_FULL
 */
export async function openReadOnly (where, { tempDir, signal }) {
  if (typeof where !== 'string') throw new TypeError(`"where" expected a directory, got ${describe(where)}`)
  if (OUR_KIND !== 'LevelDB') throw new TypeError('"readOnly" expected a store in files: there are none here')
  await assertReadable(where)
  const copy = await makeCopyFolder(tempDir)
  try {
    return await openCopy(where, copy, signal)
  } catch (error) {
    await removeFolder(copy)
    signal?.throwIfAborted()
    throw error instanceof BaoError ? error : notOpened('open', where, error)
  }
}

/** @param {string} location @throws {BaoError} STORE_ABSENT, STORE_OPEN_FAILED */
async function assertReadable (location) {
  if (!await isStoreAt(location)) throw absentError(location)
  await assertOwnFolders(location)
  // A rescue leaves the old databases in place until the new ones are complete.
  const fault = await isHalfReplaced(location) ? halfReplaced() : await openingFault(location)
  if (fault !== undefined) throw notOpened('open', location, fault)
}

const halfReplaced = () =>
  new Error('its rescue has not replaced both of its databases yet: if it was interrupted, call BlobStore.rescue again')

/**
 * @param {string} location @param {string} copy  a new folder @param {AbortSignal} [signal]
 * @returns {Promise<Databases>} databases that remove the folder when they are closed
 */
async function openCopy (location, copy, signal) {
  const path = await realPath(location)
  const originals = NAMES.map(name => `${path}/${name}`)
  const stamp = await stampOf(originals)
  const identities = () => Promise.all(originals.map(identityOf))
  const before = await identities()
  for (const name of NAMES) await copyLive(`${path}/${name}`, `${copy}/${name}`, signal)
  if (await isHalfReplaced(location) || `${await identities()}` !== `${before}`) throw halfReplaced()
  let lostBytes = 0
  for (const name of NAMES) lostBytes += await restoreCopy(name, `${copy}/${name}`, signal)
  const databases = new Databases(levelsAt(copy), {
    location, path, isSync: false, kind: OUR_KIND, isReadOnly: true, release: () => removeFolder(copy)
  })
  databases.lostBytes = lostBytes
  databases.files = readFolder(`${path}/blobs`, location)
  databases.hasChanged = async () => await stampOf(originals) !== stamp
  const { index, data, ids } = databases
  try {
    await index.open()
    await data.open()
    const { state } = await ids.stored()
    if (state !== undefined && state.version !== LAYOUT_VERSION) throw unknownLayout(location, state.version)
    return databases
  } catch (error) {
    await Promise.allSettled([index.close(), data.close()])
    throw error
  }
}

/**
 * If a copy is damaged, replaces it with a new database of all readable entries, because LevelDB must not read damaged
 * tables.
 *
 * @param {'index' | 'data'} name @param {string} path  of the copy @param {AbortSignal} [signal]
 * @returns {Promise<number>} bytes in which nothing could be read
 */
async function restoreCopy (name, path, signal) {
  const { fault } = await checkDatabase(path, { forgivesValues: name === 'data', checksOrder: true, signal })
  if (fault === undefined) return 0
  const damaged = `${path}.damaged`
  await moveFolder(path, damaged)
  const lostBytes = await copyReadable(name, { from: damaged, to: path, change: entry => entry, signal })
  await removeFolder(damaged)
  return lostBytes
}
