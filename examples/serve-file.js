// Serves a file so that others can verify any part of it while it arrives. The store beside the file keeps only the
// hash tree: the bytes stay in the file.
//
//   node serve-file.js FILE [PORT]
//
// To download it, use verify-download.js, resume-download.js, or curl -r.

import { BlobStore } from 'baobox/store'
import { serve } from 'baobox/http/node'

const [file = import.meta.filename, port = '0'] = process.argv.slice(2)

const store = await BlobStore.open(`${file}.store`)
const { cid } = await store.importFile(file, { mode: 'reference' })     // hashes the file once
const server = await serve(store, { port: Number(port) })
console.log(`${server.url}/blobs/${cid} ${cid}`)

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await server.close()                                               // finishes the answers that have begun
    await store.close()
  })
}
