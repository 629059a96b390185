// Which chunks of an incomplete blob are here.

import { ChunkRanges } from '../../lib/tree/ranges.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { nameOf } from './catalog.js'
import { presentChunks } from '../storage/content/tree-pages.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Database } from '../storage/level/database.js' */

/** Blobs whose presence is kept in memory: more than are received at a time. */
const KEPT_BLOBS = 256

export class Presence {
  #data
  /** Of blobs that are being received: looked up once, then kept up to date by whoever holds the blob's lock. */
  #known = /** @type {Map<string, ChunkRanges>} */ (new Map())

  /** @param {Database} data */
  constructor (data) {
    this.#data = data
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @returns {Promise<ChunkRanges>} */
  async of (root, record) {
    if (record.complete) return ChunkRanges.all.canonical(record.size)
    return this.#known.get(nameOf(root)) ?? presentChunks(this.#data, record)
  }

  /** Bytes that the store keeps of a blob: none of those in somebody else's file. @param {Uint8Array} root @param {BlobRecord} record */
  async len (root, record) {
    if (record.home === 'reference') return 0
    return record.complete ? record.size : rangesLen(await this.of(root, record), record.size)
  }

  /**
   * What is wanted and not here: whole groups, since none can be proven in part.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} wanted
   */
  async missing (root, record, wanted) {
    if (record.complete) return ChunkRanges.none
    const groups = wanted.canonical(record.size).roundToGroups(GROUP_LOG).intersect(ChunkRanges.all.canonical(record.size))
    return groups.difference(await this.of(root, record))
  }

  /** For who holds the blob's lock. @param {Uint8Array} root @param {ChunkRanges} present */
  remember (root, present) {
    this.forget(root)
    this.#known.set(nameOf(root), present)
    const [oldest] = this.#known.keys()
    if (this.#known.size > KEPT_BLOBS) this.#known.delete(oldest)
  }

  /** @param {Uint8Array} root */
  forget (root) { if (this.#known.size > 0) this.#known.delete(nameOf(root)) }
}

/** @param {ChunkRanges} ranges @param {number} size  bytes */
export const rangesLen = (ranges, size) => ranges.toBytes(size).reduce((len, [start, end]) => len + end - start, 0)

/** Are the bytes here, all of them, and not only in somebody else's file? @param {BlobRecord} record */
export const isKept = ({ complete, home }) => complete && home !== 'reference'
