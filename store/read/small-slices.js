// The fast path for small slices at any place of a complete blob: a small read of the bytes (verified/small-read.js),
// and pairs that are mostly in memory (verified/trusted-trees.js). It returns a right slice, or undefined. Then the
// caller makes the slice piece by piece, and so finds the fault.

import { DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { HEADER_LEN, u64ToBytes } from '../../lib/core/bytes.js'
import { HASH_MODE } from '../../lib/engine/mode.js'
import { cutSync } from '../../lib/slice/slicer.js'
import { GROUP_LEN } from '../sizes.js'
import { VIEWS } from '../storage/format/keys.js'
import { spanOf } from './blob-access.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { Content } from '../storage/content/content-of.js' */
/** @import { SmallReads } from './verified/small-read.js' */
/** @import { TrustedTrees } from './verified/trusted-trees.js' */

export class SmallSlices {
  #reads
  #trees

  /** @param {SmallReads} reads @param {TrustedTrees} trees */
  constructor (reads, trees) {
    this.#reads = reads
    this.#trees = trees
  }

  /**
   * @param {Content} content @param {ChunkRanges} wanted
   * @param {{ header: boolean, verify: boolean, signal?: AbortSignal }} options
   * @returns {Promise<Uint8Array<ArrayBuffer> | undefined>} a slice that belongs to the caller
   */
  async read (content, wanted, { header, verify, signal }) {
    const { root, record, databases: { data } } = content
    const { size } = record
    const [start, end] = spanOf(wanted, size)
    const bytes = await this.#reads.read({ content, start, end, verify, signal })
    if (bytes === undefined) return undefined
    const tree = this.#trees.of(root, record)
    try {
      for (let at = start; at < end; at += GROUP_LEN) {
        const stop = Math.min(at + GROUP_LEN, size)
        if (tree.known(at, stop) === undefined) await tree.expected(at, stop, data, () => VIEWS)
      }
      const job = { root, size, groupLog: GROUP_LOG, ranges: wanted, mode: HASH_MODE }
      const slice = cutSync(bytes, tree.outboard, job, { headerLen: header ? HEADER_LEN : 0, start })
      if (header) slice.set(u64ToBytes(size))
      return slice
    } catch {
      return undefined
    }
  }
}
