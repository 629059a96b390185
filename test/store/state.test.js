// What the store knows of itself: which ids it has given away. Losing that must not lose a blob.

import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { hash } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { stateKey } from '../../store/keys.js'
import { same } from '../support/bytes.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'

const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' }
const first = noise(100_000, 1)
const second = noise(100_000, 2)

describe('store: its state', () => {
  for (const [what, spoil] of [
    ['lost', (index) => index.del(stateKey, VIEWS)],
    ['damaged', async (index) => {
      const state = new Uint8Array(await index.get(stateKey, VIEWS))
      state.fill(0, 9, 25)
      await index.put(stateKey, state, VIEWS)
    }],
    ['cut short', (index) => index.put(stateKey, new Uint8Array(3), VIEWS)]
  ]) {
    it(`may be ${what}: no id is given away twice`, async () => {
      const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
      const store = await BlobStore.open(pair)
      await store.put(first)
      await spoil(pair.index)
      // A crash would leave the databases like this: they are opened once more without having been closed.
      const again = await BlobStore.open(pair)
      await again.put(second)
      expect(same(await again.bytes(hash(first)), first)).to.equal(true)
      expect(same(await again.bytes(hash(second)), second)).to.equal(true)
      await again.close()
    })
  }

  it('that could not be written once is written the next time', async () => {
    const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
    const store = await BlobStore.open(pair)
    const { put } = pair.index
    pair.index.put = async (...args) => {
      pair.index.put = put
      throw new Error('the disk is full')
    }
    expect((await errorOf(store.put(first))).message).to.equal('the disk is full')
    await store.put(first)
    expect(same(await store.bytes(hash(first)), first)).to.equal(true)
    await store.close()
  })

  it('closed in the middle of a list, it says so', async () => {
    const store = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() })
    await store.put(first)
    await store.put(second)
    const list = store.list()
    await list.next()
    await store.close()
    expect(await errorOf(list.next())).to.include({ code: 'STORE_CLOSED' })
  })
})
