// Blobs are listed in the order of their hashes, all of them or those whose hash begins in some way.
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { hex } from '../support/bytes.js'
import { listed } from '../support/feeding.js'
import { expectSlip } from '../support/slips.js'
import { forEachPlace } from '../support/stores.js'

describe('store: lists', () => {
  forEachPlace(newPlace => {
    it('by the beginning of the hash, of any length', async () => {
      const store = await newPlace().then(place => place.open())
      const names = []
      for (let i = 0; i < 300; i++) {
        const bytes = Uint8Array.of(i, i >> 8)
        await store.put(bytes)
        names.push(hex(hash(bytes)))
      }
      names.sort()
      const some = [names[0], names[150], names[299]]
      const prefixes = ['', ...'0123456789abcdef', ...some.flatMap(name => [2, 3, 7, 63, 64].map(len => name.slice(0, len))), 'ff', 'fff', '00', '0'.repeat(64), 'f'.repeat(64)]
      for (const prefix of prefixes) {
        const expected = names.filter(name => name.startsWith(prefix))
        for (const written of [prefix, prefix.toUpperCase()]) {
          expect((await listed(store.list({ prefix: written }))).map(({ cid }) => hex(cid.multihash.digest)), prefix).to.deep.equal(expected)
        }
      }
    })

    it('but not by anything else', async () => {
      const store = await newPlace().then(place => place.open())
      for (const prefix of ['x', '0x', 'bafkr4i', ' ', '0'.repeat(65), 5, null, Uint8Array.of(1)]) await expectSlip('prefix', () => listed(store.list({ prefix })))
    })
  })
})
