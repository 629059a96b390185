// Keeps a file in a store, reads a part of it back, and deletes what no tag protects.
//
//   node store-and-get.js FILE [DIRECTORY]

import { BlobStore } from 'baobox/store'

const [file = import.meta.filename, directory = 'blobs'] = process.argv.slice(2)

const store = await BlobStore.open(directory)
const { cid, size, isNew } = await store.put(file, { tag: 'my file' })
console.log(`${cid}: ${size} bytes, ${isNew ? 'new' : 'known already'}`)

// Every byte is compared with the CID before it is given: a damaged disk causes an error, never wrong bytes.
const beginning = await store.bytes(cid, { start: 0, end: 20 })
console.log(`it begins with ${JSON.stringify(new TextDecoder().decode(beginning))}`)

for await (const { name, cid } of store.tags.list()) console.log(`tag '${name}': ${cid}`)

const other = await store.put(new TextEncoder().encode('nobody needs this'))
const { blobs, bytes } = await store.gc()     // 'my file' has a tag, the other blob has none
console.log(`garbage collection deleted ${blobs} blob, ${bytes} bytes`)
console.log(`${other.cid} is ${await store.has(other.cid) ? 'still there' : 'gone'}`)

await store.close()
