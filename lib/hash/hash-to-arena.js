// Hashes bytes in memory without allocating anything, so that short inputs are quick.

import { CHUNK_END, CHUNK_LEN, PAIR_LEN, PARENT, ROOT } from '../core/constants.js'
import { INPUT, KEY, OUT, WINDOW_LEN, u8 } from '../engine/arena.js'
import { TreeBuilder } from './tree-builder.js'
import { cvsOf, hashChunks, reduce } from '../engine/window.js'
import { HASH_MODE, enter } from '../engine/mode.js'
import { kernel } from '../engine/kernel/index.js'

/** @import { Mode } from '../core/types.js' */

/** The tree for inputs that are longer than a window. It is reused for each of them. */
const largeTree = new TreeBuilder(HASH_MODE)

/** Writes the 32-byte hash to OUT, where RESULT views it. @param {Mode} mode @param {Uint8Array} bytes */
export function hashToArena (mode, bytes) {
  const flags = enter(mode)
  const len = bytes.length
  if (len <= CHUNK_LEN) {
    if (len > 0) u8.set(bytes, INPUT)
    kernel.compressChunk(INPUT, len, flags, CHUNK_END | ROOT, 0, 0, OUT)
  } else if (len <= WINDOW_LEN) {
    u8.set(bytes, INPUT)
    const { at } = cvsOf(reduce(hashChunks(len, 0, flags), flags))
    kernel.compressBlock(KEY, at, PAIR_LEN, flags | PARENT | ROOT, 0, 0, OUT)
  } else {
    largeTree.reset(mode)
    largeTree.update(bytes)
    largeTree.hashToArena()
  }
}
