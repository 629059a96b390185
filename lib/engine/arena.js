// The arena: one fixed memory for everything that the kernels touch. Only this module names its regions. The memory
// never grows, so its views never become invalid. Hashing is synchronous and never re-entered, so one arena per thread
// is enough. Callers that need bytes for longer copy them out of the arena.

import { BLOCK_LEN, CHUNK_LEN, HASH_LEN, PAIR_LEN } from '../core/constants.js'

/**
 * The number of chunks that are hashed side by side before their parents. A power of two, so that a full window is a
 * perfect subtree.
 */
export const WINDOW_CHUNKS = 128
/** The length of a full window of chunks in bytes. */
export const WINDOW_LEN = WINDOW_CHUNKS * CHUNK_LEN
/** The length of the input in bytes: enough for a window of chunks with the pairs between them in an encoding. */
export const INPUT_LEN = WINDOW_LEN + WINDOW_LEN / 8
/** How many chunks, or pairs, fit into the input. */
const MAX_CHUNKS = INPUT_LEN / CHUNK_LEN
const MAX_PAIRS = INPUT_LEN / PAIR_LEN
/**
 * Kernels take four inputs at a time, so they read tables, and write chaining values, up to the next multiple of four.
 */
const LANES = 4
/** All levels of a reduction, each rounded up to whole pairs and followed by room for unused lanes. */
const CVS_PAIRS = MAX_CHUNKS + 2 * Math.ceil(Math.log2(MAX_CHUNKS)) + LANES

let end = 0
/** @param {number} len bytes @returns {number} the offset of a fresh region */
const region = len => {
  const at = end
  end = Math.ceil((at + len) / BLOCK_LEN) * BLOCK_LEN
  return at
}

/** The eight key words of the current computation. */
export const KEY = region(HASH_LEN)
/** The chaining value for a single compression. */
export const CV = region(HASH_LEN)
/** A block for a single compression. */
export const BLOCK = region(BLOCK_LEN)
/** A block of zeros, which is never written to: the only block of an empty input. */
export const ZEROS = region(BLOCK_LEN)
/** The result of a single compression. */
export const OUT = region(BLOCK_LEN)
/** The chaining values of four chunks that are being hashed, word by word, as vectors of the SIMD kernel. */
export const LANE_CVS = region(LANES * HASH_LEN)
/** A block of each of these chunks, in the same form. */
export const LANE_MESSAGE = region(LANES * BLOCK_LEN)
/** Pointers to the chunks of a window, filled once. */
export const CHUNK_TABLE = region(4 * (WINDOW_CHUNKS + LANES))
/** Pointers to every 64 bytes of CVS, filled once: the parents of any level of a reduction. */
export const CVS_TABLE = region(4 * CVS_PAIRS)
/** Pointers to the pairs of a window, in the order of the outboard. */
export const PAIR_TABLE = region(4 * WINDOW_CHUNKS)
/** Pointers that a caller fills for one call. */
export const TABLE = region(4 * (MAX_PAIRS + LANES))
/** Chaining values: those of a window's chunks, then those of their parents, level by level. */
export const CVS = region(PAIR_LEN * CVS_PAIRS)
/** Chaining values computed for the pairs, and for the leaves, of a window that is being verified. */
export const PAIR_CVS = region(HASH_LEN * (MAX_PAIRS + LANES))
export const LEAF_CVS = region(HASH_LEN * (MAX_CHUNKS + LANES))
/** The input window. */
export const INPUT = region(INPUT_LEN)
/** A second region as long as the input, where bytes are put together or taken apart. */
export const STAGE = region(INPUT_LEN)
/** Two buffers for reading files (read-buffers.js): the kernel hashes their bytes in place. */
export const READ_LEN = 1 << 20
export const READS = region(2 * READ_LEN)

const WASM_PAGE_LEN = 65536
/** Pages of the WebAssembly memory. */
export const PAGES = Math.ceil(end / WASM_PAGE_LEN)

/** The WebAssembly memory, or undefined where WebAssembly is refused. */
export const memory = typeof WebAssembly === 'object'
  ? new WebAssembly.Memory({ initial: PAGES, maximum: PAGES })
  : undefined

const buffer = memory?.buffer ?? new ArrayBuffer(PAGES * WASM_PAGE_LEN)
export const u8 = new Uint8Array(buffer)
export const u32 = new Uint32Array(buffer)
export const i32 = new Int32Array(buffer)
/**
 * A view of the chaining value or hash at OUT. To copy it, `new Uint8Array(RESULT)` takes a third less time than
 * `slice`.
 */
export const RESULT = u8.subarray(OUT, OUT + HASH_LEN)

for (let i = 0; i < WINDOW_CHUNKS + LANES; i++) {
  u32[CHUNK_TABLE / 4 + i] = INPUT + Math.min(i, WINDOW_CHUNKS - 1) * CHUNK_LEN
}
for (let i = 0; i < CVS_PAIRS; i++) u32[CVS_TABLE / 4 + i] = CVS + i * PAIR_LEN
u32.fill(INPUT, TABLE / 4, TABLE / 4 + MAX_PAIRS + LANES)
