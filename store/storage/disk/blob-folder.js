// Keeps large blobs in a folder, one file for each id. Files stay open for a while after a read, because opening a file
// takes longer than a small read. So a file may be deleted or replaced while readers have the old one open.
//
// The store touches only its own files: here, the regular files whose names are ids. It does not follow links, and it
// writes to and deletes only regular files.

import { constants } from 'node:fs'
import { chmod, copyFile, lstat, open, readdir, realpath, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LruCache } from '../../../lib/core/lru.js'
import { isNoFile, keepsFilesOpen, withRoom } from '../../../lib/source/open-files.js'
import { BlobFile } from './blob-file.js'
import { FileWriter } from './file-writer.js'
import { assertFolder, makeFolder, syncFolder, unlessMissing } from './folders.js'
import { openRegular } from '../../../lib/source/paths.node.js'
import { isDenied, movedError, obstructed, readOnlyError } from '../errors.js'
import { MAX_ID } from '../format/keys.js'

/** How many files are kept open for reading, so that most small reads need not open one. */
const KEPT_OPEN = 128

/**
 * @param {string} path  the folder, which is made when it is missing; its parent must exist
 * @param {string} [location]  of the store, for messages
 * @throws {Error} when something else is there
 */
export async function openFolder (path, location) {
  const folder = new BlobFolder(path, { location })
  await folder.make()
  return folder
}

/**
 * Returns a folder for reading only, which does not make or write anything.
 *
 * @param {string} path @param {string} [location]  of the store, for messages
 */
export const readFolder = (path, location) => new BlobFolder(path, { location, isReadOnly: true })

/** Returns true for the name of a blob file. @param {string} name */
export const isId = name => String(Number(name)) === name && Number(name) >= 0 && Number(name) <= MAX_ID

export class BlobFolder {
  #path
  /** Files that are kept open, by id. */
  #kept = /** @type {LruCache<number, BlobFile>} */ (new LruCache())
  /** All files that are not closed yet. */
  #open = /** @type {Set<BlobFile>} */ (new Set())
  #endKeeping
  #isClosed = false
  #isReadOnly
  #location

  /**
   * @param {string} path
   * @param {{ location?: string, isReadOnly?: boolean }} [options]  `location`: that of the store, for messages.
   *   Default: the parent of this folder. `isReadOnly`: refuse every change. Default: false
   */
  constructor (path, { location = dirname(path), isReadOnly = false } = {}) {
    this.#path = path
    this.#location = location
    this.#isReadOnly = isReadOnly
    this.#endKeeping = keepsFilesOpen(() => this.#closeIdle())
  }

  /** @param {number} id */
  pathOf (id) { return `${this.#path}/${id}` }

