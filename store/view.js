// What one reader sees of a stored blob, whatever happens to it meanwhile. Nothing in it is believed yet but what `promised` gives.

import { ExtentReader } from './extents.js'
import { FileReader } from './files.js'
import { StoredOutboard } from './pages.js'
import { VIEWS } from './databases.js'

/** @import { BlobRecord } from './keys.js' */
/** @import { Databases } from './databases.js' */
/** @import { TrustedTree } from './trusted.js' */

export class StoredView {
  #data
  #options
  #snapshot
  #tree
  /** Bytes of the blob; a claim unless the record says otherwise. */
  size
  /** The bytes, and the pairs. */
  source
  outboard

  /**
   * @param {Databases} databases
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {TrustedTree} tree
   * @param {[start: number, end: number]} span  bytes; nothing elsewhere is read
   */
  constructor (databases, root, record, tree, [start, end]) {
    const { data } = databases
    this.#data = data
    this.#tree = tree
    this.size = record.size
    // Without snapshots (IndexedDB), a reader whose blob is deleted finds that out.
    this.#snapshot = data.supports.explicitSnapshots ? data.snapshot() : undefined
    this.#options = this.#snapshot === undefined ? VIEWS : { ...VIEWS, snapshot: this.#snapshot }
    this.source = sourceOf(databases, root, record, [start, end], this.#options)
    this.outboard = new StoredOutboard(data, root, record, this.#options)
  }

  /** What the bytes of a subtree must hash to. @param {number} start @param {number} end  see `TrustedTree.promised` */
  promised (start, end) { return this.#tree.promised(start, end, this.#data, this.#options) }

  async close () {
    await this.source.close()
    await this.#snapshot?.close()
  }
}

/**
 * Where the bytes of a blob are read from.
 *
 * @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record
 * @param {[start: number, end: number]} span  bytes; nothing elsewhere is read @param {object} options  for the database
 */
export const sourceOf = (databases, root, record, [start, end], options) => record.home === 'extents'
  ? new ExtentReader(databases.data, record, start, end, options)
  : new FileReader(databases, root, record)
