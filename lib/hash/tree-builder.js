// Builds a tree from left to right, a window of chunks at a time. The length of the input need not be known. Finished
// parents go to a sink. Source: BLAKE3 paper 5.1.2 (the stack of chaining values).

import {
  BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, HASH_LEN, MAX_DEPTH, PAIR_LEN, PARENT, ROOT
} from '../core/constants.js'
import { BLOCK, CV, INPUT, KEY, OUT, RESULT, TABLE, WINDOW_CHUNKS, WINDOW_LEN, u32, u8 } from '../engine/arena.js'
import { ByteQueue } from '../core/byte-queue.js'
import { cvsOf, hashChunks, hashChunkTable, high, low, reduce } from '../engine/window.js'
import { enter } from '../engine/mode.js'
import { isInPlace } from '../engine/read-buffers.js'
import { kernel } from '../engine/kernel/index.js'

/** @import { Mode, Output, PairSink } from '../core/types.js' */

const CV_WORDS = HASH_LEN / 4
const HALF_LEN = WINDOW_LEN / 2

/**
 * Finished subtrees wait on a stack, the largest at the bottom. Two of equal size are joined only when more input has
 * arrived, because until then, their parent may be the root, which is compressed with another flag.
 */
export class TreeBuilder {
  #mode
  #startChunk
  #sink
  /** How many chunks the tree has so far. */
  #chunks = 0
  #stack = new Uint32Array(CV_WORDS * 4)
  /** For each stack entry: its first chunk, then the binary logarithm of its number of chunks. */
  #starts = [0]
  #logs = [0]
  #depth = 0
  /** Input that does not yet fill half a window. */
  #pending = new ByteQueue()

  /**
   * @param {Mode} mode
   * @param {object} [options]
   * @param {number} [options.startChunk]  where in the blob this subtree starts
   * @param {PairSink} [options.sink]  gets the pairs
   */
  constructor (mode, { startChunk = 0, sink } = {}) {
    this.#mode = mode
    this.#startChunk = startChunk
    this.#sink = sink
  }

