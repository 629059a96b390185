// The parts of postcard that iroh's requests and tickets use. Integers are LEB128 varints, sequences begin with
// their count. Source: the wire format of postcard, jamesmunns/postcard, "wire-format.md".

const U64_MAX = 2n ** 64n - 1n
/** The maximum length of a varint, in bytes. */
const MAX_VARINT_LEN = 10

/**
 * Encodes an integer in as few bytes as possible.
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

/** Reads values from bytes that a peer has sent. Never allocates memory in proportion to a claimed count. */
export class PostcardReader {
  #bytes
  #error
  /** Where the next value begins. */
  at = 0

  /**
   * @param {Uint8Array} bytes  the caller must not change them while they are read
   * @param {(fault: string, at: number) => Error} error  makes the error for invalid bytes
   */
  constructor (bytes, error) {
    this.#bytes = bytes
    this.#error = error
  }

  /** How many bytes have not been read yet. */
  get left () { return this.#bytes.length - this.at }

  /** @param {string} fault @param {number} [at]  the offset of the wrong byte @returns {Error} */
  error (fault, at = this.at) { return this.#error(fault, at) }

  /** @param {number} len @returns {Uint8Array} a view */
  bytes (len) {
    if (len > this.left) throw this.error(`it ends where ${len} more bytes are expected`)
    const start = this.at
    this.at += len
    return this.#bytes.subarray(start, this.at)
  }

  /** The bytes from `start` up to the next value. @param {number} start @returns {Uint8Array} a view */
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
      if (byte === 0 && i > 0) throw this.error('a number that is not in its shortest form', start)
      if (value > U64_MAX) break
      return value
    }
    throw this.error('a number above 2^64 - 1', start)
  }

  /** Reads the count of elements that follow, each of at least `len` bytes. @param {number} [len] @returns {number} */
  count (len = 1) {
    const start = this.at
    const count = this.varint()
    if (count * BigInt(len) > this.left) throw this.error(`a count of ${count}, for which too few bytes follow`, start)
    return Number(count)
  }

  /** Throws if bytes are left. */
  end () {
    if (this.left > 0) throw this.error('bytes follow its end')
  }
}
