// The pages of a blob whose subtrees are hashed in any order are those of a blob that is hashed from its start.
import { expect } from 'chai'
import fc from 'fast-check'
import { HASH_MODE } from '../../../../lib/engine/mode.js'
import { closeWorkers } from '../../../../lib/index.js'
import { hashSource } from '../../../../lib/parallel/hash-source.js'
import { offsetOfExtent } from '../../../../store/storage/format/keys.js'
import { IncomingBlob } from '../../../../store/write/incoming-blob.js'
import { PageWriter } from '../../../../store/write/import/page-writer.js'
import { hex } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { holds } from '../../../support/property.js'

const ID = 7
const [GROUP_LOG, SPAN_LEN] = [4, 4 * GROUP]

/** Replaces the data database: it keeps the last value of each page. */
function fakeData () {
  const values = new Map()
  return {
    values,
    batches: 0,
    async batch (puts) {
      if (puts.length > 0) this.batches++
      for (const { key, value } of puts) if (offsetOfExtent(key) === undefined) values.set(hex(key), hex(value))
    }
  }
}

async function pagesOfPut (bytes) {
  const data = fakeData()
  const blob = new IncomingBlob({ data, extentLen: GROUP }, ID)
  for (let at = 0; at < bytes.length; at += MIB) await blob.write(bytes.subarray(at, at + MIB))
  const root = hex(blob.root())
  await blob.finish()
  return { root, pages: data.values }
}

async function pagesOfHashing (bytes, { each, ...options }) {
  const data = fakeData()
  const writer = new PageWriter(data, ID, { each })
  const outboard = { groupLog: GROUP_LOG, order: 'pre', writer }
  const { root, size } = await hashSource(bytes, { mode: HASH_MODE, outboard, type: 'baobox:put', ...options })
  expect(size).to.equal(bytes.length)
  await writer.finish({ sync: false })
  return { root: hex(root), pages: data.values, batches: data.batches }
}

const inSharedMemory = bytes => {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  return shared
}

describe('pages of a file that is hashed', () => {
  after(closeWorkers)

  it('fail when the write of any batch fails, also while several threads wait to write theirs', async () => {
    const fault = new Error('no space')
    for (let failing = 0; failing < 4; failing++) {
      const writes = /** @type {(() => void)[]} */ ([])
      let count = 0
      const batch = () => new Promise((resolve, reject) => {
        const end = count++ === failing ? () => reject(fault) : resolve
        writes.push(() => setTimeout(end))
      })
      const writer = new PageWriter({ batch }, ID, { each: 64 })
      const flushes = []
      for (let start = 0; start < 4 * 128; start += 128) {
        writer.putSubtree(start, 128, new Uint8Array(7 * 64))
        flushes.push(writer.flush())
      }
      const going = setInterval(() => { for (const end of writes.splice(0)) end() })
      const error = await errorOf(Promise.all([...flushes, writer.finish({ sync: true })]))
      clearInterval(going)
      expect(error, `batch ${failing}`).to.equal(fault)
    }
  })

  it('are those of a put, on one thread and on several, also when some are written early', async () => {
    const bytes = inSharedMemory(noise(9 * MIB, 551))
    const sizes = fc.oneof(fc.constantFrom(0, 1, GROUP, GROUP + 1, 64 * GROUP, 64 * GROUP + 1), fc.nat(bytes.length))
    const numbers = fc.record({ threads: fc.constantFrom(1, 2, 3), each: fc.constantFrom(16, 1000, 4000, undefined) })
    const assertSame = async (size, options) => {
      const part = bytes.subarray(0, size)
      const { batches, ...hashed } = await pagesOfHashing(part, { spanLen: SPAN_LEN, ...options })
      expect(hashed).to.deep.equal(await pagesOfPut(part))
      return batches
    }
    await holds('pages of a file that is hashed', fc.asyncProperty(sizes, numbers, async (size, options) => {
      await assertSame(size, options)
    }), 40)
    expect(await assertSame(bytes.length, { threads: 1, each: 16 }), 'batches').to.be.above(2)
  })
})
