// Blocks of LevelDB's tables. A block has sorted entries, which leave out the bytes that a key shares with the previous
// key. (leveldb: doc/table_format.md, table/block_builder.cc, db/dbformat.h)
//
//   entry ... entry | u32 restart ... restart | u32 count of restarts
//   entry: varint shared, varint len of the rest of the key, varint len of the value, rest of the key, value
//
// On the disk a block has a trailer: one byte that names the compression, and the checksum of everything before it.

import { snappyUncompressor } from 'hysnappy'
import { compare } from 'uint8arrays/compare'
import { equals } from 'uint8arrays/equals'
import { concat } from '../../../../lib/core/bytes.js'
import { checksumOf, correctBit } from './checksum.js'
import { Cursor, orIfMalformed } from './cursor.js'

export const TRAILER_LEN = 5
const CHECKSUM_LEN = 4
const PLAIN = 0
const SNAPPY = 1

/**
 * The maximum length of an uncompressed block that is read, because each three bytes of it may become an entry of some
 * hundred bytes. The store writes values of at most 256 KiB, and LevelDB ends a block that has 4 KiB.
 */
const MAX_BLOCK_LEN = 1 << 22
/** Snappy expands three bytes to 64 at most. (snappy: format_description.txt) */
const MAX_RATIO = 22
/** Among this many keys in a row, LevelDB writes at least one in full. (leveldb: block_restart_interval) */
const MAX_RUN = 16

/** LevelDB adds these bytes to the user's key: the kind of the entry, and its sequence number. */
const SUFFIX_LEN = 8
export const DELETION = 0
export const VALUE = 1

/**
 * @typedef {object} Versioned  an entry as LevelDB keeps it
 * @property {Uint8Array} key
 * @property {Uint8Array} [value]  undefined: the key was deleted
 * @property {number} sequence  among entries with the same key, the one with the greatest number counts
 */

/** Returns true if the checksum of a block is right. @param {Uint8Array} block  with its trailer */
export const isIntact = block =>
  block.length >= TRAILER_LEN && checksumOf(block.subarray(0, -CHECKSUM_LEN)) === checksumIn(block)

/**
 * Corrects a single wrong bit of a block, in place.
 *
 * @param {Uint8Array} block  with its trailer
 * @returns {boolean} true if the block is right now
 */
export const correctBlock = block =>
  isIntact(block) || correctBit(block.subarray(0, -CHECKSUM_LEN), checksumIn(block))

/** @param {Uint8Array} block */
const checksumIn = block => new Cursor(block, block.length - CHECKSUM_LEN).u32()

/** @type {ReturnType<typeof snappyUncompressor> | undefined} */
let uncompress

/**
 * Returns the contents of a block.
 *
 * @param {Uint8Array} block  with its trailer
 * @returns {Uint8Array | undefined} undefined when they cannot be uncompressed
 */
export function contentsOf (block) {
  const stored = block.subarray(0, -TRAILER_LEN)
  const kind = block[stored.length]
  if (kind === PLAIN) return stored.length > MAX_BLOCK_LEN ? undefined : stored
  const len = kind === SNAPPY ? orIfMalformed(() => new Cursor(stored).varint()) : undefined
  if (len === undefined || len > Math.min(MAX_RATIO * stored.length, MAX_BLOCK_LEN)) return undefined
  try {
    uncompress ??= snappyUncompressor()
    return uncompress(stored, len)
  } catch {
    return undefined
  }
}

/**
 * Reads the raw entries of a block as far as they are well-formed.
 *
 * @param {Uint8Array} contents
 * @returns {{ entries: { key: Uint8Array, value: Uint8Array }[], isWellFormed: boolean }}
 */
