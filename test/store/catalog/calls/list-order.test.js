// The options of list(): after a blob, a limit, both directions, and the order of a time.
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { hex } from '../../../support/bytes.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { expectSlip } from '../../../support/slips.js'
import { damageRecord, listInWalks } from '../../../support/store/inspect.js'
import { forEachPlace, newStores } from '../../../support/store/stores.js'

const BLOBS = Array.from({ length: 40 }, (_, i) => Uint8Array.of(i, 5))
const namesOf = stats => stats.map(({ cid }) => hex(cid.multihash.digest))

/** Waits for the next millisecond of the clock. */
const tick = () => { for (const before = Date.now(); Date.now() === before;); }

/** A store of blobs that were put one by one, and used in another order. */
async function filled (store) {
  const created = []
  for (const bytes of BLOBS) {
    tick()
    created.push(hex((await store.put(bytes)).cid.multihash.digest))
  }
  const used = BLOBS.map((_, i) => created[(i * 7) % BLOBS.length])
  for (const name of used) {
    tick()
    await store.bytes(name)
  }
  return { hash: [...created].sort(), created, used }
}

describe('store: list() in an order', () => {
  forEachPlace(newPlace => {
    it('every order begins after any blob, ends at any length, and goes in both directions', async () => {
      const place = await newPlace()
      let store = await place.open()
      const orders = await filled(store)
      for (const isReopened of [false, true]) {
        for (const [order, names] of Object.entries(orders)) {
          for (const reverse of [false, true]) {
            const all = reverse ? [...names].reverse() : names
            const what = `${order} ${reverse} ${isReopened}`
            expect(namesOf(await listed(store.list({ order, reverse }))), what).to.deep.equal(all)
            for (const limit of [0, 1, 7, 40, 41]) {
              const some = await listed(store.list({ order, reverse, maxBlobs: limit }))
              expect(namesOf(some), what).to.deep.equal(all.slice(0, limit))
            }
            for (const at of [0, 1, 20, 38, 39]) {
              const rest = await listed(store.list({ order, reverse, after: all[at], maxBlobs: 5 }))
              expect(namesOf(rest), `${what} after ${at}`).to.deep.equal(all.slice(at + 1, at + 6))
            }
          }
        }
        await store.close()
        store = await place.open()
      }
    })

    it('a prefix goes with every other option', async () => {
      const store = await newPlace().then(place => place.open())
      const orders = await filled(store)
      for (const [order, names] of Object.entries(orders)) {
        for (const prefix of '0123456789abcdef') {
          const some = names.filter(name => name.startsWith(prefix))
          expect(namesOf(await listed(store.list({ order, prefix, reverse: true })))).to.deep.equal([...some].reverse())
          for (const after of [orders.hash[0], orders.hash[39]]) {
            if (order !== 'hash') continue
            const rest = await listed(store.list({ prefix, after }))
            expect(namesOf(rest)).to.deep.equal(some.filter(name => name > after))
            const before = await listed(store.list({ prefix, after, reverse: true }))
            expect(namesOf(before)).to.deep.equal(some.filter(name => name < after).reverse())
          }
        }
      }
    })

    it('walks that keep few blobs in memory give the same list', async () => {
      const store = await newPlace().then(place => place.open())
      const orders = await filled(store)
      for (const order of ['created', 'used']) {
        for (const kept of [1, 3, 13, 40]) {
          for (const reverse of [false, true]) {
            const all = reverse ? [...orders[order]].reverse() : orders[order]
            expect(namesOf(await listed(listInWalks(store, { reverse }, { order, kept })))).to.deep.equal(all)
          }
        }
      }
    })

    it('blobs that were created at the same time are in the order of their hashes', async () => {
      const store = await newPlace().then(place => place.open())
      await listed(store.putMany(BLOBS))
      const names = namesOf(await listed(store.list()))
      expect(namesOf(await listed(listInWalks(store, {}, { order: 'created', kept: 7 })))).to.deep.equal(names)
    })
  })

  const newStore = newStores()

  it('a list can begin after a deleted blob in the order of hashes, and in no other order', async () => {
    const { store } = await newStore()
    const { hash: names } = await filled(store)
    await store.delete(names[5])
    expect(namesOf(await listed(store.list({ after: names[5] })))).to.deep.equal(names.slice(6))
    for (const order of ['created', 'used']) {
      const error = await errorOf(listed(store.list({ order, after: names[5] })))
      expect(error).to.include({ code: 'STORE_NOT_FOUND' })
    }
  })

  it('blobs that are deleted during the list are left out, and the limit counts others', async () => {
    const { store } = await newStore()
    const { created } = await filled(store)
    const list = listInWalks(store, {}, { order: 'created', kept: 10, limit: 35 })
    const seen = [(await list.next()).value]
    await store.deleteMany([created[30], created[15], created[39]])
    for await (const stat of list) seen.push(stat)
    expect(namesOf(seen).slice(0, 20)).to.deep.equal(created.slice(0, 21).filter(name => name !== created[15]))
    expect(namesOf(seen)).to.not.include.members([created[30], created[39]])
  })

  it('a damaged record is an error after all others were given', async () => {
    const { store, index } = await newStore()
    const { created } = await filled(store)
    await damageRecord(index, hash(BLOBS[3]))
    for (const order of ['hash', 'created', 'used']) {
      const seen = []
      const error = await errorOf((async () => { for await (const stat of store.list({ order })) seen.push(stat) })())
      expect(error).to.include({ code: 'STORE_CORRUPT' })
      expect(`${error.cid}`).to.equal(`${toCid(hash(BLOBS[3]))}`)
      expect(namesOf(seen)).to.have.members(created.filter((_, i) => i !== 3))
    }
  })

  it('list() refuses a wrong order, limit, blob or direction', async () => {
    const { store } = await newStore()
    for (const order of ['size', '', null, 5]) await expectSlip('order', () => listed(store.list({ order })))
    for (const maxBlobs of [-1, 0.5, '5', null]) {
      await expectSlip('maxBlobs', () => listed(store.list({ maxBlobs })))
    }
    for (const after of [5, null]) await expectSlip('after', () => listed(store.list({ after })))
    for (const reverse of [1, null, 'yes']) await expectSlip('reverse', () => listed(store.list({ reverse })))
  })
})
