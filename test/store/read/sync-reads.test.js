// Synchronous reads, which block the calling thread.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { same } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { databasesOf } from '../../support/store/inspect.js'
import { onDisk } from '../../support/store/stores.js'

const SMALL = noise(5000, 41)
const IN_FILE = noise((1 << 20) + 5, 42)

describe('store: synchronous reads', () => {
  let place
  beforeEach(async () => { place = await onDisk() })
  afterEach(() => place.remove())

  /** Reads a record, small blobs and parts of a file, and counts the synchronous reads. */
  async function syncReadsOf (options) {
    const store = await place.open(options)
    for (const bytes of [SMALL, IN_FILE]) await store.put(bytes)
    const { index, data, files } = databasesOf(store)
    let count = 0
    for (const [on, method] of [[index, 'getSync'], [data, 'getSync'], [files, 'readNow']]) {
      const original = on[method]
      on[method] = (...args) => {
        count++
        return original.apply(on, args)
      }
    }
    for (let i = 0; i < 5; i++) {
      expect(same(await store.bytes(hash(SMALL)), SMALL)).to.equal(true)
      const range = { start: 70_000 * i, end: 70_000 * i + 100 }
      expect(same(await store.bytes(hash(IN_FILE), range), IN_FILE.subarray(range.start, range.end))).to.equal(true)
    }
    await store.close()
    return count
  }

  it('are made where they are quick', async () => {
    expect(await syncReadsOf()).to.be.above(0)
  })

  it('are never made with syncReads: false', async () => {
    expect(await syncReadsOf({ syncReads: false })).to.equal(0)
  })
})
