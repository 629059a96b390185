// Grows the tree of any source, on this thread or on several.

import { PairList, PairTable } from '../outboard/pairs.js'
import { TreeBuilder } from '../hash/tree-builder.js'
import { closeSource, openSource, worked } from '../source/source.js'
import { growInSpans } from './hash-spans.js'
import { reorderPairs } from '../outboard/reorder.js'
import { untilAborted } from '../source/async-util.js'

/** @import { Mode, OpenSource, ProgressOptions, Source, ThreadOptions } from '../core/types.js' */
/** @import { Order } from '../outboard/pairs.js' */
/** @import { PairWriter } from '../outboard/pair-writer.js' */
/** @import { SpanOptions } from './hash-spans.js' */

/** @typedef {{ root: Uint8Array<ArrayBuffer>, size: number, pairs?: Uint8Array<ArrayBuffer> }} Grown  fresh; `pairs` when they were wanted here */
/** @typedef {{ mode: Mode, outboard?: { groupLog: number, order: Order, writer?: PairWriter } }} Growth  what the tree is like; which pairs are wanted, if any, and who writes them */
/** @typedef {Growth & ProgressOptions & ThreadOptions & { type: string }} GrowOptions  `type`: of the events that `onProgress` gets */

/**
 * @param {Source} source
 * @param {GrowOptions & SpanOptions} options
 * @returns {Promise<Grown>}
 * @throws {BaoError} BAO_TRUNCATED { start, wanted, got }, BAO_SOURCE_CHANGED { location }, BAO_WORKER_FAILED { cause }
 */
export async function growTree (source, options) {
  const opened = await openSource(source, options.signal)
  try {
    options.outboard?.writer?.begin(opened.size)
    return await growOpened(opened, options)
  } finally {
    await closeSource(opened, options.signal)
  }
}

/** The same for a source that is open. @param {OpenSource} opened @param {GrowOptions & SpanOptions} options @returns {Promise<Grown>} */
export const growOpened = async (opened, options) => await growInSpans(opened, options) ?? await growHere(opened, options)

/** @param {OpenSource} opened @param {GrowOptions} options @returns {Promise<Grown>} */
async function growHere (opened, options) {
  const { mode, outboard } = options
  const writer = outboard?.writer
  // Of files and memory the size is known; what other sources say of theirs may be a claim, which takes no memory.
  const pairs = outboard && writer === undefined
    ? opened.shared && opened.size ? new PairTable(opened.size, outboard.groupLog, outboard.order) : new PairList(outboard.groupLog)
    : undefined
  const tree = new TreeBuilder(mode, { sink: writer ?? pairs })
  for await (const piece of worked(opened, options)) {
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
