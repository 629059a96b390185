// Outboards that go to a file, or to anything else that can be written at any place, while the blob is read: memory holds no more of them than a write.

import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG, PAIR_LEN } from '../lib/core/constants.js'
import { PairWriter } from '../lib/outboard/pair-writer.js'
import { assertPostOrder, grownFrom } from './append.js'
import { HEADER_LEN, assertInteger, describe } from '../lib/core/bytes.js'
import { assertOrder } from '../lib/outboard/pairs.js'
import { changeFile, createFile } from '#files'
import { hashSource } from '../lib/parallel/hash-source.js'
import { modeOf } from '../lib/hash/mode-options.js'
import { openOutboard } from '../lib/outboard/paged-outboard.js'
import { outboardLen } from '../lib/tree/geometry.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { Order } from '../lib/outboard/pairs.js' */
/** @import { Mode, ProgressOptions, RandomAccess, RandomAccessSink, Source, ThreadOptions } from '../lib/core/types.js' */
/** @import { OutboardOptions } from './outboard.js' */

/** @typedef {{ root: Uint8Array, size: number, groupLog: number, order: Order, header: boolean }} WrittenOutboard  what its bytes do not say */
/** @typedef {Omit<WrittenOutboard, 'root'> & { root: Uint8Array | CID | string }} KeptOutboard  the same as it may have been kept: the root by any of its names */

/**
 * Writes the outboard of a source, in one pass. It may be longer than memory.
 *
 *     const info = await writeOutboard('movie.mp4', 'movie.obao')
 *     const outboard = await openOutboard('movie.obao', info)
 *
 * A file appears under its name, or takes the place of the one before, only when all of it is on the disk. Anything else that is written to has a whole
 * outboard when the promise is kept, and until then no size in front. Writes come one at a time, and in any order of places; pairs of a source
 * whose size is not known are written in post-order, and for pre-order turned where they are.
 *
 * Of a blob that has grown, the outboard from before can be brought up to date where it is, if it is in post-order:
 *
 *     info = await writeOutboard('log.txt', 'log.obao', { append: info })
 *
 * This is `appendOutboard` for files. Until the last writes, which are of the pairs on the right edge that change and of the size in front, the old outboard
 * stands there with new pairs behind it: whoever is interrupted begins again from the old `info`. If that is refused, they had begun, and the
 * outboard is to be written anew.
 *
 * @param {Source} source  to append, one that can be read at any place
 * @param {string | URL | RandomAccessSink} target  a path, a `file:` URL, or what is written from byte 0 on
 * @param {OutboardOptions & ProgressOptions & ThreadOptions & { header?: boolean, append?: KeptOutboard }} [options]  `header`: with the size in
 *   front, as bao has it at group log 0; `append`: what stands in the target, which says `groupLog`, `order` and `header` then; `onProgress` gets
 *   `baobox:outboard`
 * @returns {Promise<WrittenOutboard>} what `openOutboard` wants to know
 * @throws {BaoError} as `createOutboard` and `appendOutboard`; and what the target throws
 */
export async function writeOutboard (source, target, { append, key, threads, signal, onProgress, ...options } = {}) {
  assertTarget(target)
  const mode = modeOf({ key })
  if (append !== undefined) {
    return withTarget(target, changeFile, sink => appendTo(/** @type {RandomAccess} */ (source), sink, append, { mode, signal, onProgress }))
  }
  const { groupLog = DEFAULT_GROUP_LOG, order = 'pre', header = false } = options
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  assertOrder(order)
  signal?.throwIfAborted()
  return withTarget(target, createFile, async sink => {
    const writer = new PairWriter(sink, { groupLog, order, header, signal })
    const { root, size } = await hashSource(source, { mode, outboard: { groupLog, order, writer }, threads, signal, onProgress, type: 'baobox:outboard' })
    await writer.finish(size)
    return { root, size, groupLog, order, header }
  })
}

/**
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source @param {RandomAccessSink} sink @param {KeptOutboard} info
 * @param {ProgressOptions & { mode: Mode }} options
 * @returns {Promise<WrittenOutboard>}
 */
async function appendTo (source, sink, info, options) {
  const { size: oldSize, groupLog, order, header } = info
  assertPostOrder('append', order)
  assertInteger('append.groupLog', groupLog, 0, MAX_GROUP_LOG)
  if (sink.read === undefined) throw new TypeError('"target" expected to have "read": it has the outboard that is appended to')
  const oldLen = outboardLen(oldSize, groupLog)
  const old = await openOutboard({ size: oldLen + (header ? HEADER_LEN : 0), read: sink.read.bind(sink) }, info)
  const writer = new PairWriter(sink, { groupLog, order, header, lateTo: oldLen / PAIR_LEN, signal: options.signal })
  const grown = await grownFrom(source, old, size => {
    writer.begin(size)
    return writer
  }, options)
  if (grown.size > oldSize) await writer.finish(grown.size)
  return { root: grown.size > oldSize ? grown.root : old.root, size: grown.size, groupLog, order, header }
}

/**
 * Does work on a sink; a file is kept when it is done, and left when it fails.
 *
 * @template T
 * @param {string | URL | RandomAccessSink} target
 * @param {typeof createFile} open  of a path
 * @param {(sink: RandomAccessSink) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function withTarget (target, open, work) {
  if (typeof target === 'object' && 'write' in target) return work(target)
  const file = await open(target)
  try {
    const result = await work(file)
    await file.commit()
    return result
  } catch (error) {
    await file.discard()
    throw error
  }
}

/** @param {unknown} target @returns {asserts target is string | URL | RandomAccessSink} */
function assertTarget (target) {
  if (typeof target === 'string' || target instanceof URL) return
  if (typeof target === 'object' && target !== null && 'write' in target && typeof target.write === 'function') return
  throw new TypeError(`"target" expected a path, or { write }, got ${describe(target)}`)
}
