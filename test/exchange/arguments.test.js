// Functions that move blobs refuse wrong arguments by a rejection, and never by throwing.
import { expect } from 'chai'
import { download, downloadFile } from '../../exchange/download/index.js'
import { copy, importCar } from '../../exchange/transfer/index.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { newStores } from '../support/store/stores.js'

const BYTES = noise(100)
/** Valid arguments of each function. The options are the last one. */
const CALLS = new Map([
  [download, ({ store, cid }) => [store, cid, { from: [] }]],
  [copy, ({ store, other }) => [store, other, {}]],
  [downloadFile, ({ cid }) => [cid, 'nowhere', { from: [] }]],
  [importCar, ({ store }) => [store, BYTES, {}]]
])

describe('functions that move blobs', () => {
  const newStore = newStores()

  for (const [call, argumentsOf] of CALLS) {
    it(`${call.name}() rejects wrong arguments`, async () => {
      const { store } = await newStore()
      const { store: other } = await newStore()
      const { cid } = await store.put(BYTES)
      const right = argumentsOf({ store, other, cid })
      for (const at of right.keys()) {
        for (const wrong of [null, 5]) {
          const given = right.map((own, i) => i === at ? wrong : own)
          let promise
          expect(() => { promise = call(...given) }, `${wrong} as argument ${at}`).to.not.throw()
          expect(promise, `${wrong} as argument ${at}`).to.be.instanceOf(Promise)
          expect(await errorOf(promise), `${wrong} as argument ${at}`).to.be.instanceOf(Error)
        }
      }
      expect(await store.has(cid)).to.equal(true)
    })
  }
})
