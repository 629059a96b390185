// A table of LevelDB: blocks of sorted entries, then the blocks and the footer that are needed to find them.
// (leveldb: doc/table_format.md, table/format.cc)
//
//   data block ... data block | filter block | metaindex block | index block | footer
//   footer, 48 bytes: handle of the metaindex block, handle of the index block, padding, u64 magic
//   handle: varint offset, varint size, without the trailer of the block
//
// There are no gaps between blocks. So if the index block is right, the place of each block is certain.

import { orIfMalformed, Cursor } from './cursor.js'
import {
  TRAILER_LEN, comesAfter, contentsOf, correctBlock, entriesOf, isBetween, isIntact, rawEntriesOf
} from './block.js'
import { findChecksum } from './checksum.js'

/** @import { Versioned } from './block.js' */

const FOOTER_LEN = 48
/** The two halves of the magic, as little-endian numbers. */
const MAGIC = [0x8b80fb57, 0xdb477524]
/** At most this many bytes are searched for the end of a block when the index of the table is lost. */
const MAX_SEARCH_LEN = 1 << 21

/** @typedef {{ start: number, end: number }} Span  bytes of a block in the table, with its trailer */
/** @typedef {Span & { separator: Uint8Array }} EntryBlock  `separator`: the key that the index has for the block */

export class Table {
  #bytes
  /** The blocks with entries, in the order of the table. */
  blocks
  /** All other blocks. */
  others

  /** @param {Uint8Array} bytes @param {EntryBlock[]} blocks @param {Span[]} others */
  constructor (bytes, blocks, others) {
    this.#bytes = bytes
    this.blocks = blocks
    this.others = others
  }

  /**
   * Finds the blocks of a table.
   *
   * @param {Uint8Array} bytes  of the whole table
   * @param {{ corrects?: boolean }} [options]  `corrects`: correct a single wrong bit of the index in place. Default:
   *   false
   * @returns {Table | undefined} undefined when the footer or the index is damaged
   */
  static of (bytes, { corrects = false } = {}) {
    return orIfMalformed(() => {
      const footerAt = bytes.length - FOOTER_LEN
      const magic = new Cursor(bytes, Math.max(bytes.length - 8, 0))
      if (magic.u32() !== MAGIC[0] || magic.u32() !== MAGIC[1]) return undefined
      const cursor = new Cursor(bytes, footerAt)
      const [metaindex, index] = [spanAt(cursor), spanAt(cursor)]
      if (metaindex.end !== index.start || index.end !== footerAt) return undefined
      const block = bytes.subarray(index.start, index.end)
      if (!(corrects ? correctBlock(block) : isIntact(block))) return undefined
      const contents = contentsOf(block)
      const { entries, isWellFormed } = rawEntriesOf(contents ?? new Uint8Array(0))
      const blocks = entries.map(({ key, value }) => ({ ...spanAt(new Cursor(value)), separator: key }))
      let end = 0
      for (const span of blocks) {
        if (span.start !== end) return undefined
        end = span.end
      }
      if (!isWellFormed || end > metaindex.start) return undefined
      const filter = { start: end, end: metaindex.start }
      return new Table(bytes, blocks, [...end < metaindex.start ? [filter] : [], metaindex])
    })
  }

  /** @param {Span} span @returns {Uint8Array} a view of the block, with its trailer */
  block ({ start, end }) { return this.#bytes.subarray(start, end) }

  /**
   * Finds the first damage in the table that would harm LevelDB.
   *
   * @param {object} options
   * @param {boolean} options.forgivesValues  true to accept damaged values, which do not harm LevelDB
   * @param {boolean} options.checksOrder  true to check that all keys are in order. A table whose checksums are right
   *   is in order, unless LevelDB took the entries from a damaged table
   * @returns {string | undefined} the damage, for messages
   */
  fault ({ forgivesValues, checksOrder }) {
    for (const span of this.others) {
      if (!isIntact(this.block(span))) return `the block at ${span.start} is damaged`
    }
    let isSuspect = checksOrder
    for (const span of this.blocks) {
      if (isIntact(this.block(span))) continue
      if (!forgivesValues) return `the block at ${span.start} is damaged`
      isSuspect = true
    }
    return isSuspect && !this.#isInOrder() ? 'its keys are damaged' : undefined
  }

  /** Returns true if all keys are in order, and the index has the right key for each block. */
  #isInOrder () {
    /** @type {{ entry: Versioned, key: Uint8Array, separator: Uint8Array } | undefined} */
    let last
    for (const { separator, ...span } of this.blocks) {
      const { entries, isInOrder, lastKey } = entriesOf(contentsOf(this.block(span)) ?? new Uint8Array(0))
      const [first, entry] = [entries[0], entries.at(-1)]
      if (!isInOrder || entry === undefined || lastKey === undefined) return false
      if (last !== undefined && !comesAfter(first, last.entry)) return false
      if (last !== undefined && !isBetween(last.separator, last.key, first.key)) return false
      last = { entry, key: lastKey, separator }
    }
    return last === undefined || isBetween(last.separator, last.key)
  }

  /**
   * Returns the first and the last key, as LevelDB keeps them; undefined if there is none. Call it only for a table
   * without a fault.
   */
  ends () {
    const keysIn = (/** @type {Span | undefined} */ span) => {
      const contents = span && contentsOf(this.block(span))
      return rawEntriesOf(contents ?? new Uint8Array(0)).entries.map(({ key }) => key)
    }
    return [keysIn(this.blocks[0])[0], keysIn(this.blocks.at(-1)).at(-1)]
  }
}

/**
 * Finds the blocks of a table whose footer or index is damaged, up to the first damaged block. A block ends where its
 * checksum is right.
 *
 * @param {Uint8Array} bytes
 * @returns {Span[]}
 */
export function findBlocks (bytes) {
  const blocks = /** @type {Span[]} */ ([])
  for (let start = 0; ;) {
    const checksumAt = findChecksum(bytes, start, MAX_SEARCH_LEN)
    if (checksumAt === undefined) return blocks
    const end = checksumAt + 4
    blocks.push({ start, end })
    start = end
  }
}

/** @param {Cursor} cursor @returns {Span} */
function spanAt (cursor) {
  const [start, len] = [cursor.varint(), cursor.varint()]
  return { start, end: start + len + TRAILER_LEN }
}
