// Makes a blob from parts: ranges of stored blobs, and new bytes. Bytes that keep their offset keep their subtrees, so
// they are not hashed again. Bytes that move are hashed again, because BLAKE3 hashes each chunk with its index.

import { assertMany, untilSignal } from '../../../lib/async/in-order.js'
import { assertInteger, assertOptions } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { cancelSource, isRandomAccess, toPieces } from '../../../lib/source/source.js'
import { GROUP_LEN } from '../../sizes.js'
import { PUT_OPTIONS } from '../put.js'
import { Original } from './original.js'

/** @import { ProgressOptions, Source } from '../../../lib/core/types.js' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { Protection } from '../../gc/protection.js' */
/** @import { Many } from '../../../lib/async/in-order.js' */
/** @import { IncomingBlob } from '../incoming-blob.js' */
/** @import { BlobWriter, PutOptions, WriteBytes } from '../put.js' */
/** @import { OriginalParts } from './original.js' */
/** @import { PutResult } from '../put-many.js' */

/**
 * @typedef {object} ComposeOwnParts
 * @property {Protection} protection
 * @property {boolean} verifies  true to compare bytes with the hash, unless a call says otherwise
 * @property {BlobWriter} writer
 */

/** @typedef {ComposeOwnParts & OriginalParts} ComposeParts  the parts of the store that composing uses */

/**
 * Bytes of a blob that the store has.
 *
 * @typedef {object} StoredPart
 * @property {BlobName} cid
 * @property {number} [start]  bytes. Default: 0
 * @property {number} [end]  bytes, not included. Default: the end of the blob
 * @property {undefined} [source]
 */

/**
 * Bytes that come from elsewhere.
 *
 * @typedef {object} NewPart
 * @property {Source} source
 * @property {undefined} [cid]
 * @property {undefined} [start]
 * @property {undefined} [end]
 */

/** @typedef {StoredPart | NewPart} BlobPart */

/**
 * The options of `put`; `expect` and `size` are those of the new blob.
 *
 * @typedef {object} ComposeOwnOptions
 * @property {boolean} [verify]  compare even the bytes that keep their offset with the root. Bytes that are hashed
 *   again are always compared. Default: the option `verify` of the store
 */

/** @typedef {Omit<PutOptions, 'recheck' | 'alwaysRead' | 'alias'> & ComposeOwnOptions} ComposeOptions */

/** The names of all options in `ComposeOptions`. */
export const COMPOSE_OPTIONS = [
  ...PUT_OPTIONS.filter(name => !['alwaysRead', 'alias', 'recheck'].includes(name)), 'verify'
]

/**
 * A part that was looked up.
 *
 * @typedef {object} Piece
 * @property {Original} [original]  undefined for new bytes
 * @property {number} start  where the part begins in the original blob, in bytes
 * @property {number} end  where the part ends there
 * @property {number} [len]  bytes; undefined while the length of a source is not known
 * @property {AsyncGenerator<Uint8Array>} [pieces]  the new bytes
 */

/**
 * See `BlobStore.compose`.
 *
 * @param {ComposeParts} store @param {Many<BlobPart>} parts @param {ComposeOptions} given
 * @returns {Promise<PutResult>}
 */
export async function compose (store, parts, given) {
  assertKnownOptions(given, COMPOSE_OPTIONS)
  const { verify, onProgress, ...options } = given
  assertMany('parts', parts, EXPECTED)
  const composition = new Composition(store, { verify, onProgress, type: 'baobox:compose' })
  /** @type {WriteBytes} */
  const writeBytes = (blob, signal) => composition.fill(blob, parts, signal)
  const cancel = () => composition.cancel(parts)
  try {
    return await store.writer.putFilled(options, { writeBytes, closing: new AbortController(), cancel })
  } finally {
    composition.release()
  }
}

const EXPECTED = '{ cid, start, end } or { source }'

