// What a slice has proven, until it is written: groups, and the pairs that lead to them.

import { GROUP_LEN, PageEditor, pageOfGroup, placeInPages } from './pages.js'
import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG, PAIR_LEN } from '../lib/constants.js'
import { ChunkRanges } from '../lib/ranges.js'
import { ExtentCutter } from './extents.js'
import { levelOf } from '../lib/tree.js'
import { u8 } from '../lib/arena.js'

/** @import { Databases } from './databases.js' */
/** @import { FileWriter } from './disk/file-writer.js' */
/** @import { Operation } from './catalog.js' */
/** @import { SliceVerifier } from '../verifier/slice.js' */

/** Bytes in a file that may be waiting for the disk before the pages say that they are here. */
const CHECKPOINT_LEN = 1 << 25

/** The chunk behind everything below a parent. @param {number} node */
const endChunkOf = node => node + 1 + 2 ** levelOf(node)

/** @typedef {{ start: number, len: number, bytes?: Uint8Array, file?: number }} Group  without bytes when these are in a file already: of that id */

/** Takes what a verifier believes, in the order of the walk. */
export class Received {
  #groups = /** @type {Group[]} */ ([])
  #pairs = /** @type {{ node: number, bytes: Uint8Array }[]} */ ([])
  /** Pairs that have a believed leaf below them. */
  #provenPairs = 0
  /** Pairs given away already that stand above what comes next, and the id under which they were kept. */
  #path = /** @type {{ node: number, bytes: Uint8Array }[]} */ ([])
  #id = -1
  /** The chunk behind the last leaf. */
  #position = 0
  /** Bytes of the groups: of all, and of those that are in memory. */
  len = 0
  heldLen = 0

  /** @param {number} node @param {number} at */
  pair (node, at) {
    if (levelOf(node) >= GROUP_LOG) this.#pairs.push({ node, bytes: u8.slice(at, at + PAIR_LEN) })
  }

  /**
   * Only whole groups are kept: nothing in the store could prove a part of one again. The last group is whole when it ends where the blob
   * does, and a leaf that ends a blob of the claimed size has proven that size.
   *
   * @param {number} start @param {Uint8Array} memory @param {number} at @param {number} len @param {number} size  the claim
   */
  leaf (start, memory, at, len, size) {
    // A pair that checked out under a wrong size may be in the wrong place, but never with a leaf below it that checked out too.
    this.#provenPairs = this.#pairs.length
    this.#position = Math.ceil((start + len) / CHUNK_LEN)
    if (start % GROUP_LEN !== 0 || (len !== GROUP_LEN && start + len !== size) || len === 0) return
    this.#groups.push({ start, len, bytes: memory.slice(at, at + len) })
    this.len += len
    this.heldLen += len
  }

  /**
   * Writes the bytes of the groups to where they belong in a file. They count once the `operations` are written.
   *
   * @param {FileWriter} file
   * @param {number} id  of the file
   */
  async spill (file, id) {
    const held = this.#groups.filter(({ bytes }) => bytes !== undefined)
    for (let i = 0; i < held.length;) {
      const { start } = held[i]
      const run = []
      for (let end = start; held[i]?.start === end; end += held[i++].len) run.push(held[i])
      await file.write(run.map(({ bytes }) => /** @type {Uint8Array} */ (bytes)), start)
      for (const group of run) {
        group.bytes = undefined
        group.file = id
        this.heldLen -= group.len
      }
    }
  }

  /** Gives up the groups that are in memory alone. */
  dropHeld () {
    this.#groups = this.#groups.filter(({ bytes }) => bytes === undefined)
    this.len -= this.heldLen
    this.heldLen = 0
  }

  /** Bytes of the groups that are not among these chunks. @param {ChunkRanges} present */
  lenBeyond (present) {
    return this.#groups.reduce((sum, { start, len }) => present.has(start / CHUNK_LEN) ? sum : sum + len, 0)
  }

  /** Gives up what has been proven, and remembers the path from the root to what comes next. */
  drop () {
    this.#path = [...this.#path, ...this.#pairs.splice(0, this.#provenPairs)].filter(({ node }) => endChunkOf(node) > this.#position)
    this.#groups = []
    this.#provenPairs = this.len = this.heldLen = 0
  }

  /**
   * Batch operations that keep what has been proven and is not there yet. It stays here until they are written: whoever fails may try again.
   *
   * @param {Databases} databases
   * @param {number} id
   * @param {ChunkRanges} present  what is there
   * @returns {Promise<{ puts: Operation[], fresh: ChunkRanges, len: number, written: () => void }>} `written`: to be told when they are
   */
  async operations ({ data, extentLen }, id, present) {
    // Whoever deleted the blob meanwhile has deleted the pairs that lead here, and the file.
    const pairs = [...this.#pairs.slice(0, this.#provenPairs), ...id === this.#id ? [] : this.#path]
    const groups = this.#groups.filter(({ bytes, file }) => bytes !== undefined || file === id)

    const pages = new PageEditor(id)
    await pages.load(data, [
      ...groups.map(({ start }) => pageOfGroup(start / GROUP_LEN)),
      ...pairs.map(({ node }) => placeInPages(node).page)
    ])
    const extents = []
    let cutter = new ExtentCutter(id, extentLen)
    let fresh = ChunkRanges.none
    let len = 0
    for (const { start, len: groupLen, bytes } of groups) {
      if (present.has(start / CHUNK_LEN)) continue
      pages.addGroup(start / GROUP_LEN)
      fresh = fresh.union(ChunkRanges.fromBytes(start, start + groupLen))
      len += groupLen
      if (bytes === undefined) continue
      if (start !== cutter.position) {
        extents.push(...cutter.end())
        cutter = new ExtentCutter(id, extentLen, start)
      }
      extents.push(...cutter.add(bytes))
    }
    extents.push(...cutter.end())
    for (const { node, bytes } of pairs) pages.setPair(node, bytes, 0)
    const written = () => {
      this.drop()
      this.#id = id
    }
    return { puts: [...extents, ...pages.take()], fresh, len, written }
  }
}

/** A slice on its way in, and the file that its bytes go to, if they do. */
export class IncomingSlice {
  #databases
  root
  received
  verifier
  #file = /** @type {{ id: number, writer: FileWriter } | undefined} */ (undefined)

  /** @param {Databases} databases @param {Uint8Array} root @param {Received} received @param {SliceVerifier} verifier */
  constructor (databases, root, received, verifier) {
    this.#databases = databases
    this.root = root
    this.received = received
    this.verifier = verifier
  }

  /**
   * Writes the bytes that are in memory.
   *
   * @param {number} id  of the file
   * @param {{ isDue?: boolean, hasFailed?: boolean }} options  `isDue`: the disk is waited for, however little there is. `hasFailed`: what cannot be written is given up
   * @returns {Promise<boolean>} may the pages say that all bytes so far are here? Not before they would outlast a power cut
   */
  async spill (id, { isDue = false, hasFailed = false }) {
    const { files, isSync } = this.#databases
    if (files === undefined) throw new Error('a blob is in a file, and there are none here')
    if (this.#file?.id !== id) {
      await this.close()
      this.#file = { id, writer: await files.writer(id) }
      if (isSync) await files.sync()
    }
    await this.received.spill(this.#file.writer, id).catch(error => {
      if (!hasFailed) throw error
      this.received.dropHeld()
    })
    if (isSync && !isDue && this.received.len < CHECKPOINT_LEN) return false
    if (isSync) await this.#file.writer.sync()
    return true
  }

  async close () {
    const file = this.#file
    this.#file = undefined
    await file?.writer.close()
  }
}
