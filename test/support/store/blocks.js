// Helpers for the tests of the blockstore: blocks, and the names that a blockstore has.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { from as hasherFrom } from 'multiformats/hashes/hasher'
import { RAW, keyedHash } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { collect } from '../feeding.js'
import { newStores } from './stores.js'

export const cidOf = async (hasher, bytes, codec = RAW) => CID.createV1(codec, await hasher.digest(bytes))

/** A hash function that the library does not know. */
export const toy = hasherFrom({
  name: 'toy', code: 0x300001, encode: bytes => keyedHash(new Uint8Array(32), bytes, 20)
})

/** Returns the names of all blocks of a blockstore, in order. */
export async function namesIn (blocks) {
  const names = []
  for await (const { cid, bytes } of blocks.getAll()) {
    expect(cid.code).to.equal(RAW)
    await collect(bytes)
    names.push(cid.toString())
  }
  return names.sort()
}

/** Makes a blockstore in memory for each test, with its store and databases. Call it inside `describe`. */
export function newBlockstores () {
  const newStore = newStores()
  return async options => {
    const made = await newStore()
    return { ...made, blocks: asBlockstore(made.store, options) }
  }
}
