// Helia, with a store of baobox for its blocks. BLAKE3 blobs and SHA2-256 blocks live in the same store.
//
//   npm install baobox helia @helia/unixfs        (this Helia needs Node.js 22.19 or later)
//   node helia.js

import { createHeliaLight } from 'helia'
import { unixfs } from '@helia/unixfs'
import { blake3 } from 'baobox'
import { BlobStore, asBlockstore } from 'baobox/store'

const store = await BlobStore.open('blocks')
const helia = await createHeliaLight({ blockstore: asBlockstore(store), hashers: [blake3] }).start()

// What is put into the store is a block for Helia.
const { cid } = await store.put(new TextEncoder().encode('Hello'))
for await (const piece of unixfs(helia).cat(cid)) console.log(new TextDecoder().decode(piece))

// What Helia adds is in the store, under its own CID.
const added = await unixfs(helia).addBytes(new TextEncoder().encode('from Helia'))
console.log(`${added}`)

await helia.stop()
await store.close()
