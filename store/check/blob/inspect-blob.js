// Inspects one stored blob: compares its bytes and pairs with the root, and looks for entries that do not belong to it.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { chunkCount } from '../../../lib/tree/geometry.js'
import { validOutboardRanges, validRanges } from '../../../verifier/valid.js'
import { CELL_LEN } from '../../storage/content/extents.js'
import { FileReader } from '../../storage/content/stored-file.js'
import {
  GROUP_LEN, PAGE_SPAN, Page, StoredOutboard, isPageOf, markedChunks, presentChunks
} from '../../storage/content/tree-pages.js'
import { RunList } from '../../storage/content/runs.js'
import { VIEWS, allOfId, extentsOf, placeOfKey } from '../../storage/format/keys.js'
import { fileIdOf } from '../../storage/format/records.js'
import { eachReadable, isCorruption, isOfSystem } from '../../storage/errors.js'

/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { ProgressOptions } from '../../../lib/core/types.js' */

/** Bytes that the database reads ahead. */
const READ_AHEAD = 1 << 20

/**
 * @typedef {object} Findings
 * @property {ChunkRanges} expected  chunks that the store says are present
 * @property {ChunkRanges} right  chunks that are stored and can be proven
 * @property {ChunkRanges} data  chunks that could be proven, but whose bytes are wrong or lost
 * @property {ChunkRanges} tree  chunks whose pairs are wrong or lost, or that are stored without a mark
 * @property {number} strays  how many entries do not belong to the blob, or have a wrong shape
 * @property {boolean} isUnreadable  has LevelDB skipped entries that it cannot read?
 * @property {boolean} isFileUnreadable  could the system not read the file, for lack of permission or because the
 *   disk fails? Its bytes may be right
 * @property {boolean} isSound
 */

/** All chunks of a blob. @param {number} size */
export const allChunks = size => new ChunkRanges([0, chunkCount(size)])

/**
 * The part of a blob that is inspected.
 *
 * @typedef {object} Part
 * @property {boolean} isWhole  is it all of the blob?
 * @property {ChunkRanges} chunks  of the part
 * @property {ChunkRanges} rest  all other chunks, which count as present
 * @property {{ gte: Uint8Array, lt: Uint8Array }} keys  range of the part's extents and pages in the data database
 */

/** Returns all of a blob as a part. @param {BlobRecord} record @returns {Part} */
export const wholeOf = ({ id, size }) =>
  ({ isWhole: true, chunks: allChunks(size), rest: ChunkRanges.none, keys: allOfId(id) })

/**
 * Returns the part under the lowest pages of the tree that cover some bytes: 1 MiB, or several.
 *
 * @param {BlobRecord} record
 * @param {{ start: number, end: number }} span  bytes
 * @param {ChunkRanges} present  chunks of the blob
 * @returns {Part}
 */
export function partAround ({ id, size, home }, { start, end }, present) {
  const first = start - start % PAGE_SPAN
  const last = Math.max(1, Math.ceil(Math.min(end, size) / PAGE_SPAN)) * PAGE_SPAN
  const all = ChunkRanges.fromBytes(first, last)
  // Bytes that were written to a file of the store but are not recorded yet may not be on the disk.
  const chunks = home === 'file' ? all.intersect(present) : all
  return { isWhole: false, chunks, rest: present.difference(all), keys: extentsOf(id, first, last) }
}

/**
 * @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record
 * @param {ProgressOptions} [options]
 * @returns {Promise<Findings>}
 */
