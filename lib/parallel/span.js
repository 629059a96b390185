// One span, hashed by whichever thread has it in hand.

import { CHUNK_LEN } from '../constants.js'
import { PairList, reordered } from '../pairs.js'
import { TreeBuilder } from '../builder.js'

/** @import { SpanJob, SpanResult } from '../types.js' */

/**
 * @param {SpanJob} job
 * @param {AsyncIterable<Uint8Array> | Iterable<Uint8Array>} pieces  the bytes of the span
 * @returns {Promise<SpanResult>} fresh
 */
export async function hashSpan ({ mode, outboard, start, len }, pieces) {
  const pairs = outboard && new PairList(len, outboard.groupLog)
  const tree = new TreeBuilder(mode, { startChunk: start / CHUNK_LEN, groupLog: outboard?.groupLog, sink: pairs?.push })
  for await (const piece of pieces) tree.update(piece)
  const cv = tree.cv()
  if (outboard === undefined || pairs === undefined) return { cv }
  const { groupLog, order } = outboard
  return { cv, pairs: order === 'post' ? pairs.bytes : reordered(pairs.bytes, len, groupLog, order) }
}
