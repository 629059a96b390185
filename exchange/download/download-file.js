// Downloads a blob straight to a file. Until it is whole it is kept in a store of its own beside the file, so it is
// verified, survives crashes and can be resumed as any download.

import { BaoError } from '../../lib/core/errors.js'
import {
  absolute, assertFolder, isFolder, isMarkedFolder, linkFile, makeMarkedFolder, removeFolderAtOnce
} from '#disk'
import { assertOptions } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { BlobStore } from '../../store/blob-store.js'
import { contextOf } from '../../store/context-of.js'
import { BLOB_OPTIONS, download } from './download.js'

/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { DownloadResult, FileDownloadOptions } from './download.js' */

/** The file by which the folder of a part is told from the folders of others. It is there before the store is. */
const MARK = {
  name: 'unfinished-download',
  text: 'This folder has what a download of baobox has brought so far. It is deleted when the download ends.\n'
}
const ADVICE = 'move it away, or delete it'

/**
 * Downloads a blob to a file, as `download` does to a store. Until the blob is whole and verified it is kept in the
 * folder `path.part`. After an interruption the next call goes on from there. At the end the blob replaces the file.
 *
 * @param {BlobName} cid
 * @param {string | URL} path
 * @param {FileDownloadOptions} options
 * @returns {Promise<DownloadResult>}
 * @throws {BaoError} as `download`; STORE_LOCKED when the same file is being downloaded; PATH_EXISTS { location } when
 *   `path.part` is a folder that no download has made: it stays as it is
 */
export async function downloadFile (cid, path, options) {
  assertOptions('options', options, '{ from, ... }')
  assertKnownOptions(options, BLOB_OPTIONS)
  const root = parseRoot(cid, 'cid')
  const target = absolute(path)
  const part = `${target}.part`
  const { signal } = options
  await preparePlaces(target, part)
  const store = await BlobStore.open(part)
  let isOver = false
  try {
    let result = await download(store, root, options)
    if (result.received < result.size && !await isRight(store, root, signal)) {
      await store.fsck({ repair: true, cids: [root], signal }) // what is damaged is missing then
      result = await download(store, root, options)
    }
    if (!await placeFile(store, root, target, result.size)) await store.exportFile(root, target, { signal })
    isOver = true
    return result
  } catch (error) {
    isOver = await store.list({ maxBlobs: 1 }).next().then(({ done }) => done === true, () => false)
    throw error
  } finally {
    await store.close()
    // Somebody may have put another folder there meanwhile.
    if (isOver && await isMarkedFolder(part, MARK)) await removeFolderAtOnce(part)
  }
}

/**
 * Looks whether the file can be made, and makes the folder of its part, before anything is downloaded. What no download
 * has made is left alone.
 *
 * @param {string} target @param {string} part
 * @throws {Error} EISDIR, ENOTDIR; PATH_EXISTS { location }
 */
async function preparePlaces (target, part) {
  if (await isFolder(target)) {
    throw Object.assign(new Error(`${target} is a folder: give the path of a file in it`), { code: 'EISDIR' })
  }
  const isThere = await assertFolder(part).catch(cause => {
    if (cause.code !== 'ENOTDIR') throw cause
    const message = `${part} is no folder, and the download needs one there: ${ADVICE}`
    throw Object.assign(new Error(message), { code: 'ENOTDIR' })
  })
  if (!isThere) await makeMarkedFolder(part, MARK)
  if (await isMarkedFolder(part, MARK)) return
  const message = `${part} is a folder that no download has made: ${ADVICE}`
  throw new BaoError('PATH_EXISTS', message, { location: part })
}

/**
 * Are all bytes of a blob right, also those from an earlier run, which may have been damaged since?
 *
 * @param {BlobStore} store @param {Uint8Array} root @param {AbortSignal} [signal]
 */
async function isRight (store, root, signal) {
  const pieces = store.get(root, undefined, { verify: true, reuse: true, signal })
  try {
    while (!(await pieces.next()).done);
    return true
  } catch (error) {
    if (error instanceof BaoError && error.code === 'STORE_CORRUPT') return false
    throw error
  }
}

/**
 * Links the file in which the store keeps the blob to the target. That takes no time and no space.
 *
 * @param {BlobStore} store @param {Uint8Array} root @param {string} target @param {number} size
 * @returns {Promise<boolean>} false when the blob is in no file of its own, or the system has no links
 */
async function placeFile (store, root, target, size) {
  const { catalog, databases: { files } } = contextOf(store)
  const record = await catalog.get(root)
  if (record?.home !== 'file' || files === undefined || await files.len(record.id) !== size) return false
  return linkFile(files.pathOf(record.id), target)
}
