// Builds a tree from finished subtrees and from bytes, in their order in the blob. Finished subtrees, for example those
// of the old part of a blob that has grown, are not hashed again.

import { CHUNK_LEN } from '../lib/core/constants.js'
import { TreeBuilder } from '../lib/hash/tree-builder.js'
import { WINDOW_LEN } from '../lib/engine/arena.js'

/** @import { Mode, PairSink } from '../lib/core/types.js' */

/**
 * Where whole windows fit, bytes go directly to the tree. Elsewhere, for example just before the next finished subtree,
 * they are gathered in *parts*: perfect subtrees, each as large as its place allows.
 */
export class Tail {
  #mode
  #sink
  #tree
  #size = 0
  #part = /** @type {TreeBuilder | undefined} */ (undefined)
  /** The length of the current part when it is complete, in bytes. */
  #partLen = 0
  /** Up to this offset, bytes go directly to the tree. */
  #straightTo = 0
  /** The offset at which the next finished subtree will be added. */
  #border = 0

  /**
   * @param {Mode} mode
   * @param {PairSink} [sink]  gets the pairs, except those of the added subtrees
   */
  constructor (mode, sink) {
    this.#mode = mode
    this.#sink = sink
    this.#tree = new TreeBuilder(mode, { sink })
  }

  /** How many bytes the tree has so far. */
  get size () { return this.#size }

  /**
   * Says where the next finished subtree will be added. Callers call it before they pass the bytes before that subtree,
   * while the tree consists of finished subtrees only.
   *
   * @param {number} position  in bytes, at the border of a chunk
   */
  expectSubtreeAt (position) {
    this.#border = position
    this.#straightTo = 0
  }

  /**
   * Adds a finished subtree at the beginning, after another one, or at the place that `expectSubtreeAt` has set.
   *
   * @param {Uint8Array} cv  its chaining value, 32 bytes. The subtree must not be the whole tree
   * @param {number} len  its length in bytes: a power of two of chunks. The subtree must begin at a multiple of this
   *   length. Only the last subtree of the tree may be shorter
   */
  addSubtree (cv, len) {
    this.#endPart()
    addTo(this.#tree, cv, len)
    this.#size += len
  }

  /** @param {Uint8Array} bytes  any length; not kept */
  update (bytes) {
    for (let at = 0; at < bytes.length;) {
      const tree = this.#next()
      const room = tree === this.#tree ? this.#straightTo - tree.size : this.#partLen - tree.size
      const taken = at === 0 && bytes.length <= room ? bytes : bytes.subarray(at, at + room)
      tree.update(taken)
      at += taken.length
    }
    this.#size += bytes.length
  }

  /** The hash of everything. Nothing may follow. @returns {Uint8Array<ArrayBuffer>} 32 fresh bytes */
  hash () {
    if (this.#part !== undefined && this.#tree.size === 0) return this.#part.hash() // the part is the whole tree
    this.#endPart()
    return this.#tree.hash()
  }

  /** Returns the tree or the part that takes the next byte. */
  #next () {
    if (this.#part !== undefined && this.#part.size < this.#partLen) return this.#part
    this.#endPart()
    const at = this.#tree.size
    if (at < this.#straightTo) return this.#tree
    const room = this.#border > at ? this.#border - at : Infinity
    if (at % WINDOW_LEN === 0 && room >= WINDOW_LEN) {
      this.#straightTo = at + room - (room === Infinity ? 0 : room % WINDOW_LEN)
      return this.#tree
    }
    this.#partLen = WINDOW_LEN
    while (at % this.#partLen !== 0 || this.#partLen > room) this.#partLen /= 2
    this.#part = new TreeBuilder(this.#mode, { startChunk: at / CHUNK_LEN, sink: this.#sink })
    return this.#part
  }

  /**
   * Joins the part to the tree. Callers call it only when more follows, because until then, the part may be the root.
   */
  #endPart () {
    if (this.#part !== undefined) addTo(this.#tree, this.#part.cv(), this.#part.size)
    this.#part = undefined
  }
}

/** @param {TreeBuilder} tree @param {Uint8Array} cv @param {number} len  bytes */
const addTo = (tree, cv, len) => tree.addSubtree(cv, Math.ceil(len / CHUNK_LEN))
