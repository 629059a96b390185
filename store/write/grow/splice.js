// Makes a blob from a stored one by replacing, cutting out or inserting bytes. Bytes that keep their position also keep
// their subtrees, so they are not hashed again. Bytes that move must be hashed again, because BLAKE3 hashes every chunk
// together with its index.

import { assertInteger, assertOptions } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { cancelSource, closeSource, openSource, withProgress } from '../../../lib/source/source.js'
import { GROUP_LEN } from '../../storage/content/tree-pages.js'
import { PUT_OPTIONS } from '../put.js'
import { Original } from './original.js'

/** @import { OpenSource, ProgressOptions, Source } from '../../../lib/core/types.js' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { Protection } from '../../gc/protection.js' */
/** @import { BlobAccess } from '../../read/blob-access.js' */
/** @import { BlobReader } from '../../read/reader.js' */
/** @import { Supplies } from '../../read/supplies.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { IncomingBlob } from '../blob-builder.js' */
/** @import { BlobWriter, PutOptions } from '../put.js' */
/** @import { PutResult } from '../put-many.js' */

/**
 * @typedef {object} GrowParts
 * @property {BlobAccess} access
 * @property {Databases} databases
 * @property {Protection} protection
 * @property {BlobReader} reader
 * @property {Supplies} supplies
 * @property {boolean} verifies  are bytes compared with the hash, unless a call says otherwise?
 * @property {BlobWriter} writer
 */

/**
 * A change of a blob: the bytes from `start` to `end` are replaced.
 *
 * @typedef {object} SpliceChange
 * @property {number} start  bytes
 * @property {number} [end]  bytes, not included. Default: the end of the blob
 * @property {Source} [source]  the bytes to insert in their place. Default: none
 */

/**
 * Options as for `put`; `expect` and `size` are about the new blob.
 *
 * @typedef {object} GrowOwnOptions
 * @property {boolean} [verify]  also compare the bytes that keep their position with the root? Bytes that are hashed
 *   again are always compared. Default: what the store was opened with
 */

/** @typedef {Omit<PutOptions, 'verify' | 'alwaysRead' | 'alias'> & GrowOwnOptions} GrowOptions */

/** The names of all options in `GrowOptions`. */
export const GROW_OPTIONS = PUT_OPTIONS.filter(name => name !== 'alwaysRead' && name !== 'alias')

/**
 * See `BlobStore.splice`.
 *
 * @param {GrowParts} parts @param {BlobName} cid @param {SpliceChange} change @param {GrowOptions} options
 * @returns {Promise<PutResult>}
 */
export async function splice (parts, cid, change, { verify = parts.verifies, onProgress, ...options }) {
  const root = parseRoot(cid, 'cid')
  assertChange(change)
  const { source } = change
  const cancel = () => { if (source !== undefined) cancelSource(source) }
  const release = parts.protection.tag(root, 'raw')
  try {
    return await parts.writer.fill(async (blob, signal) => {
      const opened = source === undefined ? NOTHING : await openSource(source, signal)
      try {
        const original = await Original.find(parts, root, { verifies: verify, signal })
        await fillSpliced(blob, original, { ...change, source: opened }, { signal, onProgress })
      } catch (error) {
        cancel() // because nothing may have read the source yet
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
