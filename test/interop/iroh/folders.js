// Folders go from iroh-blobs to a store, and back. run.js starts this file.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { toCid } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { exportDirectory, importDirectory } from '../../../exchange/collections/node/index.js'
import { irohMirror, openIrohEndpoint, parseTicket, serveIroh } from '../../../exchange/iroh/index.js'
import { same } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { download } from '../../../exchange/download/index.js'

const PEER = process.env.IROH_PEER
/** At the edges of chunks and groups, with and without a tree. */
const FILES = {
  'tree/empty': noise(0),
  'tree/a': noise(1),
  'tree/sub/b': noise(1024, 2),
  'tree/sub/c': noise(16_384, 3),
  'tree/sub/deep/d': noise(16_385, 4),
  'tree/ä and more': noise(1_000_003, 5)
}
const LEN = Object.values(FILES).reduce((sum, { length }) => sum + length, 0)

describe('stores and iroh-blobs', () => {
  let folder
  let store
  let endpoint
  const children = []

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-iroh-'))
    for (const [name, bytes] of Object.entries(FILES)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), bytes)
    }
  })
  after(() => rm(folder, { recursive: true }))
  beforeEach(async () => {
    store = await BlobStore.open(join(folder, `store-${children.length}`))
    endpoint = await openIrohEndpoint({ relays: false, bindAddress: '127.0.0.1:0' })
  })
  afterEach(async () => {
    await endpoint.close()
    await store.close()
    for (const child of children) child.kill()
  })

  const start = args => {
    const child = spawn(PEER, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    children.push(child)
    return child
  }
  /** Has iroh-blobs serve the folder. @returns the ticket */
  const sending = async () => {
    const [line] = await once(start(['send', join(folder, 'tree')]).stdout, 'data')
    return `${line}`.trim()
  }
  const expectFiles = async place => {
    for (const [name, bytes] of Object.entries(FILES)) {
      expect(same(new Uint8Array(await readFile(join(place, name))), bytes), name).to.equal(true)
    }
  }

  it('a folder that iroh-blobs sends is received, and has the CID that it has here', async () => {
    const ticket = await sending()
    const { cid } = parseTicket(ticket)
    const mirror = irohMirror(ticket, { endpoint })
    const { complete, members, received } = await download(store, cid, { from: [mirror], recursive: true })
    expect({ complete, members }).to.deep.equal({ complete: true, members: Object.keys(FILES).length + 1 })
    expect(received).to.be.above(LEN)
    await exportDirectory(store, cid, join(folder, 'received'))
    await expectFiles(join(folder, 'received'))
    expect(`${(await importDirectory(store, join(folder, 'tree'))).cid}`).to.equal(`${cid}`)
    await mirror.close()
  })

  it('a download from iroh-blobs goes on with what is missing', async () => {
    const ticket = await sending()
    const { cid } = await importDirectory(store, join(folder, 'tree'))
    const large = toCid((await store.bytes(cid)).subarray(-32)) // of the last member
    await store.delete(large)
    const part = { start: 0, end: 1 << 18 }
    const mirror = irohMirror(ticket, { endpoint })
    await store.receive(large, mirror.slice(large, part), part)
    const { received } = await download(store, parseTicket(ticket).cid, { from: [mirror], recursive: true })
    expect(received).to.equal(FILES['tree/ä and more'].length - part.end)
    await mirror.close()
  })

  it('iroh-blobs has not what it has not', async () => {
    const mirror = irohMirror(await sending(), { endpoint })
    const error = await mirror.slice(toCid(new Uint8Array(32))).next().catch(error => error)
    expect(error).to.have.property('code', 'STORE_NOT_FOUND')
    await mirror.close()
  })

  it('iroh-blobs receives a folder from a store', async () => {
    const { cid } = await importDirectory(store, join(folder, 'tree'))
    const events = []
    const server = serveIroh(store, endpoint, { onRequest: event => events.push(event) })
    const [code] = await once(start(['receive', server.ticket(cid), join(folder, 'sent')]), 'exit')
    expect(code).to.equal(0)
    await expectFiles(join(folder, 'sent'))
    await server.close()
    // It may close the connection before it is told that nothing follows.
    for (const { outcome } of events) expect(outcome).to.be.oneOf(['complete', 'aborted'])
    expect(events.reduce((sum, { sent }) => sum + sent, 0)).to.be.above(LEN)
  })
})
