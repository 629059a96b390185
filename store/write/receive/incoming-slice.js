// Holds the state of a slice that is being received: its verifier, the groups that it has proven, and the file that the
// bytes go to, if any.

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
  /** Bytes that it brought and that were missing before. `complete`: is the blob complete now? */
  len = 0
  complete = false
  /** The file for the bytes. `isNamed`: its name survives a power cut, as far as the store must be durable. */
  #file = /** @type {{ id: number, writer: FileWriter, isNamed: boolean } | undefined} */ (undefined)
  /** Has the system failed to sync the file? */
  isUnsure = false

  /**
   * @param {Databases} databases @param {SliceOptions & { cid: Uint8Array }} options
   * @param {(len: number) => void} [onKept]  gets the bytes that were missing before, whenever some are recorded
   */
  constructor (databases, options, onKept = () => {}) {
    this.#databases = databases
    this.#onKept = onKept
    this.root = options.cid
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
   * Writes the batches whose bytes are still in memory to a file.
   *
   * @param {number} id  of the file
   * @param {ProvenBatch[]} batches
   * @param {{ hasFailed?: boolean }} options  `hasFailed`: give up bytes that cannot be written. Default: false
   * @param {{ hasFile: boolean }} [pending]  the blob, if it has no record yet
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

  /** Adds to an error which blob has the file that cannot be written to. @param {unknown} error @returns {never} */
  #blame (error) {
    if (error instanceof BaoError) error.cid = toCid(this.root)
    throw error
  }

  /**
   * Syncs the file, so that its bytes survive a power cut. When that fails, it is unknown which bytes would survive:
   * the system forgets what it could not write.
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
