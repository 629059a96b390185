// Wrong arguments: every call of a store refuses them with an error that names the argument.
import { expect } from 'chai'
import { BlobStore } from '../../store/index.js'
import { collect, errorOf, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { expectSlip } from '../support/slips.js'
import { forEachPlace, newStores } from '../support/store/stores.js'

describe('store: arguments', () => {
  forEachPlace(newPlace => {
    let store, cid
    beforeEach(async () => {
      store = await newPlace().then(place => place.open())
      cid = (await store.put(noise(5000))).cid
    })

    it('has() refuses values that do not name a blob', async () => {
      for (const bad of [5, undefined]) await expectSlip('cid', () => store.has(bad))
    })

    it('bytes(), slice() and missing() refuse wrong ranges', async () => {
      for (const bad of [-1, 0.5, NaN, '7', null]) {
        await expectSlip('start', () => store.bytes(cid, { start: bad }))
        await expectSlip('end', () => store.bytes(cid, { end: bad }))
        await expectSlip('start', () => collect(store.slice(cid, { start: bad })))
      }
      const reversed = { start: 5, end: 3 }
      for (const ranges of [reversed, [{ start: 0, end: 1 }, reversed]]) {
        await expectSlip('end', () => store.bytes(cid, ranges), [RangeError])
        await expectSlip('end', () => collect(store.get(cid, ranges)), [RangeError])
        await expectSlip('end', () => collect(store.slice(cid, ranges)), [RangeError])
        await expectSlip('end', () => store.missing(cid, ranges), [RangeError])
      }
      await expectSlip('ranges', () => collect(store.slice(cid, [0, 5])))
      await expectSlip('ranges', () => store.missing(cid, 5))
    })

    it('bytes() and get() refuse values that are not ranges', async () => {
      for (const bad of [10, [10, 20], null, Uint8Array.of(1)]) {
        await expectSlip('ranges', () => store.bytes(cid, bad))
        await expectSlip('ranges', () => collect(store.get(cid, bad)))
      }
    })

    it('getMany() refuses a single CID', async () => {
      for (const bad of [cid, String(cid), cid.bytes, undefined]) {
        await expectSlip('cids', () => listed(store.getMany(bad)))
      }
    })

    it('put() refuses values that are not sources, and pieces that are not bytes', async () => {
      await expectSlip('source', () => store.put(5))
      await expectSlip('source', () => store.put(undefined))
      await expectSlip('piece of the source', () => store.put(['text']))
      expect(await listed(store.list())).to.have.length(1)
    })
  })
})

describe('store: wrong arguments of a call that returns a promise', () => {
  const newStore = newStores()
  const BYTES = noise(100)
  /** Right arguments of each call; the options come last. */
  const CALLS = {
    put: () => [BYTES, {}],
    append: ({ cid }) => [cid, BYTES, {}],
    compose: ({ cid }) => [[{ cid, start: 0, end: 1 }], {}],
    bytes: ({ cid }) => [cid, {}, {}],
    importFile: () => ['nowhere', {}],
    exportFile: ({ cid }) => [cid, 'nowhere', {}],
    resolve: ({ cid }) => [cid, {}],
    source: ({ cid }) => [cid, {}],
    has: ({ cid }) => [cid, {}],
    stat: ({ cid }) => [cid, {}],
    statMany: ({ cid }) => [[cid], {}],
    info: () => [{}],
    delete: ({ cid }) => [cid, {}],
    deleteMany: ({ cid }) => [[cid], {}],
    gc: () => [{}],
    compact: () => [{}],
    receive: ({ cid }) => [cid, BYTES, undefined, {}],
    missing: ({ cid }) => [cid, {}],
    fsck: () => [{}],
    outboard: ({ cid }) => [cid, {}]
  }
  const OTHERS = [
    'constructor', 'putMany', 'getMany', 'get', 'stream', 'list', 'tempTag', 'slice', 'observe', 'watch', 'close',
    'closing', 'location', 'isReadOnly', 'quota', 'verifies', 'syncReads'
  ]

  it('are tested for all calls', () => {
    const names = Object.getOwnPropertyNames(BlobStore.prototype)
    expect(names).to.have.members([...Object.keys(CALLS), ...OTHERS])
  })

  for (const [name, argumentsOf] of Object.entries(CALLS)) {
    it(`${name}() rejects`, async () => {
      const { store } = await newStore()
      const { store: other } = await newStore()
      const { cid } = await store.put(BYTES)
      const right = argumentsOf({ cid, other })
      for (const [at, argument] of right.entries()) {
        for (const wrong of [null, 5]) {
          if (argument === undefined) continue
          const given = right.map((own, i) => i === at ? wrong : own)
          let promise
          expect(() => { promise = store[name](...given) }, `${wrong} as argument ${at}`).to.not.throw()
          expect(promise, `${wrong} as argument ${at}`).to.be.instanceOf(Promise)
          expect(await errorOf(promise), `${wrong} as argument ${at}`).to.be.instanceOf(TypeError)
        }
      }
      expect(await store.has(cid)).to.equal(true)
    })
  }

  for (const [name, given] of Object.entries({
    open: [['nowhere', null], [null, {}]],
    rescue: [['nowhere', null], [null, {}]]
  })) {
    it(`BlobStore.${name}() rejects`, async () => {
      for (const wrong of given) {
        let promise
        expect(() => { promise = BlobStore[name](...wrong) }, wrong).to.not.throw()
        expect(await errorOf(promise), `${wrong}`).to.be.instanceOf(Error)
      }
    })
  }
})
