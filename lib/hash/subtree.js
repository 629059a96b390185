// Computes nodes of the tree one by one: chaining values of chunks, subtrees and parents, and the root.
// Source: BLAKE3 paper 2.4 and 2.5; the crate's `hazmat` module has the same functions.

import { CHUNK_LEN, HASH_LEN, PAIR_LEN, PARENT, ROOT } from '../core/constants.js'
import { BLOCK, INPUT, KEY, OUT, RESULT, WINDOW_LEN, u8 } from '../engine/arena.js'
import { assertBytes, assertBytesOf, assertInteger } from '../core/bytes.js'
import { assertKnownOptions } from '../core/options.js'
import { OutputReader } from './output.js'
import { TreeBuilder } from './tree-builder.js'
import { cvsOf, hashChunks, reduce } from '../engine/window.js'
import { enter } from '../engine/mode.js'
import { kernel } from '../engine/kernel/index.js'
import { maxSubtreeLen } from '../tree/geometry.js'
import { modeOf } from './mode-options.js'

/** @import { Mode, ModeOptions } from '../core/types.js' */

/** The maximum index of a chunk, because blobs have at most 2^53 - 1 bytes. */
const MAX_CHUNK_INDEX = Math.floor(Number.MAX_SAFE_INTEGER / CHUNK_LEN)

const ROOT_OPTIONS = ['length', 'key', 'context']

/**
 * The chaining value of one chunk. It is never the hash of a blob, because hashes are computed with the root flag.
 *
 * @param {Uint8Array} bytes  at most 1024; fewer only for the last chunk of a blob
 * @param {number} chunkIndex  its place in the blob
 * @param {ModeOptions} [options]
 * @returns {Uint8Array<ArrayBuffer>} 32 fresh bytes
 */
export function chunkCv (bytes, chunkIndex, options) {
  assertBytes('bytes', bytes)
  assertInteger('chunkIndex', chunkIndex, 0, MAX_CHUNK_INDEX)
  if (bytes.length > CHUNK_LEN) throw new RangeError(`"bytes" expected at most ${CHUNK_LEN} bytes, got ${bytes.length}`)
  return cvOf(bytes, chunkIndex, options)
}

/**
 * The chaining value of a subtree, whose bytes must be exactly those below one node of the tree.
 *
 * @param {Uint8Array} bytes  at least 1, and at most as many as a subtree that begins there can have: see
 *   `maxSubtreeLen`
 * @param {number} startChunk  its place in the blob
 * @param {ModeOptions} [options]
 * @returns {Uint8Array<ArrayBuffer>} 32 fresh bytes
 */
export function subtreeCv (bytes, startChunk, options) {
  assertBytes('bytes', bytes)
  assertInteger('startChunk', startChunk, 0, MAX_CHUNK_INDEX)
  const max = maxSubtreeLen(startChunk * CHUNK_LEN)
  if (bytes.length === 0) throw new RangeError('"bytes" expected at least 1 byte: there is no empty subtree')
  if (bytes.length > max) {
    throw new RangeError(`"bytes" expected at most ${max} bytes at chunk ${startChunk}, got ${bytes.length}`)
  }
  return cvOf(bytes, startChunk, options)
}

/**
 * The chaining value of a parent that is not the root.
 *
 * @param {Uint8Array} left  32 bytes
 * @param {Uint8Array} right  32 bytes
 * @param {ModeOptions} [options]
 * @returns {Uint8Array<ArrayBuffer>} 32 fresh bytes
 */
export function parentCv (left, right, options) {
  const flags = enterPair(left, right, options)
  kernel.compressBlock(KEY, BLOCK, PAIR_LEN, flags, 0, 0, OUT)
  return new Uint8Array(RESULT)
}

/**
 * The chaining value of a parent that is not the root, or the hash of the root, from its pair.
 *
 * @param {Mode} mode @param {Uint8Array} pair  64 bytes @param {boolean} isRoot
 * @returns {Uint8Array<ArrayBuffer>} 32 fresh bytes
 */
export function parentCvIn (mode, pair, isRoot) {
  const flags = enter(mode) | PARENT | (isRoot ? ROOT : 0)
  u8.set(pair, BLOCK)
  kernel.compressBlock(KEY, BLOCK, PAIR_LEN, flags, 0, 0, OUT)
  return new Uint8Array(RESULT)
}

/**
 * The hash of a blob of more than one chunk, computed from the chaining values of the root's children.
 *
 * @param {Uint8Array} left  32 bytes
 * @param {Uint8Array} right  32 bytes
 * @param {ModeOptions & { length?: number }} [options]  `length`: bytes of output, default: 32
 * @returns {Uint8Array<ArrayBuffer>} fresh
 */
export function rootHash (left, right, options = {}) {
  assertKnownOptions(options, ROOT_OPTIONS)
  const { length = HASH_LEN, key, context } = options
  const flags = enterPair(left, right, { key, context })
  return new OutputReader({
    cv: u8.slice(KEY, KEY + HASH_LEN),
    block: u8.slice(BLOCK, BLOCK + PAIR_LEN),
    blockLen: PAIR_LEN,
    flags: flags | ROOT
  }).read(length)
}

/** @param {Uint8Array} bytes @param {number} startChunk @param {ModeOptions} [options] */
function cvOf (bytes, startChunk, options) {
  if (bytes.length > CHUNK_LEN && bytes.length <= WINDOW_LEN) return windowCv(bytes, startChunk, options)
  const tree = new TreeBuilder(modeOf(options), { startChunk })
  tree.update(bytes)
  return tree.cv()
}

/**
 * The chaining value of a subtree that fits into one window.
 *
 * @param {Uint8Array} bytes @param {number} startChunk @param {ModeOptions} [options]
 */
function windowCv (bytes, startChunk, options) {
  const flags = enter(modeOf(options))
  u8.set(bytes, INPUT)
  const { at } = cvsOf(reduce(hashChunks(bytes.length, startChunk, flags), flags))
  kernel.compressBlock(KEY, at, PAIR_LEN, flags | PARENT, 0, 0, OUT)
  return new Uint8Array(RESULT)
}

/**
 * Writes a parent's pair to BLOCK. Returns the flags.
 *
 * @param {Uint8Array} left @param {Uint8Array} right @param {ModeOptions} [options]
 */
function enterPair (left, right, options) {
  assertBytesOf('left', left, HASH_LEN)
  assertBytesOf('right', right, HASH_LEN)
  const flags = enter(modeOf(options)) | PARENT
  u8.set(left, BLOCK)
  u8.set(right, BLOCK + HASH_LEN)
  return flags
}
