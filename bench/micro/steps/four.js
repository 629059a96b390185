// Four chunks at a time in WebAssembly, brought there in three ways. Each gives the functions that the tree over
// offsets (offsets.js) calls instead of its own.

import { CHUNK_END, CHUNK_LEN, CHUNK_START, BLOCK_LEN, HASH_LEN, IV } from '../../../lib/core/constants.js'
import {
  PLAIN, SCRATCH_LEN, compile, compressFour, compressFourChunks, compressMany, compressParent
} from '../kernel.js'
import { STACK_WORDS } from './offsets.js'
import { readBlock } from './words.js'

const PAGE_LEN = 65536
const BLOCKS = CHUNK_LEN / BLOCK_LEN
const CV_WORDS = HASH_LEN / 4

// Places in the page.
const CVS = 0
const STACK = 4 * HASH_LEN
const TABLE = STACK + 4 * STACK_WORDS
const SCRATCH = 4096 - SCRATCH_LEN
const MESSAGE = 4096

/** A block at a time, transposed in JavaScript: sixteen calls for four chunks. */
export function transposedByBlock () {
  const { u32, exports } = onPage([compressFour({ message: MESSAGE, cvs: CVS })])
  const block = new Uint32Array(16)
  const cvs = new Uint32Array(4 * CV_WORDS)
  return {
    /** @param {Uint8Array} bytes @param {Uint32Array | undefined} words @param {number} at @param {number} index */
    hashFour (bytes, words, at, index) {
      for (let i = 0; i < CV_WORDS; i++) u32.fill(IV[i], CVS / 4 + 4 * i, CVS / 4 + 4 * i + 4)
      for (let i = 0; i < BLOCKS; i++) {
        for (let lane = 0; lane < 4; lane++) {
          const blockAt = at + lane * CHUNK_LEN + i * BLOCK_LEN
          scatterBlock(bytes, words, blockAt, block, u32, MESSAGE / 4 + lane)
        }
        exports.compressFour(index, (i === 0 ? CHUNK_START : 0) | (i === BLOCKS - 1 ? CHUNK_END : 0))
      }
      gatherCvs(u32, cvs)
      return cvs
    }
  }
}

/**
 * Everything in one page of WebAssembly memory, with views made once: sixteen blocks of four chunks for one call, the
 * stack, and parents in place. Still transposed in JavaScript.
 */
export function transposedByChunk () {
  const { u32, exports } = onPage([compressFourChunks({ message: MESSAGE, cvs: CVS }), compressParent])
  const block = new Uint32Array(16)
  const cvs = new Uint32Array(4 * CV_WORDS)
  return {
    ...parentsIn(exports, u32),
    /** @param {Uint8Array} bytes @param {Uint32Array | undefined} words @param {number} at @param {number} index */
    hashFour (bytes, words, at, index) {
      for (let lane = 0; lane < 4; lane++) {
        for (let i = 0; i < BLOCKS; i++) {
          scatterBlock(bytes, words, at + lane * CHUNK_LEN + i * BLOCK_LEN, block, u32, MESSAGE / 4 + 64 * i + lane)
        }
      }
      exports.compressFourChunks(index)
      gatherCvs(u32, cvs)
      return cvs
    }
  }
}

/**
 * The bytes are copied unchanged, and transposed inside.
 *
 * @param {{ fewest?: number }} [step] lanes may stay empty
 */
export function transposedInside ({ fewest = 4 } = {}) {
  const { u8, u32, exports } = onPage([compressMany(SCRATCH, { mixing: PLAIN, cvs: 'locals' }), compressParent])
  const cvs = u32.subarray(CVS / 4, CVS / 4 + 4 * CV_WORDS)
  for (let lane = 0; lane < 4; lane++) u32[TABLE / 4 + lane] = MESSAGE + lane * CHUNK_LEN
  return {
    ...parentsIn(exports, u32),
    fewest,
    /**
     * @param {Uint8Array} bytes
     * @param {Uint32Array | undefined} _words
     * @param {number} at
     * @param {number} index
     * @param {number} count
     */
    hashFour (bytes, _words, at, index, count) {
      u8.set(bytes.subarray(at, at + count * CHUNK_LEN), MESSAGE)
      exports.compressMany(TABLE, count, 0, index, CVS)
      return cvs
    }
  }
}

/** @param {Parameters<typeof compile>[1]} functions */
function onPage (functions) {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1 })
  if (MESSAGE + 4 * CHUNK_LEN > PAGE_LEN || TABLE + 16 > SCRATCH) throw new RangeError('the page is too small')
  const { exports } = compile(memory, functions)
  return { u8: new Uint8Array(memory.buffer), u32: new Uint32Array(memory.buffer), exports }
}

/** @param {Record<string, (...args: number[]) => void>} exports @param {Uint32Array} u32 */
const parentsIn = (exports, u32) => ({
  stack: u32.subarray(STACK / 4, STACK / 4 + STACK_WORDS),
  hashParent (/** @type {number} */ at, /** @type {number} */ flags) {
    exports.compressParent(STACK + 4 * at, flags, STACK + 4 * at)
  }
})

/**
 * Writes the words of a block to every fourth place.
 *
 * @param {Uint8Array} bytes @param {Uint32Array | undefined} words  the same, if aligned @param {number} at
 * @param {Uint32Array} block  scratch @param {Uint32Array} to @param {number} first
 */
function scatterBlock (bytes, words, at, block, to, first) {
  if (words === undefined) readBlock(bytes, at, block)
  const from = words ?? block
  const start = words === undefined ? 0 : at >> 2
  for (let i = 0; i < 16; i++) to[first + 4 * i] = from[start + i]
}

/** Four chaining values out of their transpose. @param {Uint32Array} u32 @param {Uint32Array} cvs  written */
function gatherCvs (u32, cvs) {
  for (let lane = 0; lane < 4; lane++) {
    for (let i = 0; i < CV_WORDS; i++) cvs[lane * CV_WORDS + i] = u32[CVS / 4 + 4 * i + lane]
  }
}
