// Cuts a source into parts and uploads several of them at the same time. A source that fits into one part is put as a
// whole. Source of the limits: Amazon S3, "Multipart upload limits"; R2 wants parts of equal length but for the last.

import { BaoError } from '../../lib/core/errors.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { assertInteger } from '../../lib/core/bytes.js'
import { eitherOf, untilAborted } from '../../lib/source/async-util.js'
import { toPieces } from '../../lib/source/source.js'

/** @import { Source } from '../../lib/core/types.js' */

/**
 * @typedef {object} Upload  an upload that has begun
 * @property {(number: number, bytes: Uint8Array, signal: AbortSignal) => Promise<string>} put  uploads a part, counted
 *   from 1, and returns its ETag
 * @property {(etags: string[], signal?: AbortSignal) => Promise<{ etag?: string }>} complete  makes the object
 * @property {() => Promise<void>} abort  deletes the parts
 */
/**
 * @typedef {object} Uploader
 * @property {(bytes: Uint8Array) => Promise<{ etag?: string }>} putWhole
 * @property {() => Promise<Upload>} begin
 */

/** The length of a part. When an object is put that would have too many parts, its parts are longer. */
export const PART_LEN = 1 << 23
const MAX_PARTS = 10_000
/** The maximum length of an object: 5 TiB. */
const MAX_SIZE = 5 * 2 ** 40
/** How many parts are uploaded at the same time. */
const PARALLEL = 4

/**
 * @param {Source} source @param {{ size?: number, signal?: AbortSignal }} options
 * @param {Uploader & { location: string, partLen?: number }} uploader  `partLen`: for tests
 * @returns {Promise<{ size: number, etag?: string }>}
 * @throws {BaoError} SIZE_MISMATCH if the source has another length than `size`; BLOB_TOO_LONG
 */
export async function putInParts (source, { size, signal }, { putWhole, begin, location, partLen = PART_LEN }) {
  if (size !== undefined) assertInteger('size', size, 0, MAX_SIZE)
  const longPart = Math.ceil((size ?? 0) / MAX_PARTS / PART_LEN) * PART_LEN
  const len = Math.max(partLen, longPart)
  const parts = new Parts(begin, { signal, location })
  let queue = new ByteQueue()
  let count = 0
  const pieces = toPieces(source, { signal })
  try {
    for await (const piece of pieces) {
      count += piece.length
      if (size !== undefined && count > size) throw otherSize(location, size, count)
      for (let at = 0; at < piece.length;) {
        if (queue.len === len) {
          await parts.add(queue.bytes)
          queue = new ByteQueue()
        }
        const some = piece.subarray(at, at + len - queue.len)
        queue.push(some, len)
        at += some.length
      }
    }
    if (size !== undefined && count < size) throw otherSize(location, size, count)
    if (!parts.hasBegun) return { size: count, ...await putWhole(queue.bytes) }
    await parts.add(queue.bytes)
    return { size: count, ...await parts.complete() }
  } catch (error) {
    await parts.abort(error)
    throw error
  }
}

/** @param {string} location @param {number} size @param {number} count */
const otherSize = (location, size, count) => {
  const more = count > size ? 'at least ' : ''
  return new BaoError('SIZE_MISMATCH', `the source for ${location} has ${more}${count} bytes, expected ${size}`,
    { location, wanted: size, got: count })
}

/** The parts of one upload. */
class Parts {
  #begin
  #given
  #signal
  #location
  #ended = new AbortController()
  /** @type {Upload | undefined} */
  #upload
  /** @type {Promise<string>[]} */
  #etags = []
  #underWay = /** @type {Set<Promise<unknown>>} */ (new Set())

  /** @param {() => Promise<Upload>} begin @param {{ signal?: AbortSignal, location: string }} options */
  constructor (begin, { signal, location }) {
    this.#begin = begin
    this.#given = signal
    this.#signal = eitherOf(signal, this.#ended.signal)
    this.#location = location
  }

  get hasBegun () { return this.#upload !== undefined }

  /** Begins to upload a part, when few enough others are under way. @param {Uint8Array} bytes  kept */
  async add (bytes) {
    this.#upload ??= await this.#begin()
    if (this.#etags.length === MAX_PARTS) {
      const why = `longer than ${MAX_PARTS} parts of ${PART_LEN} bytes: state its size`
      throw new BaoError('BLOB_TOO_LONG', `the source for ${this.#location} is ${why}`, { location: this.#location })
    }
    while (this.#underWay.size >= PARALLEL) await Promise.race(this.#underWay)
    const part = this.#upload.put(this.#etags.length + 1, bytes, this.#signal)
    this.#etags.push(part)
    this.#underWay.add(part)
    part.then(() => this.#underWay.delete(part), () => {}) // a failed part stays, so that the next wait throws
  }

  async complete () {
    const etags = await Promise.all(this.#etags)
    return /** @type {Upload} */ (this.#upload).complete(etags, this.#signal)
  }

  /**
   * Ends the parts under way, and deletes those that have arrived. After an abort, it does not wait until they are
   * deleted.
   *
   * @param {unknown} error
   */
  async abort (error) {
    this.#ended.abort(error)
    await Promise.allSettled(this.#etags)
    const mayBeDone = error instanceof BaoError && error.code === 'BUCKET_UNKNOWN'
    if (mayBeDone || this.#upload === undefined) return
    await untilAborted(this.#upload.abort(), this.#given).catch(() => {}) // `abortUploads` deletes what stays
  }
}