/** Fills a new blob with parts. */
export class Composition {
  #protection
  #originalParts
  #verifies
  #onProgress
  #type
  /** The blobs that parts are taken from, by the names of their roots. */
  #originals = /** @type {Map<string, Original>} */ (new Map())
  #releases = /** @type {(() => void)[]} */ ([])
  #given = /** @type {BlobPart[]} */ ([])
  #pieces = /** @type {Piece[]} */ ([])
  /** The blob that is filled. */
  #blob = /** @type {IncomingBlob | undefined} */ (undefined)

  /**
   * @param {ComposeParts} store
   * @param {{ verify?: boolean, onProgress?: ProgressOptions['onProgress'], type: string }} options  `verify`: see
   *   `ComposeOptions`. `type`: the type of the progress events
   */
  constructor (store, { verify = store.verifies, onProgress, type }) {
    const { access, databases, protection, reader, reads } = store
    this.#protection = protection
    this.#originalParts = { access, databases, reader, reads }
    this.#verifies = verify
    this.#onProgress = onProgress
    this.#type = type
  }

  /**
   * Fills a blob. On failure, it cancels all sources. The caller calls `release` when the blob is kept, or has failed.
   *
   * @param {IncomingBlob} blob  empty @param {Many<BlobPart>} parts @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }, STORE_CORRUPT { cid, start, len }
   */
  async fill (blob, parts, signal) {
    this.#blob = blob
    try {
      for await (const part of untilSignal(parts, signal)) await this.#take(part, signal)
      await this.#share(blob)
      await this.#write(blob)
    } catch (error) {
      this.cancel(parts)
      throw error
    }
  }

  /**
   * Cancels the sources of the parts: of all parts in an array, or of the parts of an iterable that were taken so far.
   *
   * @param {Many<BlobPart>} parts
   */
  cancel (parts) {
    for (const part of Array.isArray(parts) ? parts : this.#given) {
      if (part?.source !== undefined) cancelSource(part.source)
    }
  }

  /** Ends the protection of the blobs that parts were taken from. */
  release () { for (const release of this.#releases.splice(0)) release() }

  /**
   * Looks up a part, and proves the size of its blob.
   *
   * @param {BlobPart} part @param {AbortSignal} [signal]
   */
  async #take (part, signal) {
    assertOptions('parts', part, EXPECTED)
    this.#given.push(part)
    if (part.cid === undefined) return this.#takeNew(part, signal)
    assertKnownOptions(part, ['cid', 'start', 'end'])
    const { start = 0, end } = part
    assertInteger('start', start)
    if (end !== undefined) assertInteger('end', end, start)
    const original = await this.#originalOf(parseRoot(part.cid, 'cid'), signal)
    const { size } = original
    assertInteger('start', start, 0, size)
    assertInteger('end', end ?? size, start, size)
    const last = end ?? size
    await original.require(start, last)
    if (last > start) this.#pieces.push({ original, start, end: last, len: last - start })
  }

  /** @param {Uint8Array} root @param {AbortSignal} [signal] */
  async #originalOf (root, signal) {
    const known = this.#originals.get(nameOf(root))
    if (known !== undefined) return known
    this.#releases.push(this.#protection.tag(root, 'raw'))
    const original = await Original.find(this.#originalParts, root, { verifies: this.#verifies, signal })
    this.#originals.set(nameOf(root), original)
    return original
  }

  /** @param {NewPart} part @param {AbortSignal} [signal] */
  #takeNew (part, signal) {
    assertKnownOptions(part, ['source'])
    const { source } = part
    const piece = /** @type {Piece} */ ({ start: 0, end: 0, len: lenOf(source) })
    piece.pieces = toPieces(source, {
      signal,
      onProgress: ({ detail: { total } }) => {
        piece.len = total
        this.#tell()
      }
    })
    this.#pieces.push(piece)
  }

