// Remembers, in a file, which hash each file of a folder had at the last import, so that files which have not changed
// need not be read again. Both the file and the folder are in the order of their names, so they are read side by side.
//
// A line for each file: [name, size, time of modification, time of change, inode, hash] as JSON. The times are in
// nanoseconds. What cannot be read counts as not there: then files are read again.

import { createReadStream } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { absolute, realPath } from '#disk'
import { createFile } from '#files'
import { compareNames } from '../safe-names.js'

/** @import { WrittenFile } from '../../../../lib/source/files.node.js' */
/** @import { FoundFile } from './walk.js' */

const HEAD = 'baobox known files 1'
/**
 * Milliseconds. A file that was changed so shortly before the import may change again without getting another time, so
 * it is not remembered.
 */
const UNSETTLED_MS = 2000
/** Characters of lines that are written together. */
const BATCH_LEN = 1 << 16

/** @typedef {{ name: string, key: string, hash: string }} KnownFile */

export class KnownFiles {
  #path
  #old
  #next = /** @type {KnownFile | undefined} */ (undefined)
  #isAtEnd = false
  #target
  #settledBefore = BigInt(Date.now() - UNSETTLED_MS) * 1_000_000n
  #lines = `${HEAD}\n`
  #written = 0

  /**
   * @param {string} path  real @param {AsyncGenerator<KnownFile>} old @param {WrittenFile} target
   */
  constructor (path, old, target) {
    this.#path = path
    this.#old = old
    this.#target = target
  }

  /** @param {string} path  of the file, which need not be there */
  static async open (path) {
    const folder = await realPath(dirname(absolute(path)))
    const real = join(folder, basename(path))
    return new KnownFiles(real, linesOf(real), await createFile(real))
  }

  /** Is this the file itself, or the one that is to replace it? @param {string} path  real */
  isOwn (path) {
    const isUnfinished = path.startsWith(join(dirname(this.#path), `.${basename(this.#path).slice(0, 50)}.`))
    return path === this.#path || (isUnfinished && path.endsWith('.part'))
  }

  /**
   * The hash of a file, if it has not changed. Callers ask in the order of names.
   *
   * @param {FoundFile} file
   * @returns {Promise<Uint8Array | undefined>}
   */
  async find (file) {
    while (!this.#isAtEnd && (this.#next === undefined || compareNames(this.#next.name, file.name) < 0)) {
      const { done, value } = await this.#old.next()
      this.#isAtEnd = done === true
      this.#next = done ? undefined : value
    }
    if (this.#next?.name !== file.name || this.#next.key !== keyOf(file)) return undefined
    return new Uint8Array(Buffer.from(this.#next.hash, 'hex'))
  }

  /** Remembers a file. @param {FoundFile} file  as it was before it was read @param {Uint8Array} hash */
  async note (file, hash) {
    const { mtimeNs, ctimeNs } = file.stat
    if (mtimeNs >= this.#settledBefore || ctimeNs >= this.#settledBefore) return
    this.#lines += `[${JSON.stringify(file.name)},${keyOf(file)},"${Buffer.from(hash).toString('hex')}"]\n`
    if (this.#lines.length >= BATCH_LEN) await this.#write()
  }

  /** Replaces what was remembered. */
  async commit () {
    await this.#write()
    await this.#target.commit({ sync: false })
    await this.#old.return(undefined)
  }

  /** Leaves what was remembered as it was. */
  async discard () {
    await this.#target.discard()
    await this.#old.return(undefined)
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

/** @param {string} path @returns {AsyncGenerator<KnownFile>} those in front of the first line that makes no sense */
async function * linesOf (path) {
  const input = createReadStream(path)
  try {
    let isFirst = true
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      if (isFirst && line !== HEAD) return
      const known = isFirst ? undefined : parseLine(line)
      if (!isFirst && known === undefined) return
      if (known !== undefined) yield known
      isFirst = false
    }
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error
  } finally {
    input.destroy()
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
