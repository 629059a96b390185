// Hashes one span, in a worker or on the main thread.

import { CHUNK_LEN } from '../../core/constants.js'
import { PairTable } from '../../outboard/pairs.js'
import { TreeBuilder } from '../../hash/tree-builder.js'

/** @import { SpanJob, SpanResult } from '../../core/types.js' */

/**
 * @param {SpanJob} job
 * @param {AsyncIterable<Uint8Array> | Iterable<Uint8Array>} pieces  the bytes of the span
 * @returns {Promise<SpanResult>} fresh
 */
export async function hashSpan ({ mode, outboard, start, len }, pieces) {
  const startChunk = start / CHUNK_LEN
  const table = outboard && new PairTable(len, outboard.groupLog, outboard.order, startChunk)
  const tree = new TreeBuilder(mode, { startChunk, sink: table })
  for await (const piece of pieces) tree.update(piece)
  const cv = tree.cv()
  return table === undefined ? { cv } : { cv, pairs: table.bytes }
}
