// Writes and reads extents: the verified bytes of a blob in the data database. An extent never crosses the border
// of a cell of 1 MiB, so all extents that hold a byte start in the cell of that byte.

import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { VIEWS, extentKey, extentsOf, offsetOfExtent } from '../format/keys.js'
import { orIfUnreadable } from '../errors.js'

/** @import { Databases } from '../databases.js' */

export const CELL_LEN = 1 << 20
/** Bytes that the database reads ahead while a blob is read from start to end. */
const READ_AHEAD = 1 << 20

/** Cuts bytes into extents. It copies the bytes, because some databases keep the memory that they are given. */
export class ExtentCutter {
  #id
  #extentLen
  #offset
  #pending = new ByteQueue()

  /**
   * @param {number} id
   * @param {number} extentLen  the maximum length of an extent, in bytes; a cell is a multiple of it
   * @param {number} [offset]  where in the blob the bytes begin
   */
  constructor (id, extentLen, offset = 0) {
    this.#id = id
    this.#extentLen = extentLen
    this.#offset = offset
  }

  /** The offset of the next byte in the blob. */
  get position () { return this.#offset + this.#pending.len }

  /**
   * @param {Uint8Array} bytes  the next bytes of the blob
   * @returns {{ type: 'put', key: Uint8Array, value: Uint8Array }[]} the extents that are full now
   */
  add (bytes) {
    const full = []
    for (let at = 0; at < bytes.length;) {
      const room = this.#extentLen - this.#offset % this.#extentLen
      const part = bytes.subarray(at, at + room - this.#pending.len)
      this.#pending.push(part, room)
      at += part.length
      if (this.#pending.len === room) full.push(...this.end())
    }
    return full
  }

  /** @returns {{ type: 'put', key: Uint8Array, value: Uint8Array }[]} the last extent, if there are bytes in it */
  end () {
    if (this.#pending.len === 0) return []
    const key = extentKey(this.#id, this.#offset)
    const extent = { type: /** @type {const} */ ('put'), key, value: exact(this.#pending.bytes) }
    this.#offset += this.#pending.len
    this.#pending = new ByteQueue() // The database owns the memory of the old one from now on.
    return [extent]
  }
}

/**
 * Reads the extents of a blob. Reading forwards is fast; reading backwards works, but is slower. The bytes are not
 * verified.
 */
export class ExtentReader {
  /** False, because the reader has only one position in the database. So its reads cannot overlap. */
  overlaps = false
  #iterator
  #id
  #extentLen
  /** True if an extent that begins before the iterator's position may have bytes after that position. */
  #mayHavePassed = false
  /** The extent that was read last. */
  #offset = 0
  #bytes = new Uint8Array(0)
  size

  /**
   * @param {Pick<Databases, 'data' | 'extentLen'>} databases
   * @param {{ id: number, size: number }} blob
   * @param {number} start  first byte that the reader may read
   * @param {number} end  not included
   * @param {object} options  for the iterator
   */
  constructor ({ data, extentLen }, { id, size }, start, end, options) {
    this.#id = id
    this.#extentLen = extentLen
    this.size = size
    const ofClassicLevel = { highWaterMarkBytes: Math.min(READ_AHEAD, Math.max(1, end - start)), fillCache: false }
    this.#iterator = data.iterator({ ...extentsOf(id, cellOf(start), end), ...options, ...ofClassicLevel })
    if (start - start % extentLen > cellOf(start)) this.#seek(start)
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} new memory; ends before the first missing byte
   */
  async read (start, end) {
    const bytes = new Uint8Array(end - start)
    return bytes.subarray(0, await this.readInto(bytes, start))
  }

  /**
   * @param {Uint8Array} buffer  filled from its start
   * @param {number} start
   * @returns {Promise<number>} how many bytes were read: fewer when the next ones are missing
   */
  async readInto (buffer, start) {
    if (start < this.#offset) this.#seek(start)
    const end = start + buffer.length
    let at = start
    while (at < end) {
      const isThere = at < this.#offset + this.#bytes.length || await this.#next()
      if (!isThere || at < this.#offset) {
        if (!this.#mayHavePassed) break
        this.#seek(at, CELL_LEN)
        continue
      }
      const part = this.#bytes.subarray(at - this.#offset, end - this.#offset)
      buffer.set(part, at - start)
      at += part.length
      // An extent may lie wholly before `start`. Then nothing was copied, and the loop looks at the next one.
    }
    return at - start
  }

  close () { return this.#iterator.close() }

  /**
   * Moves the iterator to the extent that has a byte. By default, it seeks the place where this store would begin that
   * extent. With `CELL_LEN`, it seeks the start of the cell, and so finds extents of any length.
   *
   * @param {number} start @param {number} [len]
   */
  #seek (start, len = this.#extentLen) {
    this.#mayHavePassed = len < CELL_LEN
    this.#iterator.seek(extentKey(this.#id, start - start % len), VIEWS)
    this.#offset = 0
    this.#bytes = new Uint8Array(0)
  }

  /** @returns {Promise<boolean>} false when there are no more extents */
  async #next () {
    const next = () => orIfUnreadable(this.#iterator.next())
    for (let entry = await next(); entry !== undefined; entry = await next()) {
      const [key, value] = entry
      const offset = offsetOfExtent(key)
      if (offset === undefined) continue // a page of the tree
      if (value.length > CELL_LEN - offset % CELL_LEN) continue // damaged, so it counts as missing
      this.#offset = offset
      this.#bytes = value
      return true
    }
    return false
  }
}

/**
 * Returns bytes in a buffer of exactly their length, because some databases keep the whole buffer of a value.
 *
 * @param {Uint8Array} bytes
 */
const exact = bytes => bytes.length === bytes.buffer.byteLength ? bytes : bytes.slice()

/** @param {number} offset */
const cellOf = offset => Math.floor(offset / CELL_LEN) * CELL_LEN
