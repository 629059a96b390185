// Writes a whole blob under an id before its hash is known. The tree grows with the bytes.

import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { HASH_MODE } from '../../lib/engine/mode.js'
import { eachPair } from '../../lib/outboard/pairs.js'
import { Tail } from '../../encoder/tail.js'
import { WINDOW_CHUNKS, WINDOW_LEN, u8 } from '../../lib/engine/arena.js'
import { allOf } from '../../lib/source/async-util.js'
import { homeOf } from '../storage/content/content-of.js'
import { FILE_FROM } from '../sizes.js'
import { ExtentCutter } from '../storage/content/extents.js'
import { PageEditor } from '../storage/content/tree-pages.js'
import { NewBlob } from './new-blob.js'
import { offsetOfExtent } from '../storage/format/keys.js'

/** @import { Databases } from '../storage/databases.js' */
/** @import { FileWriter } from '../storage/disk/file-writer.js' */

/** @typedef {{ type: 'put', key: Uint8Array, value: Uint8Array }} Put */

/**
 * @typedef {object} Subtree  a subtree that is already proven
 * @property {Uint8Array} cv  its chaining value
 * @property {number} len  bytes
 * @property {[node: number, pair: Uint8Array][]} pairs  the pairs of all parents inside it, down to the group level
 */

/** Bytes of extents in one write. IndexedDB writes four Blobs together up to 1.5 times as fast as each alone. */
const PUTS_LEN = 1 << 22
/** Bytes of a blob file between two writes of pages. */
const PAGES_EACH = 1 << 28
/** Bytes of a blob file between two syncs while it is written. At the end, the disk would have to write all at once. */
const SYNC_EACH = 1 << 26

/** A blob that is being written. A small blob is written only by `finish`. */
export class IncomingBlob extends NewBlob {
  #databases
  #id
  #tree
  #pages
  #cutter
  #assertSizeAllowed
  /** Bytes of the blob so far, hashed or not. */
  #kept = 0
  #puts = /** @type {Put[]} */ ([])
  #putLen = 0
  #pagesDue = PAGES_EACH
  #syncDue = SYNC_EACH
  /** True if the file of this blob began as a clone of another blob's file, which shares its blocks. */
  isShared = false

