// What one reader sees of a stored blob, whatever happens to it meanwhile.

import { ExtentReader } from './extents.js'
import { StoredOutboard } from './pages.js'
import { VIEWS } from './databases.js'

/** @import { Database } from './databases.js' */
/** @import { BlobRecord } from './keys.js' */

export class StoredView {
  #snapshot
  /** The bytes, and the pairs. Nothing in them is believed yet. */
  source
  outboard

  /**
   * @param {Database} data
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {number} start  bytes; nothing before is read
   * @param {number} end  bytes; nothing behind is read
   */
  constructor (data, root, record, start, end) {
    // Without snapshots (IndexedDB), a reader whose blob is deleted finds that out.
    this.#snapshot = data.supports.explicitSnapshots ? data.snapshot() : undefined
    const options = this.#snapshot === undefined ? VIEWS : { ...VIEWS, snapshot: this.#snapshot }
    this.source = new ExtentReader(data, record, start, end, options)
    this.outboard = new StoredOutboard(data, root, record, options)
  }

  async close () {
    await this.source.close()
    await this.#snapshot?.close()
  }
}
