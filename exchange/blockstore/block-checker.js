// Checks that blocks have the hashes that their names contain.

import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { equals } from 'uint8arrays/equals'
import { concat } from '../../lib/core/bytes.js'
import { unsupported } from '../../lib/hash/cid.js'
import { hash } from '../../lib/hash/hasher.js'
import { toPieces } from '../../lib/source/source.js'
import { blockTooLong, mismatch } from '../../store/interface.js'

/** @import { MultihashHasher } from 'multiformats/hashes/interface' */
/** @import { Name } from './block-name.js' */

/** @typedef {Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>} BlockBytes */

export class BlockChecker {
  #hashers
  #maxBlockBytes

  /**
   * @param {MultihashHasher[]} hashers  in addition to BLAKE3, SHA2-256, SHA2-512 and identity
   * @param {number} maxBlockBytes  the maximum length of a block whose name is not a BLAKE3 hash, in bytes
   */
  constructor (hashers, maxBlockBytes) {
    this.#hashers = new Map([sha256, sha512, ...hashers].map(hasher => [hasher.code, hasher]))
    this.#maxBlockBytes = maxBlockBytes
  }

  /**
   * Gathers a block in memory, and compares the block with its name. If the name is a BLAKE3 hash, the store compares
   * it instead. Bytes in memory are copied before the call returns, so the caller may change them after that.
   *
   * @param {Name} name @param {BlockBytes} bytes @param {AbortSignal} [signal]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} the bytes that were hashed
   * @throws {import('../../lib/core/errors.js').BaoError} CID_MISMATCH, CID_UNSUPPORTED, BLOCK_TOO_LONG
   */
  async gather (name, bytes, signal) {
    const pieces = /** @type {Uint8Array<ArrayBuffer>[]} */ ([])
    const maxLen = name.isOwn ? Infinity : this.#maxBlockBytes
    let len = 0
    /** @param {Uint8Array} piece */
    const add = piece => {
      len += piece.length
      if (len > maxLen) throw blockTooLong(name.cid, maxLen)
      pieces.push(new Uint8Array(piece))
    }
    if (bytes instanceof Uint8Array) add(bytes)
    else for await (const piece of toPieces(bytes, { signal })) add(piece)
    const block = pieces.length === 1 ? pieces[0] : concat(pieces)
    if (!name.isOwn && !await this.isNamed(name, block)) throw mismatch(name.cid)
    return block
  }

  /**
   * True if a block has the hash that its name contains.
   *
   * @param {Name} name @param {Uint8Array} block
   * @throws {import('../../lib/core/errors.js').BaoError} CID_UNSUPPORTED
   */
  async isNamed (name, block) {
    if (name.isOwn) return equals(hash(block), name.digest)
    if (name.isContent) return equals(block, name.digest)
    const hasher = this.#hashers.get(name.code)
    if (hasher === undefined) {
      throw unsupported(name.cid, `hash function 0x${name.code.toString(16)}, for which no hasher was given`)
    }
    const { digest } = await hasher.digest(block)
    // Refuse a shorter hash, because it would be easier to forge.
    if (digest.length !== name.digest.length) {
      throw unsupported(name.cid, `a hash of ${name.digest.length} bytes, expected ${digest.length}`)
    }
    return equals(digest, name.digest)
  }
}
