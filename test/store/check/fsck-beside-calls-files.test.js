// fsck({ repair: true }) of blobs that share a file, while a call deletes one of them.
import { expect } from 'chai'
import { same } from '../../support/bytes.js'
import { MIB } from '../../support/constants.js'
import { databasesOf, isSharerKey, recordEntry, recordOf, sharerEntry } from '../../support/store/inspect.js'
import { expectSound, grow, lensOfFiles, part, rootOf } from '../../support/store/sharers.js'
import { onDisk } from '../../support/store/stores.js'

describe('store: fsck() of blobs that share a file, beside other calls', () => {
  const [SHORT, LONG] = [MIB + 5, MIB + 90_000]
  let place
  beforeEach(async () => { place = await onDisk() })
  afterEach(() => place.remove())

  /** Makes a store with two blobs in one file. @param {(index: object, base: number) => Promise<void>} damage */
  const damagedStore = async damage => {
    const store = await place.open()
    await grow(store, [SHORT, LONG])
    const { base } = await recordOf(store, rootOf(LONG))
    await store.close()
    await place.look(({ index }) => damage(index, base))
    return place.open()
  }
  /** Runs an action just before the first write of a sharer's entry. */
  const beforeWrite = (store, action) => {
    const { index } = databasesOf(store)
    for (const method of ['put', 'del', 'batch']) {
      const write = index[method]
      index[method] = async (...args) => {
        const keys = method === 'batch' ? args[0].map(({ key }) => key) : [args[0]]
        if (keys.some(isSharerKey)) {
          index[method] = write
          await action()
        }
        return write.apply(index, args)
      }
    }
  }

  it('the bytes stay while fsck() writes the lost entry of one, and the other is deleted', async () => {
    const store = await damagedStore((index, base) => sharerEntry(index, base, SHORT).remove())
    let isDeleted = false
    beforeWrite(store, async () => {
      if (!isDeleted) {
        isDeleted = true
        await store.delete(rootOf(LONG))
      }
    })
    await store.fsck({ repair: true })
    expect(isDeleted).to.equal(true)
    expect(same(await store.bytes(rootOf(SHORT)), part(SHORT))).to.equal(true)
    expect(await lensOfFiles(store)).to.deep.equal([SHORT])
    await expectSound(store)
  })

  it('the file goes when the last one is deleted while fsck() drops the entry of one without a record', async () => {
    const store = await damagedStore(index => recordEntry(index, rootOf(LONG)).remove())
    let isDeleted = false
    beforeWrite(store, async () => {
      if (!isDeleted) {
        isDeleted = true
        await store.delete(rootOf(SHORT))
      }
    })
    await store.fsck({ repair: true })
    expect(isDeleted).to.equal(true)
    expect(await lensOfFiles(store)).to.deep.equal([])
    await expectSound(store)
  })
})
