// A log of LevelDB: records in blocks of 32 KiB. The logs of the last writes have this form, and so has the manifest.
// (leveldb: doc/log_format.md, db/log_reader.cc)
//
//   record: u32 checksum of the kind and the payload, u16 length of the payload, u8 kind, payload
//   kind: 1: a whole payload; 2, 3, 4: the first, a middle, the last part of a payload
//
// When fewer than seven bytes are left in a block, they are zeros.

import { concat } from '../../../../lib/core/bytes.js'
import { checksumOf, correctBit } from './checksum.js'
import { Cursor } from './cursor.js'

const BLOCK_LEN = 1 << 15
const HEADER_LEN = 7
const LENGTH_AT = 4
/** The checksum covers the bytes from here on. */
const KIND_AT = 6
const SECTOR_LEN = 512
/**
 * A file system may write the length of a file before its last bytes, even in the middle of a sector. Then the file
 * ends in zeros. Fewer zeros than this may be the end of a payload.
 */
const MIN_ZEROS = 8
/** At most this many records of a block are corrected, because each correction may go through the whole block. */
const MAX_CORRECTED = 8

const FULL = 1
const MIDDLE = 3
const LAST = 4

/**
 * @typedef {object} Lost  bytes of a log in which no record can be read
 * @property {number} start
 * @property {number} end
 * @property {boolean} isTorn  true if they may be what a power cut has left of a write that was under way
 */

/** @typedef {{ start: number, end: number, kind: number, payload: Uint8Array }} LogRecord */

/**
 * Reads a log.
 *
 * @param {Uint8Array} bytes  of the whole log
 * @param {{ corrects?: boolean }} [options]  `corrects`: correct a single wrong bit of a record in place, in at most
 *   eight records of a block. Default: false
 * @returns {Generator<{ payload: Uint8Array, lost?: undefined } | { payload?: undefined, lost: Lost }>} the payloads
 *   and the lost bytes, in the order of the log
 */
export function * readLog (bytes, { corrects = false } = {}) {
  /** The payload that is not complete yet. @type {{ start: number, parts: Uint8Array[] } | undefined} */
  let begun
  let isAfterTorn = false
  for (const record of recordsOf(bytes, corrects)) {
    const { start, end } = record
    const isLost = 'isTorn' in record
    const continues = !isLost && (record.kind === MIDDLE || record.kind === LAST)
    if (isLost) isAfterTorn = record.isTorn
    if (begun !== undefined && !continues) {
      yield { lost: { start: begun.start, end: start, isTorn: isLost && record.isTorn } }
      begun = undefined
    }
    if (isLost) {
      yield { lost: record }
    } else if (continues && begun === undefined) {
      yield { lost: { start, end, isTorn: isAfterTorn } }
    } else {
      begun ??= { start, parts: [] }
      begun.parts.push(record.payload)
      if (record.kind !== FULL && record.kind !== LAST) continue
      yield { payload: begun.parts.length === 1 ? begun.parts[0] : concat(begun.parts) }
      begun = undefined
    }
  }
  if (begun !== undefined) yield { lost: { start: begun.start, end: bytes.length, isTorn: true } }
}

/**
 * @param {Uint8Array} bytes @param {boolean} corrects
 * @returns {Generator<LogRecord | Lost>}
 */
function * recordsOf (bytes, corrects) {
  let corrected = 0
  for (let start = 0; start < bytes.length;) {
    if (start % BLOCK_LEN === 0) corrected = 0
    const blockEnd = Math.min(start - start % BLOCK_LEN + BLOCK_LEN, bytes.length)
    if (BLOCK_LEN - start % BLOCK_LEN < HEADER_LEN) {
      start = blockEnd
      continue
    }
    const rest = bytes.subarray(start, blockEnd)
    let record = recordIn(rest)
    if (record === undefined && corrects && corrected < MAX_CORRECTED && correct(rest)) {
      corrected++
      record = recordIn(rest)
    }
    if (record === undefined) {
      // The length may be wrong, too, so the next record cannot be found in this block.
      yield { start, end: blockEnd, isTorn: isTorn(rest, start, blockEnd === bytes.length) }
      start = blockEnd
      continue
    }
    const end = start + HEADER_LEN + record.payload.length
    yield { start, end, ...record }
    start = end
  }
}

/**
 * Reads the record at the beginning of bytes.
 *
 * @param {Uint8Array} bytes
 * @returns {{ kind: number, payload: Uint8Array } | undefined} undefined when it is damaged
 */
function recordIn (bytes) {
  if (bytes.length < HEADER_LEN) return undefined
  const { checksum, end, kind } = headerOf(bytes)
  if (end > bytes.length || kind < FULL || kind > LAST) return undefined
  if (checksumOf(bytes.subarray(KIND_AT, end)) !== checksum) return undefined
  return { kind, payload: bytes.subarray(HEADER_LEN, end) }
}

/** @param {Uint8Array} bytes  of a record, with its header */
function headerOf (bytes) {
  return {
    checksum: new Cursor(bytes).u32(),
    end: HEADER_LEN + (bytes[LENGTH_AT] | bytes[LENGTH_AT + 1] << 8),
    kind: bytes[KIND_AT]
  }
}

/**
 * Corrects the record at the beginning of bytes if a single bit of it is wrong.
 *
 * @param {Uint8Array} bytes  corrected in place
 * @returns {boolean} true if it is right now
 */
function correct (bytes) {
  if (bytes.length < HEADER_LEN) return false
  const { checksum, end } = headerOf(bytes)
  const checked = bytes.subarray(KIND_AT, end)
  if (end <= bytes.length && correctBit(checked, checksum)) {
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(0, checksumOf(checked), true)
    return true
  }
  for (let bit = 0; bit < 16; bit++) { // of the length
    const [at, mask] = [LENGTH_AT + (bit >> 3), 1 << (bit & 7)]
    bytes[at] ^= mask
    if (recordIn(bytes) !== undefined) return true
    bytes[at] ^= mask
  }
  return false
}

/**
 * Returns true if the end of a record was never written: it has zeros, and so has all that follows.
 *
 * @param {Uint8Array} bytes  from the record to the end of the file
 */
function endsInZeros (bytes) {
  const written = bytes.findLastIndex(byte => byte !== 0) + 1
  return written < HEADER_LEN || written <= headerOf(bytes).end - MIN_ZEROS
}

/**
 * Returns true if a power cut may have torn a record, because the file ends in it, or one of its sectors was never
 * written. A record with a single wrong bit was written in full, so it is not torn.
 *
 * @param {Uint8Array} bytes  from the damaged record to the end of its block @param {number} start  where these bytes
 *   are in the file @param {boolean} isLast  true if the file ends with this block
 */
function isTorn (bytes, start, isLast) {
  if (correct(bytes.slice())) return false
  if (isLast && (bytes.length < HEADER_LEN || headerOf(bytes).end > bytes.length || endsInZeros(bytes))) return true
  for (let at = 0; at < bytes.length;) {
    const sectorEnd = at + SECTOR_LEN - (start + at) % SECTOR_LEN
    if (bytes.subarray(at, sectorEnd).every(byte => byte === 0)) return true
    at = sectorEnd
  }
  return false
}
