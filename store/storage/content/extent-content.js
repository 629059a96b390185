// The bytes of a blob in extents of the data database.

import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { eachReadable } from '../errors.js'
import { VIEWS, allOfId, extentKey, placeOfKey } from '../format/keys.js'
import { CommonContent } from './content.js'
import { CELL_LEN, ExtentReader } from './extents.js'
import { getSoon } from './sync-reads.js'
import { RunList } from './runs.js'
import { ExtentScan, allChunks } from './scan.js'
import { GROUP_LEN } from '../../sizes.js'

/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */
/** @import { GivenUpData } from '../databases.js' */
/** @import { Home } from '../format/records.js' */
/** @import { KeyRange } from './scan.js' */

export class ExtentContent extends CommonContent {
  /** True if the store can reach the bytes. */
  get isReachable () { return true }

  /** This content, or the part that the store can reach. */
  get reachable () { return this }

  /**
   * True if no bytes follow the place where a read ends early. Here it is false, because other extents may follow a
   * missing one.
   */
  get endsAtFirstGap () { return false }

  /** The id of the store's file that has the bytes; here undefined, because there is no file. */
  get fileId () { return /** @type {number | undefined} */ (undefined) }

  /** @returns {GivenUpData} */
  get dataToDelete () { return { id: this.record.id, mayHaveFile: false, isOneGroup: this.isOneExtent(GROUP_LEN) } }

  /** @type {Home} */
  get homeOfNew () { return 'extents' }

  /** @param {number} len */
  isOneExtent (len) {
    const { complete, size } = this.record
    return complete && size > 0 && size <= len
  }

  /** @type {CommonContent['ownsEntry']} */
  ownsEntry (place) { return place?.id === this.record.id }

  /**
   * Returns a reader of the bytes, which does not verify them. The caller closes it.
   *
   * @param {[start: number, end: number]} [span]  bytes that the reader may read. Default: all
   * @param {() => object} [options]  returns the options for the iterator
   */
  reader ([start, end] = [0, this.record.size], options = () => VIEWS) {
    return new ExtentReader(this.databases, this.record, start, end, options())
  }

  /**
   * Reads a few bytes, synchronously as long as that is fast. It does not verify them, and finds only extents of the
   * length that `put` writes.
   *
   * @param {number} from  the border of a group @param {number} to  the border of a group, or the end of the blob
   * @returns {Uint8Array | undefined | Promise<Uint8Array | undefined>} fewer bytes, or undefined, when some are
   *   missing
   */
  readSoon (from, to) {
    const { data, extentLen } = this.databases
    const start = from - from % extentLen
    if (to > start + extentLen) return this.#readSeveral(from, to)
    const key = extentKey(this.record.id, start)
    if (data.readsParts) return data.get(key, { ...VIEWS, part: [from - start, to - start] })
    const extent = getSoon(data, key, VIEWS)
    if (!(extent instanceof Promise)) return extent?.subarray(from - start, to - start)
    return extent.then(extent => extent?.subarray(from - start, to - start))
  }

  /**
   * Reads bytes from several extents. Returns undefined when an extent does not begin where `put` would begin it. If
   * two extents overlap, the bytes of the first one count.
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
   * Returns a scan of everything under the id. The caller closes it.
   *
   * @param {object} [options]  for the iterator @param {KeyRange} [keys]  default: all
   */
  scan (options = {}, keys = allOfId(this.record.id)) { return new ExtentScan(this, options, keys) }

  /**
   * Finds the chunks that may have stored bytes, right or wrong: from the start of each extent to the end of its cell.
   * It does not read the bytes. It leaves out chunks beyond the size in the record.
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
      if (!this.ownsEntry(place) || place.band !== undefined) continue
      const start = place.chunk * CHUNK_LEN
      held.add(place.chunk, (start - start % CELL_LEN + CELL_LEN) / CHUNK_LEN)
    }
    return held.ranges.intersect(allChunks(size))
  }

  /**
   * Returns true if something other than a file of the store has the name of the blob's file. Here it is false, because
   * the blob has no file.
   */
  async isObstructed () { return false }

  /** Makes right groups safe before marks name them. Here it does nothing, because the write of the marks does so. */
  async makeSafe () {}
}
