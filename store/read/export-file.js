// Writes a whole blob to a file. If the blob has a file of its own in the store, that file can be linked or cloned
// instead.

import { shareFile } from '#disk'
import { replaceFile } from '#files'
import { areEqual } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { hashStream } from '../../lib/parallel/hash-source.js'
import { contentOf } from '../storage/content/content-of.js'

/** @import { BlobName } from '../blob-store.js' */
/** @import { Deleter } from '../catalog/calls/deleter.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { BlobReader } from './reader.js' */
/** @import { ProgressEvent, ProgressOptions } from '../../lib/core/types.js' */

/**
 * @typedef {object} ExportFileOptions
 * @property {'copy' | 'link' | 'reflink' | 'move'} [mode]  how a blob of more than 1 MiB gets into the file. If the
 *   store or the system cannot do that, the blob is copied. `reflink`: the file shares blocks of the disk with the
 *   store until one of the two is changed. `link`: the file is a hard link to the store's own file, so do not change
 *   it. `move`: like `link`, but the blob is deleted from the store. Default: `copy`
 * @property {boolean} [verify]  compare the bytes with the hash. Default: true
 * @property {'sync' | 'process'} [durability]  what the file survives: a power cut (`sync`), or only the end of the
 *   process (`process`). Default: the durability of the store
 * @property {AbortSignal} [signal]
 * @property {ProgressOptions['onProgress']} [onProgress]  gets `baobox:export`, while bytes are copied
 */

/** The names of all options in `ExportFileOptions`. */
const EXPORT_OPTIONS = ['mode', 'verify', 'durability', 'signal', 'onProgress']
const MODES = ['copy', 'link', 'reflink', 'move']

/**
 * @typedef {object} ExportParts
 * @property {Catalog} catalog
 * @property {Databases} databases
 * @property {Deleter} deleter
 * @property {Protection} protection
 * @property {BlobReader} reader
 */

export class FileExporter {
  #catalog
  #databases
  #deleter
  #protection
  #reader

  /** @param {ExportParts} parts */
  constructor ({ catalog, databases, deleter, protection, reader }) {
    this.#catalog = catalog
    this.#databases = databases
    this.#deleter = deleter
    this.#protection = protection
    this.#reader = reader
  }

  /**
   * See `BlobStore.exportFile`.
   *
   * @param {BlobName} cid @param {string | URL} path @param {ExportFileOptions} options
   * @returns {Promise<{ size: number }>}
   */
  async exportFile (cid, path, options) {
    assertKnownOptions(options, EXPORT_OPTIONS)
    const { mode = 'copy', verify = true, durability, signal, onProgress } = options
    if (!MODES.includes(mode)) {
      throw new TypeError(`"mode" expected 'copy', 'link', 'reflink' or 'move', got '${mode}'`)
    }
    if (![undefined, 'sync', 'process'].includes(durability)) {
      throw new TypeError(`"durability" expected 'sync' or 'process', got '${durability}'`)
    }
    const root = parseRoot(cid, 'cid')
    const sync = durability === undefined ? this.#databases.isSync : durability === 'sync'
    if (mode === 'move') {
      this.#databases.assertWritable()
      await this.#deleter.assertUntagged(root)
    }
    const release = this.#protection.use(root)
    try {
      const shared = mode === 'copy' ? undefined : await this.#share(root, path, { mode, verify, sync, signal })
      const size = shared ?? await replaceFile(path, this.#pieces(root, { verify, signal, onProgress }), { sync })
      if (mode === 'move') await this.#deleter.delete(root)
      return { size }
    } finally {
      release()
    }
  }

  /**
   * @param {Uint8Array} root @param {string | URL} path
   * @param {{ mode: 'link' | 'reflink' | 'move', verify: boolean, sync: boolean, signal?: AbortSignal }} options
   * @returns {Promise<number | undefined>} bytes; undefined when the blob must be copied
   */
  async #share (root, path, { mode, verify, sync, signal }) {
    const record = await this.#catalog.get(root)
    if (record === undefined) return undefined // The read that copies the blob may fetch it.
    const own = await contentOf(this.#databases, root, record).ownFile()
    if (own === undefined) return undefined
    // The store does not append to a file with a second name. But the file may have grown just before it got that name.
    const isStillOwnFile = async () => {
      const { record: now } = await this.#catalog.find(root)
      return now !== undefined && await contentOf(this.#databases, root, now).ownFile() === own
    }
    /** @param {string} made */
    const isRight = async made =>
      (!verify || areEqual(await hashStream(made, { signal }), 0, root)) && isStillOwnFile()
    const way = mode === 'reflink' ? mode : 'link'
    return await shareFile(own, path, { mode: way, sync, isRight }) ? record.size : undefined
  }

  /**
   * @param {Uint8Array} root
   * @param {{ verify: boolean, signal?: AbortSignal, onProgress?: ProgressOptions['onProgress'] }} options
   */
  async * #pieces (root, { verify, signal, onProgress }) {
    /** @param {ProgressEvent} event */
    const tell = ({ detail }) => onProgress?.({ type: 'baobox:export', detail })
    yield * this.#reader.get(root, undefined, { verify, reuse: true, signal, onProgress: tell })
    signal?.throwIfAborted()
  }
}
