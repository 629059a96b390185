// Keeps large blobs in a folder, one file for each id. Files that are read stay open for a while, because opening
// one costs more than a small read. So a file may be deleted or replaced while readers still have the old one open.
//
// The store leaves alone what it did not make: in this folder only regular files whose names are ids are its own.
// It follows no links, and does not open for writing or delete anything but regular files.

import { constants } from 'node:fs'
import { chmod, copyFile, lstat, open, readdir, realpath, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LruCache } from '../../../lib/core/lru.js'
import { BlobFile } from './blob-file.js'
import { FileWriter } from './file-writer.js'
import { assertFolder, makeFolder, syncFolder, unlessMissing } from './folders.js'
import { openRegular } from './regular-file.js'
import { isDenied, isNoFile, movedError, obstructed, readOnlyError } from '../errors.js'
import { MAX_ID } from '../format/keys.js'

/** Files that are kept open for reading, so that many small reads open nothing. */
const KEPT_OPEN = 128

/**
 * @param {string} path  of a directory in one that is there: made when it is missing
 * @throws {Error} when something else is there
 */
export async function openFolder (path) {
  const folder = new BlobFolder(path)
  await folder.make()
  return folder
}

/** The same for reading: nothing is made, and nothing can be written. @param {string} path */
export const readFolder = path => new BlobFolder(path, { isReadOnly: true })

/** @param {string} name  of a file */
const isId = name => String(Number(name)) === name && Number(name) >= 0 && Number(name) <= MAX_ID

export class BlobFolder {
  #path
  /** Files that are kept open, by id. */
  #kept = /** @type {LruCache<number, BlobFile>} */ (new LruCache())
  /** All that are not closed yet. */
  #open = /** @type {Set<BlobFile>} */ (new Set())
  #isClosed = false
  #isReadOnly

  /** @param {string} path @param {{ isReadOnly?: boolean }} [options]  `isReadOnly`: refuse to change anything */
  constructor (path, { isReadOnly = false } = {}) {
    this.#path = path
    this.#isReadOnly = isReadOnly
  }

  /** @param {number} id */
  pathOf (id) { return `${this.#path}/${id}` }

