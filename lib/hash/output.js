// Computes hashes of any length: the root is compressed with block counters 0, 1, 2, ... Source: BLAKE3 paper 2.6
// (extendable output).

import { BLOCK_LEN, ROOT } from '../core/constants.js'
import { BLOCK, CV, OUT, u8 } from '../engine/arena.js'
import { assertBytes, assertInteger } from '../core/bytes.js'
import { high, low } from '../engine/window.js'
import { kernel } from '../engine/kernel/index.js'

/** @import { Output } from '../core/types.js' */

/** Reads the output for one input, from any position. */
export class OutputReader {
  #output
  #position = 0

  /** @param {Output} output  from a tree */
  constructor (output) {
    this.#output = output
  }

  /** The offset in the output of the next byte that `read` returns. */
  get position () { return this.#position }

  /**
   * Moves to a position in the output.
   *
   * @param {number} position  0 to 2^53 - 1
   * @returns {this}
   */
  seek (position) {
    assertInteger('position', position)
    this.#position = position
    return this
  }

  /**
   * The next bytes of the output.
   *
   * @param {number} length
   * @returns {Uint8Array<ArrayBuffer>} fresh
   */
  read (length) {
    assertInteger('length', length)
    return this.readInto(new Uint8Array(length))
  }

  /**
   * Fills `out` with the next bytes of the output.
   *
   * @template {Uint8Array} T
   * @param {T} out  written
   * @returns {T} `out`
   */
  readInto (out) {
    assertBytes('out', out)
    assertInteger('position after reading', this.#position + out.length)
    const { cv, block, blockLen, flags } = this.#output
    u8.set(cv, CV)
    u8.set(block, BLOCK)
    for (let done = 0; done < out.length;) {
      const index = Math.floor(this.#position / BLOCK_LEN)
      const skip = this.#position % BLOCK_LEN
      const take = Math.min(BLOCK_LEN - skip, out.length - done)
      kernel.compressBlock(CV, BLOCK, blockLen, flags | ROOT, low(index), high(index), OUT)
      out.set(u8.subarray(OUT + skip, OUT + skip + take), done)
      this.#position += take
      done += take
    }
    return out
  }
}
