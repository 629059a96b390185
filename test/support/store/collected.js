// Helpers for the tests of garbage collection: blobs, and the names that a store has.
import { expect } from 'chai'
import { compare } from 'uint8arrays/compare'
import { hash } from '../../../lib/index.js'
import { concat, hex, same } from '../bytes.js'
import { listed } from '../feeding.js'
import { noise } from '../inputs.js'

export const blobOf = (size, seed) => {
  const bytes = noise(size, seed)
  return { bytes, root: hash(bytes) }
}

/** Small blobs in the order of their hashes, in which gc() visits them. */
export const small = Array.from({ length: 40 }, (_, i) => blobOf(100 + i, 700 + i))
  .sort((a, b) => hex(a.root) < hex(b.root) ? -1 : 1)

/** More blobs than gc() deletes in one write. Their hashes are all between those of the first two small blobs. */
export const fillers = []
for (let i = 0; fillers.length < 1100; i++) {
  const bytes = new Uint8Array(new Uint32Array([i]).buffer)
  const root = hash(bytes)
  if (compare(root, small[0].root) > 0 && compare(root, small[1].root) < 0) fillers.push({ bytes, root })
}

/** Makes a blob of the hashes of these blobs. */
export const sequenceOf = (...blobs) => {
  const bytes = concat(blobs.map(({ root }) => root))
  return { bytes, root: hash(bytes) }
}

export const namesIn = async store => (await listed(store.list())).map(({ cid }) => hex(cid.multihash.digest))
export const namesOf = blobs => blobs.map(({ root }) => hex(root)).sort()
export const putAll = async (store, blobs) => { for (const { bytes } of blobs) await store.put(bytes) }

export async function expectKept (store, blobs) {
  for (const { bytes, root } of blobs) expect(same(await store.bytes(root), bytes)).to.equal(true)
}
