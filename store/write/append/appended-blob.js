// Appends bytes to a blob in its file, before the hash of the new, longer blob is known. It hashes only the appended
// bytes.
//
// The pairs of whole subtrees go to the pages of the base. The pairs of a sharer's right edge are kept under the
// sharer's own id. So no shorter sharer reads the new pairs, and an interruption does not change any blob that has a
// record.

import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG } from '../../../lib/core/constants.js'
import { HASH_MODE } from '../../../lib/engine/mode.js'
import { Tail } from '../../../encoder/tail.js'
import { WINDOW_CHUNKS, WINDOW_LEN, u8 } from '../../../lib/engine/arena.js'
import { eachPair } from '../../../lib/outboard/pairs.js'
import { levelOf } from '../../../lib/tree/geometry.js'
import { allOf } from '../../../lib/source/async-util.js'
import { notFound } from '../../storage/errors.js'
import { PageEditor, pagesOver } from '../../storage/content/tree-pages.js'
import { NewBlob } from '../new-blob.js'

/** @import { FileWriter } from '../../storage/disk/file-writer.js' */
/** @import { Catalog } from '../../catalog/catalog.js' */
/** @import { Activity } from '../../storage/concurrency/activity.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { RightEdge } from '../../read/verified/right-edge.js' */

/** Bytes between two writes of the pages of whole subtrees. */
const PAGES_EACH = 1 << 28

/** @typedef {{ id: number, assertSizeAllowed: (size: number) => void }} NewOptions  see `MakeBlob` in put.js */

/**
 * @typedef {object} Beginning  the old blob
 * @property {Uint8Array} root
 * @property {number} base  the id of the base, whose file is locked
 * @property {number} size  bytes
 * @property {RightEdge} edge
 * @property {Uint8Array} bytes  the bytes from `edge.start` on
 * @property {FileWriter} file
 */

export class AppendedBlob extends NewBlob {
  #parts
  #id
  /** The root of the old blob. */
  #root
  #assertSizeAllowed
  #tail
  /** Pages of the base, and pages of the new blob itself. */
  #shared
  #own
  /** Index of the first chunk after the whole chunks of the old blob. */
  #firstChunk
  /** Number of whole chunks of the new blob. Parents that cover a later chunk go to the new blob's own pages. */
  #wholeChunks = Infinity
  #pagesDue

  /**
   * @param {{ activity: Activity, catalog: Catalog, databases: Databases }} parts @param {NewOptions} options
   * @param {Beginning} begins
   */
  constructor (parts, { id, assertSizeAllowed }, begins) {
    super('shared', begins.file)
    this.#assertSizeAllowed = assertSizeAllowed
    this.base = begins.base
    this.sharedLen = begins.size
    this.#parts = parts
    this.#id = id
    this.#root = begins.root
    this.#pagesDue = begins.size + PAGES_EACH
    this.#firstChunk = Math.floor(begins.size / CHUNK_LEN)
    this.#shared = new PageEditor(begins.base)
    this.#own = new PageEditor(id)
    this.#tail = new Tail(HASH_MODE, eachPair(GROUP_LOG, (node, at) => this.#setPair(node, at)))
    for (const { cv, len } of begins.edge.subtrees) this.#tail.addSubtree(cv, len)
    this.#tail.update(begins.bytes)
  }

  /** Loads pages of the base. The caller awaits this before the first write. */
  async begin () {
    await this.#shared.load(this.#parts.databases.data, pagesOver(this.#firstChunk))
    return this
  }

  get size () { return this.#tail.size }

  /** Takes the next bytes. Earlier bytes are written while these are hashed. @param {Uint8Array} bytes */
  async write (bytes) {
    this.#assertSizeAllowed(this.size + bytes.length)
    this.#tail.update(bytes)
    await this.file?.append(bytes)
    if (this.size < this.#pagesDue) return
    this.#pagesDue += PAGES_EACH
    // Pages before the last window are complete.
    const complete = (Math.floor(this.size / WINDOW_LEN) - 1) * WINDOW_CHUNKS
    await this.writeLater(() => this.#parts.databases.data.batch(this.#shared.take(complete)))
  }

  /** Returns the root of the blob. The caller must not add bytes after this. */
  root () {
    this.#wholeChunks = Math.floor(this.size / CHUNK_LEN)
    return this.#tail.hash()
  }

  /** Writes everything that is not written yet. With the durability `sync`, it syncs everything to the disk. */
  async finish () {
    await this.written()
    this.isWritten = true
    const { data, isSync, syncBatch } = this.#parts.databases
    const { file } = this
    await file?.end()
    await allOf([
      data.batch([...this.#shared.take(), ...this.#own.take()], syncBatch),
      ...isSync ? [file?.sync()] : []
    ])
    await this.closeFile()
  }

  /** @throws {BaoError} STORE_NOT_FOUND when all sharers and the file were deleted */
  assertMayCommit () {
    if (this.#parts.catalog.bases.longest(this.base) === 0) throw notFound(this.#root)
  }

  /** Unlocks the file for other calls. That cuts off the appended bytes if no record names them. */
  async release () {
    const { activity, catalog: { bases }, databases } = this.#parts
    await this.endWrites()
    let freesNote = true
    try {
      // Another call may have deleted the base while this one was writing to it.
      if (bases.isGone(this.base)) await databases.deleteData(this.base)
    } catch {
      freesNote = false // The next opening deletes the data, because the note names it.
      activity.noteLeftovers()
    }
    await bases.unlock(this.base, { freesNote }).catch(() => activity.noteLeftovers())
  }

  /** @param {number} node @param {number} at  in the arena */
  #setPair (node, at) {
    const end = node + 1 + 2 ** levelOf(node)
    if (end <= this.#firstChunk) return // The pair is already stored, and its page may not be in memory.
    const pages = end <= this.#wholeChunks ? this.#shared : this.#own
    pages.setPair(node, u8, at)
  }
}
