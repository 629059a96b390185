// The state of a slice that is being received: its verifier, the groups that the slice has proven, and the file for
// their bytes if the blob is in a file.

import { BaoError } from '../../../lib/core/errors.js'
import { toCid } from '../../../lib/hash/cid.js'
import { ProvenGroups } from './proven-groups.js'
import { SliceVerifier } from '../../../verifier/slice/slice.js'

/** @import { ProvenBatch } from './proven-groups.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { FileWriter } from '../../storage/disk/file-writer.js' */
/** @import { SliceOptions } from '../../../verifier/slice/slice.js' */

export class IncomingSlice {
  #databases
  root
  groups = new ProvenGroups()
  /** @type {SliceVerifier} */
  verifier
  #onKept
  /** Marked bytes of this slice that were missing before. */
  len = 0
  /** True if the blob is complete now. */
  complete = false
  /** The file for the bytes. `isNamed`: true if its name is synced, or the store does not sync. */
  #file = /** @type {{ id: number, writer: FileWriter, isNamed: boolean } | undefined} */ (undefined)
  /** True if the system has failed to sync the file. */
  isUnsure = false

  /**
   * @param {Databases} databases @param {SliceOptions & { cid: Uint8Array }} options
   * @param {(len: number) => void} [onKept]  called each time bytes are marked, with how many of them were missing
   *   before
   */
  constructor (databases, options, onKept = () => {}) {
    this.#databases = databases
    this.#onKept = onKept
    this.root = options.cid
    this.verifier = new SliceVerifier(options, {
      pair: (node, at) => this.groups.pair(node, at),
      leaf: (start, memory, at, len) => {
        const size = /** @type {number} */ (this.verifier.size)
        this.groups.leaf(start, memory, at, len, size)
      }
    })
  }

  /** Counts bytes that were missing and are marked now. @param {number} len */
  kept (len) {
    this.len += len
    this.#onKept(len)
  }

  /**
   * Writes the batches whose bytes are still in memory to a file.
   *
   * @param {number} id  the file's id
   * @param {ProvenBatch[]} batches
   * @param {{ hasFailed?: boolean }} options  `hasFailed`: give up bytes that cannot be written. Default: false
   * @param {{ hasFile: boolean }} [pending]  the blob, if it has no record yet
   */
  async writeToFile (id, batches, options, pending) {
    const held = batches.filter(batch => batch.isHeld)
    if (held.length === 0) return
    const { files, isSync } = this.#databases
    if (files === undefined) throw new Error('a blob is in a file, and this store has no files')
    if (this.#file?.id !== id) {
      await this.close()
      const writer = await files.writer(id, { isNew: pending?.hasFile === false }).catch(error => this.#blame(error))
      this.#file = { id, writer, isNamed: !isSync }
      if (pending !== undefined) pending.hasFile = true
    }
    const file = this.#file
    if (!file.isNamed) await files.sync()
    file.isNamed = true
    for (const batch of held) await this.groups.moveToFile(batch, file.writer, id, options)
  }

  /** Adds the blob's CID to the error of a file that cannot be opened. @param {unknown} error @returns {never} */
  #blame (error) {
    if (error instanceof BaoError) error.cid = toCid(this.root)
    throw error
  }

  /**
   * Syncs the file, so that its bytes survive a power cut. When that fails, nobody knows which bytes are on the disk,
   * because the system forgets which ones it could not write.
   */
  async sync () {
    try {
      await this.#file?.writer.sync()
    } catch (error) {
      this.isUnsure = true
      throw error
    }
  }

  async close () {
    const file = this.#file
    this.#file = undefined
    await file?.writer.close()
  }
}
