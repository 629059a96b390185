// The folder of a store in which large blobs are, one file for each id. Files that are read stay open for a while: opening
// one costs more than a small read. So a file may be gone, or be another one, while it is still read by who began before.

import { constants } from 'node:fs'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { BlobFile } from './blob-file.js'
import { FileWriter } from './file-writer.js'
import { makeFolder, syncFolder } from './folders.js'
import { MAX_ID } from '../keys.js'
import { moved } from '../faults.js'

/** Files that are kept open for reading, so that many small reads open nothing. */
const KEPT_OPEN = 128

/** @param {string} path  of a directory in one that is there: made when it is missing */
export async function openFolder (path) {
  await makeFolder(path)
  return new BlobFolder(path)
}

/** @param {string} name  of a file */
const isId = name => String(Number(name)) === name && Number(name) >= 0 && Number(name) <= MAX_ID

export class BlobFolder {
  #path
  /** Kept by id, least recently used first. */
  #kept = /** @type {Map<number, BlobFile>} */ (new Map())
  /** All that are not closed yet. */
  #open = /** @type {Set<BlobFile>} */ (new Set())
  #isClosed = false

  /** @param {string} path */
  constructor (path) {
    this.#path = path
  }

  /** @param {number} id */
  pathOf (id) { return `${this.#path}/${id}` }

  /** The file of an id, for writing: made when it is missing. @param {number} id */
  async writer (id) {
    this.#assertOpen()
    try {
      return new FileWriter(await open(this.pathOf(id), constants.O_RDWR | constants.O_CREAT))
    } catch (error) {
      throw /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT' ? moved(dirname(this.#path)) : error
    }
  }

  /**
   * The file of an id for reading, to be released by the caller.
   *
   * @param {number} id
   */
  reader (id) {
    const file = this.#kept.get(id) ?? this.#opened(this.pathOf(id))
    this.#kept.delete(id)
    this.#kept.set(id, file)
    for (const [other, { isUsed }] of this.#kept) {
      if (this.#kept.size <= KEPT_OPEN) break
      if (!isUsed && other !== id) this.#retire(other)
    }
    file.take()
    file.handle.catch(() => { if (this.#kept.get(id) === file) this.#kept.delete(id) }) // it may be there another time
    return file
  }

  /** Is it open, so that `readNow` can read it? @param {number} id */
  isOpen (id) { return this.#kept.get(id)?.isOpen ?? false }

  /**
   * Reads a file on this thread, if it is open: who waits for a disk here keeps everybody waiting.
   *
   * @param {number} id @param {number} start @param {number} end
   * @returns {Uint8Array<ArrayBuffer> | undefined} fresh; undefined when it is not open, or ends before
   */
  readNow (id, start, end) {
    const file = this.#kept.get(id)
    if (file === undefined) return undefined
    this.#kept.delete(id)
    this.#kept.set(id, file)
    return file.readNow(start, end)
  }

  /** Somebody else's file for reading, to be released by the caller: it is closed then. @param {string} path */
  readerOf (path) {
    const file = this.#opened(path)
    file.take()
    file.retire()
    return file
  }

  /** Whoever reads next opens the file anew: it may be another one by now. @param {number} id */
  forget (id) { this.#retire(id) }

  /** Deletes the file of an id. Who reads it meanwhile gets the rest. @param {number} id */
  async remove (id) {
    try {
      await rm(this.pathOf(id), { force: true })
    } finally {
      this.#retire(id) // not before: who comes meanwhile opens it again, and its room would not be free as long as that is kept
    }
  }

  /** Bytes of the file of an id. @param {number} id @returns {Promise<number | undefined>} undefined when there is none */
  async len (id) {
    try {
      return (await stat(this.pathOf(id))).size
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** The ids that have a file. */
  async ids () {
    const entries = await readdir(this.#path, { withFileTypes: true })
    return entries.flatMap(entry => !entry.isDirectory() && isId(entry.name) ? [Number(entry.name)] : [])
  }

  /** Makes files that are new outlast a power cut. */
  sync () { return syncFolder(this.#path) }

  /** Ends all reading. */
  async close () {
    this.#isClosed = true
    this.#kept.clear()
    await Promise.all([...this.#open].map(file => file.close()))
  }

  /** @param {string} path */
  #opened (path) {
    this.#assertOpen()
    const file = new BlobFile(open(path, 'r'), () => this.#open.delete(file))
    this.#open.add(file)
    return file
  }

  /** Nobody would close what is opened from then on. */
  #assertOpen () {
    if (this.#isClosed) throw new Error('the files of the store are closed')
  }

  /** @param {number} id */
  #retire (id) {
    this.#kept.get(id)?.retire()
    this.#kept.delete(id)
  }
}
