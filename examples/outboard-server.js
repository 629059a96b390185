// Serves a file so that others can verify any part of it while it arrives. The hash tree is kept in a file beside it.
//
//   node outboard-server.js FILE [PORT]
//
// Other programs get it with verify-download.js or resume-download.js.

import { createServer } from 'node:http'
import { encodeSlice, openOutboard, writeOutboard } from 'baobox/encoder'

const [file = import.meta.filename, port = '0'] = process.argv.slice(2)

const info = await writeOutboard(file, `${file}.obao`)     // hashes the file once
const outboard = await openOutboard(`${file}.obao`, info)
const type = 'application/vnd.bao-slice; group-log=4'

const server = createServer(async ({ url }, response) => {
  const { searchParams } = new URL(url, 'http://localhost')
  const start = Number(searchParams.get('start') ?? 0)
  const end = Number(searchParams.get('end') ?? info.size)
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start) {
    response.writeHead(400).end()
    return
  }
  response.writeHead(200, { 'content-type': type, 'access-control-allow-origin': '*' })
  try {
    for await (const piece of encodeSlice(file, outboard, { start, end })) {
      if (!response.write(piece)) await new Promise(resolve => response.once('drain', resolve).once('close', resolve))
      if (response.destroyed) return
    }
    response.end()
  } catch {
    response.destroy()     // the file is not what it was: the receiver must not take this for the end
  }
})
server.listen(Number(port), () => console.log(`http://localhost:${server.address().port}/ ${outboard.cid}`))
