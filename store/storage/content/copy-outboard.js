// Copies the tree of a stored blob into an outboard in memory, and checks it there.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG, PAIR_LEN } from '../../../lib/core/constants.js'
import { ENTER, walk } from '../../../lib/tree/walk.js'
import { leafMismatch, truncated } from '../../../lib/core/errors.js'
import { outboardLen } from '../../../lib/tree/geometry.js'
import { Outboard } from '../../../encoder/outboard.js'
import { validOutboardRanges } from '../../../verifier/valid.js'

/** @import { StoredOutboard } from './tree-pages.js' */

/** Pairs that are copied together: as many as stand in a page. */
const COPIED = 63
/** Bytes of an outboard that are allocated before any pair of it was found. */
const FIRST_LEN = 1 << 20

/**
 * The size is a claim: the memory grows with the pairs that are there.
 *
 * @param {StoredOutboard} stored @param {AbortSignal} [signal]
 * @returns {Promise<Outboard>}
 * @throws {BaoError} BAO_TRUNCATED { node }, BAO_LEAF_MISMATCH { start, len }
 */
export async function copyOutboard (stored, signal) {
  const { root, size } = stored
  const len = outboardLen(size, GROUP_LOG)
  let bytes = new Uint8Array(Math.min(len, FIRST_LEN))
  let steps = /** @type {{ node: number, pre: number }[]} */ ([])
  const copy = async () => {
    signal?.throwIfAborted()
    await stored.prepare(steps.map(({ node }) => node))
    for (const { node, pre } of steps) {
      const at = pre * PAIR_LEN
      if (at === bytes.length) bytes = grown(bytes, Math.min(len, 2 * at))
      if (!stored.copyPair({ node }, bytes, at)) throw truncated({ node, wanted: PAIR_LEN, got: 0 })
    }
    steps = []
  }
  for (const { kind, node, pre, isStored } of walk(size, GROUP_LOG)) {
    if (kind !== ENTER || !isStored) continue
    steps.push({ node, pre })
    if (steps.length === COPIED) await copy()
  }
  await copy()
  const outboard = Outboard.from({ root, size, groupLog: GROUP_LOG, order: 'pre', bytes })
  const valid = await validOutboardRanges(outboard, undefined, { signal })
  const wrong = ChunkRanges.all.canonical(size).difference(valid).toBytes(size)
  if (wrong.length > 0) throw leafMismatch(wrong[0][0], wrong[0][1] - wrong[0][0])
  return outboard
}

/** @param {Uint8Array} bytes  copied @param {number} len */
function grown (bytes, len) {
  const more = new Uint8Array(len)
  more.set(bytes)
  return more
}
