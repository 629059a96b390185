// Walks over the items of a blob in DRISL without making values. A decoder would make a value of a hundred bytes for an
// item of one byte, but this walk costs only one pass over the bytes. DRISL has one form for each value. All other
// forms are refused. Sources: RFC 8949, 3 (heads) and 4.2.3 (order of keys); dasl.ing, "DRISL".

import { areEqual } from '../../../lib/core/bytes.js'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { RAW, blake3 } from '../../../lib/hash/cid.js'

/** @import { CID } from 'multiformats/cid' */

/** Multicodec of DRISL, and of DAG-CBOR. */
export const DRISL = 0x71
/** The length of a CID of DASL in bytes: version, codec, hash function, length of the hash, and the hash. */
export const CID_LEN = 36

const BYTES = 2
export const TEXT = 3
const ARRAY = 4
const MAP = 5
export const TAG = 6
const SIMPLE = 7

/** Heads of the simple values that DRISL has: false, true, null, and a float of 64 bits. */
const [FALSE, NULL, FLOAT] = [0xf4, 0xf6, 0xfb]
const CID_TAG = 42
/** The multicodec of SHA2-256. */
const SHA256 = 0x12
/** The maximum number of levels of nested items. */
const MAX_DEPTH = 100

const BYTE_ORDER_MARK = '\ufeff'
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @typedef {{ start: number, end: number }} Span  bytes of an item, or of its content; `end` not included */

/** True if a byte begins a map. @param {number | undefined} byte */
export const isMapHead = byte => byte !== undefined && byte >> 5 === MAP

export class DrislReader {
  #view
  #maxItems
  #refuse
  #anyCid
  #items = 0
  #depth = 0
  /** The argument of the last head. */
  #value = 0
  /** Where the next item begins. */
  at = 0

  /**
   * @param {Uint8Array} bytes  the caller must not change them while they are read
   * @param {number} maxItems  how many items may be read, including keys, tags and their content
   * @param {(fault: string) => Error} refuse  makes the error for invalid bytes
   * @param {{ anyCid?: boolean }} [options]  `anyCid`: true to leave the check of CIDs to the caller. Default: false
   */
  constructor (bytes, maxItems, refuse, { anyCid = false } = {}) {
    this.bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#maxItems = maxItems
    this.#refuse = refuse
    this.#anyCid = anyCid
  }

  /** The kind of the next item. @returns {number | undefined} undefined after the last byte */
  get kind () { return this.at < this.bytes.length ? this.bytes[this.at] >> 5 : undefined }

