// Arguments that no call of a store takes. Each is refused with an error that names the argument.
import { expect } from 'chai'
import { collect, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { expectSlip } from '../support/slips.js'
import { forEachPlace } from '../support/store/stores.js'

describe('store: arguments', () => {
  forEachPlace(newPlace => {
    let store, cid
    beforeEach(async () => {
      store = await newPlace().then(place => place.open())
      cid = (await store.put(noise(5000))).cid
    })

    it('has() refuses what is no name of a blob', async () => {
      for (const bad of [5, undefined]) await expectSlip('cid', () => store.has(bad))
    })

    it('bytes(), slice() and missing() refuse ranges that are none', async () => {
      for (const bad of [-1, 0.5, NaN, '7', null]) {
        await expectSlip('start', () => store.bytes(cid, { start: bad }))
        await expectSlip('end', () => store.bytes(cid, { end: bad }))
        await expectSlip('start', () => collect(store.slice(cid, { start: bad })))
      }
      await expectSlip('ranges', () => collect(store.slice(cid, [0, 5])))
      await expectSlip('ranges', () => store.missing(cid, 5))
    })

    it('bytes() and get() refuse what is no range', async () => {
      for (const bad of [10, [10, 20], null, Uint8Array.of(1)]) {
        await expectSlip('range', () => store.bytes(cid, bad))
        await expectSlip('range', () => collect(store.get(cid, bad)))
      }
    })

    it('getMany() refuses a single CID', async () => {
      for (const bad of [cid, String(cid), cid.bytes, undefined]) {
        await expectSlip('cids', () => listed(store.getMany(bad)))
      }
    })

    it('put() refuses what is no source, and pieces that are no bytes', async () => {
      await expectSlip('source', () => store.put(5))
      await expectSlip('source', () => store.put(undefined))
      await expectSlip('piece of the source', () => store.put(['text']))
      expect(await listed(store.list())).to.have.length(1)
    })
  })
})
