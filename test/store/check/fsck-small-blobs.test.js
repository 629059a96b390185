// fsck() of many blobs that have only one entry each in the data database.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { GROUP, VIEWS } from '../../support/constants.js'
import { concat, flipped, hex, same } from '../../support/bytes.js'
import { listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import {
  entriesOf, idsIn, isPage, readRecord, recordEntry, scannedIdsIn, writeRecord
} from '../../support/store/inspect.js'
import { newStores } from '../../support/store/stores.js'
import { expectSound } from '../../support/store/mending.js'
describe('store: fsck() of many small blobs', () => {
  const newStore = newStores()

  const COUNT = 1200
  const blobs = Array.from({ length: COUNT }, (_, i) => Uint8Array.of(i, i >> 8, 1))
  let store, data, index, extents
  beforeEach(async () => {
    ({ store, data, index } = await newStore())
    await listed(store.putMany(blobs))
    extents = await entriesOf(data)
  })
  const changedAt = (key, at, byte) => key.map((before, i) => i === at ? byte : before)
  const pageBeside = key => changedAt(changedAt(changedAt(key, 14, 3), 15, 255), 16, 1) // over chunks 0 to 1023

  it('fsck() counts every blob, and reports its progress', async () => {
    const events = []
    expect(await store.fsck({ onProgress: ({ detail }) => events.push(detail) }))
      .to.include({ isSound: true, blobs: COUNT })
    expect(events.at(-1)).to.deep.equal({ done: 3 * COUNT, total: 3 * COUNT, unit: 'bytes' })
  })

  it('fsck() finds each blob that is wrong, too short, too long or lost', async () => {
    await extents[3].put(flipped(extents[3].value, 0))
    await extents[700].put(extents[700].value.subarray(1))
    await extents[1100].put(concat([extents[1100].value, Uint8Array.of(0)]))
    await extents[1190].del()
    const wrong = [3, 700, 1100, 1190].map(i => hex(hash(extents[i].value))).sort()
    for (const repair of [false, true]) {
      const { damaged, strays, orphans } = await store.fsck({ repair })
      expect(damaged.map(({ cid }) => hex(cid.multihash.digest))).to.deep.equal(wrong)
      expect({ strays, orphans }).to.deep.equal({ strays: 0, orphans: 0 })
    }
    expect((await listed(store.list())).filter(({ complete }) => complete)).to.have.length(COUNT - 4)
    await expectSound(store)
  })

  it('fsck() finds a foreign key before or after the extent of a blob', async () => {
    const [first, second, third] = [extents[900], extents[901], extents[1199]]
    await data.put(changedAt(first.key, 15, 5), first.value, VIEWS) // an extent at chunk 5
    await data.put(second.key.subarray(0, 16), second.value, VIEWS) // a key that is too short
    await data.put(changedAt(third.key, 16, 200), third.value, VIEWS) // a key of no known kind
    const wrong = [first, second, third].map(({ value }) => hex(hash(value))).sort()
    for (const repair of [false, true]) {
      const { damaged } = await store.fsck({ repair })
      expect(damaged.map(({ cid, strays }) => `${hex(cid.multihash.digest)} ${strays}`))
        .to.deep.equal(wrong.map(root => `${root} 1`))
    }
    await expectSound(store)
    const left = (await entriesOf(data)).filter(entry => !isPage(entry)) // A repair may write a page for a blob.
    expect(left.map(({ key }) => hex(key))).to.deep.equal(extents.map(({ key }) => hex(key)))
  })

  it('fsck() accepts the page of a small blob that came in a slice', async () => {
    await data.put(pageBeside(extents[12].key), new Uint8Array(8), VIEWS)
    await expectSound(store)
  })

  it('fsck() finds orphans between other blobs', async () => {
    for (const i of [0, 1, 1050, 1199]) await recordEntry(index, hash(extents[i].value)).remove()
    expect(await store.fsck()).to.include({ orphans: 4, blobs: COUNT - 4 })
    expect(await store.fsck({ repair: true })).to.include({ orphans: 4 })
    await expectSound(store)
    expect(await entriesOf(data)).to.have.length(COUNT - 4)
  })

  it('fsck() finds two records that share the data of one blob', async () => {
    const [one, other] = [extents[20], extents[21]].map(({ value }) => hash(value))
    await writeRecord(index, other, await readRecord(index, one))
    const found = await store.fsck({ repair: true })
    expect(found.damaged.map(({ cid }) => hex(cid.multihash.digest))).to.deep.equal([hex(hash(extents[21].value))])
    expect(found).to.include({ orphans: 1 })
    expect(same(await store.bytes(hash(extents[20].value)), extents[20].value)).to.equal(true)
    await expectSound(store)
  })

  it('the scan of ids tells large blobs from small ones', async () => {
    const large = noise(40 * GROUP, 5)
    await store.put(large)
    await store.put(Uint8Array.of(1, 2, 3, 4))
    const ids = await scannedIdsIn(data)
    expect(ids.map(({ id }) => id)).to.deep.equal(await idsIn(data))
    expect(ids.filter(({ isAlone }) => !isAlone)).to.have.length(1)
  })
})
