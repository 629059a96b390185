// Serves one blob until stdin ends: `node serve-job.js baobox STORE`, or `node serve-job.js sirv FOLDER`. Prints its
// URL, and at the end its peak memory in bytes.

import { createServer } from 'node:http'
import { once } from 'node:events'
import { BlobStore } from '../../store/index.js'
import { serve } from '../../exchange/http/node/index.js'

const SERVERS = {
  async baobox (location) {
    const store = await BlobStore.open(location)
    const server = await serve(store, { host: '127.0.0.1' })
    return server.url
  },
  async sirv (folder) {
    const { default: sirv } = await import('sirv')
    const server = createServer(sirv(folder, { etag: true })).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return `http://127.0.0.1:${server.address().port}`
  }
}

const [kind, place] = process.argv.slice(2)
console.log(await SERVERS[kind](place))
process.stdin.resume().on('end', () => {
  process.stdout.write(`${process.resourceUsage().maxRSS * 1024}\n`, () => process.exit())
})
