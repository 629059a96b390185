// fsck({ repair: true }) drops nothing that calls write at the same time. The log of changes tells what it restores.
import { expect } from 'chai'
import { sha256 } from 'multiformats/hashes/sha2'
import { CID } from 'multiformats/cid'
import { hash } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { same } from '../../support/bytes.js'
import { collect } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import {
  afterNextRead, aliasEntry, indexKeys, tagOfBlobEntry, tagEntry, taggedKeys
} from '../../support/store/inspect.js'
import { expectSound } from '../../support/store/mending.js'
import { newStores } from '../../support/store/stores.js'

const BYTES = noise(1000, 5)
const ROOT = hash(BYTES)

describe('store: fsck() beside other calls', () => {
  const newStore = newStores()

  for (const [when, hold] of Object.entries({
    'after fsck() has read its damaged entry': (index, _key, action) => afterNextRead(index, indexKeys, action),
    'after fsck() has read its damaged entry again': (index, key, action) => {
      const { get } = index
      index.get = async function (wanted, ...args) {
        const found = await get.call(this, wanted, ...args)
        if (same(wanted, key)) {
          index.get = get
          await action()
        }
        return found
      }
    }
  })) {
    it(`an alias that is put ${when} stays`, async () => {
      const { store, index } = await newStore()
      const alias = CID.createV1(0x55, await sha256.digest(BYTES))
      const entry = aliasEntry(index, alias.multihash.bytes)
      await entry.write(new Uint8Array(5))
      let isPut = false
      hold(index, entry.key, async () => {
        await asBlockstore(store).put(alias, BYTES)
        isPut = true
      })
      await store.fsck({ repair: true })
      expect(isPut).to.equal(true)
      expect(same(await collect(asBlockstore(store).get(alias)), BYTES)).to.equal(true)
      await expectSound(store)
    })
  }

  it('a tag that is set while fsck() reads its damaged entry keeps both entries', async () => {
    const { store, index } = await newStore()
    await store.put(BYTES, { tag: 'a' })
    await tagOfBlobEntry(index, ROOT, 'a').write(new Uint8Array(5))
    afterNextRead(index, taggedKeys, () => store.tags.set('a', ROOT))
    expect(await store.fsck({ repair: true })).to.include({ isSound: true })
    expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
    await expectSound(store)
  })

  it('watch() tells of a tag that is restored, and not of one that only gets its second entry again', async () => {
    const { store, index } = await newStore()
    await store.put(BYTES, { tag: 'a' })
    await store.tags.set('b', ROOT)
    await tagEntry(index, 'a').write(new Uint8Array(5))
    await tagOfBlobEntry(index, ROOT, 'b').remove()
    const events = store.watch()
    await store.fsck({ repair: true })
    await store.tags.set('c', ROOT)
    const told = [await events.next(), await events.next()].map(({ value: { type, tag } }) => `${type} ${tag}`)
    expect(told).to.deep.equal(['tagged a', 'tagged c'])
    await events.return()
    await expectSound(store)
  })
})
