// A cache with a limit in bytes. When it is full, the least recently used blobs are evicted.
//
//   node quota-cache.js [DIRECTORY]

import { BlobStore } from 'baobox/store'

const [directory = 'cache'] = process.argv.slice(2)

const cache = await BlobStore.open(directory, { quota: 300_000, durability: 'process' })
const names = []
for (let i = 0; i < 10; i++) {
  const { cid } = await cache.put(new Uint8Array(100_000).fill(i))
  names.push(cid)
  await cache.bytes(names[0])     // the first blob is used in each round
  await new Promise(resolve => setTimeout(resolve, 5))
}
for (const [i, cid] of names.entries()) console.log(`blob ${i}: ${await cache.has(cid) ? 'kept' : 'evicted'}`)

await cache.put(new Uint8Array(100_000).fill(42), { tag: 'must stay' })     // a tag protects a blob from eviction
await cache.close()
