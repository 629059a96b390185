// A long download over loopback from four servers: two honest ones, one that corrupts and one that stalls. The process
// that downloads is killed in the middle, and another one continues.
import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, readdir, rm, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { writeOutboard } from '../../encoder/index.js'
import { hashStream, toCid } from '../../lib/index.js'
import { noise } from '../support/inputs.js'

const MIB = 1 << 20
const SIZE = MIB * Number(process.env.DOWNLOAD_MIB ?? 256)
/** Much more memory than a download needs, and much less than the blob of a long run has. */
const MAX_MEMORY = 400 * MIB
const WORKER = fileURLToPath(new URL('download-worker.js', import.meta.url))

/** Writes a file in which no two MiB are the same. */
async function writeNoise (path) {
  const piece = noise(MIB, 571)
  const view = new DataView(piece.buffer, piece.byteOffset)
  const file = await open(path, 'w')
  for (let at = 0; at < SIZE; at += MIB) {
    view.setUint32(0, at / MIB)
    await file.write(piece)
  }
  await file.close()
}

/**
 * A server of files with ranges. `spoil` changes the bytes that it sends, by their offset in the file; undefined
 * ends nothing and sends nothing more.
 */
async function serving (paths, spoil = bytes => bytes) {
  const server = createServer(async ({ url, headers: { range } }, response) => {
    const path = paths[url.split('?')[0]]
    if (path === undefined) return response.writeHead(404).end()
    const { size } = await stat(path)
    const [, first, last] = range?.match(/^bytes=(\d+)-(\d*)$/) ?? []
    const [start, end] = first === undefined
      ? [0, size]
      : [Number(first), Math.min(last === '' ? size : Number(last) + 1, size)]
    const headers = { 'content-length': Math.max(0, end - start), 'content-range': `bytes ${start}-${end - 1}/${size}` }
    response.writeHead(first === undefined ? 200 : 206, headers)
    let at = start
    for await (const piece of createReadStream(path, { start, end: end - 1, highWaterMark: 1 << 18 })) {
      const bytes = path.endsWith('.obao4') ? piece : spoil(piece, at)
      if (bytes === undefined || response.destroyed) return
      at += piece.length
      if (!response.write(bytes)) await drained(response)
    }
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}/blob`, close }
}

/** Waits until a client takes more, or has ended. */
const drained = response => new Promise(resolve => {
  const done = () => {
    response.off('drain', done).off('close', done)
    resolve()
  }
  response.on('drain', done).on('close', done)
})

/** Runs the worker, and gives its output. */
async function * download (args) {
  const worker = spawn(process.execPath, [WORKER, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(worker, 'exit')
  const kill = () => worker.kill('SIGKILL')
  for await (const line of createInterface({ input: worker.stdout })) yield { ...JSON.parse(line), kill }
  await ended
}

describe('a long download', function () {
  this.timeout(1_800_000)
  let folder
  let servers = []
  before(async () => { folder = await mkdtemp(join(tmpdir(), 'download-')) })
  after(async () => {
    for (const server of servers) server.close()
    await rm(folder, { recursive: true })
  })

  it('survives a mirror that corrupts, one that stalls, and a kill in the middle', async () => {
    const blob = join(folder, 'blob')
    await writeNoise(blob)
    const info = await writeOutboard(blob, `${blob}.obao4`)
    const cid = `${toCid(info.root)}`
    const paths = { '/blob': blob, '/blob.obao4': `${blob}.obao4` }
    const corrupt = (bytes, at) => {
      const wrong = Uint8Array.from(bytes)
      if (at > SIZE / 8) wrong[100] ^= 1
      return wrong
    }
    const stall = (bytes, at) => at > SIZE / 16 ? undefined : bytes
    servers = await Promise.all([serving(paths), serving(paths), serving(paths, corrupt), serving(paths, stall)])
    const names = new Map(servers.map(({ url }, i) => [url, ['honest', 'honest too', 'corrupts', 'stalls'][i]]))
    const from = servers.map(({ url }) => url)
    const target = join(folder, 'target')

    let before
    let since = performance.now()
    for await (const state of download([cid, target, ...from])) {
      if (state.done > SIZE / 2) {
        before = state
        state.kill()
        break
      }
    }
    expect(before, 'it was killed in the middle').to.not.equal(undefined)
    expect(await readdir(folder)).to.include('target.part').and.not.include('target')
    const mib = bytes => `${Math.round(bytes / MIB)} MiB`
    const seconds = () => `${((performance.now() - since) / 1000).toFixed(1)} s`
    console.log(`      killed after ${mib(before.done)} of ${mib(before.total)} and ${seconds()}`)

    since = performance.now()
    let end
    for await (const state of download([cid, target, ...from])) end = state.end ?? end
    console.log(`      went on: ${mib(end.received)} in ${seconds()}, at most ${mib(end.memory)} of memory`)
    for (const { location, state, bytes, error } of end.mirrors) {
      console.log(`      ${names.get(location)}: ${state}, ${mib(bytes)}${error ? `, ${error}` : ''}`)
    }
    expect(end.complete).to.equal(true)
    expect(end.received, 'only what was missing').to.be.below(0.75 * SIZE)
    expect(end.mirrors.find(({ location }) => location === from[2]).state).to.be.oneOf(['liar', 'good'])
    expect(end.memory).to.be.below(MAX_MEMORY)
    expect(`${toCid(await hashStream(target))}`).to.equal(cid)
    expect((await readdir(folder)).sort()).to.deep.equal(['blob', 'blob.obao4', 'target'])
  })
})
