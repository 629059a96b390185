// Compares a blob that is being put with the hash or length that the caller expects. It rejects a wrong source as early
// as possible.

import { CID } from 'multiformats/cid'
import { equals } from 'uint8arrays/equals'
import { assertInteger } from '../../lib/core/bytes.js'
import { parseRoot, toCid } from '../../lib/hash/cid.js'
import { mismatch, sizeMismatch } from '../storage/errors.js'

/** @import { BlobName } from '../blob-store.js' */

export class Expectation {
  /** The expected hash; undefined when the caller expects none. @type {Uint8Array | undefined} */
  root
  /** The expected length in bytes; undefined when the caller expects none. @type {number | undefined} */
  size
  #cid

  /** @param {{ expect?: BlobName, size?: number }} options  see `PutOptions` */
  constructor ({ expect, size }) {
    if (size !== undefined) assertInteger('size', size)
    this.size = size
    this.root = expect === undefined ? undefined : parseRoot(expect, 'expect')
    this.#cid = this.root && (CID.asCID(expect) ?? toCid(this.root))
  }

  /** @param {number} len  bytes of the blob so far @throws {BaoError} SIZE_MISMATCH */
  assertSizeAllowed (len) {
    if (this.size !== undefined && len > this.size) throw sizeMismatch(this.size, len, this.#cid)
  }

  /** @param {number} size  bytes of the whole blob @throws {BaoError} SIZE_MISMATCH */
  assertSize (size) {
    if (this.size !== undefined && size !== this.size) throw sizeMismatch(this.size, size, this.#cid)
  }

  /** @param {Uint8Array} root  of the whole blob @throws {BaoError} CID_MISMATCH */
  assertRoot (root) {
    if (this.#cid !== undefined && !equals(root, this.#cid.multihash.digest)) throw mismatch(this.#cid, toCid(root))
  }
}