export function rawEntriesOf (contents) {
  const entries = /** @type {{ key: Uint8Array, value: Uint8Array }[]} */ ([])
  const isWellFormed = orIfMalformed(() => {
    const restarts = new Cursor(contents, Math.max(contents.length - 4, 0)).u32()
    const end = contents.length - 4 * (restarts + 1)
    const isEndKnown = end >= 0 && restarts > 0
    const cursor = new Cursor(isEndKnown ? contents.subarray(0, end) : contents)
    /** The starts of the entries that have their keys in full. */
    const starts = /** @type {Set<number>} */ (new Set())
    // If there were no limit to how many keys in a row share bytes, a short block could expand to many long keys.
    for (let last = new Uint8Array(0), run = 0; cursor.left > 0;) {
      const start = cursor.at
      const [shared, rest, len] = [cursor.varint(), cursor.varint(), cursor.varint()]
      run = shared === 0 ? 1 : run + 1
      // A block of zeros, as lost sectors have them, has only keys that are too short.
      if (shared > last.length || run > MAX_RUN || shared + rest < SUFFIX_LEN) return false
      if (shared === 0) starts.add(start)
      const key = concat([last.subarray(0, shared), cursor.bytes(rest)])
      entries.push({ key, value: cursor.bytes(len) })
      last = key
    }
    return isEndKnown && areRestarts(new Cursor(contents, end), restarts, starts)
  })
  return { entries, isWellFormed: isWellFormed ?? false }
}

/**
 * Returns true if each restart point leads to an entry with its key in full, and the first one to the first entry.
 * LevelDB searches by restart points.
 *
 * @param {Cursor} cursor  at the restart points @param {number} count @param {Set<number>} starts
 */
function areRestarts (cursor, count, starts) {
  for (let i = 0, last = -1; i < count; i++) {
    const restart = cursor.u32()
    if (restart <= last || !(starts.has(restart) || restart === 0) || (i === 0 && restart !== 0)) return false
    last = restart
  }
  return true
}

/**
 * Reads the entries of a block as far as they are well-formed, in the order of the block.
 *
 * @param {Uint8Array} contents
 * @returns {{ entries: Versioned[], isInOrder: boolean, lastKey?: Uint8Array }} `isInOrder`: true if all entries are
 *   well-formed and sorted; `lastKey`: the last key as LevelDB keeps it
 */
export function entriesOf (contents) {
  const { entries: rawEntries, isWellFormed } = rawEntriesOf(contents)
  const entries = /** @type {Versioned[]} */ ([])
  let isInOrder = isWellFormed
  for (const { key, value } of rawEntries) {
    const entry = versioned(key, value)
    const last = entries.at(-1)
    if (entry === undefined || (last !== undefined && !comesAfter(entry, last))) isInOrder = false
    if (entry !== undefined) entries.push(entry)
  }
  return { entries, isInOrder, lastKey: rawEntries.at(-1)?.key }
}

/**
 * @param {Uint8Array} stored  the key as LevelDB keeps it @param {Uint8Array} value
 * @returns {Versioned | undefined} undefined for a key that LevelDB does not write
 */
function versioned (stored, value) {
  const cursor = new Cursor(stored)
  const key = cursor.bytes(stored.length - SUFFIX_LEN)
  const [low, high] = [cursor.u32(), cursor.u32()]
  const [kind, sequence] = [low & 255, (low >>> 8) + high * 2 ** 24]
  if (!Number.isSafeInteger(sequence) || (kind !== VALUE && kind !== DELETION)) return undefined
  return { key, sequence, value: kind === VALUE ? value : undefined }
}

/**
 * Returns true if the key that the index of a table has for a block is not before the last key of the block, and not
 * after the first key of the next block.
 *
 * @param {Uint8Array} separator  as LevelDB keeps keys @param {Uint8Array} lastKey  as LevelDB keeps keys
 * @param {Uint8Array} [next]  the first key of the next block, without LevelDB's suffix
 */
export function isBetween (separator, lastKey, next) {
  if (equals(separator, lastKey)) return true
  const [key, last] = [separator, lastKey].map(stored => stored.subarray(0, -SUFFIX_LEN))
  return compare(key, last) > 0 && (next === undefined || compare(key, next) <= 0)
}

/** Returns true if an entry follows another one in a table. @param {Versioned} entry @param {Versioned} other */
export function comesAfter (entry, other) {
  const order = compare(entry.key, other.key)
  return order > 0 || (order === 0 && entry.sequence < other.sequence)
}
