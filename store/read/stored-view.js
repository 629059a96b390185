// A view of a stored blob for one reader: its bytes, which `isRight` compares with the tree, and its pairs. When the
// blob changes or is deleted, the view stays the same.

import { contentOf } from '../storage/content/content-of.js'
import { StoredOutboard } from '../storage/content/tree-pages.js'
import { VIEWS } from '../storage/format/keys.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { RandomAccess } from '../../lib/core/types.js' */
/** @import { TrustedTree } from './verified/trusted-trees.js' */

const CALM_LEN = 1 << 17

export class StoredView {
  #databases
  #root
  #record
  #tree
  #snapshot = /** @type {{ close (): Promise<void> } | undefined} */ (undefined)
  #options = /** @type {object | undefined} */ (undefined)

  /**
   * Returns options that make reads see the database as it was at the first read. If a database does not have
   * snapshots (IndexedDB), the read fails when the blob is deleted. The snapshot is made only when it is needed,
   * because many small reads of a blob in a file do not read the database.
   */
  #snapshotWhenNeeded = () => {
    const { data } = this.#databases
    this.#snapshot ??= data.supports.explicitSnapshots ? data.snapshot() : undefined
    this.#options ??= this.#snapshot === undefined ? VIEWS : { ...VIEWS, snapshot: this.#snapshot }
    return this.#options
  }

  /** Where the bytes are read from. */
  source

  /**
   * @param {Databases} databases
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {TrustedTree} tree
   * @param {[start: number, end: number]} span  bytes; the reader reads only these
   */
  constructor (databases, root, record, tree, span) {
    this.#databases = databases
    this.#root = root
    this.#record = record
    this.#tree = tree
    this.source = contentOf(databases, root, record).reader(span, this.#snapshotWhenNeeded)
  }

  /**
   * A source of the same bytes that reads at most 128 KiB at a time and never ahead, so that a waiting reader holds
   * little memory.
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
  get outboard () {
    return new StoredOutboard(this.#databases.data, this.#root, this.#record, this.#snapshotWhenNeeded())
  }

  /** @param {Uint8Array} bytes @param {number} start  see `TrustedTree.isRight` */
  isRight (bytes, start) { return this.#tree.isRight(bytes, start, this.#databases.data, this.#snapshotWhenNeeded) }

  /** @param {number} start @param {number} end  see `TrustedTree.expected` */
  expected (start, end) { return this.#tree.expected(start, end, this.#databases.data, this.#snapshotWhenNeeded) }

  async close () {
    await this.source.close()
    await this.#snapshot?.close()
  }
}
