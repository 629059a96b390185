// Reads a CAR (content-addressable archive, version 1 or 2) section by section, in bounded memory.
//
// `@ipld/car` decodes the CIDs. It reads them through `CarBytes`, which limits their length. The package's own readers
// of sections are not used, because they gather each block in memory, however long the block claims to be. Its reader
// of headers is not used, because it refuses the metadata that headers may have.
// Sources: CARv1 and CARv2 specifications, https://ipld.io/specs/transport/car/; dasl.ing, "CAR".

import { readBlockHead } from '@ipld/car/decoder'
import { decode } from '@ipld/dag-cbor'
import { varint } from 'multiformats'
import { CID } from 'multiformats/cid'
import { BaoError } from '../../lib/core/errors.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { DrislReader } from '../collections/web/drisl.js'

/** The maximum length of a header, in bytes. A header of this length has 200 000 roots. */
export const MAX_HEADER_LEN = 1 << 23
/** The maximum length of the multihash of a block, in bytes. As text, a CID of megabytes would take seconds. */
const MAX_MULTIHASH_LEN = 1 << 12
/** The maximum number of CBOR items in a header: each may become a value of a hundred bytes. */
const MAX_HEADER_ITEMS = 1 << 20
/** The length of the header of version 2, after its first bytes: flags, and the offsets of its parts. */
const V2_HEADER_LEN = 40
const NOTHING = new Uint8Array(0)

/** @param {string} fault @param {number} start  byte of the archive @param {unknown} [cause] */
const carInvalid = (fault, start, cause) =>
  new BaoError('CAR_INVALID', `the CAR cannot be read at byte ${start}: ${fault}`, { start, cause })

/** @param {number} start  byte of the archive @param {number} wanted  bytes @param {number} got  bytes */
const carTruncated = (start, wanted, got) => new BaoError('CAR_TRUNCATED',
  `the CAR ended at byte ${start + got}: ${got} of ${wanted} bytes`, { start, wanted, got })

/** The bytes of an archive, read by the methods that `@ipld/car` calls. */
class CarBytes {
  #pieces
  /** Bytes that were gathered. They are followed by the rest of the last piece, which is borrowed. */
  #queue = new ByteQueue()
  #piece = /** @type {Uint8Array} */ (NOTHING)
  /** How many bytes must still be skipped. */
  #skipped = 0
  /** The position of the next byte in the archive. */
  pos = 0
  /** The position at which the sections end. */
  end = Infinity
  /** The maximum number of bytes that `exactly` reads. */
  maxLen = MAX_HEADER_LEN
  /** The error of the source. */
  failure = /** @type {unknown} */ (undefined)

  /** @param {AsyncIterator<Uint8Array>} pieces  each is borrowed until the next one */
  constructor (pieces) {
    this.#pieces = pieces
  }

