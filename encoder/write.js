// Writes outboards to files, or to anything else that can be written at any offset, while the blob is read. Only the
// next few writes are in memory, not the outboard.

import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG, PAIR_LEN } from '../lib/core/constants.js'
import { PairWriter } from '../lib/outboard/pair-writer.js'
import { assertPostOrder, grownFrom } from './append.js'
import { HEADER_LEN, assertInteger, describe } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { assertOrder } from '../lib/outboard/pairs.js'
import { changeFile, createFile } from '#files'
import { hashSource } from '../lib/parallel/hash-source.js'
import { modeOf } from '../lib/hash/mode-options.js'
import { OUTBOARD_INFO, openOutboard } from '../lib/outboard/paged-outboard.js'
import { outboardLen } from '../lib/tree/geometry.js'
import { OUTBOARD_OPTIONS } from './create-outboard.js'
import { toCid } from '../lib/hash/cid.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { NamedBlob } from '../lib/hash/cid.js' */
/** @import { Order } from '../lib/outboard/pairs.js' */
/** @import { Mode, ProgressOptions, RandomAccess, RandomAccessSink } from '../lib/core/types.js' */
/** @import { Source, ThreadOptions } from '../lib/core/types.js' */
/** @import { OutboardOptions } from './create-outboard.js' */

/**
 * @typedef {{ size: number, groupLog: number, order: Order, header: boolean }} FileLayout
 * @typedef {NamedBlob & FileLayout} KeptOutboard  a `WrittenOutboard` as a caller has stored it; `cid` may have any
 *   form
 * @typedef {object} WriteOptions
 * @property {boolean} [header]  true to begin with the size in 8 bytes, as bao does at group log 0; default: false
 * @property {KeptOutboard} [append]  describes the outboard in the target, which will be extended. Its `groupLog`,
 *   `order` and `header` are used
 */

const OPTIONS = [...OUTBOARD_OPTIONS, 'header', 'append', 'signal', 'onProgress', 'threads']

/** What the bytes of an outboard do not say. `openOutboard` and the option `append` need it. */
export class WrittenOutboard {
  /** The CID of the blob. @type {CID} */
  cid
  /** The hash of the blob: 32 bytes. */
  root
  /** The size of the blob in bytes. */
  size
  /** Pairs are kept at and above this level: a group is 2^groupLog chunks. */
  groupLog
  /** @type {Order} */
  order
  /** True if the outboard begins with the size in 8 bytes. */
  header

  /** @param {{ root: Uint8Array } & FileLayout} parts */
  constructor ({ root, size, groupLog, order, header }) {
    this.cid = toCid(root)
    this.root = root
    this.size = size
    this.groupLog = groupLog
    this.order = order
    this.header = header
  }
}

/**
 * Writes the outboard of a source, in one pass. The outboard may be larger than the memory.
 *
 *     const info = await writeOutboard('movie.mp4', 'movie.mp4.obao4')
 *     const outboard = await openOutboard('movie.mp4.obao4', info)
 *
 * The name of the file decides nothing: `groupLog`, `order` and `header` do.
 *
 * A file appears under its name, or replaces the old one, only when all of it is on the disk. Any other target has the
 * whole outboard when the promise resolves. If the outboard begins with the size, the size is written last. Writes come
 * one at a time, at places in any order. If the size of the source is not known, pairs are written in post-order; for
 * pre-order, they are then reordered in the target.
 *
 * If a blob has grown, its outboard can be extended in place, provided that it is in post-order:
 *
 *     info = await writeOutboard('log.txt', 'log.obao', { append: info })
 *
 * This is `appendOutboard` for files. The last writes change the pairs on the old right edge, and the size at the
 * start. Until then, the target still contains the old outboard, with new pairs after it. So after an interruption,
 * callers try again with the old `info`. If the old outboard is then refused, the last writes had begun, and the
 * outboard must be written again from the start.
 *
 * @param {Source} source  with `append`, it must be readable at any offset
 * @param {string | URL | RandomAccessSink} target  a path, a `file:` URL, or an object that is written from byte 0 on
 * @param {OutboardOptions & ProgressOptions & ThreadOptions & WriteOptions} [options]  `onProgress`
 *   gets `baobox:outboard`
 * @returns {Promise<WrittenOutboard>} what `openOutboard` and `append` need to know
 * @throws {BaoError} the errors of `createOutboard` and `appendOutboard`; errors of the target, unchanged
 */
export async function writeOutboard (source, target, options = {}) {
  assertTarget(target)
  assertKnownOptions(options, OPTIONS)
  const { append, key, threads, signal, onProgress } = options
  const mode = modeOf({ key })
  if (append !== undefined) {
    const blob = /** @type {RandomAccess} */ (source)
    return withTarget(target, changeFile, sink => appendTo(blob, sink, append, { mode, signal, onProgress }))
  }
  const { groupLog = DEFAULT_GROUP_LOG, order = 'pre', header = false } = options
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  assertOrder(order)
  signal?.throwIfAborted()
  return withTarget(target, createFile, async sink => {
    const writer = new PairWriter(sink, { groupLog, order, header, signal })
    const outboard = { groupLog, order, writer }
    const type = 'baobox:outboard'
    const { root, size } = await hashSource(source, { mode, outboard, threads, signal, onProgress, type })
    await writer.finish(size)
    return new WrittenOutboard({ root, size, groupLog, order, header })
  })
}

/**
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source
 * @param {RandomAccessSink} sink @param {KeptOutboard} info
 * @param {ProgressOptions & { mode: Mode }} options
 * @returns {Promise<WrittenOutboard>}
 */
async function appendTo (source, sink, info, options) {
  assertKnownOptions(info, OUTBOARD_INFO)
  const { size: oldSize, groupLog, order, header } = info
  assertPostOrder('append', order)
  assertInteger('append.groupLog', groupLog, 0, MAX_GROUP_LOG)
  if (sink.read === undefined) {
    throw new TypeError('"target" expected to have "read": it holds the outboard that is appended to')
  }
  const oldLen = outboardLen(oldSize, groupLog)
  const old = await openOutboard({ size: oldLen + (header ? HEADER_LEN : 0), read: sink.read.bind(sink) }, info)
  const writer = new PairWriter(sink, { groupLog, order, header, lateTo: oldLen / PAIR_LEN, signal: options.signal })
  const grown = await grownFrom(source, old, size => {
    writer.begin(size)
    return writer
  }, options)
  if (grown.size > oldSize) await writer.finish(grown.size)
  const root = grown.size > oldSize ? grown.root : old.root
  return new WrittenOutboard({ root, size: grown.size, groupLog, order, header })
}

/**
 * Opens the target, works on it, and closes it. A new file gets its name only if the work succeeds.
 *
 * @template T
 * @param {string | URL | RandomAccessSink} target
 * @param {typeof createFile} open  opens a path
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
