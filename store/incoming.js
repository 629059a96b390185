// A blob on its way in: whole ones grow their tree as they are written; slices bring theirs along and are verified first.

import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG } from '../lib/constants.js'
import { HASH_MODE } from '../lib/mode.js'
import { eachPair } from '../lib/pairs.js'
import { TreeBuilder } from '../lib/builder.js'
import { WINDOW_CHUNKS, WINDOW_LEN, u8 } from '../lib/arena.js'
import { ExtentCutter } from './extents.js'
import { VIEWS } from './databases.js'
import { PageEditor } from './pages.js'
import { offsetOfExtent } from './keys.js'

/** @import { Databases } from './databases.js' */

/** @typedef {{ type: 'put', key: Uint8Array, value: Uint8Array }} Put */

/** Bytes that are written in one batch. */
const BATCH_LEN = 1 << 22

/** A whole blob that is written before its hash is known. Small ones are not written before `finish`. */
export class IncomingBlob {
  #databases
  #id
  #tree
  #pages
  #cutter
  #puts = /** @type {Put[]} */ ([])
  #putLen = 0
  #writing = Promise.resolve()
  /** May anything be kept under the id? */
  isWritten = false

  /** @param {Databases} databases @param {number} id */
  constructor (databases, id) {
    this.#databases = databases
    this.#id = id
    this.#pages = new PageEditor(id)
    this.#cutter = new ExtentCutter(id)
    this.#tree = new TreeBuilder(HASH_MODE, { sink: eachPair(GROUP_LOG, (node, at) => this.#pages.setPair(node, u8, at)) })
  }

  get size () { return this.#tree.size }

  /** Takes the next bytes. While one batch is being written the next is hashed. @param {Uint8Array} bytes */
  async write (bytes) {
    this.#tree.update(bytes)
    for (const extent of this.#cutter.add(bytes)) this.#add(extent)
    if (this.#putLen >= BATCH_LEN) await this.#writeBatch()
  }

  /** The hash of everything so far: there must be no more. */
  root () {
    const root = this.#tree.hash()
    for (const put of [...this.#cutter.end(), ...this.#pages.take()]) this.#add(put)
    return root
  }

  /** Writes what is left, to the disk if the store is so durable. */
  async finish () {
    await this.#writing
    this.isWritten = true
    await this.#databases.data.batch(this.#puts, this.#databases.syncOptions)
  }

  /** Waits until nothing is being written any more, whether it worked or not. */
  async settle () { await this.#writing.catch(() => {}) }

  /**
   * Pages in front of the last window are complete; those that reach into it may get one more pair. Extents wait for their pages, so that
   * every batch has greater keys than the one before.
   */
  async #writeBatch () {
    await this.#writing
    const settled = (Math.floor(this.#tree.size / WINDOW_LEN) - 1) * WINDOW_CHUNKS
    const puts = this.#puts.filter(({ key }) => /** @type {number} */ (offsetOfExtent(key)) < settled * CHUNK_LEN)
    const rest = this.#puts.slice(puts.length)
    this.#puts = rest
    this.#putLen = rest.reduce((len, { value }) => len + value.length, 0)
    this.isWritten = true
    this.#writing = this.#databases.data.batch(puts.concat(this.#pages.take(settled)), VIEWS)
    this.#writing.catch(() => {}) // whoever awaits it next is told
  }

  /** @param {Put} put */
  #add (put) {
    this.#puts.push(put)
    this.#putLen += put.value.length
  }
}
