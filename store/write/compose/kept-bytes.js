// Puts the bytes of kept subtrees into a new blob: copies them, or leaves them in the new blob's file if that is a
// clone of the old blob's file.

import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { areEqual } from '../../../lib/core/bytes.js'
import { subtreeCv } from '../../../lib/hash/subtree.js'

/** @import { BlobFile } from '../../storage/disk/blob-file.js' */
/** @import { BlobFolder } from '../../storage/disk/blob-folder.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { ByteRange } from '../../../lib/tree/ranges.js' */
/** @import { IncomingBlob, Subtree } from '../incoming-blob.js' */

/**
 * @typedef {object} KeptOptions
 * @property {number} end  where the last kept subtree ends, in bytes
 * @property {boolean} verifies  true to compare the bytes with the root
 * @property {(start: number, end: number, verify: boolean) => AsyncGenerator<Uint8Array>} read  reads bytes of the
 *   original; pieces are borrowed
 */

/** Copies the bytes. */
export class CopiedBytes {
  #blob
  #options
  #pieces = /** @type {AsyncGenerator<Uint8Array> | undefined} */ (undefined)
  /** The rest of the last piece. */
  #rest = new Uint8Array(0)

  /** @param {IncomingBlob} blob @param {KeptOptions} options */
  constructor (blob, options) {
    this.#blob = blob
    this.#options = options
  }

  /** @param {ByteRange} span  begins where the previous one ended @param {Subtree} _subtree */
  async keep ({ start, end }, _subtree) {
    const { read, verifies, end: last } = this.#options
    this.#pieces ??= read(start, last, verifies)
    for (let left = end - start; left > 0;) {
      if (this.#rest.length === 0) this.#rest = (await this.#pieces.next()).value
      const part = this.#rest.subarray(0, left)
      await this.#blob.writeProven(part)
      this.#rest = this.#rest.subarray(part.length)
      left -= part.length
    }
  }

  /** Skips a subtree. The next span begins after it. */
  async pass () {
    await this.close()
    this.#pieces = undefined
    this.#rest = new Uint8Array(0)
  }

  async close () { await this.#pieces?.return(undefined) }
}

/** Leaves the bytes in the cloned file. If `verifies` is true, it first compares them there with the expected hash. */
export class SharedBytes {
  #files
  #blob
  #options
  #file = /** @type {BlobFile | undefined} */ (undefined)

  /** @param {Databases} databases @param {IncomingBlob} blob @param {KeptOptions} options */
  constructor ({ files }, blob, options) {
    this.#files = /** @type {BlobFolder} */ (files)
    this.#blob = blob
    this.#options = options
  }

  /** @param {ByteRange} span @param {Subtree} subtree */
  async keep ({ start, end }, { cv, len }) {
    const { read, verifies } = this.#options
    if (!verifies) return this.#blob.skip(len)
    this.#file ??= this.#files.reader(this.#blob.id)
    const bytes = await this.#file.read(start, end)
    if (bytes.length === len && areEqual(cv, 0, subtreeCv(bytes, start / CHUNK_LEN))) return this.#blob.skip(len)
    // The original is damaged, too, unless it was healed after the clone was made. Reading the original heals it, or
    // throws.
    for await (const piece of read(start, end, true)) await this.#blob.writeProven(piece)
  }

  async pass () {}

  async close () { this.#file?.release() }
}
