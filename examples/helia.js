// Helia with a store of baobox for its blocks. BLAKE3 blobs and SHA2-256 blocks are in the same store. Run it twice:
// the pinned blocks stay.
//
//   npm install baobox helia @helia/unixfs @ipld/dag-pb datastore-level ipfs-unixfs multiformats
//   node helia.js                                   (this Helia needs Node.js 22.19 or later)

import { unixfs } from '@helia/unixfs'
import * as dagPb from '@ipld/dag-pb'
import { LevelDatastore } from 'datastore-level'
import { createHeliaLight } from 'helia'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import { blake3 } from 'baobox'
import { asBlockstore } from 'baobox/blockstore'
import { BlobStore } from 'baobox/store'

const store = await BlobStore.open('blocks')
const datastore = new LevelDatastore('datastore')     // keeps the pins; the default datastore is only in memory
await datastore.open()
const helia = await createHeliaLight({ blockstore: asBlockstore(store), datastore, hashers: [blake3] }).start()
const fs = unixfs(helia)
for await (const { cid } of helia.pins.ls()) console.log(`pinned ${cid}`)

// A blob in the store is a block for Helia.
const { cid } = await store.put(new TextEncoder().encode('Hello'))
for await (const piece of fs.cat(cid)) console.log(new TextDecoder().decode(piece))

// A block that Helia adds is in the store under its own CID, which is an alias there.
const added = await fs.addBytes(new TextEncoder().encode('from Helia'))
console.log(`added  ${added} = ${await store.resolve(added)}`)

// Helia's importer hashes only with SHA2-256. To make a UnixFS file of BLAKE3 CIDs, make a node that links to blobs.
const file = new UnixFS({ type: 'file' })
const links = []
for await (const { cid, size } of store.putMany([new Uint8Array(1 << 20), new Uint8Array(1000)])) {
  file.addBlockSize(BigInt(size))
  links.push({ Name: '', Tsize: size, Hash: cid })
}
const node = dagPb.encode({ Data: file.marshal(), Links: links })
const root = await helia.blockstore.put(CID.createV1(dagPb.code, await blake3.digest(node)), node)
console.log(`file   ${root} of ${(await fs.stat(root)).size} bytes`)

if (!await helia.pins.isPinned(root)) for await (const block of helia.pins.add(root)) console.log(`pins   ${block}`)
await helia.gc()                                      // deletes every block that is not pinned
await helia.stop()
await datastore.close()
await store.close()
