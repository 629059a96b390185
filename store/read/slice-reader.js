// Reads slices and outboards of stored blobs, with which others can verify the blobs.

import { assertInteger, concat } from '../../lib/core/bytes.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { outboardLen } from '../../lib/tree/geometry.js'
import { ChunkRanges, toRanges } from '../../lib/tree/ranges.js'
import { Outboard } from '../../encoder/outboard.js'
import { encodeSlice } from '../../encoder/slice.js'
import { spanOf } from './blob-access.js'
import { RegroupedOutboard, outboardPieces } from './regrouped-outboard.js'

/** @import { RangesLike } from '../../lib/tree/ranges.js' */
/** @import { BlobName } from '../blob-store.js' */
/** @import { StoreContext } from '../store-context.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { BlobAccess } from './blob-access.js' */

/**
 * @typedef {object} SliceOptions
 * @property {number} [groupLog]  0 to 16. Below 4, the store computes more pairs. Above 4, every group of which a part
 *   is wanted must be present, and is read into memory as a whole. Default: 4
 * @property {boolean} [header]  begin with the length? Default: true
 * @property {boolean} [reuse]  as for `get`
 * @property {AbortSignal} [signal]
 */

/**
 * @typedef {object} OutboardPart
 * @property {number} groupLog  0 to 16
 * @property {number} [start]  bytes of the outboard. Default: 0
 * @property {number} [end]  bytes of the outboard. Default: its end
 * @property {AbortSignal} [signal]
 */

export class SliceReader {
  #store
  #access

  /** @param {StoreContext} store @param {BlobAccess} access */
  constructor (store, access) {
    this.#store = store
    this.#access = access
  }

  /**
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]
   * @param {SliceOptions} [options]  see `BlobStore.slice`
   * @param {{ readsAhead?: boolean }} [how]  false for callers that may wait long between pieces: see `calmSource`
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  slice (cid, ranges, options = {}, { readsAhead = true } = {}) {
    assertKnownOptions(options, ['groupLog', 'header', 'reuse', 'signal'])
    const { groupLog = GROUP_LOG } = options
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    return this.#slice(parseRoot(cid, 'cid'), toRanges(ranges), { ...options, groupLog, readsAhead })
  }

  /**
   * @param {Uint8Array} cid @param {ChunkRanges} wanted
   * @param {SliceOptions & { groupLog: number, readsAhead: boolean }} options
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * #slice (cid, wanted, { groupLog, header = true, reuse, signal, readsAhead }) {
    const { root, record } = await this.#access.use(cid, signal)
    const release = this.#store.protection.use(root)
    const verify = this.#store.verifies || record.home === 'reference'
    // When a part of a group is wanted, its inner pairs are computed from all of its bytes.
    const needed = groupLog <= GROUP_LOG ? wanted : wanted.canonical(record.size).roundToGroups(groupLog)
    /** @param {BlobRecord} now @param {number} given  bytes of the slice */
    const read = async (now, given) => {
      await this.#access.require(root, now, needed)
      return withoutFirst(given, this.#access.reading(root, now, spanOf(needed, now.size), view => {
        const outboard = groupLog === GROUP_LOG ? view.outboard : new RegroupedOutboard(view, groupLog)
        const source = readsAhead ? view.source : view.calmSource
        return encodeSlice(source, outboard, wanted, { header, verify, reuse, signal })
      }))
    }
    try {
      yield * this.#store.healer.read(root, { notes: verify, signal }).pieces(record, () => needed, read)
    } finally {
      release()
    }
  }

  /**
   * @param {BlobName} cid @param {{ signal?: AbortSignal }} [options]  see `BlobStore.outboard`
   * @returns {Promise<Outboard>}
   */
  async outboard (cid, options = {}) {
    assertKnownOptions(options, ['signal'])
    const { signal } = options
    const { root, record } = await this.#access.use(cid, signal)
    const pieces = []
    // The size may be a claim, so let the memory grow with the pairs that exist.
    for await (const piece of this.#outboardPieces(root, record, { groupLog: GROUP_LOG, signal })) pieces.push(piece)
    return Outboard.from({ cid: root, size: record.size, groupLog: GROUP_LOG, order: 'pre', bytes: concat(pieces) })
  }

  /**
   * Gives a part of the outboard of a whole blob, in pre-order, piece by piece. Each pair is verified first.
   *
   * @param {BlobName} cid @param {OutboardPart} part
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the caller's own pieces
   */
  async * outboardPieces (cid, part) {
    const { root, record } = await this.#access.use(cid, part.signal)
    yield * this.#outboardPieces(root, record, part)
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {OutboardPart} part */
  async * #outboardPieces (root, record, { groupLog, start = 0, end = Infinity, signal }) {
    const release = this.#store.protection.use(root)
    /** @param {BlobRecord} now @param {number} given  bytes of the outboard */
    const read = async (now, given) => {
      await this.#access.require(root, now, ChunkRanges.all)
      const stop = Math.min(end, outboardLen(now.size, groupLog))
      return this.#access.reading(root, now, [0, now.size], view =>
        outboardPieces(view, { groupLog, start: start + given, end: stop, signal }))
    }
    try {
      yield * this.#store.healer.read(root, { notes: true, signal }).pieces(record, () => ChunkRanges.all, read)
    } finally {
      release()
    }
  }
}

/**
 * Gives pieces without their first bytes.
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
