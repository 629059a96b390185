// A power cut leaves of each database everything up to the last synced write.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { deletionEntry, extentEntry, idsIn, noteDeletion, recordsIn } from '../../../support/store/inspect.js'
import { noise } from '../../../support/inputs.js'
import { same } from '../../../support/bytes.js'
import { SyncedLevel } from '../../../support/store/synced-level.js'

const kept = noise(3000, 1)
const blobs = Array.from({ length: 30 }, (_, i) => noise(100 + 9000 * i, i + 2))

describe('store: a power cut', () => {
  let pair
  let store
  beforeEach(async () => {
    pair = { index: new SyncedLevel(), data: new SyncedLevel() }
    store = await BlobStore.open(pair)
    await store.put(kept, { tag: 'kept' })
    for (const bytes of blobs) await store.put(bytes)
    await store.close() // recovery after a crash does not look at earlier ids
    store = await BlobStore.open(pair)
  })
  afterEach(() => store.close())

  /** Opens the databases as a power cut leaves them. */
  async function cutPower () {
    pair = { index: await pair.index.afterPowerCut(), data: await pair.data.afterPowerCut() }
    store = await BlobStore.open(pair)
  }

  const expectNoOrphans = async () => {
    const records = await recordsIn(pair.index)
    expect(await idsIn(pair.data)).to.deep.equal(records.map(({ id }) => id).sort((a, b) => a - b))
    expect(await store.fsck()).to.include({ isSound: true })
  }

  for (const [what, remove] of Object.entries({
    'a delete': async () => { for (const bytes of blobs) await store.delete(hash(bytes)) },
    'a collection': () => store.gc()
  })) {
    it(`leaves no orphans of ${what}`, async () => {
      await remove()
      await store.tags.set('later', hash(kept)) // syncs all earlier writes of the index
      await cutPower()
      await expectNoOrphans()
      expect(same(await store.bytes(hash(kept)), kept)).to.equal(true)
      for (const bytes of blobs) expect(await store.has(hash(bytes))).to.equal(false)
    })
  }

  it('costs no blob that was put again after its deletion', async () => {
    const bytes = blobs[5]
    await store.delete(hash(bytes))
    await store.put(bytes)
    await cutPower()
    expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    expect(await store.fsck()).to.include({ isSound: true })
  })

  for (const [what, hasNote, collect] of [
    ['a collection deletes data without a record', false, () => store.gc()],
    ['a collection deletes data whose deletion was begun', true, () => store.gc()],
    ['compacting deletes data without a record', false, () => store.compact()]
  ]) {
    it(what, async () => {
      await store.delete(hash(blobs[2]))
      for (const bytes of blobs) if (await store.has(hash(bytes))) await store.tags.set(`${bytes.length}`, hash(bytes))
      const recorded = (await recordsIn(pair.index)).map(({ id }) => id)
      const deleted = Array.from({ length: 31 }, (_, id) => id).find(id => !recorded.includes(id))
      await extentEntry(pair.data, deleted, 0).write(noise(100, 3))
      if (hasNote) await noteDeletion(pair.index, deleted)
      else await deletionEntry(pair.index, deleted).remove()
      expect(await idsIn(pair.data)).to.include(deleted)
      await collect()
      await expectNoOrphans()
      expect(same(await store.bytes(hash(kept)), kept)).to.equal(true)
    })
  }
})
