// Reads slices and outboards of stored blobs, as reads.js says.

import { assertInteger, concat } from '../../lib/core/bytes.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { outboardLen } from '../../lib/tree/geometry.js'
import { ChunkRanges, toRange, toRanges } from '../../lib/tree/ranges.js'
import { Outboard } from '../../encoder/outboard.js'
import { encodeSlice, sliceLen } from '../../encoder/slice.js'
import { contentOf } from '../storage/content/content-of.js'
import { missing } from '../storage/errors.js'
import { assertHops } from './reads.js'
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
/** @import { PassedOn, Reads } from './reads.js' */

/**
 * @typedef {object} SliceOwnOptions
 * @property {number} [groupLog]  0 to 16. Below 4, the store computes the additional pairs. Above 4, each group with a
 *   wanted part must be present as a whole, and is read into memory as a whole. Default: 4
 * @property {boolean} [header]  begin with the header. Default: true
 * @property {boolean} [reuse]  as for `get`
 * @property {boolean} [readAhead]  read more than the next piece needs. `false` saves memory, for callers that may wait
 *   a long time between pieces. Default: true
 * @property {AbortSignal} [signal]
 */
/** @typedef {SliceOwnOptions & PassedOn} SliceOptions */

/**
 * @typedef {object} OutboardOwnOptions
 * @property {number} [groupLog]  0 to 16. Default: 4
 * @property {AbortSignal} [signal]
 */
/** @typedef {OutboardOwnOptions & PassedOn} OutboardOptions */

/**
 * @typedef {{ range: RangeLike }} OutboardRange  bytes of an outboard
 */

