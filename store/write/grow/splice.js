// Makes a blob of a stored one, in which some bytes are replaced, cut out or inserted. What stays where it was keeps
// its subtrees, so that it is not hashed again. BLAKE3 hashes every chunk together with its index: what comes to stand
// elsewhere has another hash there.

import { assertInteger, assertOptions } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { cancelSource, closeSource, openSource, withProgress } from '../../../lib/source/source.js'
import { GROUP_LEN } from '../../storage/content/tree-pages.js'
import { PUT_OPTIONS } from '../put.js'
import { Original } from './original.js'

/** @import { OpenSource, ProgressOptions, Source } from '../../../lib/core/types.js' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { StoreContext } from '../../exchange/store-context.js' */
/** @import { IncomingBlob } from '../blob-builder.js' */
/** @import { PutOptions } from '../put.js' */
/** @import { PutResult } from '../put-many.js' */

/**
 * What becomes of a blob: the bytes from `start` to `end` are replaced.
 *
 * @typedef {object} SpliceChange
 * @property {number} start  bytes
 * @property {number} [end]  bytes, not included. Default: the end of the blob
 * @property {Source} [source]  of the bytes that come in their place. Default: none
 */

/**
 * As for `put`, where `expect` and `size` are those of the new blob.
 *
 * @typedef {object} GrowOwnOptions
 * @property {boolean} [verify]  compare also those bytes with the root that stay where they are? What is hashed again
 *   is compared in any case. Default: what the store was opened with
 */

/** @typedef {Omit<PutOptions, 'verify'> & GrowOwnOptions} GrowOptions */

/** Their names. */
export const GROW_OPTIONS = PUT_OPTIONS

/**
 * See `BlobStore.splice`.
 *
 * @param {StoreContext} store @param {BlobName} cid @param {SpliceChange} change @param {GrowOptions} options
 * @returns {Promise<PutResult>}
 */
export async function splice (store, cid, change, { verify = store.verifies, onProgress, ...options }) {
  const root = parseRoot(cid, 'cid')
  assertChange(change)
  const { source } = change
  const cancel = () => { if (source !== undefined) cancelSource(source) }
  const release = store.protection.tag(root, 'raw')
  try {
    return await store.writer.fill(async (blob, signal) => {
      const opened = source === undefined ? NOTHING : await openSource(source, signal)
      try {
        const original = await Original.find(store, root, { verifies: verify, signal })
        await fillSpliced(blob, original, { ...change, source: opened }, { signal, onProgress })
      } catch (error) {
        cancel() // it may not have been read yet
        throw error
      } finally {
        await closeSource(opened, signal)
      }
    }, options, { closing: new AbortController(), cancel })
  } finally {
    release()
  }
}

/** @param {SpliceChange} change @throws {TypeError | RangeError} */
function assertChange (change) {
  assertOptions('change', change, '{ start, end, source }')
  assertKnownOptions(change, ['start', 'end', 'source'])
  const { start, end } = change
  assertInteger('start', start)
  if (end !== undefined) assertInteger('end', end, start)
}

/**
 * @param {IncomingBlob} blob  empty
 * @param {Original} original
 * @param {{ start: number, end?: number, source: OpenSource }} change
 * @param {ProgressOptions & { type?: string }} options
 */
export async function fillSpliced (blob, original, { start, end = original.size, source }, options) {
  const { signal, onProgress, type = 'baobox:splice' } = options
  const { size } = original
  assertInteger('start', start, 0, size)
  assertInteger('end', end, start, size)
  await original.requireAround(start, end)
  const total = source.size === undefined ? undefined : start + source.size + size - end
  const tell = () => onProgress?.({ type, detail: { done: blob.size, total } })
  const whole = start - start % GROUP_LEN
  const border = Math.min(Math.ceil(end / GROUP_LEN) * GROUP_LEN, size)
  await original.share(blob, whole + size - border)
  await original.keep(blob, 0, whole, tell)
  if (border < size) blob.expectSubtreeAt(border)
  await original.move(blob, whole, start, tell)
  for await (const piece of withProgress(source, { signal })) {
    await blob.write(piece)
    tell()
  }
  if (blob.size === end && border < size) {
    await original.move(blob, end, border, tell)
    await original.keep(blob, border, size, tell)
  } else {
    await original.move(blob, end, size, tell)
  }
}

/** @type {OpenSource} */
const NOTHING = { size: 0, async * pieces () {}, close () {} }