  /** Makes the folder when it is missing. @throws {Error} when something else has its name */
  async make () {
    this.#assertWritable()
    if (await this.#isThere()) return
    await makeFolder(this.#path)
    await assertFolder(this.#path)
  }

  /** Returns true if something other than a folder has the name of the folder. */
  isObstructed () { return this.#isThere().then(() => false, () => true) }

  /**
   * Opens the file of an id for writing. Makes the file, and the folder, when they are missing.
   *
   * @param {number} id
   * @param {{ isNew?: boolean, mayBeShared?: boolean }} [options]  `isNew`: true if the id has never had a file, so
   *   that an existing file does not belong to the store. `mayBeShared`: true to accept a file that has other names,
   *   too (hard links), because the caller does not write to it. Both are false by default
   * @throws {BaoError} STORE_CORRUPT { location } when something else has the name of the file; STORE_MOVED
   */
  async writer (id, { isNew = false, mayBeShared = false } = {}) {
    this.#assertOpen()
    this.#assertWritable()
    const path = this.pathOf(id)
    try {
      await this.make()
      const handle = await (isNew ? create(path) : openOrCreate(path, mayBeShared))
      this.#retire(id) // Readers may have an older file of this name open.
      return new FileWriter(handle)
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error)
      if (code === 'ENOENT') throw movedError(this.#location)
      const isOther = code === 'EEXIST' || isNoFile(error)
      throw isOther || (isDenied(error) && await this.len(id) !== undefined) ? obstructed(path, error) : error
    }
  }

  /**
   * Opens the file of an id to append bytes. Its readers may keep it open.
   *
   * @param {number} id @param {number} len  bytes that the file must have
   * @returns {Promise<FileWriter | undefined>} undefined when nothing may be appended: the file is missing, has another
   *   length, or has other names (hard links), and so other owners
   */
  async appender (id, len) {
    this.#assertOpen()
    this.#assertWritable()
    const handle = await openRegular(this.pathOf(id), { writes: true }).catch(unlessUnusable)
    if (handle === undefined) return undefined
    const { size, nlink } = await handle.stat()
    if (size === len && nlink < 2) return new FileWriter(handle, len)
    await handle.close()
    return undefined
  }

  /** Shortens the file of an id if it is longer than `len`. @param {number} id @param {number} len  bytes that stay */
  async cutOff (id, len) {
    this.#assertWritable()
    const handle = await openRegular(this.pathOf(id), { writes: true }).catch(unlessUnusable)
    if (handle === undefined) return
    try {
      if ((await handle.stat()).size > len) await handle.truncate(len)
    } finally {
      await handle.close()
    }
  }

  /**
   * Makes the file of an id as a clone that shares the blocks of another file, if the file system can do that. The
   * system then copies a block only when one of the files is written to.
   *
   * @param {string} source  path of the other file @param {number} id  must never have had a file
   * @param {{ from?: number, check?: (fd: number) => void }} [options]  `from`: the minimum length of the other file,
   *   in bytes. Default: 0. `check`: throws if the file is not the expected one; with `check`, the path must not be a
   *   link
   * @returns {Promise<FileWriter | undefined>} undefined when that fails: the file system cannot share blocks, the
   *   other file is missing or refused, the folder is missing, or something else has the name of the folder or of the
   *   file. Callers then call `writer`, which succeeds or throws the reason
   */
  async clone (source, id, { from = 0, check } = {}) {
    this.#assertOpen()
    this.#assertWritable()
    const found = await stat(source).catch(() => undefined)
    if (!found?.isFile() || found.size < from) return undefined
    const path = this.pathOf(id)
    try {
      await this.make()
      if (await lstat(path).catch(unlessMissing) !== undefined) return undefined
    } catch {
      return undefined
    }
    try {
      await (check === undefined ? cloneFile(source, path) : cloneChecked(source, path, check))
      // The clone has the mode of the other file. Give it the mode of a new file, which may be written to.
      await chmod(path, (await stat(this.#path)).mode & 0o666)
      return new FileWriter(await openRegular(path, { writes: true }))
    } catch (error) {
      const isOthers = /** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST'
      if (!isOthers) await rm(path, { force: true })
      return undefined
    }
  }

  /**
   * Opens the file of an id for reading. The caller releases it.
   *
   * @param {number} id
   */
  reader (id) {
    const file = this.#kept.get(id) ?? this.#opened(this.pathOf(id), false)
    if (!this.#kept.has(id)) this.#kept.set(id, file)
    for (const other of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_OPEN) break
      if (other !== id && !this.#kept.peek(other)?.isUsed) this.#retire(other)
    }
    file.take()
    file.handle.catch(() => { if (this.#kept.peek(id) === file) this.#kept.delete(id) }) // so that a later read retries
    return file
  }

  /** Returns true if the file is open, so that `readNow` can read it. @param {number} id */
  isOpen (id) { return this.#kept.peek(id)?.isOpen ?? false }

  /**
   * Reads a file synchronously if it is open. The whole thread waits for the disk.
   *
   * @param {number} id @param {number} start @param {number} end
   * @returns {Uint8Array<ArrayBuffer> | undefined} new memory; undefined when the file is not open, or ends before
   *   `end`
   */
  readNow (id, start, end) {
    const file = this.#kept.get(id)
    return file?.readNow(start, end)
  }

  /**
   * Opens a file that does not belong to the store, for reading. It is closed when the caller releases it.
   *
   * @param {string} path
   */
  readerOf (path) {
    const file = this.#opened(path, true)
    file.take()
    file.retire()
    return file
  }

  /** Makes the next reader open the file again, because it may have been replaced. @param {number} id */
  forget (id) { this.#retire(id) }

  /**
   * Deletes the file of an id, if it is a regular file. A reader that has it open can continue to read.
   *
   * @param {number} id
   */
  async remove (id) {
    this.#assertWritable()
    try {
      if ((await this.#look(id))?.isFile()) await rm(this.pathOf(id), { force: true })
    } finally {
      // Retire it last, because a reader could open it again before it is deleted. The disk frees the space of a
      // deleted file only when it is closed.
      this.#retire(id)
    }
  }

  /**
   * Returns the length of the file of an id, in bytes.
   *
   * @param {number} id
   * @returns {Promise<number | undefined>} undefined when the file is missing
   */
  async len (id) {
    const stat = await this.#look(id)
    return stat?.isFile() ? stat.size : undefined
  }

  /** Returns true if something other than a regular file has the name of an id. @param {number} id */
  async isTaken (id) { return (await this.#look(id))?.isFile() === false }

  /** Returns the ids that have a file. */
  async ids () { return (await this.names()).flatMap(({ id, isFile }) => isFile ? [id] : []) }

  /** Returns all names that are ids, and whether each is the name of a regular file. */
  async names () {
    if (!await this.#isOurs()) return []
    const entries = await withRoom(() => readdir(this.#path, { withFileTypes: true })).catch(unlessMissing) ?? []
    return entries.filter(({ name }) => isId(name)).map(entry => ({ id: Number(entry.name), isFile: entry.isFile() }))
  }

  /** Makes new files survive a power cut. */
  sync () { return syncFolder(this.#path).catch(unlessMissing) }

  /** Closes all files once the reads under way have ended. Later calls that open a file fail. */
  async close () {
    this.#isClosed = true
    this.#endKeeping()
    this.#kept.clear()
    await Promise.all([...this.#open].map(file => file.close()))
  }

  /** Closes files that no reader uses. Resolves when they are closed. */
  async #closeIdle () {
    for (const id of [...this.#kept.keys()]) if (this.#kept.peek(id)?.isIdle) this.#retire(id)
    await Promise.allSettled([...this.#open].map(file => file.isIdle ? file.close() : undefined))
  }

  /** @param {string} path @param {boolean} follows  true if the path may be a link */
  #opened (path, follows) {
    this.#assertOpen()
    const file = new BlobFile(openRegular(path, { follows }), () => this.#open.delete(file))
    this.#open.add(file)
    return file
  }

  /** Returns the stat of the file of an id; undefined when it or the folder is missing. @param {number} id */
  async #look (id) { return await this.#isOurs() ? lstat(this.pathOf(id)).catch(unlessMissing) : undefined }

  /** Returns true if the folder exists, and nothing else has its name. */
  #isOurs () { return this.#isThere().catch(() => false) }

  /**
   * @returns {Promise<boolean>} false when the folder is missing
   * @throws {Error} when something else has its name
   */
  #isThere () { return assertFolder(this.#path) }

  /** Refuses to open files after `close`, because nothing would close them. */
  #assertOpen () {
    if (this.#isClosed) throw new Error('the files of the store are closed')
  }

  /** @throws {import('../../../lib/core/errors.js').BaoError} STORE_READ_ONLY { location } */
  #assertWritable () {
    if (this.#isReadOnly) throw readOnlyError(this.#location)
  }

  /** @param {number} id */
  #retire (id) {
    this.#kept.peek(id)?.retire()
    this.#kept.delete(id)
  }
}

/** @param {string} source @param {string} path  must not exist */
async function cloneFile (source, path) {
  const other = await realpath(source) // For a link, macOS would clone the link itself.
  await copyFile(other, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
}

/** @param {string} source @param {string} path  must not exist @param {(fd: number) => void} check */
async function cloneChecked (source, path, check) {
  const file = await openRegular(source)
  try {
    check(file.fd)
    // On Linux, the descriptor names the file. On other systems, the path may lead to another file by then.
    const other = process.platform === 'linux' ? `/proc/self/fd/${file.fd}` : source
    await copyFile(other, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
    check(file.fd)
  } finally {
    await file.close()
  }
}

/** @param {unknown} error @returns {undefined} */
function unlessUnusable (error) {
  if (!isNoFile(error) && !isDenied(error)) throw error
}

/** @param {string} path  must not exist */
const create = path => withRoom(() => open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL))

/** @param {string} path @param {boolean} mayBeShared  true if the file may have other names */
async function openOrCreate (path, mayBeShared) {
  const handle = await openRegular(path, { writes: true }).catch(unlessMissing)
  if (handle === undefined) return create(path)
  if (mayBeShared || (await handle.stat()).nlink < 2) return handle
  await handle.close()
  const reason = 'has other names (hard links), and writing would change the files of others. Put a copy in its place'
  throw Object.assign(new Error(`${path} ${reason}`), { code: 'EMLINK' })
}
