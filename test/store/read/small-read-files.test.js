// Small reads of blobs in files: the same as in small-read.test.js.
import { open, rm, truncate } from 'node:fs/promises'
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { databasesOf } from '../../support/store/inspect.js'
import { onDisk, sliceOf } from '../../support/store/stores.js'

const BYTES = noise((1 << 20) + 5 * GROUP + 99, 64)
const ROOT = hash(BYTES)
const RANGE = { start: 7 * GROUP, end: 8 * GROUP }

describe('store: small reads of blobs in files', () => {
  let place
  let store
  let path
  beforeEach(async () => {
    place = await onDisk()
    store = await place.open()
    await store.put(BYTES)
    path = `${place.where}/blobs/0`
    for (let i = 0; i < 2; i++) await expectRight(RANGE) // Now the file is open, and the pairs are trusted.
  })
  afterEach(() => place.remove())

  const expectRight = async (range, options) =>
    expect(same(await store.bytes(ROOT, range, options), BYTES.subarray(range.start, range.end)), `${range.start}`)
      .to.equal(true)

  const write = async (bytes, position) => {
    const file = await open(path, 'r+')
    await file.write(bytes, 0, bytes.length, position)
    await file.close()
  }

  it('give the right bytes at any position, of any length', async () => {
    for (let start = 0; start < BYTES.length; start += 50_003) {
      for (const len of [1, GROUP, 5 * GROUP - 1, 9 * GROUP, 18 * GROUP]) {
        const range = { start, end: Math.min(start + len, BYTES.length) }
        await expectRight(range)
        await expectRight(range, { verify: false })
      }
    }
    await expectRight({ start: BYTES.length - 10, end: BYTES.length })
    expect(await store.bytes(ROOT, { start: BYTES.length, end: BYTES.length + 10 })).to.have.length(0)
  })

  it('find damage that came after an earlier read, and the received bytes that heal it', async () => {
    await write(Uint8Array.of(BYTES[RANGE.start + 9] ^ 1), RANGE.start + 9)
    expect(same(await store.bytes(ROOT, RANGE, { verify: false }), BYTES.subarray(RANGE.start, RANGE.end)))
      .to.equal(false)
    expect(await errorOf(store.bytes(ROOT, RANGE)))
      .to.include({ code: 'STORE_CORRUPT', start: RANGE.start, len: GROUP })
    await expectRight({ start: RANGE.end, end: RANGE.end + 1 })
    expect(await errorOf(store.bytes(ROOT, RANGE))).to.include({ code: 'STORE_MISSING' })
    await expectRight({ start: RANGE.end, end: RANGE.end + 1 })
    await store.receive(ROOT, sliceOf(BYTES))
    await expectRight(RANGE)
  })

  it('of a partial blob never give missing bytes', async () => {
    const other = noise(BYTES.length, 65)
    const here = { start: 0, end: GROUP }
    await store.receive(hash(other), sliceOf(other, here), here)
    for (const verify of [true, false]) {
      expect(same(await store.bytes(hash(other), here, { verify }), other.subarray(0, GROUP))).to.equal(true)
      expect(await errorOf(store.bytes(hash(other), RANGE, { verify }))).to.include({ code: 'STORE_MISSING' })
    }
    // The file has later bytes by now, but they are not present either.
    const later = { start: 20 * GROUP, end: 21 * GROUP }
    await store.receive(hash(other), sliceOf(other, later), later)
    expect(await errorOf(store.bytes(hash(other), RANGE, { verify: false }))).to.include({ code: 'STORE_MISSING' })
  })

  it('fail with STORE_CORRUPT when the file has become too short', async () => {
    await truncate(path, RANGE.start + 5)
    for (const verify of [false, true]) {
      expect(await errorOf(store.bytes(ROOT, RANGE, { verify }))).to.include({ code: 'STORE_CORRUPT' })
    }
    expect(await errorOf(store.bytes(ROOT, RANGE)), 'after the damage is noted').to.include({ code: 'STORE_MISSING' })
    await expectRight({ start: RANGE.start - GROUP, end: RANGE.start })
  })

  it('fail with a code when the blob is deleted, and no longer read its file', async () => {
    await store.delete(ROOT)
    expect(await errorOf(store.bytes(ROOT, RANGE))).to.include({ code: 'STORE_NOT_FOUND' })
    await store.put(BYTES)
    await expectRight(RANGE)
    await store.close()
    store = await place.open()
    await rm(`${place.where}/blobs/1`)
    expect(await errorOf(store.bytes(ROOT, RANGE))).to.include({ code: 'STORE_CORRUPT' })
  })

  it('of files that are not open are not synchronous', async () => {
    const { files } = databasesOf(store)
    const { readNow } = files
    let tried = 0
    files.readNow = (...args) => {
      tried++
      return readNow.apply(files, args)
    }
    for (let i = 0; i < 10; i++) {
      files.forget(0)
      await expectRight(RANGE)
    }
    expect(tried).to.equal(0)
    for (let i = 0; i < 1000; i++) if (tried === 0) await expectRight(RANGE)
    expect(tried, 'once the file is open').to.equal(1)
  })

  it('during close() give right bytes, or fail with a code', async () => {
    const reading = Array.from({ length: 50 }, async (_, i) => {
      const start = i * GROUP
      const got = await errorOf(
        store.bytes(ROOT, { start, end: start + GROUP }).then(
          bytes => expect(same(bytes, BYTES.subarray(start, start + GROUP))).to.equal(true)
        )
      )
      if (got !== undefined) expect(got).to.include({ code: 'STORE_CLOSED' })
    })
    await store.close()
    await Promise.all(reading)
  })
})
