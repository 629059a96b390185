// Reads and writes files, in Node.js, Bun and Deno. No other module of lib needs `node:fs`.

import { constants, fstatSync, read, readSync } from 'node:fs'
import { open, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withRoom } from './open-files.js'
import { PIECE_LEN } from './read-pieces.js'
import { sourceChanged } from '../core/errors.js'

/** @import { FileHandle } from 'node:fs/promises' */
/** @import { Stats } from 'node:fs' */
/** @import { SharedFile } from '../core/types.js' */

/**
 * False, because Node.js (20 to 24) crashes when a thread reads a part of a Blob that another thread has opened with
 * `openAsBlob`, and such a Blob cannot be recognised.
 */
export const canShareBlobs = false

/**
 * Windows lacks the last three flags. `O_NONBLOCK`: opening a pipe does not wait for a writer. `O_NOCTTY`: a terminal
 * does not become the controlling terminal of this process.
 */
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants
const CHECKED = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY

/**
 * Opens a file for reading.
 *
 * @param {string | URL} path
 * @param {(fd: number) => void} [check]  throws if the open file is not the expected one. With `check`, the path must
 *   not be a link
 */
export async function openFile (path, check) {
  const handle = await withRoom(() => open(path, check === undefined ? 'r' : CHECKED))
  try {
    check?.(handle.fd)
    const stat = await handle.stat()
    if (stat.isDirectory()) {
      throw Object.assign(new Error(`${path} is a folder: give the path of a file`), { code: 'EISDIR' })
    }
    return new OpenFile(path, handle, stat)
  } catch (error) {
    await handle.close()
    throw error
  }
}

export class OpenFile {
  overlaps = true
  #path
  #handle
  #stat
  /** Reads that must end before the file is closed, because the system may give its descriptor to the next file. */
  #uses = /** @type {Set<Promise<unknown>>} */ (new Set())

  /** @param {string | URL} path @param {FileHandle} handle @param {Stats} stat */
  constructor (path, handle, stat) {
    this.#path = path
    this.#handle = handle
    this.#stat = stat
  }

