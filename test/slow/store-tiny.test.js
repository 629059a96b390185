// Tests a hundred thousand blobs of a few bytes: all are present after the store is opened again, fsck checks all of
// them, and gc deletes them.
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { hex } from '../support/bytes.js'
import { atEffort } from '../support/effort.js'
import { onDisk } from '../support/store/stores.js'

const COUNT = Number(process.env.COUNT ?? atEffort(100_000))
/** @param {number} i */
const blobOf = i => new TextEncoder().encode(`blob ${i}`)

function * all (of) {
  for (let i = 0; i < COUNT; i++) yield of(i)
}

describe('store: tiny blobs', () => {
  let place
  before(async () => { place = await onDisk() })
  after(() => place.remove())

  it(`${COUNT} of them are read, checked and collected`, async function () {
    this.timeout(1_800_000)
    let store = await place.open()
    let news = 0
    for await (const { isNew } of store.putMany(all(blobOf))) news += isNew ? 1 : 0
    expect(news).to.equal(COUNT)
    await store.tags.set('kept', hash(blobOf(7)))
    await store.close()

    store = await place.open()
    let i = 0
    for await (const { bytes } of store.getMany(all(i => hash(blobOf(i))))) {
      if (hex(bytes) !== hex(blobOf(i++))) expect.fail(`blob ${i - 1} is wrong`)
    }
    expect(i).to.equal(COUNT)
    expect(await store.fsck()).to.include({ isSound: true, blobs: COUNT })
    expect((await store.gc()).blobs).to.equal(COUNT - 1)
    expect(await store.fsck()).to.include({ isSound: true, blobs: 1 })
    expect(await store.bytes(hash(blobOf(7)))).to.deep.equal(blobOf(7))
  })
})
