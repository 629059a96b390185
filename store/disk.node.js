// The bytes of large blobs as files beside the databases, where there are files: written once, and never moved by anybody. The only file
// of the store that needs `node:fs`.

import { constants, fdatasync, read, readSync, writev } from 'node:fs'
import { access, copyFile, link, mkdir, open, readFile, readdir, realpath, rename, rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @import { FileHandle } from 'node:fs/promises' */

/** Files that are kept open for reading, so that many small reads open nothing. */
const KEPT_OPEN = 32
/** Bytes that are gathered before they are written. */
const WRITE_LEN = 1 << 20

/** @param {string} path  of a directory, which is made when it is missing */
export async function openFolder (path) {
  await mkdir(path, { recursive: true })
  return new BlobFolder(path)
}

/** Asked before anything is opened, because opening makes what is not there. @param {string} location */
export const isStoreAt = async location => await isThere(`${location}/index/CURRENT`) || isHeadless(`${location}/index`)

/** Is this a directory of LevelDB that has lost the file which says what the others are? @param {string} path */
export async function isHeadless (path) {
  const names = await readdir(path).catch(() => /** @type {string[]} */ ([]))
  return !names.includes('CURRENT') && names.some(name => /\.(ldb|sst|log)$|^MANIFEST-/.test(name))
}

/** @param {string} path */
export const isThere = path => access(path).then(() => true, () => false)

/** One name for what has several. @param {string} path  of what need not be there */
export const realPath = path => realpath(path).catch(() => resolve(path))

/** @param {string} path */
export const readText = path => readFile(path, 'utf8')

/** @param {string} path  in a folder that is there @returns {Promise<boolean>} false when it was there */
export async function makeFolder (path) {
  try {
    await mkdir(path)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
  await syncFolder(dirname(path))
  return true
}

/** @param {string} path */
export const removeFolder = path => rm(path, { recursive: true, force: true })

/** To where another may stand, which is removed. @param {string} from @param {string} to  beside it */
export async function moveFolder (from, to) {
  const replaced = `${to}.replaced`
  await removeFolder(replaced)
  await rename(to, replaced).catch(unlessMissing) // removing takes longer
  await rename(from, to)
  await syncFolder(dirname(to))
  await removeFolder(replaced)
}

/**
 * The files of a folder in another one, without their bytes where the system can do that: as long as they are replaced and never written again, what is done
 * in one folder is not seen in the other.
 *
 * @param {string} from  nothing when it is not there @param {string} to  what is to be made @param {string[]} except  names that are left out
 */
export async function linkFolder (from, to, except) {
  await mkdir(to)
  const entries = await readdir(from, { withFileTypes: true }).catch(unlessMissing) ?? []
  for (const entry of entries) {
    const [source, target] = [`${from}/${entry.name}`, `${to}/${entry.name}`]
    if (entry.isDirectory()) await linkFolder(source, target, except)
    else if (!except.includes(entry.name)) await link(source, target).catch(() => copyFile(source, target))
  }
}

/** Makes all files of a folder outlast a power cut. @param {string} path */
export async function syncFiles (path) {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = await open(`${path}/${entry.name}`, 'r+')
    await file.sync().finally(() => file.close())
  }
  await syncFolder(path)
}

/** @param {NodeJS.ErrnoException} error @returns {undefined} */
function unlessMissing (error) {
  if (error.code !== 'ENOENT') throw error
}

/** One file for each id. */
export class BlobFolder {
  #path
  /** Kept by id, least recently used first. */
  #kept = /** @type {Map<number, BlobFile>} */ (new Map())
  /** All that are not closed yet. */
  #open = /** @type {Set<BlobFile>} */ (new Set())

  /** @param {string} path */
  constructor (path) {
    this.#path = path
  }

  /** @param {number} id */
  pathOf (id) { return `${this.#path}/${id}` }

  /** The file of an id, for writing: made when it is missing. @param {number} id */
  async writer (id) {
    return new FileWriter(await open(this.pathOf(id), constants.O_RDWR | constants.O_CREAT))
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

  /** The ids that have a file. */
  async ids () {
    return (await readdir(this.#path)).filter(name => /^\d+$/.test(name)).map(Number)
  }

  /** Makes files that are new outlast a power cut. */
  sync () { return syncFolder(this.#path) }

  /** Ends all reading. */
  async close () {
    this.#kept.clear()
    await Promise.all([...this.#open].map(file => file.close()))
  }

  /** @param {string} path */
  #opened (path) {
    const file = new BlobFile(open(path, 'r'), () => this.#open.delete(file))
    this.#open.add(file)
    return file
  }

  /** @param {number} id */
  #retire (id) {
    this.#kept.get(id)?.retire()
    this.#kept.delete(id)
  }
}

/** A file that several read. It is closed when it is retired and nobody reads it any more. */
export class BlobFile {
  handle
  /** Once it is open. */
  #fd = /** @type {number | undefined} */ (undefined)
  #onClose
  #uses = 0
  #isRetired = false
  #closing = /** @type {Promise<void> | undefined} */ (undefined)
  /** What must end before the file can be closed: the system would give its number to the next file that is opened. */
  #reading = /** @type {Set<Promise<unknown>>} */ (new Set())

  /** @param {Promise<FileHandle>} opening @param {() => void} onClose */
  constructor (opening, onClose) {
    this.handle = opening
    this.#onClose = onClose
    opening.then(({ fd }) => { this.#fd = fd }, onClose)
  }

  get isUsed () { return this.#uses > 0 }

  take () { this.#uses++ }

  release () {
    this.#uses--
    this.#closeUnused()
  }

  retire () {
    this.#isRetired = true
    this.#closeUnused()
  }

  /**
   * @param {number} start @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes where the file ends before
   */
  async read (start, end) {
    const bytes = roomFor(end - start)
    const len = await this.readInto(bytes, start)
    return len === bytes.length ? bytes : bytes.slice(0, len) // nobody sees what was never written
  }

  /** @param {Uint8Array} buffer  left alone meanwhile @param {number} start @returns {Promise<number>} how many bytes: fewer where the file ends before */
  async readInto (buffer, start) {
    const { fd } = await this.handle
    if (this.#closing) throw new Error('the file is closed')
    const reading = readWhole(fd, buffer, start)
    this.#reading.add(reading)
    try {
      return await reading
    } finally {
      this.#reading.delete(reading)
    }
  }

  get isOpen () { return this.#fd !== undefined && this.#closing === undefined }

  /** See `BlobFolder.readNow`. @param {number} start @param {number} end */
  readNow (start, end) {
    if (!this.isOpen) return undefined
    const bytes = roomFor(end - start)
    return readSync(/** @type {number} */ (this.#fd), bytes, 0, bytes.length, start) === bytes.length ? bytes : undefined
  }

  /** Waits for reads that are under way; later ones fail. */
  close () {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close () {
    await Promise.allSettled(this.#reading)
    await this.handle.then(handle => handle.close(), () => {})
    this.#onClose()
  }

  #closeUnused () {
    if (this.#isRetired && this.#uses === 0) this.close().catch(() => {})
  }
}

/** Memory that is not cleared first: what of it is given has been read. @param {number} len */
const roomFor = len => new Uint8Array(Buffer.allocUnsafeSlow(len).buffer)

/** @param {number} fd @param {Uint8Array} bytes @param {number} position @returns {Promise<number>} how many bytes: fewer than fit where the file ends before */
async function readWhole (fd, bytes, position) {
  let got = 0
  while (got < bytes.length) {
    const len = await readSome(fd, bytes, got, position + got)
    if (len === 0) break
    got += len
  }
  return got
}

/** @param {number} fd @param {Uint8Array} bytes @param {number} at @param {number} position @returns {Promise<number>} */
const readSome = (fd, bytes, at, position) => new Promise((resolve, reject) => {
  read(fd, bytes, at, bytes.length - at, position, (error, len) => error ? reject(error) : resolve(len))
})

export class FileWriter {
  #handle
  #buffers = [new Uint8Array(0), new Uint8Array(0)]
  #filled = 0
  #position = 0
  #writing = Promise.resolve()

  /** @param {FileHandle} handle */
  constructor (handle) {
    this.#handle = handle
  }

  /** Writes bytes behind those that were appended before. They are copied: while some are written, others are gathered. @param {Uint8Array} bytes */
  async append (bytes) {
    for (let at = 0; at < bytes.length;) {
      if (this.#buffers[0].length === 0) this.#buffers[0] = new Uint8Array(WRITE_LEN)
      const part = bytes.subarray(at, at + WRITE_LEN - this.#filled)
      this.#buffers[0].set(part, this.#filled)
      this.#filled += part.length
      at += part.length
      if (this.#filled === WRITE_LEN) await this.#flush()
    }
  }

  /** @param {Uint8Array[]} pieces  side by side; left alone until they are written @param {number} position  of the first */
  async write (pieces, position) {
    const due = pieces.reduce((len, { length }) => len + length, 0)
    const written = await writeSome(this.#handle.fd, pieces, position)
    if (written < due) await this.write(behind(pieces, written), position + written)
  }

  /** Waits until everything is written. */
  async end () {
    await this.#flush()
    await this.#writing
  }

  /** Waits until everything that was written is on the disk. @returns {Promise<void>} */
  sync () { return new Promise((resolve, reject) => fdatasync(this.#handle.fd, error => error ? reject(error) : resolve())) }

  async close () {
    await this.#writing.catch(() => {})
    await this.#handle.close()
  }

  async #flush () {
    await this.#writing
    if (this.#filled === 0) return
    const [full, other] = this.#buffers
    this.#writing = this.write([full.subarray(0, this.#filled)], this.#position)
    this.#writing.catch(() => {}) // whoever awaits it next is told
    this.#position += this.#filled
    this.#buffers = [other, full]
    this.#filled = 0
  }
}

/** @param {number} fd @param {Uint8Array[]} pieces @param {number} position @returns {Promise<number>} */
const writeSome = (fd, pieces, position) => new Promise((resolve, reject) => {
  writev(fd, pieces, position, (error, len) => error ? reject(error) : resolve(len))
})

/** What is left of pieces. @param {Uint8Array[]} pieces @param {number} done  bytes */
function behind (pieces, done) {
  const rest = []
  for (const piece of pieces) {
    if (done < piece.length) rest.push(piece.subarray(done))
    done = Math.max(0, done - piece.length)
  }
  return rest
}

/** @param {string} path */
async function syncFolder (path) {
  if (process.platform === 'win32') return // directories cannot be opened there, and need not
  const folder = await open(path, 'r')
  await folder.sync().finally(() => folder.close())
}

/**
 * Replaces a file once all of it is there: what fails leaves it as it was.
 *
 * @param {string | URL} path
 * @param {AsyncIterable<Uint8Array>} pieces
 * @param {boolean} sync  make it outlast a power cut
 */
export async function writeFileAtomically (path, pieces, sync) {
  const target = absolute(path)
  const part = `${target}.${process.pid}-${Math.random().toString(36).slice(2)}.part`
  const writer = new FileWriter(await open(part, 'wx+'))
  try {
    try {
      for await (const piece of pieces) await writer.append(piece)
      await writer.end()
      if (sync) await writer.sync()
    } finally {
      await writer.close()
    }
    await rename(part, target)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  if (sync) await syncFolder(dirname(target))
}

/** @param {string | URL} path */
export const absolute = path => resolve(path instanceof URL ? fileURLToPath(path) : path)
