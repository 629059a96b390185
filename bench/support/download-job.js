// A process that downloads one blob in one way, and prints the time and the memory of it; download.js starts it.
//
//   node download-job.js JOB FOLDER CID URL...     prints { ns, resident }

import { join } from 'node:path'
import { hashStream, warmup } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { fetchVerified } from '../../verifier/index.js'
import { download, downloadFile } from '../../exchange/download/index.js'

const [job, folder, cid, ...urls] = process.argv.slice(2)

/** @type {Record<string, () => Promise<unknown>>} */
const JOBS = {
  hash: () => hashStream(join(folder, 'blob'), { threads: 1 }),
  fetch: async () => drain((await fetch(urls[0])).body),
  fetchVerified: async () => drain((await fetchVerified(urls[0], { cid })).body),
  download: () => toStore('sync'),
  'download, without sync': () => toStore('process'),
  downloadFile: () => downloadFile(cid, join(folder, 'out'), { from: urls })
}

/** @param {'sync' | 'process'} durability */
async function toStore (durability) {
  const store = await BlobStore.open(join(folder, 'out'), { durability })
  await download(store, cid, { from: urls })
  await store.close()
}

/** @param {any} stream */
async function drain (stream) {
  let len = 0
  for await (const piece of stream) len += piece.length
  return len
}

warmup()
const since = process.hrtime.bigint()
await JOBS[job]()
const ns = Number(process.hrtime.bigint() - since)
console.log(JSON.stringify({ ns, resident: process.resourceUsage().maxRSS * 1024 }))
