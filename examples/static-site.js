// Serves a folder as a static site under one CID. Other stores can download the whole site by its CID, and serve it.
//
//   node static-site.js FOLDER [PORT]
//
// It prints a URL. Pages are verified when they are read, and run in a sandbox, with an origin of their own.

import { Manifest, getCollection, putManifest } from 'baobox/collections'
import { importDirectory } from 'baobox/collections/node'
import { serve } from 'baobox/http/node'
import { BlobStore } from 'baobox/store'
import { basename, resolve } from 'node:path'

const [path = '.', port = '0'] = process.argv.slice(2)
const folder = basename(resolve(path))

const store = await BlobStore.open('sites')
const ignore = ['.git', 'node_modules']
const { cid } = await importDirectory(store, resolve(path), { ignore, tag: `files of ${folder}` })
const manifest = Manifest.fromCollection(await getCollection(store, cid), { folder, fields: { name: folder } })
const site = await putManifest(store, manifest, { tag: folder })       // names with media types, in one blob
const server = await serve(store, { port: Number(port) })
console.log(`${server.url}/collections/${site.cid}/`)
const from = [`${server.url}/blobs/{cid}`]
console.log(`download(store, '${site.sequence}', ${JSON.stringify({ from, recursive: true })}) brings all of it`)

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await server.close()
    await store.close()
  })
}
