// The name of a block: the multihash of a CID, without its codec.

import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import * as Digest from 'multiformats/hashes/digest'
import { HASH_LEN } from '../../lib/core/constants.js'
import { RAW, blake3, toCid } from '../../lib/hash/cid.js'
import { describe } from '../../lib/core/bytes.js'

export class Name {
  /** The CID that the caller gave, for errors and results. */
  cid
  code
  digest
  /** True if the name is a BLAKE3 hash of 32 bytes, like the names of blobs in the store. */
  isOwn
  /** True if the name contains the bytes of the block (identity hash). */
  isContent
  /**
   * True if a store can keep a block under this name. False for identity hashes, and for BLAKE3 hashes of another
   * length.
   */
  isStorable

  /** @param {CID} cid */
  constructor (cid) {
    const known = CID.asCID(cid)
    if (known === null) throw new TypeError(`"cid" expected a CID, got ${describe(cid)}`)
    const { code, digest } = known.multihash
    this.cid = known
    this.code = code
    this.digest = new Uint8Array(digest) // a copy: the CID may be a view of a buffer that is reused
    this.isOwn = code === blake3.code && digest.length === HASH_LEN
    this.isContent = code === identity.code
    this.isStorable = this.isOwn || (code !== blake3.code && !this.isContent)
  }

  /**
   * The name in the form that calls of the store take, with memory of its own.
   */
  get stored () { return this.isOwn ? toCid(this.digest) : CID.createV1(RAW, Digest.create(this.code, this.digest)) }
}
