// Lists all blobs, or those whose hashes begin with a prefix, in the order of their hashes.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { hex } from '../../../support/bytes.js'
import { listed } from '../../../support/feeding.js'
import { expectSlip } from '../../../support/slips.js'
import { forEachPlace } from '../../../support/store/stores.js'

describe('store: list()', () => {
  forEachPlace(newPlace => {
    it('list() takes a prefix of the hash of any length', async () => {
      const store = await newPlace().then(place => place.open())
      const names = []
      for (let i = 0; i < 300; i++) {
        const bytes = Uint8Array.of(i, i >> 8)
        await store.put(bytes)
        names.push(hex(hash(bytes)))
      }
      names.sort()
      const some = [names[0], names[150], names[299]]
      const prefixes = [
        '', ...'0123456789abcdef',
        ...some.flatMap(name => [2, 3, 7, 63, 64].map(len => name.slice(0, len))), 'ff', 'fff', '00',
        '0'.repeat(64), 'f'.repeat(64)
      ]
      for (const prefix of prefixes) {
        const expected = names.filter(name => name.startsWith(prefix))
        for (const written of [prefix, prefix.toUpperCase()]) {
          expect(
            (await listed(store.list({ prefix: written }))).map(({ cid }) => hex(cid.multihash.digest)), prefix
          ).to.deep.equal(expected)
        }
      }
    })

    it('list() gives the last use of each blob, whether the index has it or not', async () => {
      const place = await newPlace()
      let store = await place.open()
      const blobs = Array.from({ length: 20 }, (_, i) => Uint8Array.of(i))
      await listed(store.putMany(blobs))
      const used = new Map()
      const use = async indexes => {
        for (const i of indexes) {
          const before = Date.now()
          while (Date.now() === before); // times are in milliseconds
          await store.bytes(hash(blobs[i]))
          used.set(hex(hash(blobs[i])), (await store.stat(hash(blobs[i]))).lastUsed.getTime())
        }
      }
      await use([1, 3, 5, 7])
      await store.close() // writes them
      store = await place.open()
      await use([2, 3, 11])
      for (const prefix of ['', hex(hash(blobs[3])), hex(hash(blobs[7])).slice(0, 2), hex(hash(blobs[8]))]) {
        for await (const { cid, created, lastUsed } of store.list({ prefix })) {
          expect(lastUsed.getTime()).to.equal(used.get(hex(cid.multihash.digest)) ?? created.getTime())
        }
      }
    })

    it('list() gives uses that happen during the list, even when they are written during the list', async () => {
      const store = await newPlace().then(place => place.open())
      const blobs = Array.from({ length: 1100 }, (_, i) => Uint8Array.of(i, i >> 8))
      await listed(store.putMany(blobs))
      for (const bytes of blobs) await store.bytes(hash(bytes)) // the first thousand uses are written together
      const list = store.list()
      const { value: first } = await list.next()
      const before = Date.now()
      while (Date.now() === before);
      for (const bytes of blobs) await store.bytes(hash(bytes))
      expect((await store.stat(first.cid)).lastUsed.getTime()).to.be.greaterThan(before)
      for await (const { cid, created, lastUsed } of list) {
        expect(lastUsed.getTime()).to.be.at.least(created.getTime())
        expect(lastUsed.getTime()).to.be.at.most((await store.stat(cid)).lastUsed.getTime())
      }
    })

    it('list() refuses other prefixes', async () => {
      const store = await newPlace().then(place => place.open())
      for (const prefix of ['x', '0x', 'bafkr4i', ' ', '0'.repeat(65), 5, null, Uint8Array.of(1)]) {
        await expectSlip('prefix', () => listed(store.list({ prefix })))
      }
    })
  })
})
