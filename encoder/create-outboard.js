// Makes outboards: of bytes in memory, and of any source.

import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG } from '../lib/core/constants.js'
import { assertBytes, assertInteger } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { PairTable, assertOrder } from '../lib/outboard/pairs.js'
import { TreeBuilder } from '../lib/hash/tree-builder.js'
import { hashSource } from '../lib/parallel/hash-source.js'
import { modeOf } from '../lib/hash/mode-options.js'
import { Outboard } from './outboard.js'

/** @import { ProgressOptions, Source, ThreadOptions } from '../lib/core/types.js' */
/** @import { Order } from '../lib/outboard/pairs.js' */

/**
 * @typedef {object} OutboardOptions
 * @property {number} [groupLog]  0 to 16; default: 4
 * @property {Order} [order]  default: 'pre'
 * @property {Uint8Array} [key]  the key of a keyed tree
 */

export const OUTBOARD_OPTIONS = ['groupLog', 'order', 'key']

/**
 * Makes the outboard of bytes in memory.
 *
 * @param {Uint8Array} bytes
 * @param {OutboardOptions} [options]
 * @returns {Outboard}
 */
export function createOutboardSync (bytes, options) {
  assertBytes('bytes', bytes)
  assertKnownOptions(options, OUTBOARD_OPTIONS)
  const { mode, groupLog, order } = checked(options)
  const table = new PairTable(bytes.length, groupLog, order)
  const tree = new TreeBuilder(mode, { sink: table })
  tree.update(bytes)
  return new Outboard({ root: tree.hash(), size: bytes.length, groupLog, order, bytes: table.bytes })
}

/**
 * Makes the outboard of any source, in one pass. The outboard is in memory, but not the blob. Long files, Blobs and
 * bytes in shared memory are hashed on several threads.
 *
 * @param {Source} source
 * @param {OutboardOptions & ProgressOptions & ThreadOptions} [options]  `onProgress` gets `baobox:outboard`
 * @returns {Promise<Outboard>}
 * @throws {BaoError} BAO_TRUNCATED, BAO_SOURCE_CHANGED when a file changes during the call, BAO_WORKER_FAILED
 */
export async function createOutboard (source, options = {}) {
  assertKnownOptions(options, [...OUTBOARD_OPTIONS, 'signal', 'onProgress', 'threads'])
  const { signal, onProgress, threads } = options
  const { mode, groupLog, order } = checked(options)
  const outboard = { groupLog, order }
  const type = 'baobox:outboard'
  const { root, size, pairs } = await hashSource(source, { mode, outboard, threads, signal, onProgress, type })
  return new Outboard({ root, size, groupLog, order, bytes: /** @type {Uint8Array} */ (pairs) })
}

/** Options with their defaults. @param {OutboardOptions} [options] */
function checked ({ groupLog = DEFAULT_GROUP_LOG, order = 'pre', key } = {}) {
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  assertOrder(order)
  return { groupLog, order, mode: modeOf({ key }) }
}