  /**
   * @param {number} len
   * @returns {Promise<Uint8Array>} the next `len` bytes, or fewer at the end; valid until the next call
   */
  async upTo (len) {
    const wanted = Math.min(len, this.end - this.pos)
    await this.#skip()
    if (this.#queue.len === 0 && this.#piece.length >= wanted) return this.#piece.subarray(0, wanted)
    while (this.#queue.len < wanted && await this.#fill()) {
      const part = this.#piece.subarray(0, wanted - this.#queue.len)
      this.#queue.push(part, wanted)
      this.#piece = this.#piece.subarray(part.length)
    }
    return this.#queue.bytes.subarray(0, wanted)
  }

  /**
   * @param {number} len @param {boolean} [seek]  true if the next read continues after these bytes. Default: false
   * @returns {Promise<Uint8Array>} a copy
   */
  async exactly (len, seek = false) {
    if (!(len >= 0 && len <= this.maxLen)) throw carInvalid(`a header or a CID of ${len} bytes`, this.pos)
    const bytes = await this.upTo(len)
    if (bytes.length < len) throw carTruncated(this.pos, len, bytes.length)
    const copy = new Uint8Array(bytes) // The `slice` of a Buffer is no copy.
    if (seek) this.seek(len)
    return copy
  }

  /** Skips bytes, even if the archive ends before that. @param {number} len */
  seek (len) {
    if (!Number.isSafeInteger(len) || len < 0) throw carInvalid('an invalid offset', this.pos)
    this.pos += len
    const queued = Math.min(len, this.#queue.len)
    this.#queue.shift(queued)
    const held = Math.min(len - queued, this.#piece.length)
    this.#piece = this.#piece.subarray(held)
    this.#skipped += len - queued - held
  }

  /**
   * Yields the next bytes in the pieces of the source.
   *
   * @param {number} len
   * @returns {AsyncGenerator<Uint8Array>} each is borrowed until the next one
   */
  async * take (len) {
    await this.#skip()
    const start = this.pos
    const first = this.#queue.bytes.slice(0, len)
    this.seek(first.length)
    if (first.length > 0) yield first
    for (let left = len - first.length; left > 0;) {
      if (!await this.#fill()) throw carTruncated(start, len, len - left)
      const part = this.#piece.subarray(0, left)
      left -= part.length
      this.seek(part.length)
      yield part
    }
  }

  /** Reads bytes and drops them. Throws if the archive ends before that. @param {number} len */
  async pass (len) {
    const pieces = this.take(len)
    while (!(await pieces.next()).done) continue
  }

  /** Reads until some bytes are available. @returns {Promise<boolean>} false at the end of the source */
  async #fill () {
    while (this.#piece.length === 0) {
      try {
        const { done, value } = await this.#pieces.next()
        if (done) return false
        this.#piece = value
      } catch (error) {
        this.failure = error
        throw error
      }
    }
    return true
  }

  async #skip () {
    while (this.#skipped > 0 && await this.#fill()) {
      const len = Math.min(this.#skipped, this.#piece.length)
      this.#piece = this.#piece.subarray(len)
      this.#skipped -= len
    }
  }
}

/**
 * @typedef {object} Section
 * @property {CID} cid
 * @property {number} len  bytes of the block: a claim
 * @property {AsyncGenerator<Uint8Array>} pieces  the bytes of the block, each piece borrowed until the next one. Bytes
 *   that the caller does not read are skipped
 */

export class CarReader {
  #bytes

  /** @param {AsyncIterator<Uint8Array>} pieces  each is borrowed until the next one */
  constructor (pieces) {
    this.#bytes = new CarBytes(pieces)
  }

  /**
   * Reads the header. Callers call this first.
   *
   * @returns {Promise<{ version: 1 | 2, roots: CID[], metadata: Record<string, unknown> }>} `metadata`: its other
   *   fields
   * @throws {BaoError} CAR_INVALID { start }, CAR_TRUNCATED { start, wanted, got }
   */
  async header () {
    const bytes = this.#bytes
    const first = await this.#decoded(() => readHeader(bytes))
    if (first?.version !== 2) return headerOf(first)
    const header = await bytes.exactly(V2_HEADER_LEN, true)
    const view = new DataView(header.buffer)
    const [offset, size] = [16, 24].map(at => Number(view.getBigUint64(at, true)))
    bytes.seek(offset - bytes.pos)
    const end = offset + size
    const inner = headerOf(await this.#decoded(() => readHeader(bytes)))
    if (!Number.isSafeInteger(end) || end < bytes.pos) throw carInvalid('the data ends before its header', bytes.pos)
    bytes.end = end
    return { ...inner, version: 2 }
  }

  /**
   * Yields the sections after the header. Does not read the index that follows the data in version 2.
   *
   * @returns {AsyncGenerator<Section>}
   * @throws {BaoError} CAR_INVALID { start }, CAR_TRUNCATED { start, wanted, got }
   */
  async * sections () {
    const bytes = this.#bytes
    bytes.maxLen = MAX_MULTIHASH_LEN
    while (!await this.#isAtEnd()) {
      const start = bytes.pos
      const { cid, blockLength: len } = await this.#decoded(() => readBlockHead(bytes))
      if (!Number.isSafeInteger(len) || len < 0) throw carInvalid('a section that ends in its CID', start)
      if (len > bytes.end - bytes.pos) throw carInvalid('a section that ends after the data', start)
      const end = bytes.pos + len
      yield { cid, len, pieces: bytes.take(len) }
      await bytes.pass(end - bytes.pos)
    }
  }

  async #isAtEnd () {
    const { pos, end } = this.#bytes
    if ((await this.#bytes.upTo(1)).length > 0) return false
    if (pos < end && end !== Infinity) throw carTruncated(pos, end - pos, 0)
    return true
  }

  /**
   * Calls a decoder, and turns its errors into CAR_INVALID.
   *
   * @template T @param {() => Promise<T>} decode
   */
  async #decoded (decode) {
    const start = this.#bytes.pos
    try {
      return await decode()
    } catch (error) {
      if (error instanceof BaoError || (error === this.#bytes.failure && error !== undefined)) throw error
      throw carInvalid(/** @type {Error} */ (error).message, start, error)
    }
  }
}

/**
 * Reads a map with its length before it.
 *
 * @param {CarBytes} bytes
 * @returns {Promise<Record<string, unknown> | null>}
 */
async function readHeader (bytes) {
  const [len, lenLen] = varint.decode(await bytes.upTo(8))
  bytes.seek(lenLen)
  const { pos } = bytes
  const header = await bytes.exactly(len, true)
  const items = new DrislReader(header, MAX_HEADER_ITEMS, fault => carInvalid(fault, pos), { anyCid: true })
  items.skip()
  items.end()
  return decode(header)
}

/**
 * @param {Record<string, unknown> | null} map  what the header decodes to
 * @returns {{ version: 1, roots: CID[], metadata: Record<string, unknown> }}
 * @throws {BaoError} CAR_INVALID
 */
function headerOf (map) {
  const { version, roots, ...metadata } = map ?? {}
  const isRight = version === 1 && Array.isArray(roots) && roots.every(root => CID.asCID(root) === root)
  if (!isRight) throw carInvalid('its header does not have version 1 and a list of roots', 0)
  return { version, roots, metadata }
}
