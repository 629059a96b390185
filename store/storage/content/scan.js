// Reads everything under the id of a blob, or a part of it, from start to end. A scan is a source for `validRanges`:
// it gives zeros for missing bytes, so that the bytes after them can be verified. `stored` says which bytes are not
// missing.

import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { chunkCount } from '../../../lib/tree/geometry.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { isCorruption, isOfSystem } from '../errors.js'
import { VIEWS, placeOfKey } from '../format/keys.js'
import { CELL_LEN } from './extents.js'
import { RunList } from './runs.js'
import { Page, isPageOf, markedChunks } from './tree-pages.js'
import { GROUP_LEN } from '../../sizes.js'

/** @import { ExtentContent } from './extent-content.js' */
/** @import { FileReader, StoredFile } from './file-content.js' */

/** Bytes that the database reads ahead. */
const READ_AHEAD = 1 << 20

/** @typedef {{ gte: Uint8Array, lt: Uint8Array }} KeyRange  of the data database */

/** Returns all chunks of a blob. @param {number} size */
export const allChunks = size => new ChunkRanges([0, chunkCount(size)])

/**
 * Returns true if a span of bytes consists of whole groups. The last group of the blob may be shorter.
 *
 * @param {number} offset @param {number} end @param {number} size
 */
export const areWholeGroups = (offset, end, size) => offset % GROUP_LEN === 0 && (end % GROUP_LEN === 0 || end === size)

/** The base class of all scans: reads the entries of the data database. */
class EntryScan {
  #content
  #iterator
  #stored = new RunList()
  #marked = new RunList()
  size
  /** How many entries do not belong to the blob, or have a wrong shape. */
  strays = 0
  /** True if LevelDB has skipped entries that it cannot read. */
  isUnreadable = false
  /**
   * The reason why the system could not read the file. Then it is not known whether its bytes are right.
   *
   * @type {unknown}
   */
  failure

  /** @param {ExtentContent | StoredFile} content @param {object} options  for the iterator @param {KeyRange} keys */
  constructor (content, options, keys) {
    this.#content = content
    this.size = content.record.size
    const ofClassicLevel = { highWaterMarkBytes: READ_AHEAD, fillCache: false }
    this.#iterator = content.databases.data.iterator({ ...keys, ...VIEWS, ...options, ...ofClassicLevel })
  }

