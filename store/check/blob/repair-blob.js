// Repairs one blob, or a part of it: computes lost pairs again where that is possible, drops wrong groups and stray
// entries, and returns the record to commit.

import { equals } from 'uint8arrays/equals'
import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { validRanges } from '../../../verifier/valid.js'
import { CELL_LEN } from '../../storage/content/extents.js'
import { allChunks, areWholeGroups } from '../../storage/content/scan.js'
import { GROUP_CHUNKS, Page, StoredOutboard, isPageOf, pageOfGroup } from '../../storage/content/tree-pages.js'
import { GROUP_LEN } from '../../sizes.js'
import { storedChunks } from './inspect-blob.js'
import { VIEWS, extentKey, pageKey, placeOfKey } from '../../storage/format/keys.js'
import { eachReadable, isOfSystem, orIfUnreadable } from '../../storage/errors.js'
import { recomputePairs } from './recompute-pairs.js'

/** @import { Content } from '../../storage/content/content-of.js' */
/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { Part } from './part.js' */
/** @import { SafeDatabase, Operation } from '../../storage/level/safe-database.js' */

/** Operations are written once they have this many bytes, or once there are this many of them. */
const CHANGES_LEN = 1 << 22
const CHANGES_COUNT = 1000

/**
 * Computes lost pairs again where that is possible, and then finds the right chunks. The present chunks outside of the
 * part count as right.
 *
 * @param {Content} content @param {Part} part @param {AbortSignal} [signal]
 * @returns {Promise<ChunkRanges | undefined>} undefined when the system cannot read the file, whose bytes may be right
 */
export async function proveBlob (content, part, signal) {
  try {
    return await prove(content, part, signal)
  } catch (error) {
    if (!isOfSystem(error)) throw error
    return undefined
  }
}

/**
 * Drops wrong groups and stray entries of a blob. It repairs the data before the caller commits the record, so an
 * interrupted repair can be repeated. The caller holds the blob's lock.
 *
 * A repair of a part of a reference leaves the bytes where they are. A repair of a whole reference that finds wrong
 * bytes copies the right groups into a file of the store. The store never writes to the file of a reference, so it
 * could not receive the other groups there.
 *
 * @param {Content} content
 * @param {ChunkRanges} right  chunks that `proveBlob` has found right
 * @param {Part} part
 * @param {AbortSignal} [signal]
 * @returns {Promise<BlobRecord>} the record to commit
 */
export async function dropWrong (content, right, part, signal) {
  const { databases, record } = content
  const size = allChunks(record.size)
  // If no group of the whole blob is right, its size is a claim again.
  const isNothing = part.isWhole && right.isEmpty && !content.isSizeNoted
  const sizeProven = !isNothing && (record.sizeProven || right.has(size.boundaries[1] - 1))
  const complete = sizeProven && right.equals(size)
  const home = !complete && part.isWhole ? content.homeOfRest : record.home
  const after = { ...record, sizeProven, complete, home }
  if (complete && record.complete && !part.isWhole) return after // Everything is right.
  if (part.isWhole) await content.makeSafe(right, { complete, signal })
  const changes = new Changes(databases)
  await sortOut(content, right, part, changes, signal)
  // The groups of a complete blob have no marks yet.
  const unmarked = record.complete ? right : right.intersect(part.chunks)
  await markGroups(databases.data, record.id, right, unmarked, changes)
  await changes.write(true)
  return after
}

/**
 * @param {Content} content @param {Part} part @param {AbortSignal} [signal]
 * @throws the reason when the system could not read the file
 */
async function prove (content, part, signal) {
  // Groups without a mark count, too, so that a group that has lost only its mark need not be fetched again.
  const wanted = await storedChunks(content, part, signal)
  await recomputePairs(content, { stored: wanted.union(part.rest), wanted }, signal)
  return part.rest.union(await rightChunks(content, wanted, part, signal))
}

/** @param {Content} content @param {ChunkRanges} stored @param {Part} part @param {AbortSignal} [signal] */
async function rightChunks (content, stored, part, signal) {
  const { databases: { data }, root, record } = content
  const scan = content.scan(undefined, part.keys)
  try {
    const valid = await validRanges(scan, new StoredOutboard(data, root, record, VIEWS), stored, { signal })
    if (scan.failure !== undefined) throw scan.failure
    return valid.intersect(stored)
  } finally {
    await scan.close()
  }
}

/**
 * Drops wrong extents and pages, and corrects the marks in the others.
 *
 * @param {Content} content @param {ChunkRanges} right @param {Part} part @param {Changes} changes
 * @param {AbortSignal} [signal]
 */
async function sortOut (content, right, { keys }, changes, signal) {
  const { databases: { data, extentLen }, record: { id, size } } = content
  let cell = new Cell(-1, size)
  for await (const [key, value] of eachReadable(data.iterator({ ...keys, ...VIEWS }))) {
    signal?.throwIfAborted()
    const place = placeOfKey(key)
    if (!content.ownsEntry(place)) {
      await changes.add({ type: 'del', key })
    } else if (place.band === undefined) {
      const number = Math.floor(place.chunk * CHUNK_LEN / CELL_LEN)
      if (number !== cell.number) {
        await changes.add(...cell.operations(id, extentLen, right))
        cell = new Cell(number, size)
      }
      cell.add(key, place.chunk * CHUNK_LEN, value)
    } else if (!isPageOf(size, { band: place.band, lastChunk: place.chunk })) {
      await changes.add({ type: 'del', key })
    } else if (place.band === 0) {
      const page = marked(new Page(value), place.chunk, right)
      if (!equals(page.bytes, value)) await changes.add({ type: 'put', key, value: page.bytes })
    }
  }
  await changes.add(...cell.operations(id, extentLen, right))
}

