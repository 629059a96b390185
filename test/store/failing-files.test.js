// A blob that is received into a file when the disk is full: what came before is kept.
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { partsOf } from '../../store/blobs.js'
import { same } from '../support/bytes.js'
import { errorOf, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { expectNoOrphans, gated, onDisk, sliceOf } from '../support/stores.js'
import { meddle } from '../support/writers.js'

const MIB = 1 << 20

describe('store: a blob that is received into a file while a write fails', () => {
  let place
  let restore
  beforeEach(async () => { place = await onDisk() })
  afterEach(async () => {
    restore?.()
    await place.remove()
  })

  /** Files take so many bytes, all together. */
  function room (bytes) {
    restore = meddle({
      write (go, pieces) {
        bytes -= pieces.reduce((len, { length }) => len + length, 0)
        return bytes < 0 ? Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })) : go()
      }
    })
  }

  for (const durability of ['sync', 'process']) {
    it(`what came before the disk was full is kept, with durability '${durability}'`, async () => {
      const bytes = noise(24 * MIB, 12)
      const slice = sliceOf(bytes)
      const store = await place.open({ durability })
      room(13 * MIB)
      expect(await errorOf(store.receive(hash(bytes), stream([slice])))).to.include({ code: 'STORE_FULL' })
      restore()
      const { present } = await store.stat(hash(bytes))
      const len = present.toBytes(bytes.length).reduce((sum, [start, end]) => sum + end - start, 0)
      expect(len).to.be.within(8 * MIB, 13 * MIB)
      for (const [start, end] of present.toBytes(bytes.length)) expect(same(await store.bytes(hash(bytes), { start, end }), bytes.subarray(start, end))).to.equal(true)
      const missing = await store.missing(hash(bytes))
      expect(await store.receive(hash(bytes), sliceOf(bytes, missing), missing)).to.include({ received: bytes.length - len, complete: true })
      expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    })
  }

  it('what is in the file is kept when pages could not be read at the first attempt', async () => {
    const bytes = noise(3 * MIB, 14)
    const reason = new Error('the disk is slow')
    const store = await place.open()
    const { data } = partsOf(store).databases
    const { getMany } = data
    data.getMany = () => {
      data.getMany = getMany
      return Promise.reject(reason)
    }
    expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes)))).to.equal(reason)
    expect(await store.has(hash(bytes))).to.equal(true)
    expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
  })

  it('what fits into no file leaves nothing', async () => {
    const bytes = noise(3 * MIB, 15)
    const store = await place.open()
    room(0)
    expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes)))).to.include({ code: 'STORE_FULL' })
    expect(await errorOf(store.stat(hash(bytes)))).to.include({ code: 'STORE_NOT_FOUND' })
    await store.close()
    await expectNoOrphans(place)
  })

  it('a slice that fails takes nothing from another that has brought bytes to the same file', async () => {
    const bytes = noise(8 * MIB, 16)
    const root = hash(bytes)
    const slice = sliceOf(bytes)
    const store = await place.open()
    const { data } = partsOf(store).databases
    const gate = gated([slice.subarray(0, 5 * MIB)], [slice.subarray(5 * MIB)])
    const receiving = store.receive(root, gate.source)
    await gate.reached
    const { batch } = data
    const reason = new Error('the disk is full')
    data.batch = () => Promise.reject(reason)
    const range = { start: 7 * MIB }
    expect(await errorOf(store.receive(root, sliceOf(bytes, range), range))).to.equal(reason)
    data.batch = batch
    gate.open()
    expect(await receiving).to.deep.equal({ received: bytes.length, complete: true })
    expect(same(await store.bytes(root), bytes)).to.equal(true)
  })

  it('what is in the file is kept when the pages that say so are written at the second attempt', async () => {
    const bytes = noise(3 * MIB, 13)
    const reason = new Error('the disk is full')
    const store = await place.open()
    const { data } = partsOf(store)
    const { batch } = data
    data.batch = () => {
      data.batch = batch
      return Promise.reject(reason)
    }
    expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes)))).to.equal(reason)
    expect(await store.has(hash(bytes))).to.equal(true)
    expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
  })
})
