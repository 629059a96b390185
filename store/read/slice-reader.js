// Reads slices and outboards of stored blobs, as reads.js says.

import { assertInteger, concat } from '../../lib/core/bytes.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { outboardLen } from '../../lib/tree/geometry.js'
import { ChunkRanges, toRange, toRanges } from '../../lib/tree/ranges.js'
import { Outboard } from '../../encoder/outboard.js'
import { encodeSlice } from '../../encoder/slice.js'
import { contentOf } from '../storage/content/content-of.js'
import { spanOf } from './blob-access.js'
import { RegroupedOutboard, outboardPieces } from './regrouped-outboard.js'
import { SmallReads } from './verified/small-read.js'
import { SmallSlices } from './small-slices.js'

/** @import { RangeLike, RangesLike } from '../../lib/tree/ranges.js' */
/** @import { BlobName } from '../blob-store.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { BlobAccess } from './blob-access.js' */
/** @import { Reads } from './reads.js' */

/**
 * @typedef {object} SliceOptions
 * @property {number} [groupLog]  0 to 16. Below 4, the store computes the additional pairs. Above 4, each group with a
 *   wanted part must be present as a whole, and is read into memory as a whole. Default: 4
 * @property {boolean} [header]  begin with the header. Default: true
 * @property {boolean} [reuse]  as for `get`
 * @property {boolean} [readAhead]  read more than the next piece needs. `false` saves memory, for callers that may wait
 *   a long time between pieces. Default: true
 * @property {AbortSignal} [signal]
 */

/**
 * @typedef {object} OutboardOptions
 * @property {number} [groupLog]  0 to 16. Default: 4
 * @property {AbortSignal} [signal]
 */

/**
 * @typedef {{ range: RangeLike }} OutboardRange  bytes of an outboard
 */

/** @typedef {{ groupLog: number, start: number, end?: number, signal?: AbortSignal }} Part */

export class SliceReader {
  #access
  #databases
  #reads
  #protection
  #smallSlices
  #verifies

  /**
   * @param {object} parts
   * @param {BlobAccess} parts.access
   * @param {Reads} parts.reads
   * @param {Databases} parts.databases
   * @param {Protection} parts.protection
   * @param {boolean} parts.verifies  true to compare bytes with the hash
   */
  constructor ({ access, databases, protection, reads, verifies }) {
    this.#access = access
    this.#databases = databases
    this.#reads = reads
    this.#protection = protection
    this.#smallSlices = new SmallSlices(new SmallReads(databases, access.trees), access.trees)
    this.#verifies = verifies
  }

  /**
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]
   * @param {SliceOptions} [options]  see `Store.slice`
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  slice (cid, ranges, options = {}) {
    assertKnownOptions(options, ['groupLog', 'header', 'reuse', 'readAhead', 'signal'])
    const { groupLog = GROUP_LOG, readAhead = true } = options
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    return this.#slice(parseRoot(cid, 'cid'), toRanges(ranges), { ...options, groupLog, readAhead })
  }

  /**
   * @param {Uint8Array} cid @param {ChunkRanges} wanted
   * @param {SliceOptions & { groupLog: number, readAhead: boolean }} options
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * #slice (cid, wanted, { groupLog, header = true, reuse, readAhead, signal }) {
    const { root, record } = await this.#reads.lookUp(cid, () => wanted, signal)
    const release = this.#protection.use(root)
    const content = contentOf(this.#databases, root, record)
    const verify = this.#verifies || !content.isOurs
    // A group that is larger than those of the store is hashed from all of its bytes, even when only a part of it is
    // wanted.
    const needed = groupLog <= GROUP_LOG ? wanted : wanted.canonical(record.size).roundToGroups(groupLog)
    /** @param {BlobRecord} now @param {number} given  bytes of the slice */
    const read = async (now, given) => {
      await this.#access.require(root, now, needed)
      return withoutFirst(given, this.#access.reading(root, now, spanOf(needed, now.size), view => {
        const outboard = groupLog === GROUP_LOG ? view.outboard : new RegroupedOutboard(view, groupLog)
        const source = readAhead ? view.source : view.calmSource
        return encodeSlice(source, outboard, wanted, { header, verify, reuse, signal })
      }))
    }
    try {
      signal?.throwIfAborted()
      const small = groupLog === GROUP_LOG
        ? await this.#smallSlices.read(content, wanted, { header, verify, signal })
        : undefined
      if (small !== undefined) yield small
      else yield * this.#reads.retried(root, { notes: verify, signal }).pieces(record, () => needed, read)
    } finally {
      release()
    }
  }

  /**
   * @param {BlobName} cid @param {OutboardOptions} [options]  see `Store.outboard`
   * @returns {Promise<Outboard>}
   */
  async outboard (cid, options = {}) {
    assertKnownOptions(options, ['groupLog', 'signal'])
    const { groupLog = GROUP_LOG, signal } = options
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    const { root, record } = await this.#reads.lookUp(cid, () => ChunkRanges.all, signal)
    const pieces = []
    // The size may be a claim, so let the memory grow with the pairs that exist.
    for await (const piece of this.#outboardPieces(root, record, { groupLog, start: 0, signal })) pieces.push(piece)
    return Outboard.from({ cid: root, size: record.size, groupLog, order: 'pre', bytes: concat(pieces) })
  }

  /**
   * Yields a part of the outboard of a whole blob, in pre-order, piece by piece. It verifies each pair first.
   *
   * @param {BlobName} cid @param {OutboardOptions & OutboardRange} part
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the caller's own pieces
   */
  outboardPieces (cid, part) {
    assertKnownOptions(part, ['groupLog', 'range', 'signal'])
    const { groupLog = GROUP_LOG, range, signal } = part
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    const { start, end } = toRange(range)
    if (end < start) throw new RangeError(`"end" expected at least "start", ${start}, got ${end}`)
    return this.#outboardPart(parseRoot(cid, 'cid'), { groupLog, start, end, signal })
  }

  /** @param {Uint8Array} cid @param {Part} part */
  async * #outboardPart (cid, part) {
    const { root, record } = await this.#reads.lookUp(cid, () => ChunkRanges.all, part.signal)
    yield * this.#outboardPieces(root, record, part)
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {Part} part */
  async * #outboardPieces (root, record, { groupLog, start, end = Infinity, signal }) {
    const release = this.#protection.use(root)
    /** @param {BlobRecord} now @param {number} given  bytes of the outboard */
    const read = async (now, given) => {
      await this.#access.require(root, now, ChunkRanges.all)
      const stop = Math.min(end, outboardLen(now.size, groupLog))
      return this.#access.reading(root, now, [0, now.size], view =>
        outboardPieces(view, { groupLog, start: start + given, end: stop, signal }))
    }
    try {
      yield * this.#reads.retried(root, { notes: true, signal }).pieces(record, () => ChunkRanges.all, read)
    } finally {
      release()
    }
  }
}

/**
 * Yields pieces without their first bytes.
 *
 * @param {number} len  bytes to leave out @param {AsyncIterable<Uint8Array<ArrayBuffer>>} pieces
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * withoutFirst (len, pieces) {
  let left = len
  for await (const piece of pieces) {
    const rest = left === 0 ? piece : piece.subarray(Math.min(left, piece.length))
    left -= piece.length - rest.length
    if (rest.length > 0) yield rest
  }
}
