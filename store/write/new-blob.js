// What blobs have alike that are being written under a new id, before their records are committed: see put.js.

/** @import { Home } from '../storage/format/records.js' */
/** @import { FileWriter } from '../storage/disk/file-writer.js' */

export class NewBlob {
  /** The home of its bytes, for its record. @type {Home} */
  home
  /** The id that has the file and the pairs that it shares with other blobs, for its record; undefined for none. */
  base = /** @type {number | undefined} */ (undefined)
  /** Bytes that the store had before. */
  sharedLen = 0
  /** May there be data under the id? */
  isWritten = false
  /** Was the write of its record begun, and not acknowledged? */
  mayBeRecorded = false
  /** The file of the store for its bytes, while it is open. */
  file
  /** The write that is under way. */
  #writing = Promise.resolve()

  /** @param {Home} home @param {FileWriter} [file]  of the store; the blob closes it */
  constructor (home, file) {
    this.home = home
    this.file = file
  }

  /** Begins a write after the one before has ended. The next call of this or of `written` throws its error. */
  async writeLater (/** @type {() => Promise<void>} */ write) {
    await this.#writing
    this.#writing = write()
    this.#writing.catch(() => {})
  }

  /** Waits for the write that is under way. */
  written () { return this.#writing }

  /** Waits until all writes have ended, and ignores failures. */
  async settle () {
    await this.#writing.catch(() => {})
    await this.closeFile().catch(() => {})
  }

  async closeFile () {
    const { file } = this
    this.file = undefined
    await file?.close()
  }

  /**
   * Called right before the record is committed. A blob whose data other calls can delete throws here when they did.
   */
  assertMayCommit () {}

  /** Called when the put has ended, one way or the other. A blob for whose file other calls wait lets go of it here. */
  async release () {}
}