export async function inspectBlob (databases, root, record, { signal, onProgress } = {}) {
  const { data, files } = databases
  files?.forget(fileIdOf(record))
  const snapshot = data.supports.explicitSnapshots ? data.snapshot() : undefined
  const options = snapshot === undefined ? VIEWS : { ...VIEWS, snapshot }
  const scan = new BlobScan(databases, root, record, options)
  try {
    const all = allChunks(record.size)
    const expected = record.complete ? all : (await presentChunks(data, record)).intersect(all)
    const outboard = new StoredOutboard(data, root, record, options)
    const valid = await validRanges(scan, outboard, expected, { signal, onProgress })
    await scan.finish(signal)
    const { stored, marked, strays, isUnreadable } = scan
    const isFileUnreadable = scan.failure !== undefined
    const right = valid.intersect(stored)
    const doubtful = expected.difference(right)
    const proven = doubtful.isEmpty ? doubtful : await validOutboardRanges(outboard, doubtful, { signal })
    // For a blob that is present in part the marks tell which groups it has: some may be wrong, and some may be lost.
    const found = record.home === 'extents' ? stored.union(marked) : marked
    const unknown = record.complete ? ChunkRanges.none : found.difference(expected)
    const tree = doubtful.difference(proven).union(unknown)
    const isSound = doubtful.isEmpty && unknown.isEmpty && strays === 0 && !isFileUnreadable
    return { expected, right, data: doubtful.intersect(proven), tree, strays, isUnreadable, isFileUnreadable, isSound }
  } finally {
    await scan.close()
    await snapshot?.close()
  }
}

/**
 * Are all bytes and pairs of a complete blob right? This takes as long as reading the blob.
 *
 * @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record @param {AbortSignal} [signal]
 * @returns {Promise<boolean>} false also when the system cannot read the blob's file
 */
export async function isIntact (databases, root, record, signal) {
  if (record.size === 0) return true
  const { data, tree, isFileUnreadable } = await inspectBlob(databases, root, record, { signal })
  return data.isEmpty && tree.isEmpty && !isFileUnreadable
}

/**
 * Reads everything under the id of a blob, or of a part of it, from start to end. It serves as a source for
 * `validRanges`. It gives zeros for missing bytes, so that the bytes after them can be verified; `stored` tells which
 * bytes are missing.
 */
export class BlobScan {
  #iterator
  #id
  /** Reads the bytes when they are not in extents. @type {FileReader | undefined} */
  #file
  /** The current extent, without the bytes that an earlier extent covers. */
  #offset = 0
  #bytes = /** @type {Uint8Array} */ (new Uint8Array(0))
  /** The range [start, end) of bytes that follow one another without a gap. */
  #run = { start: 0, end: 0 }
  #stored = new RunList()
  #marked = new RunList()
  size
  /** How many entries do not belong to the blob, or have a wrong shape. */
  strays = 0
  /** Has LevelDB skipped entries that it cannot read? */
  isUnreadable = false
  /** Why the system could not read the file: then it is not known whether its bytes are right. @type {unknown} */
  failure

  /**
   * @param {Databases} databases
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {object} [options]  for the database
   * @param {Part} [part]  default: all of it
   */
  constructor (databases, root, record, options, { keys } = wholeOf(record)) {
    const { id, size, home } = record
    this.#id = id
    this.size = size
    if (home !== 'extents') this.#file = new FileReader(databases, root, record)
    const ofClassicLevel = { highWaterMarkBytes: READ_AHEAD, fillCache: false }
    this.#iterator = databases.data.iterator({ ...keys, ...VIEWS, ...options, ...ofClassicLevel })
  }