  /** Makes the folder when it is missing. @throws {Error} when something else stands in its place */
  async make () {
    this.#assertWritable()
    if (await this.#isThere()) return
    await makeFolder(this.#path)
    await assertFolder(this.#path)
  }

  /** Does something else stand in the place of the folder? */
  isObstructed () { return this.#isThere().then(() => false, () => true) }

  /**
   * The file of an id, for writing: made when it is missing, and so is the folder.
   *
   * @param {number} id
   * @param {{ isNew?: boolean, mayBeShared?: boolean }} [options]  `isNew`: the id has never had a file, so one that
   *   is there is not the store's.
   *   `mayBeShared`: nothing is written to a file that is there, which may then have other names
   * @throws {BaoError} STORE_CORRUPT { location } when something stands there that the store must not write to
   */
  async writer (id, { isNew = false, mayBeShared = false } = {}) {
    this.#assertOpen()
    this.#assertWritable()
    const path = this.pathOf(id)
    try {
      await this.make()
      const handle = await (isNew ? create(path) : openOrCreate(path, mayBeShared))
      this.#retire(id) // what is open for reading may be another file, that was there before
      return new FileWriter(handle)
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error)
      if (code === 'ENOENT') throw movedError(dirname(this.#path))
      const isOther = code === 'EEXIST' || isNoFile(error)
      throw isOther || (isDenied(error) && await this.len(id) !== undefined) ? obstructed(path, error) : error
    }
  }

  /**
   * The file of an id, for bytes behind its last one. Its readers may keep it open.
   *
   * @param {number} id @param {number} len  bytes that it must have
   * @returns {Promise<FileWriter | undefined>} undefined when nothing may be appended: it is missing, has another
   *   length, or has other names (hard links), under which it is somebody else's, too
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

  /** Cuts a file off, if it is longer. @param {number} id @param {number} len  bytes that stay */
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
   * Makes a file for an id out of the blocks of another one, where the disk can do that: none of them is copied before
   * it is written to.
   *
   * @param {string} source  path of the other file @param {number} id  which has never had a file
   * @param {{ from?: number, check?: (fd: number) => void }} [options]  `from`: bytes that the other file must have.
   *   Default: none. `check`: throws when it is not the file that is meant; then the path must be no link
   * @returns {Promise<FileWriter | undefined>} undefined where that fails: the disk cannot, the other file is missing
   *   or not meant, the folder is missing, or something stands where it or the file would. Then `writer` succeeds, or
   *   tells
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
      // It has the mode of the other file, and is to have that of a new one, which may be written to.
      await chmod(path, (await stat(this.#path)).mode & 0o666)
      return new FileWriter(await openRegular(path, { writes: true }))
    } catch (error) {
      const isOthers = /** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST'
      if (!isOthers) await rm(path, { force: true })
      return undefined
    }
  }

  /**
   * The file of an id for reading, to be released by the caller.
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
    file.handle.catch(() => { if (this.#kept.peek(id) === file) this.#kept.delete(id) }) // it may be there another time
    return file
  }

  /** Is it open, so that `readNow` can read it? @param {number} id */
  isOpen (id) { return this.#kept.peek(id)?.isOpen ?? false }

  /**
   * Reads a file synchronously, if it is open. The whole thread waits for the disk.
   *
   * @param {number} id @param {number} start @param {number} end
   * @returns {Uint8Array<ArrayBuffer> | undefined} fresh; undefined when it is not open, or ends before
   */
  readNow (id, start, end) {
    const file = this.#kept.get(id)
    return file?.readNow(start, end)
  }

  /** Somebody else's file for reading, to be released by the caller: it is closed then. @param {string} path */
  readerOf (path) {
    const file = this.#opened(path, true)
    file.take()
    file.retire()
    return file
  }

  /** Has the next reader open the file again: it may have been replaced. @param {number} id */
  forget (id) { this.#retire(id) }

  /**
   * Deletes the file of an id, and nothing else that has its name. A reader that has it open gets the rest.
   *
   * @param {number} id
   */
  async remove (id) {
    this.#assertWritable()
    try {
      if ((await this.#look(id))?.isFile()) await rm(this.pathOf(id), { force: true })
    } finally {
      // Not before: a reader could open it again meanwhile, and as long as that is kept open its space is not free.
      this.#retire(id)
    }
  }

  /**
   * Bytes of the file of an id.
   *
   * @param {number} id
   * @returns {Promise<number | undefined>} undefined when there is none
   */
  async len (id) {
    const stat = await this.#look(id)
    return stat?.isFile() ? stat.size : undefined
  }

  /** Does something else than a file of the store have the name of an id? @param {number} id */
  async isTaken (id) { return (await this.#look(id))?.isFile() === false }

  /** The ids that have a file. */
  async ids () { return (await this.names()).flatMap(({ id, isFile }) => isFile ? [id] : []) }

  /** All names that are ids, and whether a file of the store has them. */
  async names () {
    if (!await this.#isOurs()) return []
    const entries = await readdir(this.#path, { withFileTypes: true }).catch(unlessMissing) ?? []
    return entries.filter(({ name }) => isId(name)).map(entry => ({ id: Number(entry.name), isFile: entry.isFile() }))
  }

  /** Makes files that are new outlast a power cut. */
  sync () { return syncFolder(this.#path).catch(unlessMissing) }

  /** Ends all reading. */
  async close () {
    this.#isClosed = true
    this.#kept.clear()
    await Promise.all([...this.#open].map(file => file.close()))
  }

  /** @param {string} path @param {boolean} follows  may it be a link? */
  #opened (path, follows) {
    this.#assertOpen()
    const file = new BlobFile(openRegular(path, { follows }), () => this.#open.delete(file))
    this.#open.add(file)
    return file
  }

  /** What has the name of an id: undefined when nothing has, or the folder is not there. @param {number} id */
  async #look (id) { return await this.#isOurs() ? lstat(this.pathOf(id)).catch(unlessMissing) : undefined }

  /** Is the folder there, and one of the store's? */
  #isOurs () { return this.#isThere().catch(() => false) }

  /**
   * @returns {Promise<boolean>} false when the folder is missing
   * @throws {Error} when something else stands in its place
   */
  #isThere () { return assertFolder(this.#path) }

  /** Nobody would close what is opened from then on. */
  #assertOpen () {
    if (this.#isClosed) throw new Error('the files of the store are closed')
  }

  /** @throws {import('../../../lib/core/errors.js').BaoError} STORE_READ_ONLY { location } */
  #assertWritable () {
    if (this.#isReadOnly) throw readOnlyError(dirname(this.#path))
  }

  /** @param {number} id */
  #retire (id) {
    this.#kept.peek(id)?.retire()
    this.#kept.delete(id)
  }
}

/** @param {string} source @param {string} path  where nothing is */
async function cloneFile (source, path) {
  const other = await realpath(source) // of a link macOS would clone the link
  await copyFile(other, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
}

/** @param {string} source @param {string} path  where nothing is @param {(fd: number) => void} check */
async function cloneChecked (source, path, check) {
  const file = await openRegular(source)
  try {
    check(file.fd)
    // Linux finds the file by its descriptor. Elsewhere its path may lead to another one for a moment.
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

/** @param {string} path  where nothing is */
const create = path => open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL)

/** @param {string} path @param {boolean} mayBeShared  may the file have other names? */
async function openOrCreate (path, mayBeShared) {
  const handle = await openRegular(path, { writes: true }).catch(unlessMissing)
  if (handle === undefined) return create(path)
  if (mayBeShared || (await handle.stat()).nlink < 2) return handle
  await handle.close()
  const reason = 'has other names (hard links), and writing would change the files of others. Put a copy in its place'
  throw Object.assign(new Error(`${path} ${reason}`), { code: 'EMLINK' })
}