  /** The size of the file in bytes when it was opened. */
  get size () { return this.#stat.size }

  /** False for pipes and devices, which cannot be read at any offset. */
  get isRegular () { return this.#stat.isFile() }

  /** What other threads of the process need to know to read the file. @returns {SharedFile} */
  get shared () {
    const { dev, ino } = this.#stat
    return { fd: this.#handle.fd, dev, ino }
  }

  /**
   * @param {number} start @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes if the file has shrunk
   */
  async read (start, end) {
    const bytes = new Uint8Array(end - start)
    return bytes.subarray(0, await this.readInto(bytes, start))
  }

  /**
   * Fills a buffer. Nobody else may use the buffer until the promise resolves.
   *
   * @param {Uint8Array} buffer @param {number} position  in the file
   * @returns {Promise<number>} how many bytes were read: fewer than the buffer has if the file ends early
   */
  readInto (buffer, position) {
    return this.keepOpenUntil(this.#fill(buffer, position))
  }

  /** @param {Uint8Array} buffer @param {number} position */
  async #fill (buffer, position) {
    let got = 0
    while (got < buffer.length) {
      const len = await this.#read(buffer, got, position + got)
      if (len === 0) break
      got += len
    }
    return got
  }

  /**
   * Yields all bytes from the current position to the end.
   *
   * @returns {AsyncGenerator<Uint8Array>} each piece is borrowed until the next
   */
  async * pieces () {
    const buffer = new Uint8Array(PIECE_LEN)
    while (true) {
      const len = await this.keepOpenUntil(this.#read(buffer, 0, null))
      if (len === 0) return
      yield buffer.subarray(0, len)
    }
  }

  /**
   * Reads with the callbacks of `node:fs`, because its promises take one percent more time.
   *
   * @param {Uint8Array} buffer @param {number} at @param {number | null} position
   * @returns {Promise<number>}
   */
  #read (buffer, at, position) {
    return new Promise((resolve, reject) => {
      const done = (/** @type {unknown} */ error, /** @type {number} */ len) => error ? reject(error) : resolve(len)
      read(this.#handle.fd, buffer, at, buffer.length - at, position, done)
    })
  }

  /**
   * Keeps the file open until a promise has ended.
   *
   * @template T
   * @param {Promise<T>} promise
   * @returns {Promise<T>} the same promise
   */
  keepOpenUntil (promise) {
    this.#uses.add(promise)
    const forget = () => { this.#uses.delete(promise) }
    promise.then(forget, forget)
    return promise
  }

  /** @throws {BaoError} BAO_SOURCE_CHANGED { location } when the file has changed since it was opened */
  async check () {
    const { size, mtimeMs } = await this.#handle.stat()
    if (size !== this.size || mtimeMs !== this.#stat.mtimeMs) throw sourceChanged(String(this.#path))
  }

  async close () {
    await Promise.allSettled(this.#uses)
    await this.#handle.close()
  }
}

/**
 * Creates a file under a temporary name. When it is complete, `commit` gives it its final name, and so replaces the
 * file that had this name.
 *
 * @param {string | URL} path
 */
export async function createFile (path) {
  const final = resolve(pathOf(path))
  const random = crypto.getRandomValues(new Uint32Array(2))
  const shown = basename(final).slice(0, SHOWN_NAME_LEN)
  const name = join(dirname(final), `.${shown}.${[...random].map(word => word.toString(36)).join('')}.part`)
  return new WrittenFile(await withRoom(() => open(name, 'wx+')), { name, final })
}

/**
 * The maximum number of characters of the final name in the temporary name, because systems limit a name to 255 bytes.
 */
const SHOWN_NAME_LEN = 50

/**
 * Writes a file, which replaces the old one when all pieces are written. A failure leaves the old file unchanged.
 *
 * @param {string | URL} path
 * @param {Iterable<Uint8Array> | AsyncIterable<Uint8Array>} pieces  each is written before the next is asked for
 * @param {{ sync?: boolean }} [options]  `sync`: true to make sure that a power cut leaves either the new file or the
 *   old one. Default: true
 * @returns {Promise<number>} bytes
 */
export async function replaceFile (path, pieces, { sync = true } = {}) {
  const file = await createFile(path)
  try {
    let len = 0
    for await (const piece of pieces) {
      await file.write(len, piece)
      len += piece.length
    }
    if (sync) await file.sync()
    await file.commit({ sync })
    return len
  } catch (error) {
    await file.discard()
    throw error
  }
}

/** Opens a file to be changed in place. @param {string | URL} path */
export async function changeFile (path) {
  return new WrittenFile(await withRoom(() => open(path, 'r+')))
}

export class WrittenFile {
  #handle
  #names

  /**
   * @param {FileHandle} handle
   * @param {{ name: string, final: string }} [names]  the temporary name, and the name of the complete file
   */
  constructor (handle, names) {
    this.#handle = handle
    this.#names = names
  }

  /** @param {number} offset @param {Uint8Array} bytes */
  async write (offset, bytes) {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await this.#handle.write(bytes, done, bytes.length - done, offset + done)
      done += bytesWritten
    }
  }

  /**
   * @param {number} start @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes at the end of the file
   */
  async read (start, end) {
    const bytes = new Uint8Array(end - start)
    for (let got = 0; got < bytes.length;) {
      const { bytesRead } = await this.#handle.read(bytes, got, bytes.length - got, start + got)
      if (bytesRead === 0) return bytes.subarray(0, got)
      got += bytesRead
    }
    return bytes
  }

  /** @param {number} len */
  async truncate (len) { await this.#handle.truncate(len) }

  async sync () { await this.#handle.sync() }

  /**
   * Syncs the file to the disk, and gives it its final name.
   *
   * @param {{ sync?: boolean }} [options]  `sync`: true to make the name survive a power cut; default: true
   */
  async commit ({ sync = true } = {}) {
    await this.#handle.close()
    if (this.#names === undefined) return
    const { name, final } = this.#names
    await rename(name, final)
    if (sync) await syncFolder(dirname(final))
  }

  /** Closes the file after a failure. If it still has a temporary name, it is deleted. */
  async discard () {
    await this.#handle.close().catch(() => {})
    if (this.#names !== undefined) await unlink(this.#names.name).catch(() => {})
  }
}

/**
 * Error codes of Windows and of file systems that cannot sync folders. There, a sync is unnecessary or impossible.
 */
const NOT_SYNCED = ['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Makes the new name of a file survive a power cut. @param {string} path  the path of its folder */
async function syncFolder (path) {
  try {
    const folder = await withRoom(() => open(path, 'r'))
    await folder.sync().finally(() => folder.close())
  } catch (error) {
    if (!NOT_SYNCED.includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) throw error
  }
}

/** @param {string | URL} path */
const pathOf = path => typeof path === 'string' ? path : fileURLToPath(path)

/**
 * True if the descriptor of a file that another thread opened leads to the same file here. (In Deno, each thread has
 * its own descriptors.)
 *
 * @param {SharedFile} file
 */
export function isOpenHere ({ fd, dev, ino }) {
  try {
    const stat = fstatSync(fd)
    return stat.dev === dev && stat.ino === ino
  } catch {
    return false
  }
}

/**
 * Fills a buffer synchronously.
 *
 * @param {number} fd @param {Uint8Array} buffer @param {number} position
 * @returns {number} how many bytes were read: fewer than the buffer has if the file ends early
 */
export function readIntoSync (fd, buffer, position) {
  let got = 0
  while (got < buffer.length) {
    const len = readSync(fd, buffer, got, buffer.length - got, position + got)
    if (len === 0) break
    got += len
  }
  return got
}