  /** The chunks of groups that are stored as a whole, as far as the scan has read. */
  get stored () { return this.#stored.ranges }

  /** The chunks of groups that pages mark as present, as far as the scan has read. */
  get marked () { return this.#marked.ranges.intersect(allChunks(this.size)) }

  close () { return this.#iterator.close() }

  /**
   * Reads up to the next extent, and takes the pages before it.
   *
   * @returns {Promise<{ offset: number, value: Uint8Array } | undefined>} undefined when there are no more extents
   */
  async nextExtent () {
    for (let entry = await this.#entry(); entry !== undefined; entry = await this.#entry()) {
      const [key, value] = entry
      const place = placeOfKey(key)
      if (!this.#content.ownsEntry(place)) this.strays++
      else if (place.band === undefined) return { offset: place.chunk * CHUNK_LEN, value }
      else this.#takePage(place.chunk, place.band, value)
    }
    return undefined
  }

  /**
   * Notes a run of stored bytes. Only whole groups count.
   *
   * @param {{ start: number, end: number }} run  bytes, after those of the previous run
   */
  noteRun ({ start, end }) {
    const first = Math.ceil(start / GROUP_LEN) * GROUP_LEN
    const last = end === this.size ? end : Math.floor(end / GROUP_LEN) * GROUP_LEN
    if (first < last) this.#stored.add(first / CHUNK_LEN, Math.ceil(last / CHUNK_LEN))
  }

  /** @returns {Promise<[Uint8Array, Uint8Array] | undefined>} */
  async #entry () {
    try {
      return await this.#iterator.next()
    } catch (error) {
      if (!isCorruption(error)) throw error
      this.isUnreadable = true
      return undefined
    }
  }

  /** @param {number} lastChunk @param {number} band @param {Uint8Array} value */
  #takePage (lastChunk, band, value) {
    if (!isPageOf(this.size, { band, lastChunk })) this.strays++
    else if (band === 0) {
      for (const [start, end] of markedChunks(lastChunk, new Page(value))) this.#marked.add(start, end)
    }
  }
}

/** Scans a blob whose bytes are in extents. */
export class ExtentScan extends EntryScan {
  /** The current extent, without the bytes that an earlier extent covers. */
  #offset = 0
  #bytes = /** @type {Uint8Array} */ (new Uint8Array(0))
  /** The current run: bytes without a gap between them. */
  #run = { start: 0, end: 0 }

  /** Where the last extent ends, in bytes. */
  get end () { return this.#run.end }

  /** The chunks of groups that are stored or marked, as far as the scan has read. */
  get found () { return this.stored.union(this.marked) }

  /**
   * @param {number} start  not before the start of the previous read @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} new memory; always `end - start` bytes
   */
  async read (start, end) {
    const out = new Uint8Array(end - start)
    do {
      const from = Math.max(start, this.#offset)
      if (from < end) out.set(this.#bytes.subarray(from - this.#offset, end - this.#offset), from - start)
    } while (this.#offset + this.#bytes.length < end && await this.#next())
    return out
  }

  /** Reads everything that is left. @param {AbortSignal} [signal] */
  async finish (signal) { while (await this.#next()) signal?.throwIfAborted() }

  /** @returns {Promise<boolean>} false when there are no more extents */
  async #next () {
    for (let extent = await this.nextExtent(); extent !== undefined; extent = await this.nextExtent()) {
      if (this.#take(extent.offset, extent.value)) return true
    }
    this.#endRun()
    return false
  }

  /**
   * Takes an extent if a reader would take it, too.
   *
   * @param {number} offset @param {Uint8Array} value
   * @returns {boolean} true if it has bytes that no earlier extent had
   */
  #take (offset, value) {
    const end = offset + value.length
    const isTooLong = value.length > CELL_LEN - offset % CELL_LEN || end > this.size
    if (isTooLong || end <= this.#run.end) {
      this.strays++
      return false
    }
    if (!areWholeGroups(offset, end, this.size) || offset < this.#run.end) this.strays++
    const from = Math.max(offset, this.#run.end)
    this.#offset = from
    this.#bytes = value.subarray(from - offset)
    if (from > this.#run.end) {
      this.#endRun()
      this.#run.start = from
    }
    this.#run.end = end
    return true
  }

  #endRun () {
    this.noteRun(this.#run)
    this.#run.start = this.#run.end
  }
}

/** Scans a blob whose bytes are in a file. */
export class FileScan extends EntryScan {
  #file
  #end = 0

  /** @param {StoredFile} content @param {object} options  for the iterator @param {KeyRange} keys */
  constructor (content, options, keys) {
    super(content, options, keys)
    this.#file = /** @type {FileReader} */ (content.reader())
  }

  /** Where the bytes end, once the scan has finished. */
  get end () { return this.#end }

  /** The marked chunks. Other bytes of the file do not count, because a hole in it reads as zeros. */
  get found () { return this.marked }

  /**
   * @param {number} start @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} new memory; always `end - start` bytes
   */
  async read (start, end) {
    const out = new Uint8Array(end - start)
    out.set(await this.#unlessFailing(() => this.#readUpToEnd(start, end)) ?? [])
    return out
  }

  /** Reads everything that is left. @param {AbortSignal} [signal] */
  async finish (signal) {
    while (await this.nextExtent() !== undefined) signal?.throwIfAborted()
    // A hole in a file reads as zeros. So all groups before the end of the file count as stored.
    this.#end = Math.min(await this.#unlessFailing(() => this.#file.len()) ?? 0, this.size)
    this.noteRun({ start: 0, end: this.#end })
  }

  async close () {
    await super.close()
    await this.#file.close()
  }

  /** Returns an empty array when there is no file. @param {number} start @param {number} end */
  async #readUpToEnd (start, end) {
    const stop = Math.min(end, await this.#file.len())
    return start < stop ? this.#file.read(start, stop) : new Uint8Array(0)
  }

  /**
   * Reads the file. If the system cannot read it, keeps the error in `failure` and returns undefined.
   *
   * @template T
   * @param {() => Promise<T>} read
   * @returns {Promise<T | undefined>}
   */
  async #unlessFailing (read) {
    try {
      return await read()
    } catch (error) {
      if (!isOfSystem(error)) throw error
      this.failure ??= error
    }
  }
}
