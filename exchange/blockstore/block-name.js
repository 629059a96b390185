// Names blocks by their multihashes, and looks up many small blocks together.

import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import * as Digest from 'multiformats/hashes/digest'
import { HASH_LEN } from '../../lib/core/constants.js'
import { blake3 } from '../../lib/hash/cid.js'
import { describe } from '../../lib/core/bytes.js'

/** @import { StoreContext } from '../../store/store-context.js' */

/** @typedef {{ name: Name, root: Uint8Array, bytes: Uint8Array }} HeldBlock  `bytes`: as stored, not verified */

/** The name of a block: the multihash of a CID, without its codec. */
export class Name {
  cid
  code
  digest
  /** Is it the BLAKE3 hash, under which the store has the block? */
  isOwn
  /** Does the name contain the bytes themselves (identity hash)? */
  isContent

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
  }

  /** The multihash in its shortest form, even if the CID has it in a longer one. */
  get multihash () { return Digest.create(this.code, this.digest).bytes }
}

/**
 * Looks up blocks that the store has under these names, and that are kept in one extent.
 *
 * @param {StoreContext} store @param {unknown[]} cids  at most LOOKUP_COUNT
 * @returns {Promise<(HeldBlock | undefined)[]>} undefined for a block that must be read by itself; that read also says
 *   what is wrong with the block
 */
export async function lookUp (store, cids) {
  const names = cids.map(cid => CID.asCID(cid) === null ? undefined : new Name(/** @type {CID} */ (cid)))
  const wanted = names.flatMap(name => name === undefined || name.isContent ? [] : name)
  const aliases = wanted.filter(name => !name.isOwn)
  const leadsTo = await store.aliases.rootsOf(aliases.map(({ multihash }) => multihash))
  const rooted = wanted.flatMap(name => {
    const root = name.isOwn ? name.digest : leadsTo[aliases.indexOf(name)]
    return root === undefined ? [] : { name, root }
  })
  const held = /** @type {Map<Name | undefined, HeldBlock>} */ (new Map())
  for (const [i, { record, bytes }] of (await store.manyReader.lookUp(rooted.map(({ root }) => root))).entries()) {
    const { name, root } = rooted[i]
    if (bytes !== undefined && !(name.isOwn && record?.isNameless)) held.set(name, { name, root, bytes })
  }
  return names.map(name => held.get(name))
}
