// Hashes any source from start to end, and makes its outboard if the caller wants it. Uses several threads if that is
// quicker.

import { PairList, PairTable } from '../outboard/pairs.js'
import { TreeBuilder } from '../hash/tree-builder.js'
import { assertKnownOptions } from '../core/options.js'
import { closeSource, openSource, withProgress } from '../source/source.js'
import { hashInSpans } from './hash-spans.js'
import { modeOf } from '../hash/mode-options.js'
import { reorderPairs } from '../outboard/reorder.js'
import { untilAborted } from '../source/async-util.js'

/** @import { Mode, ModeOptions, OpenSource, ProgressOptions } from '../core/types.js' */
/** @import { Source, SubtreeSink, ThreadOptions } from '../core/types.js' */
/** @import { Order } from '../outboard/pairs.js' */
/** @import { CheckedFile } from '../source/source.js' */
/** @import { SpanOptions } from './hash-spans.js' */

/**
 * @typedef {object} HashedSource  all of it fresh
 * @property {Uint8Array<ArrayBuffer>} root  32 bytes
 * @property {number} size  bytes
 * @property {Uint8Array<ArrayBuffer>} [pairs]  the outboard, if the caller wanted it and did not give a writer
 */

/**
 * @typedef {object} TreeOptions
 * @property {Mode} mode
 * @property {{ groupLog: number, order: Order, writer?: SubtreeSink }} [outboard]  the layout of the wanted outboard;
 *   `writer`, if any, gets its pairs
 * @property {string} type  the type of the events that `onProgress` gets
 */

/** @typedef {TreeOptions & ProgressOptions & ThreadOptions} HashOptions */

const STREAM_OPTIONS = ['key', 'context', 'threads', 'signal', 'onProgress']

/**
 * BLAKE3 of a stream, a file, a Blob or bytes, in bounded memory. Long files, Blobs and bytes in shared memory are
 * hashed on several threads.
 *
 * @param {Source} source
 * @param {ProgressOptions & ModeOptions & ThreadOptions} [options]  `onProgress` gets `baobox:hash`
 * @returns {Promise<Uint8Array<ArrayBuffer>>} 32 fresh bytes
 * @throws {BaoError} BAO_TRUNCATED, BAO_SOURCE_CHANGED when a file changes during the call, BAO_WORKER_FAILED
 */
export async function hashStream (source, options = {}) {
  assertKnownOptions(options, STREAM_OPTIONS)
  const { key, context, threads, signal, onProgress } = options
  const mode = modeOf({ key, context })
  const { root } = await hashSource(source, { mode, threads, signal, onProgress, type: 'baobox:hash' })
  return root
}

/**
 * Computes the root of a source, and its outboard if that is wanted.
 *
 * @param {Source | CheckedFile} source
 * @param {HashOptions & SpanOptions} options
 * @returns {Promise<HashedSource>}
 * @throws {BaoError} BAO_TRUNCATED { start, wanted, got }, BAO_SOURCE_CHANGED { location }, BAO_WORKER_FAILED { cause }
 */
export async function hashSource (source, options) {
  const opened = await openSource(source, options.signal)
  try {
    options.outboard?.writer?.begin?.(opened.size)
    return await hashOpenSource(opened, options)
  } finally {
    await closeSource(opened, options.signal)
  }
}

/**
 * Does what `hashSource` does, for an open source.
 *
 * @param {OpenSource} opened @param {HashOptions & SpanOptions} options
 */
export const hashOpenSource = async (opened, options) =>
  await hashInSpans(opened, options) ?? await hashOnThisThread(opened, options)

/** @param {OpenSource} opened @param {HashOptions} options @returns {Promise<HashedSource>} */
async function hashOnThisThread (opened, options) {
  const { mode, outboard } = options
  const writer = outboard?.writer
  const pairs = outboard && !writer ? pairsFor(opened, outboard) : undefined
  const tree = new TreeBuilder(mode, { sink: writer ?? pairs })
  for await (const piece of withProgress(opened, options)) {
    tree.update(piece)
    if (writer) await untilAborted(writer.flush(), options.signal)
  }
  const root = tree.hash()
  const { size } = tree
  if (outboard === undefined || pairs === undefined) return { root, size }
  const { bytes } = pairs
  if (pairs instanceof PairList && outboard.order === 'pre') reorderPairs(bytes, size, outboard.groupLog, 'pre')
  return { root, size, pairs: bytes }
}

/**
 * Makes a collector of pairs. The sizes of files and memory are known. The size of another source may be a false claim,
 * so no memory is allocated for it in advance.
 *
 * @param {OpenSource} opened @param {{ groupLog: number, order: Order }} outboard
 */
const pairsFor = ({ shared, size }, { groupLog, order }) =>
  shared && size ? new PairTable(size, groupLog, order) : new PairList(groupLog)
