// What one reader sees of a stored blob, whatever happens to the blob meanwhile: its bytes, which `isRight` compares
// with the tree, and its pairs.

import { ExtentReader } from '../storage/content/extents.js'
import { FileReader } from '../storage/content/stored-file.js'
import { StoredOutboard } from '../storage/content/tree-pages.js'
import { VIEWS } from '../storage/format/keys.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { RandomAccess } from '../../lib/core/types.js' */
/** @import { TrustedTree } from './verified/tree-cache.js' */

const CALM_LEN = 1 << 17

export class StoredView {
  #databases
  #root
  #record
  #tree
  #snapshot = /** @type {{ close (): Promise<void> } | undefined} */ (undefined)
  #options = /** @type {object | undefined} */ (undefined)
  /** The bytes. */
  source

  /**
   * @param {Databases} databases
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {TrustedTree} tree
   * @param {[start: number, end: number]} span  bytes; nothing elsewhere is read
   */
  constructor (databases, root, record, tree, [start, end]) {
    this.#databases = databases
    this.#root = root
    this.#record = record
    this.#tree = tree
    this.source = sourceOf(databases, root, record, [start, end], record.home === 'extents' ? this.#state : VIEWS)
  }

  /**
   * The bytes, read at most 128 KiB at a time and never ahead. A reader that has to wait holds little then.
   *
   * @returns {RandomAccess}
   */
  get calmSource () {
    const { source, size } = this
    return { size, read: (start, end) => source.read(start, Math.min(end, start + CALM_LEN)) }
  }

  /** Bytes of the blob; a claim unless the record says otherwise. */
  get size () { return this.#record.size }

  /** The pairs. */
  get outboard () { return new StoredOutboard(this.#databases.data, this.#root, this.#record, this.#state) }

  /** @param {Uint8Array} bytes @param {number} start  see `TrustedTree.isRight` */
  isRight (bytes, start) { return this.#tree.isRight(bytes, start, this.#databases.data, () => this.#state) }

  /** @param {number} start @param {number} end  see `TrustedTree.expected` */
  expected (start, end) { return this.#tree.expected(start, end, this.#databases.data, () => this.#state) }

  async close () {
    await this.source.close()
    await this.#snapshot?.close()
  }

  /**
   * Options that read the database as it is when it is read first. Without snapshots (IndexedDB), a reader whose blob
   * is deleted finds that out. Many small reads of a blob in a file need nothing of the database, so the snapshot
   * waits.
   */
  get #state () {
    const { data } = this.#databases
    this.#snapshot ??= data.supports.explicitSnapshots ? data.snapshot() : undefined
    this.#options ??= this.#snapshot === undefined ? VIEWS : { ...VIEWS, snapshot: this.#snapshot }
    return this.#options
  }
}

/**
 * Where the bytes of a blob are read from.
 *
 * @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record
 * @param {[start: number, end: number]} span  bytes; nothing elsewhere is read
 * @param {object} options  for the database
 */
export const sourceOf = (databases, root, record, [start, end], options) => record.home === 'extents'
  ? new ExtentReader(databases, record, start, end, options)
  : new FileReader(databases, root, record)
