// The base class of blobs that put.js writes under a new id before it commits their records.

/** @import { Home } from '../storage/format/records.js' */
/** @import { FileWriter } from '../storage/disk/file-writer.js' */

export class NewBlob {
  /** The home of the blob's bytes, for the record. @type {Home} */
  home
  /** The base whose file and pairs the blob shares, for the record; undefined for none. */
  base = /** @type {number | undefined} */ (undefined)
  /** Bytes that the blob shares with blobs that the store already has. */
  sharedLen = 0
  /** True if there may be data under the id. */
  isWritten = false
  /** True if the write of the record has begun and is not acknowledged. */
  mayBeRecorded = false
  /** The store's file for the blob's bytes, while the file is open. */
  file
  /** The last write that has begun. */
  #writing = Promise.resolve()

  /** @param {Home} home @param {FileWriter} [file]  of the store; the blob closes it */
  constructor (home, file) {
    this.home = home
    this.file = file
  }

  /**
   * Begins a write when the previous one has ended. If the new write fails, the next call of `writeLater` or `written`
   * throws the error.
   */
  async writeLater (/** @type {() => Promise<void>} */ write) {
    await this.#writing
    this.#writing = write()
    this.#writing.catch(() => {})
  }

  /** Waits for the write that is under way. */
  written () { return this.#writing }

  /** Waits until all writes have ended, and ignores failures. */
  async endWrites () {
    await this.#writing.catch(() => {})
    await this.closeFile().catch(() => {})
  }

  async closeFile () {
    const { file } = this
    this.file = undefined
    await file?.close()
  }

  /**
   * Called right before the record is committed. It throws if another call has deleted data that the blob shares.
   */
  assertMayCommit () {}

  /** Called when the put has ended or failed. A blob that has locked a file unlocks it here. */
  async release () {}
}
