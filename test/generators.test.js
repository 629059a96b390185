// Calls that return generators or streams throw for wrong arguments at the call, not when the first item is
// asked for: then the error would be far from its cause.
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { ChunkRanges, hash, walk } from '../lib/index.js'
import { createOutboardSync, encodeSlice, encodeStream } from '../encoder/index.js'
import { SliceSource, SliceVerifier, VerifiedReader, mirrorOf, verifyStream } from '../verifier/index.js'
import { BlobStore } from '../store/index.js'
import { asBlockstore } from '../exchange/blockstore/index.js'
import { collectionEntries, memberStats } from '../exchange/collections/index.js'
import { diffDirectory } from '../exchange/collections/node/index.js'
import { adopt, memoryBucket } from '../exchange/bucket/index.js'
import { irohMirror } from '../exchange/iroh/index.js'
import { exportCar } from '../exchange/transfer/index.js'

const BYTES = new Uint8Array(100)
const ROOT = hash(BYTES)
const outboard = createOutboardSync(BYTES)
const encoded = new Uint8Array(108)
const odd = { odd: 1 }
const signal = AbortSignal.abort()
const other = 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku' // of SHA2-256

let store, blockstore, tags, aliases
const reader = new VerifiedReader({ cid: ROOT, encoded, groupLog: 0 })
const slices = () => new SliceSource(BYTES)
const mirror = mirrorOf({ source: BYTES, outboard })
const ranges = ChunkRanges.all
const peer = irohMirror({ id: 'a'.repeat(64), addresses: [], relayUrl: undefined })

/** Calls with wrong arguments, by the name of the function in docs/api.md. */
const CALLS = {
  walk: [() => walk(-1), () => walk('1'), () => walk(1, 17), () => walk(1, 4, {})],
  encodeStream: [
    () => encodeStream(BYTES, {}), () => encodeStream(BYTES, outboard, odd), () => encodeStream(5, outboard),
    () => encodeStream({ size: -1, read () {} }, outboard)
  ],
  encodeSlice: [
    () => encodeSlice(BYTES, {}), () => encodeSlice(BYTES, outboard, 5), () => encodeSlice(BYTES, outboard, {}, odd),
    () => encodeSlice(undefined, outboard), () => encodeSlice([BYTES], outboard)
  ],
  verifyStream: [
    () => verifyStream([BYTES]), () => verifyStream([BYTES], { cid: 5 }), () => verifyStream(5, { cid: ROOT }),
    () => verifyStream([BYTES], { cid: ROOT, ...odd }), () => verifyStream(undefined, { cid: ROOT, size: 100 })
  ],
  'sliceSource.take': [() => slices().take(-1), () => slices().take('5')],
  'sliceSource.verifyNext': [
    () => slices().verifyNext(), () => slices().verifyNext({}),
    () => slices().verifyNext(new SliceVerifier({ cid: ROOT }), odd)
  ],
  'verifiedReader.stream': [() => reader.stream(odd), () => reader.stream({}, odd), () => reader.stream(
    { start: -1, end: 5 }
  )],
  'mirror.pieces': [
    () => mirror.pieces(), () => mirror.pieces({ root: 5, ranges, groupLog: 4 }),
    () => mirror.pieces({ root: ROOT, ranges: 5, groupLog: 4 }),
    () => mirror.pieces({ root: ROOT, ranges, groupLog: 17 }),
    () => mirrorOf(() => BYTES).pieces({ root: ROOT, ranges, groupLog: 0 })
  ],
  'mirror.slice': [() => peer.slice(5), () => peer.slice(ROOT, 5), () => peer.slice(other)],
  'mirror.members': [() => peer.members(5, [0]), () => peer.members(ROOT, [-1])],
  'blobStore.putMany': [
    () => store.putMany(5), () => store.putMany(BYTES), () => store.putMany([], odd),
    () => store.putMany([], { tag: 'a' })
  ],
  'blobStore.get': [
    () => store.get(5), () => store.get(other), () => store.get(ROOT, odd), () => store.get(ROOT, {}, odd),
    () => store.get(ROOT, { start: -1 }), () => store.get(ROOT, 5), () => store.get(ROOT, ranges, odd)
  ],
  'blobStore.stream': [() => store.stream(5), () => store.stream(ROOT, odd), () => store.stream(ROOT, {}, odd)],
  'blobStore.getMany': [() => store.getMany(5), () => store.getMany('abc'), () => store.getMany([], odd)],
  'blobStore.list': [
    () => store.list(odd), () => store.list({ prefix: 'x' }), () => store.list({ maxBlobs: -1 }),
    () => store.list({ order: 'size' }), () => store.list({ after: 5 }), () => store.list({ reverse: 1 })
  ],
  'blobStore.slice': [
    () => store.slice(5), () => store.slice(ROOT, 5), () => store.slice(ROOT, {}, odd),
    () => store.slice(ROOT, {}, { groupLog: 17 })
  ],
  'blobStore.observe': [() => store.observe(5), () => store.observe(ROOT, odd)],
  'blobStore.watch': [() => store.watch(odd), () => store.watch({ after: 'now' })],
  exportCar: [
    () => exportCar(store, odd), () => exportCar(store, { cids: 5 }),
    () => exportCar(store, { recursive: true }), () => exportCar(store, { tags: 'abc' }),
    () => exportCar(store, { hashers: 5 })
  ],
  'tags.list': [() => tags.list(odd), () => tags.list({ prefix: 5 })],
  'aliases.list': [() => aliases.list(odd), () => aliases.list(5)],
  'blockstore.putMany': [() => blockstore.putMany(5), () => blockstore.putMany()],
  'blockstore.get': [() => blockstore.get(5), () => blockstore.get('abc')],
  'blockstore.getMany': [() => blockstore.getMany(5), () => blockstore.getMany('abc')],
  'blockstore.deleteMany': [() => blockstore.deleteMany(5), () => blockstore.deleteMany()],
  collectionEntries: [
    () => collectionEntries({}, ROOT), () => collectionEntries(store, 5), () => collectionEntries(store, ROOT, odd)
  ],
  adopt: [
    () => adopt({}), () => adopt(memoryBucket(), odd), () => adopt(memoryBucket(), { prefix: 5 }),
    () => adopt(memoryBucket(), { keys: 5 }), () => adopt(memoryBucket(), { parallel: 0 })
  ],
  memberStats: [() => memberStats({}, ROOT), () => memberStats(store, 5), () => memberStats(store, ROOT, odd)],
  diffDirectory: [
    () => diffDirectory({}, ROOT, '.'), () => diffDirectory(store, 5, '.'), () => diffDirectory(store, ROOT, 5),
    () => diffDirectory(store, ROOT, '.', odd), () => diffDirectory(store, ROOT, '.', { ignore: '*.js' }),
    () => diffDirectory(store, ROOT, '.', { top: 5 })
  ]
}

