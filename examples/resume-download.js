// Downloads a file into a store. You may stop it at any time and start it again: it asks only for the missing bytes.
//
//   node resume-download.js CID DIRECTORY URL...
//
// serve-file.js prints the URL and the CID. Several servers are asked at the same time. One that fails or lies is
// named, and the others continue.

import { download } from 'baobox/download'
import { BlobStore } from 'baobox/store'

const [cid, directory, ...from] = process.argv.slice(2)
const store = await BlobStore.open(directory)
try {
  const { received, mirrors } = await download(store, cid, { from, onProgress: show })
  for (const { location, bytes, error } of mirrors) {
    if (bytes > 0) console.log(`${location}: ${bytes} new bytes`)
    if (error) console.error(error.message)
  }
  console.log(`${cid} is complete, ${received} bytes of it are new`)
} catch (error) {
  console.error(error.message)                                        // with several mirrors: the error of each
  console.log(`parts of ${cid} are missing: start it again`)          // the bytes that have arrived are kept
}
await store.close()

function show ({ detail: { done, total = 0, rate, timeLeft = Infinity } }) {
  const mib = bytes => (bytes / 2 ** 20).toFixed(1)
  const line = `${mib(done)} of ${mib(total)} MiB, ${mib(rate)} MiB/s, ${Math.ceil(timeLeft / 1000)} s left`
  if (process.stderr.isTTY) process.stderr.write(`\r${line}   `)
}
