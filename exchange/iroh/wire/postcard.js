// The parts of postcard that iroh's requests and tickets consist of. Integers are LEB128 varints, sequences begin with
// their count. Source: the wire format of postcard, jamesmunns/postcard, "wire-format.md".

const U64_MAX = 2n ** 64n - 1n
/** Bytes of the longest varint. */
const MAX_VARINT_LEN = 10

/**
 * A varint in the one shortest way.
 *
 * @param {number | bigint} value  0 to 2^64 - 1
 * @returns {number[]} bytes
 */
export function varint (value) {
  const bytes = []
  let left = BigInt(value)
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128)
  return [...bytes, Number(left)]
}

/** Reads values from bytes that somebody else has sent. It never allocates what a count only claims. */
export class PostcardReader {
  #bytes
  #error
  /** Where the next value begins. */
  at = 0

  /**
   * @param {Uint8Array} bytes  not changed while they are read
   * @param {(what: string, at: number) => Error} error  makes the error of bytes that are not right
   */
  constructor (bytes, error) {
    this.#bytes = bytes
    this.#error = error
  }

  /** Bytes that are not read yet. */
  get left () { return this.#bytes.length - this.at }

  /** @param {string} what  is wrong @param {number} [at]  byte @returns {Error} */
  error (what, at = this.at) { return this.#error(what, at) }

  /** @param {number} len @returns {Uint8Array} a view */
  bytes (len) {
    if (len > this.left) throw this.error(`it ends before ${len} bytes that belong to it`)
    const start = this.at
    this.at += len
    return this.#bytes.subarray(start, this.at)
  }

  /** The bytes that were read from a place on. @param {number} start @returns {Uint8Array} a view */
  read (start) { return this.#bytes.subarray(start, this.at) }

  /** @returns {number} 0 to 255 */
  byte () { return this.bytes(1)[0] }

  /** @returns {bigint} up to 2^64 - 1 */
  varint () {
    const start = this.at
    let value = 0n
    for (let i = 0; i < MAX_VARINT_LEN; i++) {
      const byte = this.byte()
      value |= BigInt(byte & 127) << BigInt(7 * i)
      if (byte > 127) continue
      if (byte === 0 && i > 0) throw this.error('a number that is longer than it need be', start)
      if (value > U64_MAX) break
      return value
    }
    throw this.error('a number above 2^64 - 1', start)
  }

  /** How many elements follow, each of at least `len` bytes. @param {number} [len] @returns {number} */
  count (len = 1) {
    const start = this.at
    const count = this.varint()
    if (count * BigInt(len) > this.left) throw this.error(`a count of ${count}, for which it is too short`, start)
    return Number(count)
  }

  /** To be called when everything was read. */
  end () {
    if (this.left > 0) throw this.error('bytes follow its end')
  }
}
