// Writes what is appended to a blob behind its bytes, in the same file, before the hash of the longer blob is known.
// Only what is appended is hashed.
//
// The pairs of whole subtrees go to the pages of the base, which no shorter sharer looks at in that place: it has the
// pairs of its own right edge. The right edge of the new blob goes under the id of the new blob. So whenever this is
// interrupted, everything that has a record is as it was.

import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG } from '../../../lib/core/constants.js'
import { HASH_MODE } from '../../../lib/engine/mode.js'
import { Tail } from '../../../encoder/tail.js'
import { WINDOW_CHUNKS, WINDOW_LEN, u8 } from '../../../lib/engine/arena.js'
import { eachPair } from '../../../lib/outboard/pairs.js'
import { levelOf } from '../../../lib/tree/geometry.js'
import { allOf } from '../../storage/concurrency/activity.js'
import { notFound } from '../../storage/errors.js'
import { PageEditor, pagesOver } from '../../storage/content/tree-pages.js'

/** @import { FileWriter } from '../../storage/disk/file-writer.js' */
/** @import { StoreContext } from '../../exchange/store-context.js' */
/** @import { Edge } from '../../read/verified/edge.js' */

/** Bytes after which the pages of whole subtrees are written. */
const PAGES_EACH = 1 << 28

/** @typedef {{ id: number, assertSizeAllowed: (size: number) => void }} NewOptions  see `Begin` in put.js */

/**
 * @typedef {object} Beginning  what a blob is appended to
 * @property {Uint8Array} root
 * @property {number} base  whose file is locked
 * @property {number} size  bytes
 * @property {Edge} edge
 * @property {Uint8Array} bytes  from where the edge ends
 * @property {FileWriter} file
 */

export class AppendedBlob {
  home = /** @type {const} */ ('shared')
  base
  /** Bytes that were there before. */
  sharedLen
  /** May anything be kept under the id? */
  isWritten = false
  /** Was the write of its record begun, and not acknowledged? */
  mayBeRecorded = false
  #store
  #id
  /** Of the blob before. */
  #root
  #assertSizeAllowed
  #file
  #tail
  /** Pages of the base, and of the blob itself. */
  #shared
  #own
  /** The first chunk that is not whole before. */
  #firstChunk
  /** Chunks in whole subtrees: the pairs above others are the blob's own. */
  #wholeChunks = Infinity
  #pagesDue
  #writing = Promise.resolve()

  /** @param {StoreContext} store @param {NewOptions} options @param {Beginning} begins */
  constructor (store, { id, assertSizeAllowed }, begins) {
    this.#assertSizeAllowed = assertSizeAllowed
    this.base = begins.base
    this.sharedLen = begins.size
    this.#store = store
    this.#id = id
    this.#root = begins.root
    this.#file = /** @type {FileWriter | undefined} */ (begins.file)
    this.#pagesDue = begins.size + PAGES_EACH
    this.#firstChunk = Math.floor(begins.size / CHUNK_LEN)
    this.#shared = new PageEditor(begins.base)
    this.#own = new PageEditor(id)
    this.#tail = new Tail(HASH_MODE, eachPair(GROUP_LOG, (node, at) => this.#setPair(node, at)))
    for (const { cv, len } of begins.edge.subtrees) this.#tail.addSubtree(cv, len)
    this.#tail.update(begins.bytes)
  }

  /** Must be called first. */
  async begin () {
    await this.#shared.load(this.#store.databases.data, pagesOver(this.#firstChunk))
    return this
  }

  get size () { return this.#tail.size }

  /** Takes the next bytes. Earlier bytes are written while these are hashed. @param {Uint8Array} bytes */
  async write (bytes) {
    this.#assertSizeAllowed(this.size + bytes.length)
    this.#tail.update(bytes)
    await this.#file?.append(bytes)
    if (this.size < this.#pagesDue) return
    this.#pagesDue += PAGES_EACH
    await this.#writing
    // Pages in front of the last window are complete.
    const puts = this.#shared.take((Math.floor(this.size / WINDOW_LEN) - 1) * WINDOW_CHUNKS)
    this.#writing = this.#store.databases.data.batch(puts)
    this.#writing.catch(() => {}) // the next call awaits it, and throws
  }

  /** The root of the blob. No more bytes may come. */
  root () {
    this.#wholeChunks = Math.floor(this.size / CHUNK_LEN)
    return this.#tail.hash()
  }

  /** Writes what is left, to the disk if the store is so durable. */
  async finish () {
    await this.#writing
    this.isWritten = true
    const { data, isSync, syncBatch } = this.#store.databases
    await this.#file?.end()
    await allOf([
      data.batch([...this.#shared.take(), ...this.#own.take()], syncBatch),
      ...isSync ? [this.#file?.sync()] : []
    ])
    await this.#closeFile()
  }

  /** @throws {BaoError} STORE_NOT_FOUND when all blobs that share the file were deleted, and the file with them */
  assertMayCommit () {
    if (this.#store.catalog.bases.longest(this.base) === 0) throw notFound(this.#root)
  }

  /** Waits until nothing is being written any more, and ignores failures. */
  async settle () {
    await this.#writing.catch(() => {})
    await this.#closeFile().catch(() => {})
  }

  /** Lets others write to the file. What was appended without a record is cut off. */
  async release () {
    const { activity, catalog: { bases }, databases } = this.#store
    await this.settle()
    try {
      if (bases.isGone(this.base)) await databases.deleteData(this.base) // what was written there since
      await bases.unlock(this.base)
    } catch {
      activity.noteLeftovers()
    }
  }

  async #closeFile () {
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }

  /** @param {number} node @param {number} at  in the arena */
  #setPair (node, at) {
    const end = node + 1 + 2 ** levelOf(node)
    if (end <= this.#firstChunk) return // it is there: its page may not be in memory
    const pages = end <= this.#wholeChunks ? this.#shared : this.#own
    pages.setPair(node, u8, at)
  }
}
