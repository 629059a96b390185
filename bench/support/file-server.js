// A plain HTTP server of one file and the outboard beside it, in a process of its own; download.js starts it.
//
//   node file-server.js FILE     prints its port

import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { pipeline } from 'node:stream'

const [file] = process.argv.slice(2)

const server = createServer(({ url = '', headers: { range } }, response) => {
  const name = new URL(url, 'http://localhost').pathname.slice(1)
  if (name !== 'blob' && name !== 'blob.obao4') return response.writeHead(404).end()
  const path = name === 'blob' ? file : `${file}.obao4`
  const { size } = statSync(path)
  const [, first, last] = range?.match(/^bytes=(\d+)-(\d*)$/) ?? []
  const start = Number(first ?? 0)
  const end = Math.min(last ? Number(last) + 1 : size, size)
  const headers = { 'content-length': end - start, 'content-range': `bytes ${start}-${end - 1}/${size}` }
  response.writeHead(first === undefined ? 200 : 206, headers)
  pipeline(createReadStream(path, { start, end: end - 1, highWaterMark: 1 << 18 }), response, () => {})
})
server.listen(0, '127.0.0.1', () => {
  console.log(/** @type {import('node:net').AddressInfo} */ (server.address()).port)
})
