// Small reads at any place of a blob that is whole: one read of the bytes, mostly on this thread (pace.js), compared with pairs that are mostly in
// memory (trusted.js). What comes out is right, or it is nothing: then the long way (view.js, verified.js) gives what is right and says what is wrong.

import { untilAborted } from '../lib/reading.js'
import { CELL_LEN, cellOf } from './extents.js'
import { GROUP_LEN } from './pages.js'
import { Pace } from './pace.js'
import { VIEWS, getSoon } from './databases.js'
import { extentKey } from './keys.js'
import { hashesTo, piecesOf } from './verified.js'

/** @import { BlobRecord } from './keys.js' */
/** @import { Databases } from './databases.js' */
/** @import { Protection } from './protection.js' */
/** @import { Wanted } from './reader.js' */
/** @import { TrustedTrees } from './trusted.js' */

/** Bytes of groups that are read at once: more are better hashed while the next are read. */
const MAX_LEN = 17 * GROUP_LEN
/** And so many of a file on this thread: a cell, wherever it begins. */
const MAX_LEN_NOW = CELL_LEN + GROUP_LEN

export class QuickReads {
  #databases
  #protection
  #trees
  #pace = new Pace()

  /** @param {{ databases: Databases, protection: Protection, trees: TrustedTrees }} store */
  constructor ({ databases, protection, trees }) {
    this.#databases = databases
    this.#protection = protection
    this.#trees = trees
  }

  /**
   * @param {Wanted} wanted
   * @returns {Promise<Uint8Array<ArrayBuffer> | undefined>} fresh; undefined when it has to be read the long way
   */
  async read ({ root, record, start, end, verify, signal }) {
    if (!record.complete || start >= end) return undefined
    const from = start - start % GROUP_LEN
    const to = Math.min(Math.ceil(end / GROUP_LEN) * GROUP_LEN, record.size)
    if (to - from > MAX_LEN) return undefined
    try {
      const reading = this.#stored(record, from, to)
      const bytes = reading instanceof Promise ? await this.#held(root, reading, signal) : reading
      if (bytes === undefined || bytes.length < to - from || (verify && !await this.#isRight(root, record, bytes, from))) return undefined
      const isOurs = record.home === 'file' || this.#databases.givesCopies
      // A little of the memory would keep all of it.
      if (isOurs && end - start === bytes.buffer.byteLength) return new Uint8Array(/** @type {ArrayBuffer} */ (bytes.buffer))
      return new Uint8Array(bytes.subarray(start - from, end - from))
    } catch {
      return undefined
    }
  }

  /** Bytes between the borders of groups. @param {BlobRecord} record @param {number} from @param {number} to */
  #stored ({ home, id }, from, to) {
    if (home === 'file') return this.#inFile(id, from, to)
    if (home === 'extents') return this.#inExtent(id, from, to)
  }

  /** @param {number} id @param {number} from @param {number} to */
  #inFile (id, from, to) {
    const { files } = this.#databases
    if (files === undefined) return undefined
    const later = async () => {
      const file = files.reader(id)
      try {
        return await file.read(from, to)
      } finally {
        file.release()
      }
    }
    if (to - from > MAX_LEN_NOW) return later()
    return this.#pace.read(() => files.readNow(id, from, to), later) ?? later()
  }

  /** What was put is in one extent for each cell. @param {number} id @param {number} from @param {number} to */
  #inExtent (id, from, to) {
    const cell = cellOf(from)
    if (to > cell + CELL_LEN) return undefined
    const part = (/** @type {Uint8Array | undefined} */ extent) => extent?.subarray(from - cell, to - cell)
    const extent = getSoon(this.#databases.data, extentKey(id, cell), VIEWS)
    return extent instanceof Promise ? extent.then(part) : part(extent)
  }

  /** Waits for what is read elsewhere; the blob is not swept away meanwhile. @template T @param {Uint8Array} root @param {Promise<T>} reading @param {AbortSignal} [signal] */
  async #held (root, reading, signal) {
    const release = this.#protection.use(root)
    try {
      return await untilAborted(reading, signal)
    } finally {
      release()
    }
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {Uint8Array} bytes  of groups @param {number} from  where they begin */
  async #isRight (root, record, bytes, from) {
    const { size } = record
    if (bytes.length === size) return hashesTo(bytes, 0, size, root)
    const tree = this.#trees.of(root, record)
    for (const { start, end } of piecesOf(from, from + bytes.length, size)) {
      const promised = tree.known(start, end) ?? await tree.promised(start, end, this.#databases.data, () => VIEWS)
      if (!hashesTo(bytes.subarray(start - from, end - from), start, size, promised)) return false
    }
    return true
  }
}