  /** The chunks of groups that are stored as a whole, as far as the scan has read. */
  get stored () { return this.#stored.ranges }

  /** The chunks of groups that pages mark as present, as far as the scan has read. */
  get marked () { return this.#marked.ranges.intersect(allChunks(this.size)) }

  /** Where the last extent ends, in bytes. */
  get end () { return this.#run.end }

  /**
   * @param {number} start  at or after the start of the read before @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; always `end - start` bytes
   */
  async read (start, end) {
    const out = new Uint8Array(end - start)
    if (this.#file !== undefined) {
      const file = this.#file
      out.set(await this.#unlessFailing(() => readUpToEnd(file, start, end)) ?? [])
      return out
    }
    do {
      const from = Math.max(start, this.#offset)
      if (from < end) out.set(this.#bytes.subarray(from - this.#offset, end - this.#offset), from - start)
    } while (this.#offset + this.#bytes.length < end && await this.#next())
    return out
  }

  /** Reads the rest. @param {AbortSignal} [signal] */
  async finish (signal) {
    while (await this.#next()) signal?.throwIfAborted()
    const file = this.#file
    if (file === undefined) return
    // A hole in a file reads as zeros. So all groups before the end of the file count as stored.
    this.#run = { start: 0, end: Math.min(await this.#unlessFailing(() => file.len()) ?? 0, this.size) }
    this.#endRun()
  }

  /**
   * Reads the file. When the system cannot, notes that and returns undefined.
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

  async close () {
    await this.#iterator.close()
    await this.#file?.close()
  }

  /** @returns {Promise<boolean>} false when there are no more extents */
  async #next () {
    for (let entry = await this.#entry(); entry !== undefined; entry = await this.#entry()) {
      const [key, value] = entry
      const place = placeOfKey(key)
      if (place === undefined || place.id !== this.#id) this.strays++
      else if (place.band !== undefined) this.#takePage(place.chunk, place.band, value)
      else if (this.#takeExtent(place.chunk * CHUNK_LEN, value)) return true
    }
    this.#endRun()
    return false
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

  /**
   * Takes an extent if a reader would.
   *
   * @param {number} offset @param {Uint8Array} value
   * @returns {boolean} does it have bytes that no earlier extent had?
   */
  #takeExtent (offset, value) {
    const end = offset + value.length
    const isTooLong = value.length > CELL_LEN - offset % CELL_LEN || end > this.size
    if (this.#file !== undefined || isTooLong || end <= this.#run.end) {
      this.strays++
      return false
    }
    if (!isShapely(offset, end, this.size) || offset < this.#run.end) this.strays++
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

  /** Ends a run of bytes. Only groups that are stored as a whole count. */
  #endRun () {
    const { start, end } = this.#run
    const first = Math.ceil(start / GROUP_LEN) * GROUP_LEN
    const last = end === this.size ? end : Math.floor(end / GROUP_LEN) * GROUP_LEN
    if (first < last) this.#stored.add(first / CHUNK_LEN, Math.ceil(last / CHUNK_LEN))
    this.#run.start = end
  }
}

/**
 * Is it a whole number of groups, except where the blob ends?
 *
 * @param {number} offset @param {number} end @param {number} size
 */
export const isShapely = (offset, end, size) => offset % GROUP_LEN === 0 && (end % GROUP_LEN === 0 || end === size)

/** Returns nothing when there is no file. @param {FileReader} file @param {number} start @param {number} end */
async function readUpToEnd (file, start, end) {
  const stop = Math.min(end, await file.len())
  return start < stop ? file.read(start, stop) : new Uint8Array(0)
}

/**
 * Finds the chunks of groups that are stored as a whole, whether they are right or wrong.
 *
 * @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record @param {Part} part
 * @param {AbortSignal} [signal]
 * @throws the reason when the system could not read the file
 */
export async function storedChunks (databases, root, record, part, signal) {
  const scan = new BlobScan(databases, root, record, undefined, part)
  try {
    await scan.finish(signal)
    if (scan.failure !== undefined) throw scan.failure
    return scan.stored.intersect(part.chunks)
  } finally {
    await scan.close()
  }
}

/**
 * Finds the chunks of which a blob may have bytes, right or wrong: from the start of each extent to the end of its
 * cell, or up to the end of the file. It does not read the bytes, and does not rely on the size.
 *
 * @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record @param {AbortSignal} [signal]
 * @returns {Promise<ChunkRanges | undefined>} undefined when the system cannot read the file
 */
export async function heldChunks (databases, root, record, signal) {
  const held = new RunList()
  const { id, size, home } = record
  if (home === 'extents') {
    for await (const key of eachReadable(databases.data.keys({ ...allOfId(id), ...VIEWS }))) {
      signal?.throwIfAborted()
      const place = placeOfKey(key)
      if (place === undefined || place.id !== id || place.band !== undefined) continue
      const start = place.chunk * CHUNK_LEN
      held.add(place.chunk, (start - start % CELL_LEN + CELL_LEN) / CHUNK_LEN)
    }
    return held.ranges.intersect(allChunks(size))
  }
  const file = new FileReader(databases, root, record)
  try {
    const len = Math.min(await file.len(), size)
    return len === 0 ? ChunkRanges.none : allChunks(len)
  } catch (error) {
    if (!isOfSystem(error)) throw error
    return undefined
  } finally {
    await file.close()
  }
}
