// A blob that is received into a file when the disk is full: what came before is kept.
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { partsOf } from '../../store/blobs.js'
import { BlobFolder } from '../../store/disk.node.js'
import { same } from '../support/bytes.js'
import { errorOf, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { onDisk, sliceOf } from '../support/stores.js'

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
    const { writer } = BlobFolder.prototype
    restore = () => { BlobFolder.prototype.writer = writer }
    BlobFolder.prototype.writer = async function (id) {
      const file = await writer.call(this, id)
      const { write } = file
      file.write = function (pieces, position) {
        bytes -= pieces.reduce((len, { length }) => len + length, 0)
        if (bytes < 0) return Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
        return write.call(this, pieces, position)
      }
      return file
    }
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
