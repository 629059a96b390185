// Writes a whole blob under an id before its hash is known: its tree grows while it is written.

import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { HASH_MODE } from '../../lib/engine/mode.js'
import { eachPair } from '../../lib/outboard/pairs.js'
import { TreeBuilder } from '../../lib/hash/tree-builder.js'
import { WINDOW_CHUNKS, WINDOW_LEN, u8 } from '../../lib/engine/arena.js'
import { allOf } from '../storage/concurrency/activity.js'
import { ExtentCutter } from '../storage/content/extents.js'
import { PageEditor } from '../storage/content/tree-pages.js'
import { offsetOfExtent } from '../storage/format/keys.js'

/** @import { Databases } from '../storage/databases.js' */
/** @import { Home } from '../storage/format/records.js' */
/** @import { FileWriter } from '../storage/disk/file-writer.js' */

/** @typedef {{ type: 'put', key: Uint8Array, value: Uint8Array }} Put */

/**
 * Blobs above this many bytes are kept in files, where there are files. A small blob costs more as a file than in a
 * database.
 */
export const FILE_FROM = 1 << 20
/** Bytes of extents that are written in one batch. A larger batch makes the database move its memory about. */
const PUTS_LEN = 1 << 20
/** Bytes of a blob in a file after which its pages are written. */
const PAGES_EACH = 1 << 28

/** Small blobs are not written before `finish`. */
export class IncomingBlob {
  #databases
  #id
  #tree
  #pages
  #cutter
  #puts = /** @type {Put[]} */ ([])
  #putLen = 0
  /** Where the bytes go once they are many. */
  #file = /** @type {FileWriter | undefined} */ (undefined)
  #pagesDue = PAGES_EACH
  #writing = Promise.resolve()
  #home = /** @type {Home} */ ('extents')
  /** May anything be kept under the id? */
  isWritten = false
  /** Was the write of its record begun, and not acknowledged? */
  mayBeRecorded = false

  /**
   * @param {Databases} databases @param {number} id
   * @param {{ isElsewhere?: boolean }} [options]  `isElsewhere`: keep the tree alone
   */
  constructor (databases, id, { isElsewhere = false } = {}) {
    this.#databases = databases
    this.#id = id
    if (isElsewhere) this.#home = 'reference'
    this.#pages = new PageEditor(id)
    this.#cutter = new ExtentCutter(id, databases.extentLen)
    const sink = eachPair(GROUP_LOG, (node, at) => this.#pages.setPair(node, u8, at))
    this.#tree = new TreeBuilder(HASH_MODE, { sink })
  }

  get size () { return this.#tree.size }

  /** Where its bytes are. */
  get home () { return this.#home }

  /** Takes the next bytes. Earlier bytes are written while these are hashed. @param {Uint8Array} bytes */
  async write (bytes) {
    this.#tree.update(bytes)
    const isForFile = this.size > FILE_FROM && this.#databases.files !== undefined
    if (this.#home === 'extents' && isForFile) await this.#moveToFile()
    if (this.#file !== undefined) await this.#file.append(bytes)
    if (this.#home === 'extents') {
      this.#addExtents(this.#cutter.add(bytes))
      if (this.#putLen >= PUTS_LEN && this.size > FILE_FROM) await this.#writeBatch()
    } else if (this.size >= this.#pagesDue) {
      this.#pagesDue += PAGES_EACH
      await this.#writeBatch()
    }
  }

  /** The root of the blob. No more bytes may come. */
  root () {
    const root = this.#tree.hash()
    this.#addExtents(this.#cutter.end())
    return root
  }

  /** Writes what is left, to the disk if the store is so durable. */
  async finish () {
    await this.#writing
    this.isWritten = true
    const { data, files, isSync, syncBatch } = this.#databases
    await this.#file?.end()
    await allOf([
      data.batch(this.takePuts(), syncBatch),
      ...isSync ? [this.#file?.sync(), this.#file && files?.sync()] : []
    ])
    await this.#closeFile()
  }

  /** Batch operations for what is left; the blob forgets them. @returns {Put[]} */
  takePuts () {
    const puts = [...this.#puts, ...this.#pages.take()]
    this.#puts = []
    return puts
  }

  /** Waits until nothing is being written any more, and ignores failures. */
  async settle () {
    await this.#writing.catch(() => {})
    await this.#closeFile().catch(() => {})
  }

  async #closeFile () {
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }

  /** There is more than a database should hold: what has come so far goes to a file, too. */
  async #moveToFile () {
    this.#file = await this.#databases.files?.writer(this.#id, { isNew: true })
    this.isWritten = true // not before: a file that exists already belongs to somebody else
    this.#home = 'file'
    for (const { value } of [...this.#puts, ...this.#cutter.end()]) await this.#file?.append(value)
    this.#puts = []
  }

  /**
   * Pages in front of the last window are complete; those that reach into it may get one more pair. Extents wait for
   * their pages, so that every batch has greater keys than the one before.
   */
  async #writeBatch () {
    await this.#writing
    const settled = (Math.floor(this.size / WINDOW_LEN) - 1) * WINDOW_CHUNKS
    const puts = this.#puts.filter(({ key }) => /** @type {number} */ (offsetOfExtent(key)) < settled * CHUNK_LEN)
    this.#puts = this.#puts.slice(puts.length)
    this.#putLen = this.#puts.reduce((len, { value }) => len + value.length, 0)
    this.isWritten = true
    this.#writing = this.#databases.data.batch(puts.concat(this.#pages.take(settled)))
    this.#writing.catch(() => {}) // the next call awaits it, and throws
  }

  /** @param {Put[]} extents */
  #addExtents (extents) {
    for (const extent of extents) {
      this.#puts.push(extent)
      this.#putLen += extent.value.length
    }
  }
}