  /**
   * @param {Databases} databases @param {number} id
   * @param {(size: number) => void} [assertSizeAllowed]  throws when the blob must not be that long
   */
  constructor (databases, id, assertSizeAllowed = () => {}) {
    super('extents')
    this.#databases = databases
    this.#id = id
    this.#assertSizeAllowed = assertSizeAllowed
    this.#pages = new PageEditor(id)
    this.#cutter = new ExtentCutter(id, databases.extentLen)
    const sink = eachPair(GROUP_LOG, (node, at) => this.#pages.setPair(node, u8, at))
    this.#tree = new Tail(HASH_MODE, sink)
  }

  get id () { return this.#id }

  /** Bytes that the tree covers so far. */
  get size () { return this.#tree.size }

  /**
   * Clones another blob's file for this empty blob, if the file system can share blocks. `skip` keeps bytes of that
   * file; the other methods overwrite them.
   *
   * @param {number} id  the id of the other file
   */
  async shareFile (id) {
    const { files } = this.#databases
    if (await files?.len(id) === undefined) return
    const file = await files?.clone(files.pathOf(id), this.#id)
    if (file === undefined) return
    this.isWritten = this.isShared = true
    this.file = file
    this.home = 'file'
  }

  /** Takes the next bytes. Earlier bytes are written while these are hashed. @param {Uint8Array} bytes */
  async write (bytes) {
    this.#assertSizeAllowed(this.size + bytes.length)
    this.#tree.update(bytes)
    await this.#keep(bytes)
  }

  /**
   * Announces that a subtree may be added at a position, after the bytes before that position. See
   * `Tail.expectSubtreeAt`.
   *
   * @param {number} position  bytes: the border of a group
   */
  expectSubtreeAt (position) { this.#tree.expectSubtreeAt(position) }

  /**
   * Takes the next bytes without hashing them. The caller passes all bytes of a subtree, and then calls `addSubtree`.
   *
   * @param {Uint8Array} bytes
   */
  async writeProven (bytes) {
    this.#assertSizeAllowed(this.#kept + bytes.length)
    await this.#keep(bytes)
  }

  /** Keeps the next bytes of the cloned file, without hashing them. @param {number} len */
  async skip (len) {
    this.#assertSizeAllowed(this.#kept + len)
    this.#kept += len
    await this.file?.skip(len)
    await this.#writePagesWhenDue()
  }

  /** Adds the subtree of the last bytes to the tree. See `Tail.addSubtree`. @param {Subtree} subtree */
  addSubtree ({ cv, len, pairs }) {
    this.#tree.addSubtree(cv, len)
    for (const [node, pair] of pairs) this.#pages.setPair(node, pair, 0)
  }

  /**
   * Returns the root of the blob, and cuts its last extent, which `finish` or the caller of `takePuts` writes. The
   * caller must not add bytes after this.
   */
  root () {
    const root = this.#tree.hash()
    this.#addExtents(this.#cutter.end())
    return root
  }

  /** Writes everything that is not written yet. With the durability `sync`, it syncs everything to the disk. */
  async finish () {
    await this.written()
    this.isWritten = true
    const { file } = this
    const { data, files, isSync, syncBatch } = this.#databases
    await file?.end()
    if (this.isShared) await file?.truncate(this.size) // The other file may be longer.
    await allOf([
      data.batch(this.takePuts(), syncBatch),
      ...isSync ? [file?.sync(), file && files?.sync()] : []
    ])
    await this.closeFile()
  }

  /** Returns batch operations for the extents and pages that are not written yet, and forgets them. @returns {Put[]} */
  takePuts () {
    const puts = [...this.#puts, ...this.#pages.take()]
    this.#puts = []
    return puts
  }

  /** @param {Uint8Array} bytes  the next ones */
  async #keep (bytes) {
    this.#kept += bytes.length
    if (this.file === undefined && homeOf(this.#databases, this.#kept) === 'file') await this.#moveToFile()
    if (this.file !== undefined) {
      await this.file.append(bytes)
      if (this.#kept >= this.#syncDue) this.#beginSync(this.file)
      await this.#writePagesWhenDue()
    } else {
      this.#addExtents(this.#cutter.add(bytes))
      if (this.#putLen >= PUTS_LEN && this.#kept > FILE_FROM) await this.#writeBatch()
    }
  }

  /** @param {FileWriter} file */
  #beginSync (file) {
    this.#syncDue = this.#kept + SYNC_EACH
    if (this.#databases.isSync) file.beginSync()
  }

  async #writePagesWhenDue () {
    if (this.size < this.#pagesDue) return
    this.#pagesDue += PAGES_EACH
    await this.#writeBatch()
  }

  /** Moves the bytes so far to a file, because the blob has become too long for the database. */
  async #moveToFile () {
    this.file = await this.#databases.files?.writer(this.#id, { isNew: true })
    this.isWritten = true // not earlier: if `writer` fails, there may be an older file of another blob, which must stay
    this.home = 'file'
    for (const { value } of [...this.#puts, ...this.#cutter.end()]) await this.file?.append(value)
    this.#puts = []
  }

  /**
   * Writes extents and pages. Pages before the last window are complete; later ones may still get pairs. Extents wait
   * for their pages, so that every batch has greater keys than the previous one.
   */
  #writeBatch () {
    return this.writeLater(() => {
      const complete = (Math.floor(this.size / WINDOW_LEN) - 1) * WINDOW_CHUNKS
      const puts = this.#puts.filter(({ key }) => /** @type {number} */ (offsetOfExtent(key)) < complete * CHUNK_LEN)
      this.#puts = this.#puts.slice(puts.length)
      this.#putLen = this.#puts.reduce((len, { value }) => len + value.length, 0)
      this.isWritten = true
      return this.#databases.data.batch(puts.concat(this.#pages.take(complete)))
    })
  }

  /** @param {Put[]} extents */
  #addExtents (extents) {
    for (const extent of extents) {
      this.#puts.push(extent)
      this.#putLen += extent.value.length
    }
  }
}