  /** How many bytes of input the tree has so far. */
  get size () { return this.#chunks * CHUNK_LEN + this.#pending.len }

  /** Appends input. @param {Uint8Array} bytes  any number of them; borrowed */
  update (bytes) {
    if (this.#pending.len + bytes.length < HALF_LEN) this.#pending.push(bytes, HALF_LEN)
    else this.#fillWindows(bytes)
  }

  /** @param {Uint8Array} bytes */
  #fillWindows (bytes) {
    enter(this.#mode) // If bytes of the arena are borrowed, this throws before anything is written.
    const inPlace = isInPlace(bytes)
    for (let at = 0; at < bytes.length;) {
      const len = this.#windowLen(bytes.length - at)
      const due = len - this.#pending.len
      if (bytes.length - at < due) return this.#pending.push(bytes.subarray(at), HALF_LEN)
      if (inPlace && due === len && (bytes.byteOffset + at) % 4 === 0) {
        this.#addWindow(len, bytes.byteOffset + at)
      } else {
        if (this.#pending.len > 0) u8.set(this.#pending.bytes, INPUT)
        u8.set(due === bytes.length ? bytes : bytes.subarray(at, at + due), INPUT + this.#pending.len)
        this.#pending.clear()
        this.#addWindow(len)
      }
      at += due
    }
  }

  /**
   * The length of the next window, in bytes. If input arrives in pieces, only half a window is hashed at a time. So
   * bytes wait for a shorter time, and no byte is copied twice.
   *
   * @param {number} atHand  how many bytes are available
   */
  #windowLen (atHand) {
    const isWhole = atHand >= WINDOW_LEN && this.#pending.len === 0 && this.#chunks % WINDOW_CHUNKS === 0
    return isWhole ? WINDOW_LEN : HALF_LEN
  }

  /**
   * Appends a subtree that was built elsewhere. The input before it must be whole windows or other subtrees. The sink
   * gets only the pairs above the subtree, because the code that built the subtree has handled the pairs in it.
   *
   * @param {Uint8Array} cv  32 bytes
   * @param {number} chunks  a power of two. The subtree must begin at a multiple of this number. Only the last subtree
   *   may have fewer chunks
   */
  addSubtree (cv, chunks) {
    this.#joinEquals(enter(this.#mode))
    u8.set(cv, OUT)
    this.#push(OUT, this.#startChunk + this.#chunks, Math.ceil(Math.log2(chunks)))
    this.#chunks += chunks
  }

  /**
   * Makes the tree empty again, and keeps its memory.
   *
   * @param {Mode} [mode]  default: the current mode
   * @param {{ startChunk?: number, sink?: PairSink }} [options]  as for the constructor
   */
  reset (mode = this.#mode, { startChunk = 0, sink } = {}) {
    this.#mode = mode
    this.#startChunk = startChunk
    this.#sink = sink
    this.#chunks = 0
    this.#depth = 0
    this.#pending.clear()
  }

  /** @returns {TreeBuilder} an independent copy, without the sink */
  clone () {
    const copy = new TreeBuilder(this.#mode, { startChunk: this.#startChunk })
    copy.#chunks = this.#chunks
    copy.#stack = this.#stack.slice()
    copy.#starts = this.#starts.slice()
    copy.#logs = this.#logs.slice()
    copy.#depth = this.#depth
    copy.#pending.push(this.#pending.bytes, HALF_LEN)
    return copy
  }

  /**
   * The chaining value of all input so far, as a subtree of a larger tree.
   *
   * @returns {Uint8Array<ArrayBuffer>} 32 fresh bytes
   */
  cv () {
    this.#finish(0)
    return new Uint8Array(RESULT)
  }

  /**
   * The hash of all input so far. More may follow.
   *
   * @returns {Uint8Array<ArrayBuffer>} 32 fresh bytes
   */
  hash () {
    this.#finish(ROOT)
    return new Uint8Array(RESULT)
  }

  /** Writes the hash of all input so far to OUT. */
  hashToArena () { this.#finish(ROOT) }

  /**
   * The root of all input so far, before its last compression. More input may follow.
   *
   * @returns {Output} fresh
   */
  root () {
    const flags = enter(this.#mode)
    if (this.#isChunk) return this.#openChunk(flags)
    this.#joinAll(flags)
    const [cv, block] = [u8.slice(KEY, KEY + HASH_LEN), u8.slice(BLOCK, BLOCK + PAIR_LEN)]
    return { cv, block, blockLen: PAIR_LEN, flags: flags | PARENT }
  }

  /** Writes the chaining value to OUT, or the hash if the flag is ROOT. @param {number} rootFlag  0 or ROOT */
  #finish (rootFlag) {
    const flags = enter(this.#mode)
    if (this.#isChunk) {
      u8.set(this.#pending.bytes, INPUT)
      const [lo, hi] = [low(this.#startChunk), high(this.#startChunk)]
      kernel.compressChunk(INPUT, this.#pending.len, flags, CHUNK_END | rootFlag, lo, hi, OUT)
    } else {
      this.#joinAll(flags)
      kernel.compressBlock(KEY, BLOCK, PAIR_LEN, flags | PARENT | rootFlag, 0, 0, OUT)
    }
  }

  /**
   * Hashes a window and pushes its two halves, or its only chunk.
   *
   * @param {number} len  bytes, at least 1
   * @param {number} [at]  where they are in the arena. Unless they are at INPUT, they must be whole chunks
   */
  #addWindow (len, at = INPUT) {
    const flags = enter(this.#mode)
    this.#joinEquals(flags)
    const start = this.#startChunk + this.#chunks
    const chunks = at === INPUT ? hashChunks(len, start, flags) : hashChunksAt(at, len, start, flags)
    const level = reduce(chunks, flags)
    const cvs = cvsOf(level)
    for (let i = 0; i < cvs.count; i++) {
      const before = i * 2 ** level
      this.#sink?.subtree(level, i, start + before, Math.min(chunks - before, 2 ** level), at + before * CHUNK_LEN)
      this.#push(cvs.at + i * HASH_LEN, start + before, level)
    }
    this.#chunks += chunks
  }

  /** @param {number} at in the arena @param {number} start @param {number} log */
  #push (at, start, log) {
    if (this.#depth * CV_WORDS === this.#stack.length) {
      const deeper = new Uint32Array(CV_WORDS * (MAX_DEPTH + 2))
      deeper.set(this.#stack)
      this.#stack = deeper
    }
    copyWords(u32, at / 4, this.#stack, this.#depth * CV_WORDS, CV_WORDS)
    this.#starts[this.#depth] = start
    this.#logs[this.#depth] = log
    this.#depth++
  }

  /**
   * Joins finished subtrees of equal size. Callers call this only when more input follows: see the class.
   *
   * @param {number} flags
   */
  #joinEquals (flags) {
    while (this.#depth > 1 && this.#logs[this.#depth - 1] === this.#logs[this.#depth - 2]) {
      const left = this.#depth - 2
      copyWords(this.#stack, left * CV_WORDS, u32, BLOCK / 4, 2 * CV_WORDS)
      this.#emit(left)
      kernel.compressBlock(KEY, BLOCK, PAIR_LEN, flags | PARENT, 0, 0, OUT)
      this.#depth = left
      this.#push(OUT, this.#starts[left], this.#logs[left] + 1)
    }
  }

  /** Passes the pair at BLOCK to the sink. @param {number} left  the stack entry that is its left half */
  #emit (left) {
    if (this.#sink && this.#logs[left] >= this.#sink.groupLog) this.#sink.pair(this.#starts[left + 1] - 1, BLOCK)
  }

  /** True if all input so far fits into one chunk. */
  get #isChunk () { return this.#depth === 0 && this.#pending.len <= CHUNK_LEN }

  /** Writes the topmost pair to BLOCK. This does not change the tree. @param {number} flags */
  #joinAll (flags) {
    if (this.#pending.len > 0) this.#joinEquals(flags)
    const depth = this.#depth
    const chunks = this.#chunks
    if (this.#pending.len > 0) {
      u8.set(this.#pending.bytes, INPUT)
      this.#addWindow(this.#pending.len)
    }
    // The subtrees on the stack are joined from the right.
    let right = this.#depth - 1
    copyWords(this.#stack, right * CV_WORDS, u32, OUT / 4, CV_WORDS)
    while (right-- > 0) {
      copyWords(this.#stack, right * CV_WORDS, u32, BLOCK / 4, CV_WORDS)
      copyWords(u32, OUT / 4, u32, BLOCK / 4 + CV_WORDS, CV_WORDS)
      this.#emit(right)
      if (right > 0) kernel.compressBlock(KEY, BLOCK, PAIR_LEN, flags | PARENT, 0, 0, OUT)
    }
    this.#depth = depth
    this.#chunks = chunks
  }

  /**
   * The root of a tree of one chunk, before its last compression: all blocks but the last one are compressed.
   *
   * @param {number} flags
   * @returns {Output}
   */
  #openChunk (flags) {
    const { bytes, len } = this.#pending
    u8.set(bytes, INPUT)
    u8.copyWithin(CV, KEY, KEY + HASH_LEN)
    let blockFlags = flags | CHUNK_START
    let at = 0
    for (; len - at > BLOCK_LEN; at += BLOCK_LEN) {
      kernel.compressBlock(CV, INPUT + at, BLOCK_LEN, blockFlags, low(this.#startChunk), high(this.#startChunk), OUT)
      u8.copyWithin(CV, OUT, OUT + HASH_LEN)
      blockFlags = flags
    }
    return {
      cv: u8.slice(CV, CV + HASH_LEN),
      block: u8.slice(INPUT + at, INPUT + at + BLOCK_LEN),
      blockLen: len - at,
      flags: blockFlags | CHUNK_END
    }
  }
}

/**
 * Copies words one by one, because making a view would take longer for the few bytes of a chaining value.
 *
 * @param {Uint32Array} from @param {number} fromAt @param {Uint32Array} to @param {number} toAt @param {number} words
 */
function copyWords (from, fromAt, to, toAt, words) {
  for (let i = 0; i < words; i++) to[toAt + i] = from[fromAt + i]
}

/**
 * Writes the chaining values of whole chunks to CVS. The chunks may be anywhere in the arena.
 *
 * @param {number} at @param {number} len @param {number} chunkIndex @param {number} flags
 */
function hashChunksAt (at, len, chunkIndex, flags) {
  const chunks = len / CHUNK_LEN
  for (let i = 0; i < chunks; i++) u32[TABLE / 4 + i] = at + i * CHUNK_LEN
  hashChunkTable(TABLE, chunks, CHUNK_LEN, chunkIndex, flags)
  return chunks
}
