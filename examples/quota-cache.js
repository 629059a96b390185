// A cache that never has more than so many bytes: the blobs that were not used for the longest time make room.
//
//   node quota-cache.js [DIRECTORY]

import { BlobStore } from 'baobox/store'

const [directory = 'cache'] = process.argv.slice(2)

const cache = await BlobStore.open(directory, { quota: 300_000, durability: 'process' })
const names = []
for (let i = 0; i < 10; i++) {
  const { cid } = await cache.put(new Uint8Array(100_000).fill(i))
  names.push(cid)
  await cache.bytes(names[0])     // the first blob is used again and again
  await new Promise(resolve => setTimeout(resolve, 5))
}
for (const [i, cid] of names.entries()) console.log(`blob ${i}: ${await cache.has(cid) ? 'kept' : 'evicted'}`)

await cache.put(new Uint8Array(100_000).fill(42), { tag: 'must stay' })     // a tag protects a blob from that
await cache.close()
