// Reads and writes the meta blob of a collection, which has the names of the members. It begins with `CollectionV0.`
// and the number of names. Then, for each name, come its length in bytes and the name in UTF-8. Numbers are LEB128
// varints. Sources: iroh-blobs, src/format/collection.rs; the wire format of postcard.

import { varint } from 'multiformats'
import { BaoError } from '../../lib/core/errors.js'
import { areEqual, concat, describe } from '../../lib/core/bytes.js'
import { assertWellFormed } from '../../store/interface.js'

/**
 * The maximum number of bytes of a name in UTF-8. Paths have at most 4096 bytes in Linux, and 32 767 characters in
 * Windows.
 */
export const MAX_NAME_LEN = 1 << 16
/** The maximum number of names that a parser yields together. */
const BATCH_NAMES = 1024

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** The first bytes of every meta blob. */
export const META_START = encoder.encode('CollectionV0.')

/**
 * Makes the error for a meta blob that is not valid.
 *
 * @param {string} fault @param {number} [start]  where the fault is in the meta blob, in bytes
 * @returns {BaoError}
 */
export function invalid (fault, start) {
  const where = start === undefined ? '' : ` at byte ${start} of its meta blob`
  return new BaoError('COLLECTION_INVALID', `this is not a collection${where}: ${fault}`, { start })
}

/** The bytes of a meta blob before the names. @param {number} count  the number of names */
export const metaHead = count => concat([META_START, encodeVarint(count)])

/** The maximum length of the varint before a name, in bytes. */
const MAX_PREFIX_LEN = varint.encodingLength(MAX_NAME_LEN)
/** The memory for encoded names. `encodeInto` takes a quarter of the time of `encode`. */
const scratch = new Uint8Array(MAX_PREFIX_LEN + MAX_NAME_LEN)

/**
 * Encodes a name for the meta blob.
 *
 * @param {unknown} name
 * @returns {Uint8Array} borrowed until the next call
 * @throws {TypeError | RangeError}
 */
export function encodeName (name) {
  if (typeof name !== 'string') throw new TypeError(`"name" expected a string, got ${describe(name)}`)
  assertWellFormed('name', name)
  const { read, written: len } = encoder.encodeInto(name, scratch.subarray(MAX_PREFIX_LEN))
  if (read < name.length) throw new RangeError(`"name" expected at most ${MAX_NAME_LEN} bytes, got more`)
  const start = MAX_PREFIX_LEN - varint.encodingLength(len)
  varint.encodeTo(len, scratch, start)
  return scratch.subarray(start, MAX_PREFIX_LEN + len)
}

/** @param {number} value */
const encodeVarint = value => varint.encodeTo(value, new Uint8Array(varint.encodingLength(value)))

/** Reads the names from a meta blob that arrives in pieces. Accepts only the form that iroh writes. */
export class MetaParser {
  #count
  /** The number of names that have not been read yet; undefined until the head has been read. */
  #left = /** @type {number | undefined} */ (undefined)
  /** Received bytes that have not been read yet: the beginning of the head or of a name. */
  #rest = new Uint8Array(0)
  /** The offset of `#rest` in the meta blob, in bytes. */
  #start = 0

  /** @param {number} count  how many names there must be */
  constructor (count) {
    this.#count = count
  }

  /**
   * @param {Uint8Array} piece  the next bytes; borrowed
   * @returns {Generator<string[]>} the names that this piece has completed, in batches of 1 to 1024. The caller must
   *   read the generator to its end
   * @throws {BaoError} COLLECTION_INVALID { start }
   */
  * push (piece) {
    const bytes = this.#rest.length === 0 ? piece : concat([this.#rest, piece])
    let at = this.#left === undefined ? this.#readHead(bytes) : 0
    let names = /** @type {string[]} */ ([])
    while (this.#left !== undefined && this.#left > 0) {
      const start = this.#start + at
      const len = readVarint(bytes, at, MAX_NAME_LEN, start)
      if (len === undefined || bytes.length < len.end + len.value) break
      at = len.end + len.value
      names.push(decodeName(bytes.subarray(len.end, at), start))
      this.#left--
      if (names.length < BATCH_NAMES) continue
      yield names
      names = []
    }
    if (this.#left === 0 && at < bytes.length) throw invalid('bytes follow the last name', this.#start + at)
    this.#start += at
    this.#rest = bytes.slice(at)
    if (names.length > 0) yield names
  }

  /**
   * Checks that no name is missing. Callers call this after the last piece.
   *
   * @throws {BaoError} COLLECTION_INVALID { start }
   */
  end () {
    if (this.#left !== 0) throw invalid('it ends too early', this.#start + this.#rest.length)
  }

  /** @param {Uint8Array} bytes @returns {number} the length of the head; 0 if it is not whole yet */
  #readHead (bytes) {
    const known = Math.min(bytes.length, META_START.length)
    if (!areEqual(bytes, 0, META_START.subarray(0, known))) throw invalid("it does not begin with 'CollectionV0.'", 0)
    const count = readVarint(bytes, META_START.length, Number.MAX_SAFE_INTEGER, META_START.length)
    if (count === undefined) return 0
    if (count.value !== this.#count) {
      throw invalid(`it has ${count.value} names, and the sequence has ${this.#count} members`, META_START.length)
    }
    this.#left = count.value
    return count.end
  }
}

/**
 * @param {Uint8Array} bytes @param {number} at @param {number} max  the largest valid number
 * @param {number} start  where the number is in the meta blob, for errors
 * @returns {{ value: number, end: number } | undefined} undefined if the bytes end before the number does
 * @throws {BaoError} COLLECTION_INVALID { start }, for example for a number that is not in its shortest form
 */
function readVarint (bytes, at, max, start) {
  for (let i = at, value = 0, scale = 1; i < bytes.length; i++, scale *= 128) {
    value += (bytes[i] & 127) * scale
    if (scale > max || value > max) throw invalid(`a number above ${max}`, start)
    if (bytes[i] > 127) continue
    if (bytes[i] === 0 && i > at) throw invalid('a number that is not in its shortest form', start)
    return { value, end: i + 1 }
  }
  return undefined
}

/** @param {Uint8Array} bytes @param {number} start  where the name is in the meta blob, for errors */
function decodeName (bytes, start) {
  try {
    return decoder.decode(bytes)
  } catch {
    throw invalid('a name that is not UTF-8', start)
  }
}
