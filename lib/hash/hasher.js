// Hashing: at once, piece by piece, keyed, and for deriving keys. Source: BLAKE3 paper 2.3 (modes) and 2.5 (root).

import { CHUNK_END, CHUNK_LEN, DERIVE_KEY_CONTEXT, DERIVE_KEY_MATERIAL, HASH_LEN, IV, KEY_LEN, PAIR_LEN, PARENT, ROOT } from '../core/constants.js'
import { INPUT, KEY, OUT, RESULT, WINDOW_LEN, u8 } from '../engine/arena.js'
import { assertBytes, assertBytesOf, assertInteger, assertOptions, describe } from '../core/bytes.js'
import { cvsOf, hashChunks, reduce } from '../engine/window.js'
import { HASH_MODE, enter, keyedMode, wordsOf } from '../engine/mode.js'
import { OutputReader } from './output.js'
import { TreeBuilder } from './tree-builder.js'
import { kernel } from '../engine/kernel/index.js'

/** @import { Mode, ModeOptions } from '../core/types.js' */

/**
 * BLAKE3 of bytes that are at hand.
 *
 * @param {Uint8Array} bytes
 * @param {number} [length]  bytes of output
 * @returns {Uint8Array<ArrayBuffer>} fresh
 */
export function hash (bytes, length = HASH_LEN) {
  return hashInMode(HASH_MODE, bytes, length)
}

/**
 * Keyed BLAKE3: a message authentication code.
 *
 * @param {Uint8Array} key  32 bytes
 * @param {Uint8Array} bytes
 * @param {number} [length]  bytes of output
 * @returns {Uint8Array<ArrayBuffer>} fresh
 */
export function keyedHash (key, bytes, length = HASH_LEN) {
  return hashInMode(keyedMode(key), bytes, length)
}

/**
 * Derives a key from key material.
 *
 * @param {string} context  hardcoded, unique to the application and the use
 * @param {Uint8Array} material
 * @param {number} [length]  bytes of output
 * @returns {Uint8Array<ArrayBuffer>} fresh
 */
export function deriveKey (context, material, length = HASH_LEN) {
  assertBytes('material', material)
  return hashInMode(deriveMode(context), material, length)
}

/**
 * BLAKE3 of bytes that are at hand, written to memory of the caller's.
 *
 * @template {Uint8Array} T
 * @param {Uint8Array} bytes
 * @param {T} out  written: the first 32 bytes
 * @returns {T} `out`
 */
export function hashInto (bytes, out) {
  assertBytes('bytes', bytes)
  assertBytes('out', out)
  if (out.length < HASH_LEN) throw new RangeError(`"out" expected at least ${HASH_LEN} bytes, got ${out.length}`)
  rootOf(HASH_MODE, bytes)
  out.set(RESULT)
  return out
}

/** BLAKE3 of input that comes in pieces. A digest does not end it: more may follow. */
export class Hasher {
  #tree

  /** @param {ModeOptions} [options]  a key, or a context; neither for plain hashing */
  constructor (options) {
    this.#tree = new TreeBuilder(modeOf(options))
  }

  /** @param {Uint8Array} key  32 bytes; copied */
  static keyed (key) {
    assertBytesOf('key', key, KEY_LEN)
    return new Hasher({ key })
  }

  /** @param {string} context  hardcoded, unique to the application and the use */
  static deriveKey (context) {
    assertContext(context)
    return new Hasher({ context })
  }

  /** Bytes taken so far. */
  get bytesHashed () { return this.#tree.size }

  /**
   * @param {Uint8Array} bytes  read, not kept
   * @returns {this}
   */
  update (bytes) {
    assertBytes('bytes', bytes)
    this.#tree.update(bytes)
    return this
  }

  /**
   * The hash of everything so far.
   *
   * @param {number} [length]  bytes of output
   * @returns {Uint8Array<ArrayBuffer>} fresh
   */
  digest (length = HASH_LEN) {
    if (length === HASH_LEN) return this.#tree.hash()
    assertInteger('length', length)
    return this.reader().read(length)
  }

  /**
   * The hash of everything so far, as many bytes as `out` takes.
   *
   * @template {Uint8Array} T
   * @param {T} out  written
   * @returns {T} `out`
   */
  digestInto (out) {
    if (!(out instanceof Uint8Array) || out.length !== HASH_LEN) return this.reader().readInto(out)
    this.#tree.hashToArena()
    out.set(RESULT)
    return out
  }

  /** Output of any length, from any position, for everything so far. */
  reader () { return new OutputReader(this.#tree.root()) }

  /** An independent hasher with the same input so far. */
  clone () {
    const copy = new Hasher()
    copy.#tree = this.#tree.clone()
    return copy
  }

  /** Forgets all input, keeps the mode. @returns {this} */
  reset () {
    this.#tree.reset()
    return this
  }
}

/**
 * The mode that options name. Checks them.
 *
 * @param {ModeOptions} [options]
 * @returns {Mode}
 */
export function modeOf (options = {}) {
  assertOptions('options', options, '{ key } or { context }')
  const { key, context } = options
  if (key !== undefined && context !== undefined) throw new TypeError('"key" and "context" exclude each other')
  if (key !== undefined) return keyedMode(key)
  return context === undefined ? HASH_MODE : deriveMode(context)
}

const utf8 = new TextEncoder()
const CONTEXT_MODE = { keyWords: IV, flags: DERIVE_KEY_CONTEXT }
/** Contexts are few and come again: the last one is kept. */
/** @type {{ context: string, mode: Mode } | undefined} */
let lastDerived

/** @param {string} context @returns {Mode} */
function deriveMode (context) {
  assertContext(context)
  if (lastDerived?.context !== context) {
    rootOf(CONTEXT_MODE, utf8.encode(context))
    lastDerived = { context, mode: { keyWords: wordsOf(RESULT), flags: DERIVE_KEY_MATERIAL } }
  }
  return lastDerived.mode
}

/** @param {unknown} context @returns {asserts context is string} */
function assertContext (context) {
  if (typeof context !== 'string') throw new TypeError(`"context" expected a string, got ${describe(context)}`)
}

/** @param {Mode} mode @param {Uint8Array} bytes @param {number} length @returns {Uint8Array<ArrayBuffer>} */
function hashInMode (mode, bytes, length) {
  assertBytes('bytes', bytes)
  if (length !== HASH_LEN) {
    assertInteger('length', length)
    const tree = new TreeBuilder(mode)
    tree.update(bytes)
    return new OutputReader(tree.root()).read(length)
  }
  rootOf(mode, bytes)
  return new Uint8Array(RESULT)
}

/** Grows the trees of all inputs that are longer than a window, one after the other. */
const largeTree = new TreeBuilder(HASH_MODE)

/** Leaves the 32-byte hash in RESULT. @param {Mode} mode @param {Uint8Array} bytes */
function rootOf (mode, bytes) {
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
