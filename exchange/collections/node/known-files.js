// Remembers, in a file, the hash that each file of a folder had at the last import, so that unchanged files need not be
// read again. Both that file and the walk of the folder are in the order of the names, so they are read side by side.
//
// There is a line for each file: [name, size, time of modification, time of change, inode, hash] as JSON. The times are
// in nanoseconds. An invalid line ends the list, so the files after it are read again.

import { basename, dirname, join } from 'node:path'
import { absolute, openRegular, realPath } from '../../../lib/source/paths.node.js'
import { createFile } from '#files'
import { isNoFile } from '../../../lib/source/open-files.js'
import { MAX_NAME_LEN } from '../meta.js'
import { compareNames } from '../safe-names.js'

/** @import { FileHandle } from 'node:fs/promises' */
/** @import { WrittenFile } from '../../../lib/source/files.node.js' */
/** @import { FoundFile } from './walk-folder.js' */

const HEAD = 'baobox known files 1'
/**
 * Milliseconds. A file that was changed less than this time before the import may change again without getting a new
 * timestamp, so it is not remembered.
 */
const UNSETTLED_MS = 2000
/** The number of characters that are written together, and of bytes that are read together. */
const BATCH_LEN = 1 << 16
/** The maximum length of a line, in characters: JSON may take six for a byte of a name; numbers and a hash follow. */
const MAX_LINE_LEN = 6 * MAX_NAME_LEN + 256

/** @typedef {{ name: string, key: string, hash: string }} KnownFile */

export class KnownFiles {
  #path
  #file
  #old
  #next = /** @type {KnownFile | undefined} */ (undefined)
  #isAtEnd = false
  /** Resolves when all calls of `find` so far have their answers. */
  #asked = /** @type {Promise<Uint8Array | undefined>} */ (Promise.resolve(undefined))
  #target
  #settledBefore = BigInt(Date.now() - UNSETTLED_MS) * 1_000_000n
  #lines = `${HEAD}\n`
  #written = 0

  /**
   * @param {string} path  the real path @param {FileHandle | undefined} file  undefined if the file does not exist
   * @param {WrittenFile} target  the file that will replace it @param {AbortSignal} [signal]
   */
  constructor (path, file, target, signal) {
    this.#path = path
    this.#file = file
    this.#old = knownIn(file, signal)
    this.#target = target
  }

  /**
   * @param {string | URL} path  the path of the file, which need not exist @param {AbortSignal} [signal]
   * @throws {TypeError} when the path leads to something other than a regular file
   */
  static async open (path, signal) {
    const location = absolute(path)
    const real = join(await realPath(dirname(location)), basename(location))
    const file = await openRegular(real, { follows: true }).catch(error => {
      if (error.code === 'ENOENT') return undefined
      throw isNoFile(error) ? new TypeError(`"known" expected a regular file, got ${real}`, { cause: error }) : error
    })
    try {
      return new KnownFiles(real, file, await createFile(real), signal)
    } catch (error) {
      await file?.close()
      throw error
    }
  }

  /**
   * True for the file of known hashes, and for the unfinished file that will replace it.
   *
   * @param {string} path  the real path
   */
  isOwn (path) {
    const isUnfinished = path.startsWith(join(dirname(this.#path), `.${basename(this.#path).slice(0, 50)}.`))
    return path === this.#path || (isUnfinished && path.endsWith('.part'))
  }

  /**
   * Returns the hash of a file, if the file has not changed. Callers ask in the order of the names, and need not wait
   * for an answer before they ask again.
   *
   * @param {FoundFile} file
   * @returns {Promise<Uint8Array | undefined>}
   */
  find (file) {
    this.#asked = this.#asked.then(() => this.#find(file))
    return this.#asked
  }

  /** @param {FoundFile} file @returns {Promise<Uint8Array | undefined>} */
  async #find (file) {
    while (!this.#isAtEnd && (this.#next === undefined || compareNames(this.#next.name, file.name) < 0)) {
      const { done, value } = await this.#old.next()
      this.#isAtEnd = done === true
      this.#next = done ? undefined : value
    }
    if (this.#next?.name !== file.name || this.#next.key !== keyOf(file)) return undefined
    return new Uint8Array(Buffer.from(this.#next.hash, 'hex'))
  }

  /** Remembers the hash of a file. @param {FoundFile} file  found before it was read @param {Uint8Array} hash */
  async note (file, hash) {
    const { mtimeNs, ctimeNs } = file.stat
    if (mtimeNs >= this.#settledBefore || ctimeNs >= this.#settledBefore) return
    this.#lines += `[${JSON.stringify(file.name)},${keyOf(file)},"${Buffer.from(hash).toString('hex')}"]\n`
    if (this.#lines.length >= BATCH_LEN) await this.#write()
  }

  /** Replaces the file of known hashes with the new one. */
  async commit () {
    await this.#write()
    await this.#target.commit({ sync: false })
    await this.#file?.close()
  }

  /** Leaves the file of known hashes as it was. */
  async discard () {
    await this.#target.discard()
    await this.#file?.close().catch(() => {})
  }

  async #write () {
    const bytes = Buffer.from(this.#lines)
    this.#lines = ''
    await this.#target.write(this.#written, bytes)
    this.#written += bytes.length
  }
}

/** The properties that show whether a file has changed. @param {FoundFile} file */
const keyOf = ({ stat: { size, mtimeNs, ctimeNs, ino } }) => `${size},"${mtimeNs}","${ctimeNs}","${ino}"`

/**
 * @param {FileHandle | undefined} file @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<KnownFile>} up to the first invalid line
 */
async function * knownIn (file, signal) {
  if (file === undefined) return
  const lines = linesOf(file, signal)
  if ((await lines.next()).value !== HEAD) return
  for await (const line of lines) {
    const known = parseLine(line)
    if (known === undefined) return
    yield known
  }
}

/**
 * @param {FileHandle} file @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<string>} the lines of the file, up to the first one that is too long
 */
async function * linesOf (file, signal) {
  const { size } = await file.stat()
  const buffer = new Uint8Array(BATCH_LEN)
  const decoder = new TextDecoder()
  let rest = ''
  for (let at = 0; at < size && rest.length <= MAX_LINE_LEN;) {
    signal?.throwIfAborted()
    const { bytesRead } = await file.read(buffer, 0, Math.min(BATCH_LEN, size - at), at)
    if (bytesRead === 0) return
    at += bytesRead
    const lines = (rest + decoder.decode(buffer.subarray(0, bytesRead), { stream: true })).split('\n')
    rest = /** @type {string} */ (lines.pop())
    yield * lines
  }
}

/** @param {string} line @returns {KnownFile | undefined} */
function parseLine (line) {
  try {
    const [name, size, modified, changed, inode, hash] = JSON.parse(line)
    if (typeof name !== 'string' || !/^[0-9a-f]{64}$/.test(hash)) return undefined
    return { name, key: `${size},"${modified}","${changed}","${inode}"`, hash }
  } catch {
    return undefined
  }
}
