// Downloads a blob to a file. Until the blob is whole, a store in a folder beside the file keeps its data. So the
// download is verified, survives crashes and can be resumed, like any other download.

import { PartFolder } from '#part-folder'
import { BaoError } from '../../lib/core/errors.js'
import { assertOptions } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot, toCid } from '../../lib/hash/cid.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { BlobStore } from '../../store/index.js'
import { FILE_FROM } from '../../store/interface.js'
import { BLOB_OPTIONS, download } from './download.js'

/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { DownloadResult, FileDownloadOptions } from './download.js' */

/**
 * Downloads a blob to a file, as `download` does to a store. Until the blob is whole and verified, the folder
 * `path.part` keeps it. After an interruption, the next call resumes from there. At the end, the blob replaces the
 * file. A file that has the blob already is hashed and left as it is: no mirror is asked, and `received` is 0.
 *
 * @param {BlobName} cid
 * @param {string | URL} path
 * @param {FileDownloadOptions} options
 * @returns {Promise<DownloadResult>}
 * @throws {BaoError} the errors of `download`; STORE_LOCKED while another call downloads to the same file; PATH_EXISTS
 *   { location } when `path.part` is a folder that no download has made, which stays as it is
 */
export async function downloadFile (cid, path, options) {
  assertOptions('options', options, '{ from, ... }')
  assertKnownOptions(options, BLOB_OPTIONS)
  const root = parseRoot(cid, 'cid')
  const { signal } = options
  const part = new PartFolder(path)
  let present = await part.sizeOf(root, { signal })
  const nothing = () => ({ cid: toCid(root), size: present ?? 0, received: 0, complete: true, mirrors: [] })
  if (present !== undefined && !await part.isThere()) return nothing()
  const store = await openPart(part, signal)
  let isOver = false
  try {
    await part.removeLeftovers().catch(() => {}) // leftovers do no harm
    present ??= await part.sizeOf(root, { signal }) // another call may have ended just before the opening
    if (present !== undefined) {
      isOver = true
      return nothing()
    }
    let result = await download(store, root, options)
    // The bytes of an earlier run may have been damaged since.
    const isOld = result.received < result.size
    try {
      await placeFile(store, root, part.target, { verify: isOld || result.size <= FILE_FROM, signal })
    } catch (error) {
      if (!isOld || !isDamage(error)) throw error
      await store.fsck({ repair: true, cids: [root], signal }) // damaged groups count as missing after that
      result = await download(store, root, options)
      await placeFile(store, root, part.target, { verify: result.size <= FILE_FROM, signal })
    }
    isOver = true
    return result
  } catch (error) {
    isOver = await store.list({ maxBlobs: 1 }).next().then(({ done }) => done === true, () => false)
    throw error
  } finally {
    // Without the mark, another call may open the folder that is removed, and fail.
    if (isOver) await part.end().catch(() => {})
    await store.close()
    if (isOver) await part.remove()
  }
}

/** Milliseconds between two attempts to open a folder that another download removes, and how many there are. */
const PAUSE = 20
const MAX_TRIES = 500

/**
 * Opens the store in the folder. The folder may be one that another download removes while this call opens it. Then the
 * store that was opened, or the error, means nothing.
 *
 * @param {PartFolder} part @param {AbortSignal} [signal]
 * @returns {Promise<BlobStore>}
 */
async function openPart (part, signal) {
  let create = false
  for (let tries = 1; ; tries++) {
    const folder = await part.prepare()
    if (folder !== undefined) {
      try {
        const store = await BlobStore.open(part.path, { create, signal })
        if (await part.is(folder)) return store
        await store.close().catch(() => {})
      } catch (error) {
        const { code } = /** @type {BaoError} */ (error)
        const isSame = await part.is(folder)
        create = isSame && code === 'STORE_ABSENT' // a process was killed before it had made the store
        if (code === 'STORE_LOCKED' || (isSame && !create)) throw error
      }
      await part.removeMade()
    }
    if (tries === MAX_TRIES) await part.remove() // the other download was killed before it could do that
    if (tries === 2 * MAX_TRIES) {
      const message = `other downloads make and remove ${part.path} again and again`
      throw new BaoError('STORE_LOCKED', message, { location: part.path })
    }
    await untilAborted(new Promise(resolve => setTimeout(resolve, PAUSE)), signal)
  }
}

/**
 * Puts the blob in the place of the target. Links the blob file of the store there, which takes neither time nor space.
 * Copies the blob if it does not have a file of its own, or if the system does not have links.
 *
 * @param {BlobStore} store @param {Uint8Array} root @param {string} target
 * @param {{ verify: boolean, signal?: AbortSignal }} options
 */
const placeFile = (store, root, target, options) => store.exportFile(root, target, { mode: 'link', ...options })

/** @param {unknown} error */
const isDamage = error => error instanceof BaoError && ['STORE_CORRUPT', 'STORE_MISSING'].includes(error.code)
