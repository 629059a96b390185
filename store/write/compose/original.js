// A stored blob whose bytes become a part of another blob. Bytes that are hashed again are verified first, because the
// new hash would make damaged bytes look right. Bytes that keep their subtrees need not be checked, because damage in
// them still causes a mismatch.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { createYielder, withYields } from '../../../lib/source/async-util.js'
import { FILE_FROM, GROUP_LEN } from '../../sizes.js'
import { contentOf } from '../../storage/content/content-of.js'
import { CopiedBytes, SharedBytes } from './kept-bytes.js'
import { StoredSubtrees, keptSpans } from './stored-subtrees.js'

/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { BlobAccess } from '../../read/blob-access.js' */
/** @import { BlobReader } from '../../read/reader.js' */
/** @import { Reads } from '../../read/reads.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { ByteRange } from '../../../lib/tree/ranges.js' */
/** @import { IncomingBlob } from '../incoming-blob.js' */

/**
 * @typedef {object} OriginalOptions
 * @property {boolean} verifies  true to compare even the kept bytes with the root
 * @property {AbortSignal} [signal]
 */

/**
 * @typedef {object} OriginalParts
 * @property {BlobAccess} access
 * @property {Databases} databases
 * @property {BlobReader} reader
 * @property {Reads} reads
 */

export class Original {
  #parts
  #root
  #record
  #options
  /** True if the new blob's file is a clone of this blob's file. */
  #isShared = false

  /**
   * @param {OriginalParts} parts @param {Uint8Array} root @param {BlobRecord} record
   * @param {OriginalOptions} options
   */
  constructor (parts, root, record, options) {
    this.#parts = parts
    this.#root = root
    this.#record = record
    this.#options = options
  }

  /**
   * Looks up a blob, and proves its size. The caller protects the blob.
   *
   * @param {OriginalParts} parts @param {Uint8Array} root @param {OriginalOptions} options
   * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }
   */
  static async find (parts, root, options) {
    const { record } = await parts.reads.lookUp(root, () => ChunkRanges.last, { signal: options.signal })
    const original = new Original(parts, root, record, options)
    await original.#require(ChunkRanges.last)
    return original
  }

  /** Bytes of the blob. */
  get size () { return this.#record.size }

  /**
   * Waits until a range is present, or throws if it cannot be fetched.
   *
   * @param {number} start @param {number} end
   * @throws {BaoError} STORE_MISSING { cid, ranges }
   */
  require (start, end) { return this.#require(ChunkRanges.fromBytes(start, end)) }

  /**
   * Clones this blob's file for an empty blob, if more than 1 MiB may be kept and the file system can share blocks. The
   * file of a base may be longer than this blob. The new blob overwrites the rest of it, or cuts it off at the end.
   *
   * @param {IncomingBlob} blob @param {number} len  bytes that may keep their offset
   */
  async share (blob, len) {
    const { fileId } = contentOf(this.#parts.databases, this.#root, this.#record)
    if (fileId !== undefined && len > FILE_FROM) await blob.shareFile(fileId)
    this.#isShared = blob.isShared
  }

  /**
   * Adds bytes at the end of a blob, and hashes them.
   *
   * @param {IncomingBlob} blob @param {number} start @param {number} end
   * @param {() => void} tell  called after each piece
   */
  async move (blob, start, end, tell) {
    for await (const piece of this.#read(start, end, true)) {
      await blob.write(piece)
      tell()
    }
  }

  /**
   * Adds bytes at the end of a blob, where they keep their offset. It hashes only subtrees whose pairs are damaged.
   *
   * @param {IncomingBlob} blob
   * @param {number} start  the end of the new blob, which consists of whole subtrees so far
   * @param {number} end  the border of a group, or the end of the original
   * @param {() => void} tell
   */
  async keep (blob, start, end, tell) {
    if (end <= GROUP_LEN) return this.#rehash(blob, { start, end }, tell) // The group may become the root.
    const subtrees = new StoredSubtrees(this.#parts, this.#root, this.#record)
    const options = { ...this.#options, end, read: this.#read.bind(this) }
    const bytes = this.#isShared
      ? new SharedBytes(this.#parts.databases, blob, options)
      : new CopiedBytes(blob, options)
    const yieldWhenDue = createYielder(this.#options.signal)
    try {
      for (const span of keptSpans({ start, end }, this.size)) {
        await yieldWhenDue()
        const subtree = await subtrees.find(span)
        if (subtree === undefined) {
          await bytes.pass()
          await this.#rehash(blob, span, tell)
        } else {
          await bytes.keep(span, subtree)
          blob.addSubtree(subtree)
          tell()
        }
      }
    } finally {
      await bytes.close()
    }
  }

  /**
   * Hashes bytes that keep their offset, so that a subtree may be added after them.
   *
   * @param {IncomingBlob} blob @param {ByteRange} span  a subtree of the original @param {() => void} tell
   */
  async #rehash (blob, { start, end }, tell) {
    blob.expectSubtreeAt(Math.ceil(end / GROUP_LEN) * GROUP_LEN)
    await this.move(blob, start, end, tell)
  }

  /** @param {number} start @param {number} end @param {boolean} verify */
  #read (start, end, verify) {
    const { signal } = this.#options
    return withYields(this.#parts.reader.get(this.#root, { start, end }, { verify, reuse: true, signal }), signal)
  }

  /** @param {ChunkRanges} wanted @throws {BaoError} STORE_MISSING { cid, ranges } */
  async #require (wanted) {
    const reading = this.#parts.reads.retried(this.#root, { notes: true, signal: this.#options.signal })
    this.#record = await reading.present(this.#record, wanted)
  }
}
