// A slice that is being received: its verifier, what the verifier has proven, and the file that the bytes go to, if
// any.

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
  received = new ProvenGroups()
  /** @type {SliceVerifier} */
  verifier
  #onKept
  /** What came of it: bytes that were missing before, and whether the blob is complete now. */
  len = 0
  complete = false
  /** `isNamed`: the name of the file would outlast a power cut, if it has to. */
  #file = /** @type {{ id: number, writer: FileWriter, isNamed: boolean } | undefined} */ (undefined)
  /** Has the system failed to bring the file to the disk? */
  isUnsure = false

  /**
   * @param {Databases} databases @param {SliceOptions & { root: Uint8Array }} options
   * @param {(len: number) => void} [onKept]  gets the bytes that were missing before, whenever some are recorded
   */
  constructor (databases, options, onKept = () => {}) {
    this.#databases = databases
    this.#onKept = onKept
    this.root = options.root
    this.verifier = new SliceVerifier(options, {
      pair: (node, at) => this.received.pair(node, at),
      leaf: (start, memory, at, len) => {
        const size = /** @type {number} */ (this.verifier.size)
        this.received.leaf(start, memory, at, len, size)
      }
    })
  }

  /** Bytes that were missing are recorded. @param {number} len */
  kept (len) {
    this.len += len
    this.#onKept(len)
  }

  /**
   * Writes the batches whose bytes are in memory.
   *
   * @param {number} id  of the file
   * @param {ProvenBatch[]} batches
   * @param {{ hasFailed?: boolean }} options  `hasFailed`: give up what cannot be written. Default: false
   * @param {{ hasFile: boolean }} [pending]  the blob, when nothing of it is recorded yet
   */
  async spill (id, batches, options, pending) {
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
    for (const batch of held) await this.received.spill(batch, file.writer, id, options)
  }

  /** Says which blob the file is of that cannot be written to. @param {unknown} error @returns {never} */
  #blame (error) {
    if (error instanceof BaoError) error.cid = toCid(this.root)
    throw error
  }

  /**
   * Waits until what is in the file would outlast a power cut. When that fails it is unknown what would: the system
   * forgets what it could not write.
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
