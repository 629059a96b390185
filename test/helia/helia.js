// Tests Helia over a store, without a network: `npm run test:helia`. The 280 packages of Helia are installed in this
// folder only. Three settings make that work:
// - multiformats is linked to the copy of this checkout: Helia refuses CIDs that another copy made.
// - undici is an older release (package.json): the newest does not load in Node.js 20.
// - peer dependencies are left out (.npmrc): they would be 500 more packages.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { unixfs } from '@helia/unixfs'
import * as dagCbor from '@ipld/dag-cbor'
import * as dagPb from '@ipld/dag-pb'
import { LevelDatastore } from 'datastore-level'
import { createHeliaLight } from 'helia'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import { blake3, hash, toCid } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { asBlockstore } from '../../exchange/blockstore/index.js'
import { BucketStore, memoryBucket } from '../../exchange/bucket/index.js'
import { putCollection } from '../../exchange/collections/index.js'
import { same } from '../support/bytes.js'
import { collect, errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { newProject } from '../support/project.js'

const bytes = noise(3_500_000, 61)

describe('Helia over a store', () => {
  let location
  let store
  let datastore
  let helia
  let fs
  const start = async () => {
    store = await BlobStore.open(join(location, 'blocks'))
    datastore = new LevelDatastore(join(location, 'datastore'))
    await datastore.open()
    const parts = { blockstore: asBlockstore(store), datastore }
    helia = await createHeliaLight({ ...parts, hashers: [blake3], codecs: [dagCbor] }).start()
    fs = unixfs(helia)
  }
  const stop = async () => {
    await helia.stop()
    await datastore.close()
    await store.close()
  }
  beforeEach(async () => {
    location = await mkdtemp(join(tmpdir(), 'baobox-helia-'))
    await start()
  })
  afterEach(async () => {
    await stop()
    await rm(location, { recursive: true })
  })

  /** @param {any} value @returns {Promise<CID>} of a dag-cbor node, by its BLAKE3 hash */
  const putNode = async value => {
    const block = dagCbor.encode(value)
    return helia.blockstore.put(CID.createV1(dagCbor.code, await blake3.digest(block)), block)
  }

  it('keeps files after it is closed and opened again', async () => {
    const cid = await fs.addBytes(bytes)
    const directory = await fs.cp(cid, await fs.addDirectory(), 'file')
    expect(cid.multihash.code, 'SHA2-256, as Helia has it').to.equal(0x12)
    expect(same(await collect(fs.cat(cid)), bytes)).to.equal(true)
    await stop()
    await start()
    const part = await collect(fs.cat(directory, { path: 'file', offset: 1_000_000, length: 1_200_000 }))
    expect(same(part, bytes.subarray(1_000_000, 2_200_000))).to.equal(true)
    expect((await fs.stat(cid)).size).to.equal(BigInt(bytes.length))
    expect(await store.has(hash(bytes.subarray(0, 1 << 20))), 'a leaf is a blob like any other').to.equal(true)
  })

  it('reads blobs that were put into the store directly', async () => {
    const { cid } = await store.put(bytes)
    expect(same(await collect(fs.cat(cid)), bytes)).to.equal(true)
    const part = await collect(fs.cat(cid, { offset: 70_000, length: 10 }))
    expect(same(part, bytes.subarray(70_000, 70_010))).to.equal(true)
  })

  it('reads UnixFS trees of BLAKE3 CIDs', async () => {
    const LEAF_LEN = 262_144
    const file = new UnixFS({ type: 'file' })
    const links = []
    for (let at = 0; at < bytes.length; at += LEAF_LEN) {
      const leaf = bytes.subarray(at, at + LEAF_LEN)
      await helia.blockstore.put(toCid(hash(leaf)), leaf)
      file.addBlockSize(BigInt(leaf.length))
      links.push({ Name: '', Tsize: leaf.length, Hash: toCid(hash(leaf)) })
    }
    const node = dagPb.encode({ Data: file.marshal(), Links: links })
    const cid = await helia.blockstore.put(CID.createV1(dagPb.code, await blake3.digest(node)), node)
    expect(same(await collect(fs.cat(cid)), bytes)).to.equal(true)
    const part = await collect(fs.cat(cid, { offset: 262_000, length: 300_000 }))
    expect(same(part, bytes.subarray(262_000, 562_000))).to.equal(true)
  })

  it('gc() deletes what is not pinned, and nothing else', async () => {
    const leaves = [1, 2, 3].map(seed => noise(20_000, seed))
    const cids = leaves.map(leaf => toCid(hash(leaf)))
    for (const [i, leaf] of leaves.entries()) await helia.blockstore.put(cids[i], leaf)
    const kept = await putNode({ leaves: [cids[0], cids[1]] })
    const lost = await putNode({ leaves: [cids[1], cids[2]] })
    const file = await fs.addBytes(noise(3000, 4))
    const pinned = await fs.addBytes(noise(3000, 5))
    for (const root of [kept, pinned]) for await (const cid of helia.pins.add(root)) expect(cid).to.be.instanceOf(CID)
    await helia.gc()
    for (const cid of [kept, cids[0], cids[1], pinned]) {
      expect(await helia.blockstore.has(cid), `kept: ${cid}`).to.equal(true)
    }
    for (const cid of [lost, cids[2], file]) expect(await helia.blockstore.has(cid), `lost: ${cid}`).to.equal(false)
    const node = dagCbor.decode(await collect(helia.blockstore.get(kept)))
    expect(node.leaves.map(String)).to.deep.equal([cids[0], cids[1]].map(String))
    expect(await store.has(cids[2])).to.equal(false)
  })

  it('keeps pins after it is closed and opened again', async () => {
    const pinned = await fs.addBytes(bytes)
    const lost = await fs.addBytes(noise(3000, 5))
    const leaf = toCid(hash(noise(20_000, 1)))
    await helia.blockstore.put(leaf, noise(20_000, 1))
    const blob = await putNode({ leaf })
    for (const root of [pinned, blob]) for await (const cid of helia.pins.add(root)) expect(cid).to.be.instanceOf(CID)
    await stop()
    await start()
    const pins = []
    for await (const { cid } of helia.pins.ls()) pins.push(`${cid}`)
    expect(pins.sort()).to.deep.equal([pinned, blob].map(String).sort())
    await helia.gc()
    expect(same(await collect(fs.cat(pinned)), bytes)).to.equal(true)
    expect(await helia.blockstore.has(leaf)).to.equal(true)
    expect(await helia.blockstore.has(lost)).to.equal(false)
  })

  it('keeps what a tag of the store names under the CID of Helia, also after its own gc()', async () => {
    const cid = await fs.addBytes(noise(3000, 5))
    await store.tags.set('page', cid)
    expect((await store.gc()).blobs).to.equal(0)
    await helia.gc()
    expect(await helia.blockstore.has(cid), 'Helia has deleted it').to.equal(false)
    expect((await store.gc()).blobs).to.equal(0)
    expect(same(await store.bytes(await store.resolve(cid)), noise(3000, 5))).to.equal(true)
  })

  it('knows nothing of tags, and the store nothing of pins', async () => {
    const { cid: tagged } = await store.put(noise(3000, 1), { tag: 'tagged' })
    const { cid: member } = await store.put(noise(3000, 2))
    const { cid: set } = await putCollection(store, [['member', member]], { tag: 'set' })
    await helia.gc()
    expect(await store.has(tagged)).to.equal(true)
    expect(await helia.blockstore.has(tagged), 'Helia has deleted its name').to.equal(false)
    expect(await store.has(set)).to.equal(true)
    expect(await store.has(member), 'Helia has deleted it').to.equal(false)
    const pinned = await fs.addBytes(noise(3000, 3))
    for await (const cid of helia.pins.add(pinned)) expect(cid).to.be.instanceOf(CID)
    expect((await store.gc()).blobs).to.equal(1)
    expect(await helia.blockstore.has(pinned)).to.equal(false)
    expect(await helia.pins.isPinned(pinned)).to.equal(true)
  })

  it('rejects a missing block, and bytes that do not match their CID', async () => {
    const cid = toCid(hash(noise(100, 7)))
    const missing = await errorOf(collect(helia.blockstore.get(cid, { offline: true })))
    expect(missing).to.include({ name: 'BlockNotFoundWhileOfflineError' })
    const wrong = await errorOf(helia.blockstore.put(cid, noise(100, 8)))
    expect(wrong).to.include({ code: 'CID_MISMATCH' })
  })
})

/** Runs a program in a project that has Helia, twice in the same folder. @param {string} code */
async function linesOfTwoRuns (code) {
  const project = await newProject()
  try {
    const modules = fileURLToPath(new URL('node_modules', import.meta.url))
    for (const name of ['helia', '@helia', '@ipld', 'datastore-level', 'ipfs-unixfs', 'multiformats']) {
      await symlink(join(modules, name), join(project, 'node_modules', name), 'junction')
    }
    await writeFile(join(project, 'helia.js'), code)
    const args = ['--import', String(new URL('node20.js', import.meta.url)), 'helia.js']
    const linesOf = async () => {
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: project })
      return stdout.trimEnd().split('\n')
    }
    return [await linesOf(), await linesOf()]
  } finally {
    await rm(project, { recursive: true })
  }
}

