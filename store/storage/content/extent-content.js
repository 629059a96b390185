// The bytes of a blob in extents of the data database.

import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { eachReadable } from '../errors.js'
import { VIEWS, allOfId, extentKey, placeOfKey } from '../format/keys.js'
import { BaseContent } from './content.js'
import { CELL_LEN, ExtentReader } from './extents.js'
import { getSoon } from './read-pace.js'
import { RunList } from './runs.js'
import { ExtentScan, allChunks } from './scan.js'
import { GROUP_LEN } from '../../sizes.js'

/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */
/** @import { DoomedData } from '../databases.js' */
/** @import { Home } from '../format/records.js' */
/** @import { KeyRange } from './scan.js' */

export class ExtentContent extends BaseContent {
  /** Can the store get at the bytes? */
  get isReachable () { return true }

  /** The same content, or what the store can get at of it. */
  get reachable () { return this }

  /** Is there nothing after the place at which a read has come to an end? */
  get endsOnce () { return false }

  /** The store's file that has the bytes: none. */
  get fileId () { return /** @type {number | undefined} */ (undefined) }

  /** @returns {DoomedData} */
  get doomed () { return { id: this.record.id, mayHaveFile: false, isOneGroup: this.isOneExtent(GROUP_LEN) } }

  /** @type {Home} */
  get homeOfNew () { return 'extents' }

  /** @param {number} len */
  isOneExtent (len) {
    const { complete, size } = this.record
    return complete && size > 0 && size <= len
  }

  /** @type {BaseContent['takes']} */
  takes (place) { return place?.id === this.record.id }

  /**
   * Returns a reader of the bytes, which does not verify them. The caller closes it.
   *
   * @param {[start: number, end: number]} [span]  bytes; the reader reads nothing outside. Default: all
   * @param {() => object} [options]  returns the options for the database
   */
  reader ([start, end] = [0, this.record.size], options = () => VIEWS) {
    return new ExtentReader(this.databases, this.record, start, end, options())
  }

  /**
   * Reads few bytes, synchronously as long as that is fast. It reads only extents of the full length, which is what
   * `put` writes, and does not verify them.
   *
   * @param {number} from  the border of a group @param {number} to  the border of a group, or the end of the blob
   * @returns {Uint8Array | undefined | Promise<Uint8Array | undefined>} fewer bytes, or undefined, when some are
   *   missing
   */
  readSoon (from, to) {
    const { data, extentLen } = this.databases
    const start = from - from % extentLen
    if (to > start + extentLen) return this.#readSeveral(from, to)
    const extent = getSoon(data, extentKey(this.record.id, start), VIEWS)
    if (!(extent instanceof Promise)) return extent?.subarray(from - start, to - start)
    return extent.then(extent => extent?.subarray(from - start, to - start))
  }

  /**
   * Reads bytes from several extents. When some extents do not begin where `put` would begin them, it gives nothing. An
   * extent that is too long covers the beginning of the next one.
   *
   * @param {number} from @param {number} to
   */
  async #readSeveral (from, to) {
    const { data, extentLen } = this.databases
    const first = Math.floor(from / extentLen)
    const length = Math.ceil(to / extentLen) - first
    const keys = Array.from({ length }, (_, i) => extentKey(this.record.id, (first + i) * extentLen))
    const bytes = new Uint8Array(to - from)
    let end = from
    for (const [i, extent] of (await data.getMany(keys, VIEWS)).entries()) {
      const start = (first + i) * extentLen
      const part = extent?.subarray(end - start, to - start)
      if (part === undefined || end + part.length < Math.min(start + extentLen, to)) return undefined
      bytes.set(part, end - from)
      end += part.length
    }
    return bytes
  }

  /**
   * Returns a reader of everything under the id. The caller closes it.
   *
   * @param {object} [options]  for the database @param {KeyRange} [keys]  default: all
   */
  scan (options = {}, keys = allOfId(this.record.id)) { return new ExtentScan(this, options, keys) }

  /**
   * Finds the chunks of which the blob may have bytes, right or wrong: from the start of each extent to the end of its
   * cell. It does not read the bytes, and does not rely on the size.
   *
   * @param {AbortSignal} [signal]
   * @returns {Promise<ChunkRanges | undefined>}
   */
  async held (signal) {
    const held = new RunList()
    const { id, size } = this.record
    for await (const key of eachReadable(this.databases.data.keys({ ...allOfId(id), ...VIEWS }))) {
      signal?.throwIfAborted()
      const place = placeOfKey(key)
      if (!this.takes(place) || place.band !== undefined) continue
      const start = place.chunk * CHUNK_LEN
      held.add(place.chunk, (start - start % CELL_LEN + CELL_LEN) / CHUNK_LEN)
    }
    return held.ranges.intersect(allChunks(size))
  }

  /** Does something other than a file of the store have the name of the file? There is none. */
  async isObstructed () { return false }

  /** Makes right groups safe before marks name them. The write of the marks does that. */
  async settle () {}
}
