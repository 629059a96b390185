// Lets several readers share one open file. The system gives the descriptor of a closed file to the next file that is
// opened, and a read under way would then return bytes of that other file. So a file is closed only when no read of it
// is under way.

import { read, readSync } from 'node:fs'

/**
 * @typedef {{ readonly fd: number, stat (): Promise<{ size: number }>, close (): Promise<void> }} OpenFile
 *   the part of a `FileHandle` of Node.js that the store uses
 */

/** An open file that readers take and release. It is closed once it is retired and all readers have released it. */
export class BlobFile {
  handle
  /** The file descriptor, once the file is open. */
  #fd = /** @type {number | undefined} */ (undefined)
  #onClose
  #uses = 0
  #isRetired = false
  #closing = /** @type {Promise<void> | undefined} */ (undefined)
  /** Reads under way, which must end before the file is closed. */
  #reading = /** @type {Set<Promise<unknown>>} */ (new Set())

  /** @param {Promise<OpenFile>} opening @param {() => void} onClose */
  constructor (opening, onClose) {
    this.handle = opening
    this.#onClose = onClose
    opening.then(({ fd }) => { this.#fd = fd }, onClose)
  }

  get isUsed () { return this.#uses > 0 }

  /** True if the file is open, and no reader uses it. */
  get isIdle () { return this.#fd !== undefined && !this.isUsed }

  take () { this.#uses++ }

  release () {
    this.#uses--
    this.#closeUnused()
  }

  retire () {
    this.#isRetired = true
    this.#closeUnused()
  }

  /**
   * @param {number} start @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} new memory; fewer bytes when the file ends before `end`
   */
  async read (start, end) {
    const bytes = uncleared(end - start)
    const len = await this.readInto(bytes, start)
    return len === bytes.length ? bytes : bytes.slice(0, len) // The rest of the memory may hold old data.
  }

  /**
   * @param {Uint8Array} buffer  callers must not touch it until this resolves
   * @param {number} start
   * @returns {Promise<number>} how many bytes were read: fewer when the file ends early
   */
  async readInto (buffer, start) {
    const { fd } = await this.handle
    if (this.#closing) throw new Error('the file is closed')
    const reading = readWhole(fd, buffer, start)
    this.#reading.add(reading)
    try {
      return await reading
    } finally {
      this.#reading.delete(reading)
    }
  }

  get isOpen () { return this.#fd !== undefined && this.#closing === undefined }

  /** See `BlobFolder.readNow`. @param {number} start @param {number} end */
  readNow (start, end) {
    if (!this.isOpen) return undefined
    const bytes = uncleared(end - start)
    const len = readSync(/** @type {number} */ (this.#fd), bytes, 0, bytes.length, start)
    return len === bytes.length ? bytes : undefined
  }

  /** Closes the file once the reads under way have ended. Later reads fail. */
  close () {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close () {
    await Promise.allSettled(this.#reading)
    await this.handle.then(handle => handle.close(), () => {})
    this.#onClose()
  }

  #closeUnused () {
    if (this.#isRetired && this.#uses === 0) this.close().catch(() => {})
  }
}

/**
 * Allocates memory that may hold old data. Callers may pass on only the part into which they have read.
 *
 * @param {number} len
 */
const uncleared = len => new Uint8Array(Buffer.allocUnsafeSlow(len).buffer)

/**
 * @param {number} fd
 * @param {Uint8Array} bytes
 * @param {number} position
 * @returns {Promise<number>} how many bytes were read: fewer when the file ends early
 */
async function readWhole (fd, bytes, position) {
  let got = 0
  while (got < bytes.length) {
    const len = await readSome(fd, bytes, got, position + got)
    if (len === 0) break
    got += len
  }
  return got
}

/**
 * @param {number} fd
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} position
 * @returns {Promise<number>}
 */
const readSome = (fd, bytes, at, position) => new Promise((resolve, reject) => {
  read(fd, bytes, at, bytes.length - at, position, (error, len) => error ? reject(error) : resolve(len))
})
