// Holds the chunk groups that a slice has proven, and the pairs above them, until the pages of the blob mark the groups
// as present.

import { GROUP_CHUNKS, PageEditor, pageOfGroup, placeInPages } from '../../storage/content/tree-pages.js'
import { GROUP_LEN } from '../../sizes.js'
import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG, PAIR_LEN } from '../../../lib/core/constants.js'
import { ExtentCutter } from '../../storage/content/extents.js'
import { RunList } from '../../storage/content/runs.js'
import { levelOf } from '../../../lib/tree/geometry.js'
import { u8 } from '../../../lib/engine/arena.js'

/** @import { Content } from '../../storage/content/content-of.js' */
/** @import { FileWriter } from '../../storage/disk/file-writer.js' */
/** @import { Operation } from '../../storage/level/safe-database.js' */
/** @import { Reservation } from '../../catalog/quota.js' */
/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */

/** A batch is full when it has this many bytes of groups, or of pairs. */
const BATCH_LEN = 1 << 22
/** Bytes of one piece of memory for groups; the first pieces are smaller. */
const MEMORY_LEN = 1 << 20

const NOTHING = new Uint8Array(0)

/** Returns the index of the first chunk after a parent's subtree. @param {number} node */
const endChunkOf = node => node + 1 + 2 ** levelOf(node)

/**
 * @typedef {{ start: number, len: number, memory: Uint8Array, at: number }} Run  adjacent groups, and where their bytes
 *   are in memory, as long as they are held there
 */
/** @typedef {{ node: number, bytes: Uint8Array }} Pair */

/** @param {Run} run */
const bytesOf = ({ len, memory, at }) => memory.subarray(at, at + len)

/**
 * Groups and pairs that were proven one after the other and are stored together. The life of a batch:
 * gathered -> `take` -> taken -> (`moveToFile`, if the blob is in a file) -> `takeDue` -> `marked` -> forgotten.
 * A batch that need not be marked goes from taken to forgotten by `discard`.
 */
export class ProvenBatch {
  runs = /** @type {Run[]} */ ([])
  /** Pairs that lead to the groups. */
  pairs = /** @type {Pair[]} */ ([])
  /** Bytes of the groups. */
  len = 0
  /** Index of the first chunk after the last leaf. */
  position = 0
  /** The id of the file that has the bytes; undefined while they are held in memory. */
  fileId = /** @type {number | undefined} */ (undefined)
  /** Quota that was reserved for these bytes. */
  reservation = /** @type {Reservation | undefined} */ (undefined)

  /** True if any bytes are only in memory. */
  get isHeld () { return this.fileId === undefined && this.len > 0 }

  /** Yields each group, in increasing order. */
  * groups () {
    for (const { start, len, memory, at } of this.runs) {
      for (let done = 0; done < len; done += GROUP_LEN) {
        yield { start: start + done, len: Math.min(GROUP_LEN, len - done), memory, at: at + done }
      }
    }
  }

  /** Counts the bytes of the groups that are not among these chunks. @param {ChunkRanges} present */
  lenBeyond (present) {
    let sum = 0
    for (const { start, len } of this.groups()) if (!present.has(start / CHUNK_LEN)) sum += len
    return sum
  }

  /** Gives up the groups of all runs except the first ones. @param {number} [runs]  how many runs stay */
  cut (runs = 0) {
    this.runs = this.runs.slice(0, runs)
    this.len = this.runs.reduce((sum, { len }) => sum + len, 0)
  }
}

/** Takes the groups and pairs that a verifier has proven, in the order of the walk. */
export class ProvenGroups {
  #batch = new ProvenBatch()
  /** The memory for the next groups, and how many bytes of it are in use. */
  #memory = /** @type {Uint8Array} */ (NOTHING)
  #filled = 0
  /** Memory that can be used again, because its groups are in a file. */
  #free = /** @type {Uint8Array[]} */ ([])
  /** Pairs that are not in a batch yet. Below the first `#provenPairs` of them, a leaf was verified. */
  #pairs = /** @type {Pair[]} */ ([])
  #provenPairs = 0
  /** Stored pairs that are above the next groups, and the id under which they are stored. */
  #path = /** @type {Pair[]} */ ([])
  #id = -1
  /** Batches that were taken and are not marked yet. */
  provenBatches = /** @type {ProvenBatch[]} */ ([])
  /** Bytes of batches whose marking has not begun. */
  waiting = 0
  #since = 0

