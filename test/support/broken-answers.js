// A process that asks mirrors for a blob in one of the ways that callers have. Each mirror breaks the rules of HTTP in
// its own way. When the caller has an answer, the mirror breaks the open connections. The process prints the outcome of
// each request as JSON, and ends by itself.
import { createServer } from 'node:net'
import process from 'node:process'
import { createOutboardSync } from '../../encoder/index.js'
import { BaoError, ChunkRanges } from '../../lib/index.js'
import { VerifiedReader, fetchVerified, httpSource } from '../../verifier/index.js'
import { BlobStore } from '../../store/index.js'
import { fromMirrors } from '../../exchange/download/index.js'
import { errorOf } from './feeding.js'
import { noise } from './inputs.js'
import { newLocation, removeLocation } from './runtime.js'
import { fetchOf, file, endings } from './servers.js'
import { download, downloadFile } from '../../exchange/download/index.js'
import { push } from '../../exchange/transfer/index.js'

const content = noise(100_000, 91)
const { cid, root } = createOutboardSync(content)

const OK = 'HTTP/1.1 200 OK\r\n'
const ENCODED = 'content-encoding: gzip, gzip, gzip, gzip, gzip, gzip\r\n'
const ONE_EACH = 'content-encoding: gzip\r\n'.repeat(6)
const OPEN = { isOpen: true }

/** Answers by name. The mirror then breaks the connection, or leaves it open until the caller has an answer. */
const ANSWERS = {
  'six encodings, left open': [`${OK}${ENCODED}content-length: 100000\r\n\r\nx`, OPEN],
  'six encodings, broken off': [`${OK}${ENCODED}content-length: 100000\r\n\r\nx`],
  'six encodings in six lines': [`${OK}${ONE_EACH}content-length: 100000\r\n\r\nx`, OPEN],
  'a redirect with six encodings': [`HTTP/1.1 302 Found\r\nlocation: /x\r\n${ENCODED}content-length: 9\r\n\r\nx`, OPEN],
  'another success with six encodings': [`HTTP/1.1 201 Created\r\n${ENCODED}content-length: 100000\r\n\r\nx`, OPEN],
  'an error with six encodings': [`HTTP/1.1 500 No\r\n${ENCODED}content-length: 9\r\n\r\nx`, OPEN],
  'a broken encoding': [`${OK}content-encoding: gzip\r\ncontent-length: 9\r\n\r\n123456789`],
  'an unknown encoding': [`${OK}content-encoding: x\r\ncontent-length: 9\r\n\r\n123456789`],
  'fewer bytes than it says': [`${OK}content-length: 100000\r\n\r\nx`],
  'more bytes than it says': [`${OK}content-length: 1\r\n\r\nxyz`],
  'a broken chunk': [`${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\nnonsense\r\n`],
  'a second answer after the answer': [`${OK}content-length: 1\r\n\r\nx${OK}content-length: 1\r\n\r\nx`, OPEN],
  'another protocol': ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nx'],
  'early answers without a final one': ['HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(50)],
  'no HTTP': ['hello\r\n\r\n'],
  nothing: ['']
}

/** Milliseconds after which a caller gives up. */
const STALL = 300

async function toFile (url) {
  const folder = await newLocation()
  try {
    await downloadFile(cid, `${folder}/blob`, { from: [url], retries: 0, stall: STALL })
  } finally {
    await removeLocation(folder)
  }
}

async function toStore (url) {
  const folder = await newLocation()
  const store = await BlobStore.open(folder)
  try {
    await download(store, cid, { from: [url], retries: 0, stall: STALL })
  } finally {
    await store.close()
    await removeLocation(folder)
  }
}

/** Asks a mirror that sends wrong bytes, and names the URL as its duplicate. */
async function toDuplicate (url) {
  const link = { headers: headers => ({ ...headers, link: `<${url}>; rel=duplicate` }), ending: endings.flip(5) }
  const fake = fetchOf({ 'http://named.example/blob': file(content, link) })
  const fetch = (input, init) => (new URL(input).host === 'named.example' ? fake : globalThis.fetch)(input, init)
  const response = await fetchVerified('http://named.example/blob', { cid, fetch, retries: 0, stall: STALL })
  await response.arrayBuffer()
}

async function fromStore (url) {
  const folder = await newLocation()
  const store = await BlobStore.open(folder)
  try {
    await store.put(content)
    await push(store, cid, { to: url, signal: AbortSignal.timeout(STALL) })
  } finally {
    await store.close()
    await removeLocation(folder)
  }
}

/** How a caller asks a URL for the blob, or sends it there. */
const WAYS = {
  fetchVerified: async url => (await fetchVerified(url, { cid, retries: 0, stall: STALL })).arrayBuffer(),
  httpSource: async url => {
    const encoded = await httpSource(url, { signal: AbortSignal.timeout(STALL) })
    await new VerifiedReader({ cid: root, encoded, groupLog: 0 }).read({ start: 0, end: 1 })
  },
  download: toStore,
  downloadFile: toFile,
  async fromMirrors (url) {
    const ranges = ChunkRanges.fromBytes(0, content.length)
    for await (const piece of await fromMirrors([url], { stall: STALL })(cid, ranges)) if (piece.length === 0) break
  },
  'a duplicate': toDuplicate,
  push: fromStore
}

const way = WAYS[process.argv[2]]
for (const [name, [answer, { isOpen = false } = {}]] of Object.entries(ANSWERS)) {
  const sockets = new Set()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {}) // The caller may end the connection first.
    socket.on('data', () => isOpen ? socket.write(answer) : socket.end(answer))
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const error = await errorOf(way(`http://127.0.0.1:${server.address().port}/blob`))
  const closed = new Promise(resolve => server.close(resolve))
  for (const socket of sockets) socket.destroy()
  await closed
  const outcome = error instanceof BaoError ? error.code : error?.name
  console.log(JSON.stringify({ answer: name, outcome }))
}