/** @typedef {{ groupLog: number, start: number, end?: number, hops?: number, signal?: AbortSignal }} Part */

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
    assertKnownOptions(options, ['groupLog', 'header', 'reuse', 'readAhead', 'hops', 'signal'])
    assertHops(options)
    const { groupLog = GROUP_LOG, readAhead = true } = options
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    return this.#slice(parseRoot(cid, 'cid'), toRanges(ranges), { ...options, groupLog, readAhead })
  }

  /**
   * @param {Uint8Array} cid @param {ChunkRanges} wanted
   * @param {SliceOptions & { groupLog: number, readAhead: boolean }} options
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * #slice (cid, wanted, { groupLog, header = true, reuse, readAhead, hops, signal }) {
    const { root, record } = await this.#reads.lookUp(cid, () => wanted, { hops, signal })
    const release = this.#protection.use(root)
    const content = contentOf(this.#databases, root, record)
    const verify = this.#verifies || !content.isOurs
    // A group that is larger than those of the store is hashed from all of its bytes, even when only a part of it is
    // wanted.
    const needed = groupLog <= GROUP_LOG ? wanted : wanted.canonical(record.size).roundToGroups(groupLog)
    /** All of the slice that is for earlier chunks was given. */
    let from = 0
    /** @param {BlobRecord} now @param {number} given  bytes of the slice */
    const read = async (now, given) => {
      const lost = await this.#access.missing(now, needed)
      // Give the part before the first missing group before `supply` is asked for that group.
      const end = startOfGroup(lost.boundaries[0] ?? Infinity, groupLog)
      const part = new SlicePart(wanted, { size: now.size, groupLog, header, from, end })
      if (!lost.isEmpty && !(this.#reads.canFetch(hops) && part.hasChunks)) throw missing(root, now.size, lost)
      const span = spanOf(needed.intersect(part.span), now.size)
      const pieces = this.#access.reading(root, now, span, view => {
        const outboard = groupLog === GROUP_LOG ? view.outboard : new RegroupedOutboard(view, groupLog)
        const source = readAhead ? view.source : view.calmSource
        return encodeSlice(source, outboard, part.ranges, { header: part.header, verify, reuse, signal })
      })
      return thenFail(withoutFirst(given - part.start, pieces), () => {
        from = end
        return lost.isEmpty ? undefined : missing(root, now.size, lost)
      })
    }
    try {
      signal?.throwIfAborted()
      const small = groupLog === GROUP_LOG
        ? await this.#smallSlices.read(content, wanted, { header, verify, signal })
        : undefined
      if (small !== undefined) yield small
      else yield * this.#reads.retried(root, { notes: verify, hops, signal }).pieces(record, () => needed, read)
    } finally {
      release()
    }
  }

  /**
   * @param {BlobName} cid @param {OutboardOptions} [options]  see `Store.outboard`
   * @returns {Promise<Outboard>}
   */
  async outboard (cid, options = {}) {
    assertKnownOptions(options, ['groupLog', 'hops', 'signal'])
    assertHops(options)
    const { groupLog = GROUP_LOG, hops, signal } = options
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    const { root, record } = await this.#reads.lookUp(cid, () => ChunkRanges.all, { hops, signal })
    const pieces = []
    // The size may be a claim, so let the memory grow with the pairs that exist.
    const all = this.#outboardPieces(root, record, { groupLog, start: 0, hops, signal })
    for await (const piece of all) pieces.push(piece)
    return Outboard.from({ cid: root, size: record.size, groupLog, order: 'pre', bytes: concat(pieces) })
  }

  /**
   * Yields a part of the outboard of a whole blob, in pre-order, piece by piece. It verifies each pair first.
   *
   * @param {BlobName} cid @param {OutboardOptions & OutboardRange} part
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the caller's own pieces
   */
  outboardPieces (cid, part) {
    assertKnownOptions(part, ['groupLog', 'range', 'hops', 'signal'])
    assertHops(part)
    const { groupLog = GROUP_LOG, range, hops, signal } = part
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    const { start, end } = toRange(range)
    return this.#outboardPart(parseRoot(cid, 'cid'), { groupLog, start, end, hops, signal })
  }

  /** @param {Uint8Array} cid @param {Part} part */
  async * #outboardPart (cid, part) {
    const { root, record } = await this.#reads.lookUp(cid, () => ChunkRanges.all, part)
    yield * this.#outboardPieces(root, record, part)
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {Part} part */
  async * #outboardPieces (root, record, { groupLog, start, end = Infinity, hops, signal }) {
    const release = this.#protection.use(root)
    /** @param {BlobRecord} now @param {number} given  bytes of the outboard */
    const read = async (now, given) => {
      await this.#access.require(root, now, ChunkRanges.all)
      const stop = Math.min(end, outboardLen(now.size, groupLog))
      return this.#access.reading(root, now, [0, now.size], view =>
        outboardPieces(view, { groupLog, start: start + given, end: stop, signal }))
    }
    try {
      yield * this.#reads.retried(root, { notes: true, hops, signal }).pieces(record, () => ChunkRanges.all, read)
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

/**
 * Yields pieces, and then fails, if there is a reason.
 *
 * @param {AsyncIterable<Uint8Array<ArrayBuffer>>} pieces
 * @param {() => Error | undefined} reasonOf  called when all pieces were taken
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * thenFail (pieces, reasonOf) {
  yield * pieces
  const reason = reasonOf()
  if (reason !== undefined) throw reason
}

/**
 * The first chunk of the group that has a chunk. Groups are at least as long as those of the store.
 *
 * @param {number} chunk  or Infinity @param {number} groupLog
 */
const startOfGroup = (chunk, groupLog) =>
  chunk === Infinity ? chunk : chunk - chunk % 2 ** Math.max(groupLog, GROUP_LOG)

/**
 * The part of a slice that is for the chunks from `from` to `end`. In the order of a slice, it follows everything that
 * is for earlier chunks. It is cut from a slice of these chunks alone: this begins with pairs above them that the part
 * before also has, because they are above earlier chunks, too.
 */
class SlicePart {
  /**
   * @param {ChunkRanges} wanted  of the whole slice
   * @param {{ size: number, groupLog: number, header: boolean, from: number, end: number }} options  `from` and `end`:
   *   the first chunks of groups, or the end of the blob
   */
  constructor (wanted, { size, groupLog, header, from, end }) {
    const blob = { size, groupLog }
    this.span = new ChunkRanges(end === Infinity ? [from] : from < end ? [from, end] : [])
    const isAll = from === 0 && end === Infinity
    const rest = from === 0 ? wanted : wanted.canonical(size).intersect(new ChunkRanges([from]))
    /** The chunks. */
    this.ranges = isAll ? wanted : wanted.canonical(size).intersect(this.span)
    this.hasChunks = !this.ranges.isEmpty
    this.header = header && from === 0
    /** Where the slice of all chunks from `from` on would begin in the whole slice, in bytes. */
    this.start = sliceLen(blob, wanted, { header }) - sliceLen(blob, rest, { header: this.header })
  }
}
