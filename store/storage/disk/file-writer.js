// Writes bytes to a file: appends bytes, which it gathers into large writes, or writes bytes at given positions.

import { fdatasync, ftruncate, writev } from 'node:fs'
import { allOf } from '../../../lib/source/async-util.js'

/** @import { OpenFile } from './blob-file.js' */

/**
 * How many bytes are gathered before they are written. One system call writes at most this many. For a write of 2 MiB
 * or more, Linux looks for contiguous memory of that length for its cache, which can take ten times as long as the
 * write.
 */
const WRITE_LEN = 1 << 20

export class FileWriter {
  #handle
  #buffers = [new Uint8Array(0), new Uint8Array(0)]
  #filled = 0
  #position
  #writing = Promise.resolve()
  #syncing = Promise.resolve()
  /** The last sync that `beginSync` has begun. */
  #begun = Promise.resolve()

  /** @param {OpenFile} handle @param {number} [position]  where the first byte is appended. Default: 0 */
  constructor (handle, position = 0) {
    this.#handle = handle
    this.#position = position
  }

  /**
   * Appends bytes. It copies them, and gathers bytes while earlier ones are being written.
   *
   * @param {Uint8Array} bytes
   */
  async append (bytes) {
    for (let at = 0; at < bytes.length;) {
      if (this.#buffers[0].length === 0) this.#buffers[0] = new Uint8Array(WRITE_LEN)
      const part = bytes.subarray(at, at + WRITE_LEN - this.#filled)
      this.#buffers[0].set(part, this.#filled)
      this.#filled += part.length
      at += part.length
      if (this.#filled === WRITE_LEN) await this.#flush()
    }
  }

  /** Skips bytes of the file, which stay as they are. @param {number} len */
  async skip (len) {
    await this.#flush()
    this.#position += len
  }

  /** Cuts off the file. Callers await `end` first. @param {number} len  bytes that stay @returns {Promise<void>} */
  truncate (len) {
    return new Promise((resolve, reject) => {
      ftruncate(this.#handle.fd, len, error => error ? reject(error) : resolve())
    })
  }

  /**
   * Writes pieces one after the other.
   *
   * @param {Uint8Array[]} pieces  callers must not change them until this resolves
   * @param {number} position  of the first byte
   */
  async write (pieces, position) {
    // All at once, because this thread may be busy when a write ends, and would begin the next one late.
    const writes = []
    for (let rest = pieces, at = position; rest.length > 0;) {
      const part = upTo(WRITE_LEN, rest)
      writes.push(this.#writeAll(part, at))
      const len = part.reduce((sum, piece) => sum + piece.length, 0)
      rest = after(rest, len)
      at += len
    }
    await allOf(writes)
  }

  /** @param {Uint8Array[]} pieces  at most WRITE_LEN bytes @param {number} position */
  async #writeAll (pieces, position) {
    for (let rest = pieces; rest.length > 0;) {
      const written = await writeSome(this.#handle.fd, rest, position)
      rest = after(rest, written)
      position += written
    }
  }

  /** Waits until everything is written. */
  async end () {
    await this.#flush()
    await this.#writing
  }

  /** Waits until all written bytes are on the disk. @returns {Promise<void>} */
  sync () {
    this.#syncing = this.#syncAfter(this.#begun)
    return this.#syncing
  }

  /**
   * Begins to move the bytes that are written so far to the disk, so that less is left for `sync`, which throws the
   * error of a failure.
   */
  beginSync () {
    this.#begun = this.sync()
    this.#begun.catch(() => {})
  }

  /** @param {Promise<void>} earlier  if it fails, nobody knows which bytes are on the disk, so this sync fails, too */
  async #syncAfter (earlier) {
    await earlier
    await new Promise((resolve, reject) => {
      fdatasync(this.#handle.fd, error => error ? reject(error) : resolve(undefined))
    })
  }

  async close () {
    await Promise.allSettled([this.#writing, this.#syncing])
    await this.#handle.close()
  }

  async #flush () {
    await this.#writing
    if (this.#filled === 0) return
    const [full, other] = this.#buffers
    this.#writing = this.write([full.subarray(0, this.#filled)], this.#position)
    this.#writing.catch(() => {}) // The next call that awaits it throws the error.
    this.#position += this.#filled
    this.#buffers = [other, full]
    this.#filled = 0
  }
}

/** @param {number} fd @param {Uint8Array[]} pieces @param {number} position @returns {Promise<number>} */
const writeSome = (fd, pieces, position) => new Promise((resolve, reject) => {
  writev(fd, pieces, position, (error, len) => error ? reject(error) : resolve(len))
})

/** Returns the first bytes of pieces. @param {number} len  at most this many @param {Uint8Array[]} pieces */
function upTo (len, pieces) {
  const first = []
  for (const piece of pieces) {
    if (len === 0) break
    first.push(piece.subarray(0, len))
    len -= first[first.length - 1].length
  }
  return first
}

/** Leaves out the first bytes of pieces. @param {Uint8Array[]} pieces @param {number} done  bytes to leave out */
function after (pieces, done) {
  const rest = []
  for (const piece of pieces) {
    if (done < piece.length) rest.push(piece.subarray(done))
    done = Math.max(0, done - piece.length)
  }
  return rest
}
