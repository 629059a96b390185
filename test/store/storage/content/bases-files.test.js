// Which entries of shared files a store keeps in memory.
import { expect } from 'chai'
import { MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { databasesOf, knowsBase, recordOf } from '../../../support/store/inspect.js'
import { ALL, expectSound, grow, lensOfFiles, part, rootOf } from '../../../support/store/sharers.js'
import { gated, onDisk } from '../../../support/store/stores.js'

const SIZES = [MIB + 5, MIB + 90_000, 2 * MIB]

describe('store: a base in memory', () => {
  let place, store
  beforeEach(async () => {
    place = await onDisk()
    store = await place.open()
  })
  afterEach(() => place.remove())

  it('is forgotten with the last blob, however the blobs are deleted', async () => {
    for (const deleteAll of [
      async () => { for (const size of SIZES) await store.delete(rootOf(size)) },
      () => store.deleteMany(SIZES.map(rootOf)),
      () => Promise.all(SIZES.map(size => store.delete(rootOf(size)))),
      () => store.gc()
    ]) {
      await grow(store, SIZES)
      const { base } = await recordOf(store, rootOf(SIZES[0]))
      expect(knowsBase(store, base)).to.equal(true)
      await deleteAll()
      expect(knowsBase(store, base)).to.equal(false)
      expect(await lensOfFiles(store)).to.deep.equal([])
    }
  })

  it('is forgotten when an append ends without sharing the file', async () => {
    const [first] = SIZES
    await store.put(part(first))
    const { id } = await recordOf(store, rootOf(first))
    const source = (async function * () { throw new Error('enough') })()
    expect(await errorOf(store.append(rootOf(first), source))).to.have.property('message', 'enough')
    const { base } = await recordOf(store, rootOf(first))
    expect(base).to.equal(id)
    expect(knowsBase(store, base)).to.equal(true)
    await store.delete(rootOf(first))
    expect(knowsBase(store, base)).to.equal(false)
  })

  it('stays until an append ends, if all its blobs are deleted during it, and then goes with its bytes', async () => {
    const [first, next] = SIZES
    await store.put(part(first))
    const gate = gated([ALL.subarray(first, first + 1000)], [ALL.subarray(first + 1000, next)])
    const appending = errorOf(store.append(rootOf(first), gate.source))
    await gate.reached
    const { base } = await recordOf(store, rootOf(first))
    await store.delete(rootOf(first), { force: true })
    gate.open()
    expect(await appending).to.include({ code: 'STORE_NOT_FOUND' })
    expect(knowsBase(store, base)).to.equal(false)
    expect(await lensOfFiles(store)).to.deep.equal([])
    await expectSound(store)
  })

  it('is forgotten when all blobs are deleted during an append, although its bytes cannot be deleted', async () => {
    const [first, next] = SIZES
    await store.put(part(first))
    const gate = gated([ALL.subarray(first, first + 1000)], [ALL.subarray(first + 1000, next)])
    const appending = errorOf(store.append(rootOf(first), gate.source))
    await gate.reached
    const { base } = await recordOf(store, rootOf(first))
    await store.delete(rootOf(first), { force: true })
    databasesOf(store).files.remove = async () => { throw new Error('not today') }
    gate.open()
    expect(await appending).to.include({ code: 'STORE_NOT_FOUND' })
    expect(knowsBase(store, base)).to.equal(false)
  })
})
