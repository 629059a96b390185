// Puts a folder into a store under one CID, the same as in sendme; or writes it to another place.
//
//   node share-folder.js FOLDER          prints the CID, and the changes since the last time
//   node share-folder.js CID FOLDER      writes the files below FOLDER

import { collectionEntries } from 'baobox/collections'
import { diffDirectory, exportDirectory, importDirectory } from 'baobox/collections/node'
import { BlobStore } from 'baobox/store'

const [what, folder] = process.argv.slice(2)
const ignore = ['.git', 'node_modules']
const store = await BlobStore.open('blobs')
if (folder === undefined) {
  const before = await store.tags.get(what)
  if (before !== undefined) {
    for await (const { type, name } of diffDirectory(store, before.cid, what, { ignore })) console.log(type, name)
  }
  const { cid, length, size } = await importDirectory(store, what, { ignore, tag: what })
  console.log(`${cid}: ${length} files, ${size} bytes`)
} else {
  await exportDirectory(store, what, folder)     // verified; it refuses names that could lead out of FOLDER
  for await (const [name] of collectionEntries(store, what)) console.log(name)
}
await store.close()