  /** Passes over one item and its content. */
  skip () {
    if (++this.#depth > MAX_DEPTH) throw this.#refuse('its items are nested too deeply')
    const { kind } = this
    if (kind === MAP) {
      this.eachKey(() => this.skip())
    } else if (kind === TEXT) {
      this.text()
    } else if (kind === TAG) {
      this.cid()
    } else if (kind === SIMPLE) {
      this.#simple()
    } else {
      this.#head()
      if (kind === BYTES) this.#pass(this.#value)
      else if (kind === ARRAY) for (let left = this.#value; left > 0; left--) this.skip()
    }
    this.#depth--
  }

  /**
   * Reads a map. Its keys must be text, in increasing order and without repetition.
   *
   * @param {(key: Span) => void} readValue  called after each key. It must read one item
   */
  eachKey (readValue) {
    this.#head(MAP)
    /** @type {Span | undefined} */
    let before
    for (let left = this.#value; left > 0; left--) {
      const key = this.text()
      if (before !== undefined && !this.#isAfter(before, key)) throw this.#refuse('keys in another order, or twice')
      before = key
      readValue(key)
    }
  }

  /** Reads a text string. @returns {Span} of its UTF-8 */
  text () {
    this.#head(TEXT)
    const span = this.#pass(this.#value)
    for (let i = span.start; i < span.end; i++) {
      if (this.bytes[i] < 128) continue
      // Decoders drop a byte order mark, so the text would have two forms.
      if (this.textAt(span).startsWith(BYTE_ORDER_MARK)) throw this.#refuse('text that begins with a byte order mark')
      break
    }
    return span
  }

  /** @param {Span} span  of UTF-8 @returns {string} */
  textAt ({ start, end }) {
    try {
      return decoder.decode(this.bytes.subarray(start, end))
    } catch {
      throw this.#refuse('text that is not UTF-8')
    }
  }

  /** True if a text string is this one. @param {Span} span @param {Uint8Array} text  UTF-8 */
  is ({ start, end }, text) { return end - start === text.length && areEqual(this.bytes, start, text) }

  /** Reads a CID, which must be one of DASL unless any is taken. @returns {Span} of its bytes */
  cid () {
    this.#head(TAG)
    if (this.#value !== CID_TAG) throw this.#refuse(`a tag ${this.#value}`)
    this.#head(BYTES)
    const { start, end } = this.#pass(this.#value)
    const at = start + 1
    const isRight = this.#anyCid || (end - at === CID_LEN && this.bytes[start] === 0 &&
      isKindOfDasl(this.bytes[at], this.bytes[at + 1], this.bytes[at + 2], this.bytes[at + 3]))
    if (!isRight) throw this.#refuse('a tag 42 without a CID of DASL')
    return { start: at, end }
  }

  /** Throws if bytes are left. */
  end () {
    if (this.at < this.bytes.length) throw this.#refuse('bytes follow its end')
  }

  /** Reads the head of an item, in its shortest form. @param {number} [kind]  the kind that it must have */
  #head (kind) {
    this.#count()
    if (kind !== undefined && this.kind !== kind) throw this.#refuse(`an item of kind ${this.kind}, not ${kind}`)
    const info = this.bytes[this.at] & 31
    if (info > 27) throw this.#refuse('an item of indefinite length')
    const len = info < 24 ? 0 : 1 << (info - 24) // of the argument after the first byte
    const { end } = this.#pass(1 + len)
    this.#value = len === 0 ? info : argumentAt(this.#view, end - len, len)
    const least = len === 1 ? 24 : 2 ** (4 * len)
    if (len > 0 && this.#value < least) throw this.#refuse('a number that is not in its shortest form')
  }

  /** Reads a simple value, or a float that is finite and not the negative zero. */
  #simple () {
    this.#count()
    const head = this.bytes[this.at]
    const { start } = this.#pass(head === FLOAT ? 9 : 1)
    const float = head === FLOAT ? this.#view.getFloat64(start + 1) : 0.5
    const isFit = head === FLOAT || (head >= FALSE && head <= NULL)
    if (!isFit || !Number.isFinite(float) || Object.is(float, -0)) {
      throw this.#refuse('a simple value or number that DRISL does not have')
    }
  }

  #count () {
    if (++this.#items > this.#maxItems) throw this.#refuse(`it has more than ${this.#maxItems} items`)
    if (this.kind === undefined) throw this.#refuse('it ends too early')
  }

  /** Passes over bytes. @param {number} len @returns {Span} */
  #pass (len) {
    const start = this.at
    if (len > this.bytes.length - start) throw this.#refuse('it ends too early')
    this.at += len
    return { start, end: this.at }
  }

  /** True if a key comes after another one. Shorter keys come first. @param {Span} before @param {Span} key */
  #isAfter (before, key) {
    const longer = key.end - key.start - (before.end - before.start)
    if (longer !== 0) return longer > 0
    for (let i = before.start, k = key.start; i < before.end; i++, k++) {
      if (this.bytes[i] !== this.bytes[k]) return this.bytes[i] < this.bytes[k]
    }
    return false
  }
}

/** @param {DataView} view @param {number} at @param {number} len  1, 2, 4 or 8 bytes @returns {number} */
function argumentAt (view, at, len) {
  if (len === 1) return view.getUint8(at)
  if (len === 2) return view.getUint16(at)
  return len === 4 ? view.getUint32(at) : Number(view.getBigUint64(at))
}

/**
 * Returns true if DASL allows CIDs of this kind. Source: dasl.ing, "Content IDs" and "Big DASL".
 *
 * @param {number} version @param {number} codec @param {number} hash  the code of its function
 * @param {number} len  bytes of the hash
 */
const isKindOfDasl = (version, codec, hash, len) => version === 1 && (codec === RAW || codec === DRISL) &&
  (hash === blake3.code || hash === SHA256) && len === HASH_LEN

/** Returns true if a CID is of a kind that DASL allows. @param {CID} cid */
export const isDasl = ({ version, code, multihash }) =>
  isKindOfDasl(version, code, multihash.code, multihash.digest.length)
