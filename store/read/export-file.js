// Writes a whole blob to a file. A blob that has a file of its own in the store can also be linked or cloned.

import { shareFile } from '#disk'
import { replaceFile } from '#files'
import { areEqual } from '../../lib/core/bytes.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { hashStream } from '../../lib/parallel/hash-source.js'
import { deleteBlob } from '../catalog/calls/delete.js'
import { contentOf } from '../storage/content/content-of.js'
import { tagged } from '../storage/errors.js'

/** @import { BlobName } from '../blob-store.js' */
/** @import { StoreContext } from '../store-context.js' */
/** @import { BlobReader } from './reader.js' */
/** @import { ProgressEvent, ProgressOptions } from '../../lib/core/types.js' */

/**
 * @typedef {object} ExportFileOptions
 * @property {'copy' | 'link' | 'reflink' | 'move'} [mode]  how a blob above 1 MiB gets into the file, where the store
 *   and the system can do it. `reflink`: the file shares the disk's blocks with the store until one of them is changed.
 *   `link`: the file is the store's under another name, so do not change it. `move`: as `link`, and the blob is deleted
 *   from the store. Default: `copy`
 * @property {boolean} [verify]  compare the bytes with the hash? Default: true
 * @property {'sync' | 'process'} [durability]  what the file survives: `sync` a power cut, `process` the end of the
 *   process. Default: what blobs of the store survive
 * @property {AbortSignal} [signal]
 * @property {ProgressOptions['onProgress']} [onProgress]  gets `baobox:export`, while bytes are copied
 */

/** The names of all options in `ExportFileOptions`. */
export const EXPORT_OPTIONS = ['mode', 'verify', 'durability', 'signal', 'onProgress']
const MODES = ['copy', 'link', 'reflink', 'move']

/**
 * See `BlobStore.exportFile`.
 *
 * @param {StoreContext} store
 * @param {BlobName} cid @param {string | URL} path @param {ExportFileOptions} options
 * @returns {Promise<{ size: number }>}
 */
export async function exportFile (store, cid, path, options) {
  const { mode = 'copy', verify = true, durability, signal, onProgress } = options
  if (!MODES.includes(mode)) {
    throw new TypeError(`"mode" expected 'copy', 'link', 'reflink' or 'move', got '${mode}'`)
  }
  if (![undefined, 'sync', 'process'].includes(durability)) {
    throw new TypeError(`"durability" expected 'sync' or 'process', got '${durability}'`)
  }
  const root = parseRoot(cid, 'cid')
  const { databases, protection, reader, tags } = store
  const sync = durability === undefined ? databases.isSync : durability === 'sync'
  if (mode === 'move') {
    databases.assertWritable()
    const { isTagged, name } = await tags.tagOf(root)
    if (isTagged) throw tagged(root, name)
  }
  const release = protection.use(root)
  try {
    const shared = mode === 'copy' ? undefined : await share(store, root, path, { mode, verify, sync, signal })
    const size = shared ?? await replaceFile(path, pieces(reader, root, { verify, signal, onProgress }), { sync })
    if (mode === 'move') await deleteBlob(store, root, {})
    return { size }
  } finally {
    release()
  }
}

/**
 * @param {StoreContext} store @param {Uint8Array} root @param {string | URL} path
 * @param {{ mode: 'link' | 'reflink' | 'move', verify: boolean, sync: boolean, signal?: AbortSignal }} options
 * @returns {Promise<number | undefined>} bytes; undefined when the blob must be copied
 */
async function share ({ catalog, databases }, root, path, { mode, verify, sync, signal }) {
  const record = await catalog.get(root)
  if (record === undefined) return undefined // The read that copies it may fetch it.
  const own = await contentOf(databases, root, record).ownFile()
  if (own === undefined) return undefined
  // While the file has a second name, nothing is appended to it. It may have grown before it got that name.
  const isStill = async () => {
    const { record: now } = await catalog.find(root)
    return now !== undefined && await contentOf(databases, root, now).ownFile() === own
  }
  /** @param {string} made */
  const isRight = async made =>
    (!verify || areEqual(await hashStream(made, { signal }), 0, root)) && isStill()
  const way = mode === 'reflink' ? mode : 'link'
  return await shareFile(own, path, { mode: way, sync, isRight }) ? record.size : undefined
}

/**
 * @param {BlobReader} reader @param {Uint8Array} root
 * @param {{ verify: boolean, signal?: AbortSignal, onProgress?: ProgressOptions['onProgress'] }} options
 */
async function * pieces (reader, root, { verify, signal, onProgress }) {
  /** @param {ProgressEvent} event */
  const tell = ({ detail }) => onProgress?.({ type: 'baobox:export', detail })
  yield * reader.get(root, { verify, reuse: true, signal, onProgress: tell })
  signal?.throwIfAborted()
}
