// How many requests each call of a store in a bucket makes: users pay for them, and wait for them.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { BucketStore, memoryBucket } from '../../../../exchange/bucket/index.js'
import { countedBucket } from '../../../support/bucket/counted.js'
import { noise } from '../../../support/inputs.js'

const open = bucket => BucketStore.open(bucket, { local: { index: new MemoryLevel(), data: new MemoryLevel() } })

describe('bucket store: requests', () => {
  let bucket, take, store

  beforeEach(async () => {
    ({ bucket, take } = countedBucket(memoryBucket()))
    store = await open(bucket)
    await store.put(noise(10)) // It probes the bucket.
    take()
  })

  afterEach(() => store.close())

  it('of a put are two looks, a list for blobs of more than a group, and the objects', async () => {
    await store.put(noise(16_384))
    expect(take()).to.deep.equal({ list: 2, put: 1 })
    await store.put(noise(16_385))
    expect(take()).to.deep.equal({ list: 3, putParts: 2 })
    await store.put(noise(16_385))
    expect(take(), 'of a blob that was seen a moment ago').to.deep.equal({ list: 2 })
    const other = await open(bucket)
    await other.put(noise(16_385))
    expect(take(), 'of a blob that another process has put').to.deep.equal({ get: 1, list: 3 })
    await other.close()
  })

  it('of a put with a tag are three more, and of a tag alone six', async () => {
    const { cid } = await store.put(noise(20_000), { tag: 'a' })
    expect(take()).to.deep.equal({ list: 5, putParts: 2, put: 1 })
    const other = await open(bucket)
    await other.tags.set('b', cid)
    expect(take(), 'with the file that says the layout').to.deep.equal({ get: 1, list: 5, put: 1 })
    await other.tags.get('b')
    expect(take()).to.deep.equal({ list: 1, get: 1 })
    await other.tags.get('b')
    expect(take(), 'a version is read once').to.deep.equal({ list: 1 })
    await other.close()
  })

  it('of puts at the same time share their looks', async () => {
    const blobs = Array.from({ length: 100 }, (_, i) => noise(100, i))
    for await (const { isNew } of store.putMany(blobs)) expect(isNew).to.equal(true)
    const { list, put } = take()
    expect(put).to.equal(100)
    expect(list).to.be.below(10)
  })

  it('of a cold read are three, and of a warm one none', async () => {
    const { cid } = await store.put(noise(3_000_000))
    take()
    const cold = await open(bucket)
    await cold.bytes(cid, { start: 1_000_000, end: 2_000_000 })
    expect(take()).to.deep.equal({ get: 3 })
    await cold.bytes(cid, { start: 1_000_000, end: 2_000_000 })
    expect(take()).to.deep.equal({})
    await cold.close()
  })

  it('of has, stat and list are lists', async () => {
    const { cid } = await store.put(noise(100))
    take()
    await store.has(cid)
    expect(take(), 'seen a moment ago').to.deep.equal({})
    const other = await open(bucket)
    await other.has(cid)
    expect(take()).to.deep.equal({ list: 1 })
    for await (const { size } of other.list()) expect(size).to.be.oneOf([10, 100])
    expect(take()).to.deep.equal({ list: 2 })
    await other.close()
  })
})
