// Writes the pairs of a blob to its pages while the blob is hashed. The subtrees may arrive in any order.

import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG, PAIR_LEN } from '../../../lib/core/constants.js'
import { u8 } from '../../../lib/engine/arena.js'
import { eachPair } from '../../../lib/outboard/pairs.js'
import { leftChunks } from '../../../lib/tree/geometry.js'
import { GROUP_CHUNKS, PageEditor } from '../../storage/content/tree-pages.js'

/** @import { SubtreeSink } from '../../../lib/core/types.js' */
/** @import { SafeDatabase } from '../../storage/level/safe-database.js' */

/** Chunks between two writes of pages: 256 MiB. */
const PAGES_EACH = (1 << 28) / CHUNK_LEN

/** @implements {SubtreeSink} */
export class PageWriter {
  groupLog = GROUP_LOG
  #data
  #each
  #pages
  #eachPair
  /** All subtrees before this chunk have arrived. `#ahead`: the ends of subtrees after a gap, by their first chunks. */
  #joined = 0
  #ahead = /** @type {Map<number, number>} */ (new Map())
  /** Pages before this chunk are complete. Pages before `#written` are written, or are being written. */
  #complete = 0
  #written = 0
  #writing = Promise.resolve()

  /**
   * @param {SafeDatabase} data @param {number} id  of the blob
   * @param {{ each?: number }} [options]  `each`: chunks between two writes of pages
   */
  constructor (data, id, { each = PAGES_EACH } = {}) {
    this.#data = data
    this.#each = each
    this.#pages = new PageEditor(id)
    this.#eachPair = eachPair(GROUP_LOG, (node, at) => this.pair(node, at))
  }

  /** @type {SubtreeSink['pair']} */
  pair (node, at) { this.#pages.setPair(node, u8, at) }

  /** @type {SubtreeSink['subtree']} */
  subtree (level, index, startChunk, chunks, at) {
    this.#eachPair.subtree(level, index, startChunk, chunks, at)
    this.#complete = startChunk // A parent above the last subtree may arrive with this one.
  }

  /** @type {SubtreeSink['putSubtree']} */
  putSubtree (startChunk, chunks, pairs) {
    let at = 0
    forEachParent(startChunk, chunks, node => {
      this.#pages.setPair(node, pairs, at)
      at += PAIR_LEN
    })
    this.#ahead.set(startChunk, startChunk + chunks)
    for (let end; (end = this.#ahead.get(this.#joined)) !== undefined;) {
      this.#ahead.delete(this.#joined)
      this.#complete = this.#joined
      this.#joined = end
    }
  }

  /**
   * Writes complete pages, if there are enough, once the previous write has ended. The promise resolves when this write
   * begins. Several calls may wait at the same time: one for each thread that hashes.
   */
  async flush () {
    if (this.#complete - this.#written < this.#each) return
    this.#written = this.#complete
    const puts = this.#pages.take(this.#complete)
    const before = this.#writing
    this.#writing = before.then(() => this.#data.batch(puts))
    this.#writing.catch(() => {}) // The next call awaits it and throws the error.
    await before
  }

  /** Writes everything that is not written yet. @param {{ sync: boolean }} options */
  async finish (options) {
    await this.#writing
    await this.#data.batch(this.#pages.take(), options)
  }

  /** Waits until all writes have ended, and ignores failures. */
  endWrites () { return this.#writing.catch(() => {}) }
}

/**
 * Visits the parents of a subtree, down to the group level, in pre-order.
 *
 * @param {number} start  chunks @param {number} chunks @param {(node: number) => void} visit
 */
function forEachParent (start, chunks, visit) {
  if (chunks <= GROUP_CHUNKS) return
  const left = leftChunks(chunks)
  visit(start + left - 1)
  forEachParent(start, left, visit)
  forEachParent(start + left, chunks - left, visit)
}
