// Records that claim more bytes than there are: a claim takes no memory and no time.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { hash, toCid } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { collect, errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { readRecord, writeAlias, writePath, writeRecord } from '../../support/store/inspect.js'
import { inMemory, newStores, sliceOf } from '../../support/store/stores.js'

const bytes = noise(5 * GROUP + 5, 600)
const root = hash(bytes)
const ID = 4000

/** The outboard of a blob of 2^40 bytes takes 4 GiB, which can be allocated; that of a larger one cannot. */
const SIZES = [2 ** 30, 2 ** 40, 2 ** 52, Number.MAX_SAFE_INTEGER]
/** The most bytes of memory that a call may allocate in one piece. */
const MAX_LEN = 1 << 21

describe('store: a record that claims more bytes than there are', () => {
  const newStore = newStores()

  for (const home of ['extents', 'file', 'reference']) {
    for (const size of SIZES) {
      it(`of ${size} bytes, whole, in ${home}: every call soon reports damage`, async () => {
        const { store, index } = await newStore()
        const claim = () => putRecord(index, { size, home, isWhole: true })
        await claim()
        if (home === 'reference') await writePath(index, ID, '/no such file')
        const alias = await sha256.digest(bytes)
        await writeAlias(index, root, alias.bytes)
        await expectCorrupt(store, home, CID.createV1(0x55, alias), claim)
        await claim()
        expect((await store.missing(root)).isEmpty).to.equal(true)
        expect(await store.stat(root)).to.include({ size, complete: true })
        expect(await listed(store.observe(root))).to.have.length(1)
        expect(await listed(store.list())).to.have.length(1)

        const { damaged, isSound } = await store.fsck()
        expect(isSound).to.equal(false)
        expect(damaged.map(({ cid, size }) => [String(cid), size])).to.deep.equal([[String(toCid(root)), size]])
        await store.fsck({ repair: true })
        expect(await store.fsck()).to.include({ isSound: true })
        expect(await store.has(root)).to.equal(false)
        await store.receive(root, sliceOf(bytes))
        expect(same(await store.bytes(root), bytes)).to.equal(true)
      })
    }
  }

  it('of an unproven size: its present bytes can be read, and the rest is missing', async () => {
    for (const size of SIZES) {
      const { store, index } = await newStore()
      const range = { start: 0, end: GROUP }
      await store.receive(root, sliceOf(bytes, range), range)
      const { id } = await readRecord(index, root)
      await putRecord(index, { id, size })
      expect((await store.stat(root)).present.boundaries).to.deep.equal([0, 16])
      expect(await errorOf(store.bytes(root))).to.include({ code: 'STORE_MISSING' })
      expect(await errorOf(store.outboard(root))).to.include({ code: 'STORE_MISSING' })
      expect((await store.fsck({ repair: true })).damaged.length).to.be.below(2)
      expect(await store.fsck()).to.include({ isSound: true })
      await store.receive(root, sliceOf(bytes))
      expect(same(await store.bytes(root), bytes)).to.equal(true)
    }
  })

  it('with the pages of a shorter blob has a damaged outboard, which takes no memory', async () => {
    for (const size of SIZES) {
      const { store, index } = await newStore()
      await store.put(bytes)
      const { id } = await readRecord(index, root)
      await putRecord(index, { id, size, isWhole: true })
      const error = await errorOf(bounded(() => store.outboard(root)))
      expect(error).to.include({ code: 'STORE_CORRUPT', start: 0 })
      expect(error.len).to.equal(size)
    }
  })

  it('in a file of a store without files is damaged', async () => {
    const place = await inMemory()
    const store = await place.open()
    await putRecord(place.where.index, { size: 2 ** 50, home: 'file', isWhole: true })
    expect((await store.fsck({ repair: true })).damaged).to.have.length(1)
    await store.close()
  })
})

const putRecord = (index, { id = ID, size, home = 'extents', isWhole = false }) => {
  const record = { id, size, sizeProven: isWhole, complete: isWhole, home, created: 1 }
  return writeRecord(index, root, record)
}

/** Runs a call, and checks that it allocates no more than `MAX_LEN` bytes in one piece. */
async function bounded (call) {
  const { Uint8Array: real } = globalThis
  let longest = 0
  globalThis.Uint8Array = new Proxy(real, {
    construct (target, args, newTarget) {
      if (typeof args[0] === 'number') longest = Math.max(longest, args[0])
      return Reflect.construct(target, args, newTarget)
    }
  })
  try {
    return await call()
  } finally {
    globalThis.Uint8Array = real
    expect(longest, 'bytes that were allocated').to.be.at.most(MAX_LEN)
  }
}

/** @param {any} store @param {string} home @param {CID} alias @param {() => Promise<void>} claim */
async function expectCorrupt (store, home, alias, claim) {
  // In a store without files, the bytes of a record in a file are missing.
  const code = home === 'extents' ? 'STORE_CORRUPT' : /^STORE_(CORRUPT|MISSING)$/
  const blocks = asBlockstore(store)
  const calls = {
    bytes: () => store.bytes(root),
    'bytes of a range': () => store.bytes(root, { start: 10, end: 20 }),
    'bytes far from the start': () => store.bytes(root, { start: 2 ** 29, end: 2 ** 29 + 5 }),
    'bytes unverified': () => store.bytes(root, undefined, { verify: false }),
    get: () => collect(store.get(root)),
    stream: () => collect(store.stream(root)),
    slice: () => collect(store.slice(root)),
    'slice of a range': () => collect(store.slice(root, { start: 2 ** 29, end: 2 ** 29 + 5 })),
    outboard: () => store.outboard(root),
    getMany: async () => { throw (await listed(store.getMany([root])))[0].error }
  }
  for (const [name, call] of Object.entries(calls)) {
    await claim() // again, because a read has noted the damage
    const error = await errorOf(bounded(call))
    if (typeof code === 'string') expect(error.code, name).to.equal(code)
    else expect(error.code, name).to.match(code)
    expect(String(error.cid), name).to.equal(String(toCid(root)))
  }
  for (const cid of [toCid(root), alias]) {
    await claim()
    expect((await errorOf(collect(blocks.get(cid)))).code, 'block').to.match(/^STORE_(CORRUPT|NOT_FOUND)$/)
  }
}
