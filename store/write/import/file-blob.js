// A blob whose bytes are already in a file: the file of a reference, or a clone of the imported file in the store. This
// class hashes the file, on several threads if that is faster, and writes only the tree.

import { DEFAULT_GROUP_LOG as GROUP_LOG } from '../../../lib/core/constants.js'
import { HASH_MODE } from '../../../lib/engine/mode.js'
import { hashSource } from '../../../lib/parallel/hash-source.js'
import { allOf } from '../../../lib/source/async-util.js'
import { NewBlob } from '../new-blob.js'
import { PageWriter } from './page-writer.js'

/** @import { ProgressOptions } from '../../../lib/core/types.js' */
/** @import { CheckedFile } from '../../../lib/source/source.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { FileWriter } from '../../storage/disk/file-writer.js' */

export class FileBlob extends NewBlob {
  isWritten = true
  #databases
  #source
  #assertSizeAllowed
  #pages
  #hashed = { root: new Uint8Array(0), size: 0 }

  /**
   * @param {Databases} databases @param {number} id
   * @param {object} about
   * @param {string | CheckedFile} about.source  the file
   * @param {FileWriter} [about.file]  the same file, if it belongs to the store
   * @param {(size: number) => void} about.assertSizeAllowed  throws when the blob must not be that long
   */
  constructor (databases, id, { source, file, assertSizeAllowed }) {
    super(file === undefined ? 'reference' : 'file', file)
    this.#databases = databases
    this.#source = source
    this.#assertSizeAllowed = assertSizeAllowed
    this.#pages = new PageWriter(databases.data, id)
  }

  /** Bytes of the blob; 0 before `hash` has ended. */
  get size () { return this.#hashed.size }

  /** Hashes the file. The caller calls this once. @param {ProgressOptions & { type: string }} options */
  async hash ({ onProgress, ...options }) {
    /** @type {ProgressOptions['onProgress']} */
    const tell = event => {
      this.#assertSizeAllowed(event.detail.done)
      onProgress?.(event)
    }
    const outboard = { groupLog: GROUP_LOG, order: /** @type {const} */ ('pre'), writer: this.#pages }
    const hashing = { ...options, mode: HASH_MODE, outboard, onProgress: tell }
    this.#hashed = await hashSource(this.#source, hashing)
  }

  root () { return this.#hashed.root }

  /** Writes everything that is not written yet. With the durability `sync`, it syncs everything to the disk. */
  async finish () {
    const { file } = this
    const { files, isSync } = this.#databases
    await allOf([
      this.#pages.finish({ sync: isSync }),
      ...isSync && file !== undefined ? [file.sync(), files?.sync()] : []
    ])
    await this.closeFile()
  }

  async endWrites () {
    await this.#pages.endWrites()
    await super.endWrites()
  }
}
