// After a failed write, the log of LevelDB is torn. All writes that are acknowledged from then on must be there when
// the store is opened again.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { same } from '../../../support/bytes.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { TornLevel } from '../../../support/store/torn-level.js'

const blobs = Array.from({ length: 40 }, (_, i) => noise(1000 + 700 * i, i + 1))

describe('store: failed writes', () => {
  let pair
  let store
  const opened = async () => { store = await BlobStore.open(pair) }
  const reopened = async () => {
    await store.close()
    await opened()
  }
  beforeEach(() => {
    pair = { index: new TornLevel(), data: new TornLevel() }
    return opened()
  })
  afterEach(() => store.close())

  for (const database of ['index', 'data']) {
    it(`keeps what was acknowledged after a write to ${database} had failed`, async () => {
      await store.put(blobs[0], { tag: 'first' })
      pair[database].failures = 1
      expect(await errorOf(store.put(blobs[1], { tag: 'failed' }))).to.include({ code: 'STORE_FULL' })
      for (const [i, bytes] of blobs.entries()) await store.put(bytes, { tag: `tag ${i}` })
      await reopened()
      for (const [i, bytes] of blobs.entries()) {
        expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
        expect(await store.tags.get(`tag ${i}`)).to.include({ name: `tag ${i}` })
      }
      expect(await store.tags.get('first')).to.include({ name: 'first' })
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it(`of concurrent puts, those that resolved are there, whichever write to ${database} fails`, async () => {
      for (let ahead = 0; ahead < 6; ahead++) {
        const putting = blobs.map((bytes, i) => store.put(bytes, { tag: `${ahead} ${i}` }))
        for (let i = 0; i < ahead; i++) await Promise.race([putting[i], Promise.resolve()])
        pair[database].failures = 1
        const results = await Promise.allSettled(putting)
        pair[database].failures = 0
        await reopened()
        for (const [i, { status, reason }] of results.entries()) {
          if (status === 'rejected') expect(reason).to.include({ code: 'STORE_FULL' })
          else expect(await store.tags.get(`${ahead} ${i}`), `tag ${i}`).to.not.equal(undefined)
        }
        for (const bytes of blobs) await store.delete(hash(bytes), { force: true })
      }
    })
  }

  it('an error of the level that is not about space has a code', async () => {
    const { batch } = pair.data
    pair.data.batch = async () => {
      pair.data.batch = batch
      throw Object.assign(new Error('IO error: 000003.log: Input/output error'), { code: 'LEVEL_IO_ERROR' })
    }
    const error = await errorOf(store.put(blobs[1]))
    expect(error).to.include({ code: 'STORE_WRITE_FAILED' })
    expect(error.cause).to.include({ code: 'LEVEL_IO_ERROR' })
    expect(await store.put(blobs[1])).to.include({ isNew: true })
  })

  it('a level that cannot be opened again makes every call fail with a code, until it can be opened', async () => {
    await store.put(blobs[0])
    pair.index.failures = 1
    await errorOf(store.put(blobs[1]))
    pair.index.openFailures = 3
    expect(await errorOf(store.put(blobs[1]))).to.include({ code: 'STORE_FULL' })
    expect(await errorOf(store.bytes(hash(blobs[0])))).to.include({ code: 'STORE_FULL' })
    expect(await errorOf(listed(store.list()))).to.include({ code: 'STORE_FULL' })
    expect(same(await store.bytes(hash(blobs[0])), blobs[0])).to.equal(true)
    expect(await store.put(blobs[1])).to.include({ isNew: true })
  })

  it('one level stays open while the other cannot be opened, so that no other process gets in', async () => {
    for (const level of [pair.data, pair.index]) {
      level.failures = 1
      await errorOf(store.put(blobs[1]))
      level.openFailures = 100
    }
    for (let i = 0; i < 5; i++) expect(await errorOf(store.put(blobs[2]))).to.include({ code: 'STORE_FULL' })
    expect([pair.index.status, pair.data.status]).to.include('open')
    for (const level of [pair.data, pair.index]) level.openFailures = 0
    expect(await store.put(blobs[1])).to.include({ isNew: true })
  })

  it('a store that was closed is not opened again by later calls', async () => {
    await store.put(blobs[0], { tag: 'a' })
    pair.index.failures = 1
    pair.index.openFailures = 2
    await errorOf(store.put(blobs[1]))
    const late = [store.tags.set('b', hash(blobs[0])), store.gc(), store.delete(hash(blobs[0]), { force: true })]
    await Promise.allSettled([store.close(), ...late])
    expect(await errorOf(store.put(blobs[1]))).to.include({ code: 'STORE_CLOSED' })
    await Promise.allSettled(late)
    expect([pair.index.status, pair.data.status]).to.deep.equal(['closed', 'closed'])
    pair.index.openFailures = 0
    await opened()
    expect(await store.put(blobs[1])).to.include({ isNew: true })
  })

  it('a list that was begun before the failure fails with a code', async () => {
    for (const bytes of blobs) await store.put(bytes)
    const list = store.list()
    await list.next()
    pair.index.failures = 1
    await errorOf(store.put(noise(10, 1)))
    await store.put(noise(10, 1))
    expect(await errorOf(listed(list))).to.include({ code: 'STORE_REOPENED' })
    expect(await listed(store.list())).to.have.length(blobs.length + 1)
  })

  it('a level that has lost acknowledged writes refuses all writes, and can be read', async () => {
    await store.put(blobs[0])
    const image = await pair.index.entries()
    await store.put(blobs[1])
    pair.index.failures = 1
    await errorOf(store.put(blobs[2]))
    pair.index.image = image
    for (let i = 0; i < 3; i++) {
      const error = await errorOf(store.put(blobs[2]))
      expect(error).to.include({ code: 'STORE_WRITE_FAILED' })
      expect(error.message).to.match(/lacks writes that it had acknowledged/)
    }
    expect(pair.index.opened).to.equal(2)
    expect(same(await store.bytes(hash(blobs[0])), blobs[0])).to.equal(true)
    expect(await errorOf(store.close())).to.include({ code: 'STORE_WRITE_FAILED' })
    await opened()
    expect(await store.put(blobs[2])).to.include({ isNew: true })
  })

  it('a failed write of the same key as the last acknowledged write does not count as a loss', async () => {
    const { batch } = pair.index
    await store.tags.set('name', hash(blobs[0]))
    pair.index.batch = async function (...args) {
      pair.index.batch = batch
      await batch.apply(this, args) // the log gets the write, and the disk does not confirm it
      throw Object.assign(new Error('IO error: 000003.log: Input/output error'), { code: 'LEVEL_IO_ERROR' })
    }
    expect(await errorOf(store.tags.set('name', hash(blobs[1])))).to.include({ code: 'STORE_WRITE_FAILED' })
    await store.tags.set('other', hash(blobs[1]))
    expect(await store.tags.get('other')).to.not.equal(undefined)
  })
})
