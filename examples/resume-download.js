// Downloads a file into a store. End it whenever you like and start it again: it asks only for what is missing.
//
//   node resume-download.js CID DIRECTORY URL...
//
// URL and CID are what outboard-server.js prints. With several servers, the next one is asked when one fails or lies.

import { BlobStore } from 'baobox/store'

const [cid, directory, ...urls] = process.argv.slice(2)
const accept = 'application/vnd.bao-slice; group-log=4'

const store = await BlobStore.open(directory)
for (const url of urls) {
  try {
    await downloadFrom(url)
    break
  } catch (error) {
    console.error(`${url}: ${error.code ?? error.name}: ${error.message}`)     // what came before has been kept
  }
}
console.log(await store.has(cid) ? `${cid} is complete` : `parts of ${cid} are missing: start it again`)
await store.close()

async function downloadFrom (url) {
  const missing = await store.missing(cid)
  const ranges = missing.toBytes(Number.MAX_SAFE_INTEGER)     // the size may not be known yet
  for (const [start, end] of ranges) {
    const target = new URL(url)
    target.searchParams.set('start', start)
    target.searchParams.set('end', end)
    const response = await fetch(target, { headers: { accept } })
    if (!response.ok) throw new Error(`status ${response.status}`)
    const { received } = await store.receive(cid, response.body, { start, end })
    console.log(`${url}: ${received} new bytes from ${start} on`)
  }
}