/**
 * Marks groups as present in the pages over them, and makes the pages that are missing.
 *
 * @param {SafeDatabase} data
 * @param {number} id
 * @param {ChunkRanges} right  groups that are present
 * @param {ChunkRanges} groups  those of them that may lack a mark
 * @param {Changes} changes
 */
async function markGroups (data, id, right, groups, changes) {
  let passed = -1
  for (const [start, end] of groups) {
    for (let chunk = Math.max(start, passed + 1); chunk < end; chunk = passed + 1) {
      const name = pageOfGroup(Math.floor(chunk / GROUP_CHUNKS))
      passed = name.lastChunk
      const key = pageKey(id, name)
      const stored = await orIfUnreadable(data.get(key, VIEWS))
      const page = marked(new Page(stored), passed, right)
      if (stored === undefined || !equals(page.bytes, stored)) {
        await changes.add({ type: 'put', key, value: page.bytes })
      }
    }
  }
}

/** @param {Page} page  changed @param {number} lastChunk @param {ChunkRanges} right */
function marked (page, lastChunk, right) {
  page.clearGroups()
  const { lastChunk: last } = pageOfGroup(0)
  const first = lastChunk - last
  for (let chunk = first; chunk <= lastChunk; chunk += GROUP_CHUNKS) {
    if (right.has(chunk)) page.addGroup((chunk - first) / GROUP_CHUNKS)
  }
  return page
}

/** The extents of one cell. */
class Cell {
  #extents = /** @type {{ key: Uint8Array, offset: number, value: Uint8Array }[]} */ ([])
  #size
  number

  /** @param {number} number  index of the cell in the blob @param {number} size  of the blob */
  constructor (number, size) {
    this.number = number
    this.#size = size
  }

  /** @param {Uint8Array} key @param {number} offset @param {Uint8Array} value */
  add (key, offset, value) { this.#extents.push({ key, offset, value }) }

  /**
   * Returns operations that rewrite the cell without wrong bytes; none when the cell is in order.
   *
   * @param {number} id @param {number} extentLen  the maximum length of an extent, in bytes @param {ChunkRanges} right
   * @returns {Operation[]}
   */
  operations (id, extentLen, right) {
    let end = this.number * CELL_LEN
    const isInOrder = this.#extents.every(({ offset, value }) => {
      const isNext = offset >= end && value.length > 0
      end = offset + value.length
      if (!isNext || end > this.#end || !areWholeGroups(offset, end, this.#size)) return false
      return right.contains(offset / CHUNK_LEN, Math.ceil(end / CHUNK_LEN))
    })
    if (isInOrder) return []
    /** @type {Operation[]} */
    const dels = this.#extents.map(({ key }) => ({ type: 'del', key }))
    /** @type {Operation[]} */
    const puts = this.#rightRuns(extentLen, right).map(({ offset, bytes }) => (
      { type: 'put', key: extentKey(id, offset), value: bytes }))
    return [...dels, ...puts]
  }

  /** Where the cell ends, in bytes of the blob: at its border, or at the end of the blob. */
  get #end () { return Math.min(this.#size, (this.number + 1) * CELL_LEN) }

  /** @param {number} extentLen @param {ChunkRanges} right */
  #rightRuns (extentLen, right) {
    const start = this.number * CELL_LEN
    const bytes = this.#bytes()
    const runs = /** @type {{ offset: number, bytes: Uint8Array }[]} */ ([])
    for (let offset = start; offset < this.#end; offset += GROUP_LEN) {
      const end = Math.min(offset + GROUP_LEN, this.#end)
      if (!right.has(offset / CHUNK_LEN)) continue
      const last = runs.at(-1)
      const continues = last !== undefined && last.offset + last.bytes.length === offset && offset % extentLen !== 0
      if (continues) last.bytes = bytes.slice(last.offset - start, end - start)
      else runs.push({ offset, bytes: bytes.slice(offset - start, end - start) })
    }
    return runs
  }

  /** Returns the bytes as readers see them: of two overlapping extents, the first one counts. */
  #bytes () {
    const start = this.number * CELL_LEN
    const bytes = new Uint8Array(CELL_LEN)
    let passed = start
    for (const { offset, value } of this.#extents) {
      const end = offset + value.length
      if (end <= passed || end > this.#end) continue
      const from = Math.max(offset, passed)
      bytes.set(value.subarray(from - offset), from - start)
      passed = end
    }
    return bytes
  }
}

/** Gathers operations on the data database, and writes them when there are many. */
class Changes {
  #databases
  #operations = /** @type {Operation[]} */ ([])
  #len = 0

  /** @param {Databases} databases */
  constructor (databases) {
    this.#databases = databases
  }

  /** @param {Operation[]} operations */
  async add (...operations) {
    for (const operation of operations) this.#len += operation.type === 'put' ? operation.value.length : 0
    this.#operations.push(...operations)
    if (this.#len >= CHANGES_LEN || this.#operations.length >= CHANGES_COUNT) await this.write(false)
  }

  /** @param {boolean} isLast */
  async write (isLast) {
    const { data, syncBatch } = this.#databases
    await data.batch(this.#operations, isLast ? syncBatch : {})
    this.#operations = []
    this.#len = 0
  }
}
