// Serves a file so that others can verify any part of it while it arrives. The store beside it keeps the hash tree
// alone: the bytes stay in the file.
//
//   node serve-file.js FILE [PORT]
//
// Other programs get it with verify-download.js or resume-download.js, or with curl -r.

import { BlobStore } from 'baobox/store'
import { serve } from 'baobox/http/node'

const [file = import.meta.filename, port = '0'] = process.argv.slice(2)

const store = await BlobStore.open(`${file}.store`)
const { cid } = await store.importFile(file, { mode: 'reference' })     // hashes the file once
const server = await serve(store, { port: Number(port) })
console.log(`${server.url}/blobs/${cid} ${cid}`)

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await server.close()                                               // sends what it has begun
    await store.close()
  })
}