  /**
   * Clones a file for the blob, which is still empty: the file of the original from which it can keep the most bytes.
   *
   * @param {IncomingBlob} blob
   */
  async #share (blob) {
    const lens = /** @type {Map<Original, number>} */ (new Map())
    for (const { original, from, to } of keepable(this.#pieces, 0, 0)) {
      lens.set(original, (lens.get(original) ?? 0) + to - from)
    }
    const [most] = [...lens].sort(([, a], [, b]) => b - a)
    if (most !== undefined) await most[0].share(blob, most[1])
  }

  /** @param {IncomingBlob} blob */
  async #write (blob) {
    const tell = () => this.#tell()
    const pieces = this.#pieces
    /** True from the first hashed bytes until the next kept subtree. `border`: where that subtree may begin. */
    let isInGap = false
    /** @type {number | undefined} */
    let border
    /**
     * @param {number} i  index of the first piece that may follow the gap
     * @param {number} at  where that piece begins in the new blob
     */
    const enterGap = (i, at) => {
      if (isInGap) return
      isInGap = true
      border = keepable(pieces, i, at).next().value?.from
      if (border !== undefined) blob.expectSubtreeAt(border)
    }
    for (const [i, piece] of pieces.entries()) {
      const { original, start, end } = piece
      if (original === undefined) {
        enterGap(i, blob.size)
        for await (const bytes of piece.pieces ?? []) await blob.write(bytes)
        continue
      }
      const kept = keptOf(piece, blob.size, i === pieces.length - 1)
      // After a gap, the tree accepts a subtree only at the announced border.
      if (kept === undefined || (isInGap && kept.from !== border)) {
        enterGap(i, blob.size)
        await original.move(blob, start, end, tell)
        continue
      }
      if (start < kept.from) {
        enterGap(i, start)
        await original.move(blob, start, kept.from, tell)
      }
      isInGap = false
      await original.keep(blob, kept.from, kept.to, tell)
      if (kept.to < end) {
        enterGap(i + 1, end)
        await original.move(blob, kept.to, end, tell)
      }
    }
  }

  #tell () {
    if (this.#onProgress === undefined) return
    let total = /** @type {number | undefined} */ (0)
    for (const { len } of this.#pieces) total = total === undefined || len === undefined ? undefined : total + len
    this.#onProgress({ type: this.#type, detail: { done: this.#blob?.size ?? 0, total, unit: 'bytes' } })
  }
}

/** Returns the length of a source, if it is known before the source is opened. @param {Source} source */
function lenOf (source) {
  if (source instanceof Uint8Array) return source.length
  return source instanceof Blob || isRandomAccess(source) ? source.size : undefined
}

/**
 * Returns the bytes of a piece that keep their offset, in whole groups. At the end of the new blob, the last group of
 * the original counts as whole.
 *
 * @param {Piece} piece @param {number} at  where the piece begins in the new blob @param {boolean} isLast
 * @returns {{ original: Original, from: number, to: number } | undefined}  undefined when there are none
 */
function keptOf ({ original, start, end }, at, isLast) {
  if (original === undefined || start !== at) return undefined
  const from = Math.ceil(start / GROUP_LEN) * GROUP_LEN
  const to = isLast && end === original.size ? end : end - end % GROUP_LEN
  return from < to ? { original, from, to } : undefined
}

/**
 * Yields the bytes that pieces may keep. After a piece of unknown length, a later piece is included if it could still
 * keep its offset.
 *
 * @param {Piece[]} pieces @param {number} first  index of the first piece
 * @param {number} at  where that piece begins in the new blob
 */
function * keepable (pieces, first, at) {
  let isExact = true
  for (let i = first; i < pieces.length; i++) {
    const piece = pieces[i]
    if (!isExact && piece.original !== undefined && piece.start > at) at = piece.start
    const kept = keptOf(piece, at, i === pieces.length - 1)
    if (kept !== undefined) yield kept
    if (piece.len === undefined) isExact = false
    else at += piece.len
  }
}
