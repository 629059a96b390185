// info() counts what is in a store.
import { expect } from 'chai'
import { LEVEL } from '#runtime'
import { hash } from '../../../../lib/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { afterNextRead, blobKeys, damageRecord, tagKeys } from '../../../support/store/inspect.js'
import { newStores, onDisk, sliceOf } from '../../../support/store/stores.js'

/** Delays the next read of some keys of an index. `reached` resolves when it has begun. */
function heldRead (index, range) {
  const held = {}
  const opened = new Promise(resolve => { held.open = resolve })
  held.reached = new Promise(resolve => {
    afterNextRead(index, range, () => {
      resolve()
      return opened
    })
  })
  return held
}

describe('store: info()', () => {
  const newStore = newStores()
  /** Everything except the point, which changes each time. */
  const infoOf = async store => {
    const { point, ...info } = await store.info()
    expect(point).to.be.a('string')
    return info
  }
  const EMPTY = { blobs: 0, partial: 0, bytes: 0, tags: 0, bytesOnDisk: undefined, quota: undefined }

  it('info() counts blobs, bytes and tags after every kind of change', async () => {
    const { store, place } = await newStore()
    expect(await infoOf(store)).to.deep.equal(EMPTY)
    await store.put(new Uint8Array(0)) // every store has it
    expect(await infoOf(store)).to.deep.equal(EMPTY)
    await listed(store.putMany([1, 2, 3].map(i => noise(1000 * i, i))))
    const long = noise(10 * GROUP, 7)
    const first = { start: 0, end: 2 * GROUP }
    await store.receive(hash(long), sliceOf(long, first), first)
    await store.tags.set('a', hash(long))
    const after = { ...EMPTY, blobs: 4, partial: 1, bytes: 6000 + 2 * GROUP, tags: 1 }
    expect(await infoOf(store)).to.deep.equal(after)
    expect(await infoOf(store), 'of a second call').to.deep.equal(after)
    const rest = { start: 2 * GROUP, end: 3 * GROUP }
    await store.receive(hash(long), sliceOf(long, rest), rest)
    expect(await infoOf(store)).to.deep.equal({ ...after, bytes: 6000 + 3 * GROUP })
    await store.put(long)
    await store.delete(hash(noise(1000, 1)))
    const now = { ...EMPTY, blobs: 3, bytes: 5000 + long.length, tags: 1 }
    expect(await infoOf(store)).to.deep.equal(now)
    await store.close()
    expect(await infoOf(await place.open())).to.deep.equal(now)
  })

  it('info() tells the quota, and counts the same bytes', async () => {
    const { store } = await newStore({ quota: 5000 })
    for (let i = 0; i < 7; i++) await store.put(noise(1500, i))
    expect(await store.info()).to.include({ quota: 5000, blobs: 3, bytes: 4500 })
  })

  it('a blob with many names counts as one blob', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(noise(100))
    await asBlockstore(store).put(cid, noise(100))
    expect(await store.info()).to.include({ blobs: 1, bytes: 100 })
  })

  it('a damaged record does not count', async () => {
    const { store, index } = await newStore()
    await listed(store.putMany([noise(1000, 1), noise(2000, 2)]))
    await damageRecord(index, hash(noise(1000, 1)))
    expect(await store.info()).to.include({ blobs: 1, bytes: 2000 })
  })

  it('a change during the count of info() counts in the next call', async () => {
    const { store } = await newStore()
    await listed(store.putMany(Array.from({ length: 3000 }, (_, i) => noise(20, i + 1))))
    const counting = store.info()
    await Promise.all([counting, store.put(noise(5000, 9))])
    expect(await store.info()).to.include({ blobs: 3001, bytes: 65_000 })
  })

  it('a slow call does not replace the counts of a later call', async () => {
    const { store, index } = await newStore()
    const [counted, tagsCounted] = [heldRead(index, blobKeys), heldRead(index, tagKeys)]
    const slow = store.info()
    await counted.reached
    await store.put(noise(100))
    const quick = store.info()
    await tagsCounted.reached
    counted.open()
    expect(await slow).to.include({ blobs: 0 })
    tagsCounted.open()
    expect(await quick).to.include({ blobs: 1, bytes: 100 })
    expect(await store.info()).to.include({ blobs: 1, bytes: 100 })
  })

  it('info() can be aborted, and fails after the store was closed', async () => {
    const { store } = await newStore()
    const reason = new Error('enough')
    expect(await errorOf(store.info({ signal: AbortSignal.abort(reason) }))).to.equal(reason)
    await store.close()
    expect(await errorOf(store.info())).to.include({ code: 'STORE_CLOSED' })
  })

  LEVEL === 'classic-level' && it('info() tells how many bytes the files take on the disk', async () => {
    const place = await onDisk()
    try {
      const store = await place.open()
      const empty = (await store.info()).bytesOnDisk
      expect(empty).to.be.within(1, MIB)
      await store.put(noise(3 * MIB))
      expect((await store.info()).bytesOnDisk - empty).to.be.within(3 * MIB, 4 * MIB)
      const long = noise(8 * MIB, 2)
      const last = { start: 7 * MIB, end: 8 * MIB }
      await store.receive(hash(long), sliceOf(long, last), last)
      // If the file system knows holes, the first 7 MiB of this file are a hole.
      expect((await store.info()).bytesOnDisk - empty).to.be.within(4 * MIB, 12 * MIB)
      await store.close()
    } finally {
      await place.remove()
    }
  })
})
