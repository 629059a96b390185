// Hashes bytes whole or piece by piece, with a key, or to derive keys. Source: BLAKE3 paper 2.3 (modes) and 2.5 (root).

import { HASH_LEN, KEY_LEN } from '../core/constants.js'
import { HASH_MODE, keyedMode } from '../engine/mode.js'
import { OutputReader } from './output.js'
import { RESULT } from '../engine/arena.js'
import { TreeBuilder } from './tree-builder.js'
import { assertBytes, assertBytesOf, assertInteger } from '../core/bytes.js'
import { assertContext, deriveMode, modeOf } from './mode-options.js'
import { hashToArena } from './hash-to-arena.js'

/** @import { Mode, ModeOptions } from '../core/types.js' */

/**
 * BLAKE3 of bytes in memory.
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
 * @param {string} context  a hardcoded string, unique to the application and the use
 * @param {Uint8Array} material
 * @param {number} [length]  bytes of output
 * @returns {Uint8Array<ArrayBuffer>} fresh
 */
export function deriveKey (context, material, length = HASH_LEN) {
  assertBytes('material', material)
  return hashInMode(deriveMode(context), material, length)
}

/**
 * BLAKE3 of bytes in memory, written to the caller's memory.
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
  hashToArena(HASH_MODE, bytes)
  out.set(RESULT)
  return out
}

/** Computes BLAKE3 of input that arrives in pieces. More input may follow a digest. */
export class Hasher {
  #tree

  /** @param {ModeOptions} [options]  a key, or a context; neither for plain hashing */
  constructor (options) {
    this.#tree = new TreeBuilder(modeOf(options))
  }

  /** Makes a hasher with a key. @param {Uint8Array} key  32 bytes; copied */
  static keyed (key) {
    assertBytesOf('key', key, KEY_LEN)
    return new Hasher({ key })
  }

  /**
   * Makes a hasher that derives keys from the key material that it is given.
   *
   * @param {string} context  a hardcoded string, unique to the application and the use
   */
  static deriveKey (context) {
    assertContext(context)
    return new Hasher({ context })
  }

  /** How many bytes have been hashed so far. */
  get bytesHashed () { return this.#tree.size }

  /**
   * Hashes more bytes.
   *
   * @param {Uint8Array} bytes  not kept
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
   * Fills `out` with the hash of everything so far.
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

  /** Returns a reader of the output for all input so far. The reader reads any length from any position. */
  reader () { return new OutputReader(this.#tree.root()) }

  /** Returns an independent hasher that has had the same input. */
  clone () {
    const copy = new Hasher()
    copy.#tree = this.#tree.clone()
    return copy
  }

  /** Forgets all input, and keeps the mode. @returns {this} */
  reset () {
    this.#tree.reset()
    return this
  }
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
  hashToArena(mode, bytes)
  return new Uint8Array(RESULT)
}