  /** Bytes that are not in a closed batch yet. */
  get gathered () { return this.#batch.len }

  /** True if there are enough bytes of groups, or of pairs, to write. A slice may have pairs without groups. */
  get isFull () { return this.gathered >= BATCH_LEN || this.#provenPairs * PAIR_LEN >= BATCH_LEN }

  /**
   * The time, as `performance.now` gives it, since which bytes have waited for their marking to begin; Infinity when
   * no bytes wait.
   */
  get oldestSince () { return this.waiting + this.gathered > 0 ? this.#since : Infinity }

  /** @param {number} node @param {number} at */
  pair (node, at) {
    if (levelOf(node) >= GROUP_LOG) this.#pairs.push({ node, bytes: u8.slice(at, at + PAIR_LEN) })
  }

  /**
   * Takes a verified leaf. It keeps only whole groups, because the store could not prove a part of a group. The last
   * group is whole when it ends where the blob ends. A verified leaf that ends at the claimed size proves that size.
   *
   * @param {number} start  where the leaf begins in the blob, in bytes
   * @param {Uint8Array} memory  borrowed; the bytes are copied
   * @param {number} at  where the bytes begin in `memory`
   * @param {number} len  bytes
   * @param {number} size  bytes of the blob, as claimed
   */
  leaf (start, memory, at, len, size) {
    // If the size is wrong, a pair may match in the wrong place. A verified leaf below it proves that the place is
    // right.
    this.#provenPairs = this.#pairs.length
    this.#batch.position = Math.ceil((start + len) / CHUNK_LEN)
    if (start % GROUP_LEN !== 0 || (len !== GROUP_LEN && start + len !== size) || len === 0) return
    if (this.#filled + len > this.#memory.length) {
      // Allocate as much as was gathered so far, so that a small slice takes little memory.
      this.#memory = this.#free.pop() ?? new Uint8Array(Math.max(GROUP_LEN, Math.min(this.gathered, MEMORY_LEN)))
      this.#filled = 0
    }
    this.#memory.set(memory.subarray(at, at + len), this.#filled)
    const last = this.#batch.runs.at(-1)
    if (last?.memory === this.#memory && last.start + last.len === start) last.len += len
    else this.#batch.runs.push({ start, len, memory: this.#memory, at: this.#filled })
    this.#filled += len
    if (this.oldestSince === Infinity) this.#since = performance.now()
    this.#batch.len += len
  }

  /** Closes the batch, and begins another one for later groups. */
  take () {
    this.#batch.pairs = this.#pairs.splice(0, this.#provenPairs)
    this.#provenPairs = 0
    this.waiting += this.#batch.len
    if (this.#batch.len > 0 || this.#batch.pairs.length > 0) this.provenBatches.push(this.#batch)
    this.#batch = new ProvenBatch()
    this.#memory = NOTHING // because the batch may be written from this memory
    this.#filled = 0
  }

  /** Returns all taken batches for the caller to mark now; they no longer count as waiting. */
  takeDue () {
    this.#nothingWaits()
    return [...this.provenBatches]
  }

  /** Forgets batches that need not be marked. After that, nothing counts as waiting. @param {ProvenBatch[]} batches */
  discard (batches) {
    this.#nothingWaits()
    this.forget(batches)
  }

  #nothingWaits () {
    this.waiting = 0
    this.#since = performance.now()
  }

  /**
   * Writes the bytes of a batch to their positions in a file. They count as present once the batch is marked.
   *
   * @param {ProvenBatch} batch @param {FileWriter} file @param {number} id  of the file
   * @param {{ hasFailed?: boolean }} options  `hasFailed`: give up bytes that cannot be written. Default: false
   */
  async moveToFile (batch, file, id, { hasFailed = false }) {
    const { runs } = batch
    for (let i = 0; i < runs.length;) {
      const first = i
      const pieces = []
      for (let end = runs[i].start; runs[i]?.start === end; end += runs[i++].len) pieces.push(bytesOf(runs[i]))
      try {
        await file.write(pieces, runs[first].start)
      } catch (error) {
        if (!hasFailed) throw error
        batch.cut(first)
        break
      }
    }
    this.#recycle(runs)
    batch.runs = batch.runs.map(({ start, len }) => ({ start, len, memory: NOTHING, at: 0 }))
    batch.fileId = id
  }

  /** Gives up groups whose bytes were written to a file, because the disk may not have them. */
  cutFiled () {
    for (const batch of this.provenBatches) if (batch.fileId !== undefined) batch.cut()
  }

  /**
   * Forgets batches, marked or not, and remembers the pairs on the path from the root to the next groups.
   *
   * @param {ProvenBatch[]} [batches]
   */
  forget (batches = this.provenBatches) {
    for (const { pairs, position, reservation } of batches) {
      this.#path = [...this.#path, ...pairs].filter(({ node }) => endChunkOf(node) > position)
      reservation?.release()
    }
    this.provenBatches = this.provenBatches.filter(batch => !batches.includes(batch))
  }

  /**
   * Returns batch operations that mark the proven groups that are not present yet. They also store the pairs, and those
   * bytes that are not in a file. The batches are kept until the caller has written the operations, so that it can try
   * again.
   *
   * @param {ProvenBatch[]} batches
   * @param {Content} content
   * @param {ChunkRanges} present
   * @returns {Promise<{ puts: Operation[], fresh: ChunkRanges, reach: number, lens: Map<ProvenBatch, number> }>}
   *   `fresh`: chunks that were not present; `reach`: index of the first chunk after the last group, present or not;
   *   `lens`: how many fresh bytes each batch has. `puts` is not empty if any chunk is present, because writing an
   *   empty batch would not sync earlier writes to the disk
   */
  async operations (batches, { databases: { data, extentLen }, fileId, record: { id } }, present) {
    // If the blob was deleted and has a new id, its old file and the pairs on the path were deleted, too.
    const pairs = [...id === this.#id ? [] : this.#path, ...batches.flatMap(({ pairs }) => pairs)]
    const there = batches.filter(batch => batch.fileId === undefined || batch.fileId === fileId)

    const pages = new PageEditor(id)
    await pages.load(data, [
      ...present.boundaries.slice(0, 1).map(chunk => pageOfGroup(chunk / GROUP_CHUNKS)),
      ...there.flatMap(batch => [...batch.groups()].map(({ start }) => pageOfGroup(start / GROUP_LEN))),
      ...pairs.map(({ node }) => placeInPages(node).page)
    ])
    const extents = []
    let cutter = new ExtentCutter(id, extentLen)
    const fresh = new RunList()
    const lens = new Map()
    let reach = 0
    for (const batch of there) {
      let batchLen = 0
      for (const group of batch.groups()) {
        const { start, len } = group
        reach = Math.ceil((start + len) / CHUNK_LEN)
        if (present.has(start / CHUNK_LEN)) continue
        pages.addGroup(start / GROUP_LEN)
        fresh.add(start / CHUNK_LEN, reach)
        batchLen += len
        if (!batch.isHeld) continue
        if (start !== cutter.position) {
          extents.push(...cutter.end())
          cutter = new ExtentCutter(id, extentLen, start)
        }
        extents.push(...cutter.add(bytesOf(group)))
      }
      lens.set(batch, batchLen)
    }
    extents.push(...cutter.end())
    for (const { node, bytes } of pairs) pages.setPair(node, bytes, 0)
    return { puts: [...extents, ...pages.take()], fresh: fresh.ranges, reach, lens }
  }

  /**
   * Forgets batches whose operations the caller has written.
   *
   * @param {ProvenBatch[]} batches @param {number} id  the id under which they are stored
   */
  marked (batches, id) {
    for (const { fileId, runs } of batches) if (fileId === undefined) this.#recycle(runs)
    this.forget(batches)
    this.#id = id
  }

  /** Takes back the memory of groups that are no longer needed. @param {Run[]} runs */
  #recycle (runs) {
    const memories = new Set(runs.map(({ memory }) => memory))
    for (const memory of memories) if (memory.length === MEMORY_LEN) this.#free.push(memory)
  }
}
