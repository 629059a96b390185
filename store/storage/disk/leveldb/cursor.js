// Reads a sequence of numbers and byte strings as LevelDB writes them.

import { varint } from 'multiformats'

export class Cursor {
  #bytes
  #view
  #at

  /** @param {Uint8Array} bytes @param {number} [at]  default: 0 */
  constructor (bytes, at = 0) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#at = at
  }

  get at () { return this.#at }
  get left () { return this.#bytes.length - this.#at }

  /** @throws {RangeError} when the bytes end early or are not a varint; the other methods also throw it */
  varint () {
    const [value, len] = varint.decode(this.#bytes, this.#at)
    this.#at += len
    return value
  }

  u8 () { return this.bytes(1)[0] }

  u32 () {
    const value = this.#view.getUint32(this.#at, true)
    this.#at += 4
    return value
  }

  u64 () {
    const value = this.u32() + this.u32() * 2 ** 32
    if (!Number.isSafeInteger(value)) throw new RangeError(`expected a number below 2^53, got ${value}`)
    return value
  }

  /** Returns a view of the next bytes. @param {number} len */
  bytes (len) {
    if (len < 0 || len > this.left) throw new RangeError(`expected ${len} bytes, got ${this.left}`)
    this.#at += len
    return this.#bytes.subarray(this.#at - len, this.#at)
  }

  /** Reads a byte string and the length before it. */
  string () { return this.bytes(this.varint()) }
}

/**
 * Returns the result of a parser; undefined when the bytes are malformed.
 *
 * @template T @param {() => T} parse  throws a RangeError for malformed bytes
 */
export function orIfMalformed (parse) {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return undefined
  }
}