it('Helia over a store in a bucket keeps files, which another machine reads, and collects garbage', async () => {
  const location = await mkdtemp(join(tmpdir(), 'baobox-helia-'))
  const bucket = memoryBucket()
  const startAt = async name => {
    const store = await BucketStore.open(bucket, { local: join(location, name) })
    const datastore = new LevelDatastore(join(location, `${name} datastore`))
    await datastore.open()
    const helia = await createHeliaLight({ blockstore: asBlockstore(store), datastore, hashers: [blake3] }).start()
    return { store, datastore, helia, fs: unixfs(helia) }
  }
  const parts = [await startAt('one'), await startAt('other')]
  const [one, other] = parts
  const pinned = await one.fs.addBytes(bytes)
  const lost = await one.fs.addBytes(noise(3000, 4))
  for await (const cid of one.helia.pins.add(pinned)) expect(cid).to.be.instanceOf(CID)
  await one.helia.gc()
  expect(await other.helia.blockstore.has(lost)).to.equal(false)
  expect(same(await collect(other.fs.cat(pinned)), bytes)).to.equal(true)
  for (const { helia, datastore, store } of parts) {
    await helia.stop()
    await datastore.close()
    await store.close()
  }
  await rm(location, { recursive: true })
})

const textOf = path => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')

it('examples/helia.js runs, and finds at the next start what it has pinned', async () => {
  const [first, again] = await linesOfTwoRuns(await textOf('examples/helia.js'))
  expect(first[0]).to.equal('Hello')
  expect(first[1]).to.match(/^added {2}bafkrei\w+ = bafkr4i\w+$/)
  expect(first[2]).to.match(/^file {3}bafyb4i\w+ of 1049576 bytes$/)
  const root = first[2].split(/ +/)[1]
  expect(first).to.include(`pins   ${root}`)
  expect(again[0]).to.equal(`pinned ${root}`)
  expect(again.filter(line => line.startsWith('pins'))).to.deep.equal([])
})

it('the example of docs/guide.md keeps pins and tags', async () => {
  const [, code] = /### .*\n\n```js helia\n([^]*?)```/.exec(await textOf('docs/guide.md'))
  for (const [kept, hello, ...rest] of await linesOfTwoRuns(code)) {
    expect(kept).to.equal('{ blobs: 0, bytes: 0 }')
    expect(hello).to.equal('Hello')
    expect(rest.at(-1)).to.equal('{ blobs: 3, bytes: 1951583 }')
    expect(rest.slice(0, -1).every(line => line.startsWith('unpinned '))).to.equal(true)
  }
})