/** Functions without arguments that could be wrong. */
const WITHOUT_ARGUMENTS = [
  'chunkRanges[Symbol.iterator]', 'sliceSource[Symbol.asyncIterator]', 'collection.names', 'collection.entries',
  'collection[Symbol.iterator]', 'manifest.entries', 'manifest[Symbol.iterator]', 'blockstore.getAll'
]

describe('wrong arguments of a generator are reported at the call:', () => {
  before(async () => {
    store = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() })
    blockstore = asBlockstore(store)
    tags = store.tags
    aliases = store.aliases
  })
  after(() => store.close())

  for (const [name, calls] of Object.entries(CALLS)) {
    it(name, () => {
      for (const call of calls) {
        let error
        try {
          call()
        } catch (thrown) {
          error = thrown
        }
        const isSlip = error instanceof TypeError || error instanceof RangeError || error?.code === 'CID_UNSUPPORTED'
        expect(isSlip, `${call}: ${error?.stack}`).to.equal(true)
      }
    })
  }

  it('all generators in docs/api.md are tried', async () => {
    const text = await readFile(new URL('../docs/api.md', import.meta.url), 'utf8')
    const gives = /^#+ `(.+)\(.*\) → (?:Async)?(?:Generator|Iterable|Iterator|ReadableStream)[<`]/gm
    const names = [...text.matchAll(gives)].map(([, name]) => name)
    expect(names).to.include.members(['walk', 'encodeSlice', 'blobStore.get', 'blobStore.stream', 'tags.list'])
    const known = [...Object.keys(CALLS), ...WITHOUT_ARGUMENTS]
    expect(known).to.include.members(names)
    expect(known.filter(name => !names.includes(name))).to.deep.equal(['mirror.slice', 'mirror.members'])
  })

  it('an aborted signal is not a wrong argument: it is reported with the first item', async () => {
    for (const given of [
      encodeSlice(
        BYTES, outboard, {}, { signal }
      ), store.get(ROOT, undefined, { signal }), store.slice(ROOT, {}, { signal }),
      store.observe(ROOT, { signal }), store.watch({ signal }), blockstore.getAll({ signal })
    ]) expect(await given.next().catch(error => error)).to.equal(signal.reason)
  })
})
