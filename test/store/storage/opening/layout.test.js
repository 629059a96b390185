// The store in fixtures/ was written by the first release of this layout. Later releases open it, and find everything.
import { cp, readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ChunkRanges } from '../../../../lib/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { hex, same } from '../../../support/bytes.js'
import { collect, errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import {
  LAYOUT_VERSION, changeState, deletionsIn, idsIn, idsWithout, readState, recordsIn, stateEntry
} from '../../../support/store/inspect.js'
import { expectNoOrphans, onDisk, sliceOf } from '../../../support/store/stores.js'
import {
  BLOCK, DELETED, FIRST_GROUP, LARGE, LONG, PART, SEQUENCE, SMALL, TOGETHER, UNTIL, blockCid
} from '../../../support/store/fixture.js'

const FIXTURES = fileURLToPath(new URL('../../../support/store/fixtures/', import.meta.url))
const NAME = `layout-${LAYOUT_VERSION}`

describe('store: layout', () => {
  let place
  beforeEach(async () => {
    place = await onDisk()
    await cp(FIXTURES + NAME, place.where, { recursive: true })
  })
  afterEach(() => place.remove())

  it('of this release has a fixture', async () => {
    expect(await readdir(FIXTURES)).to.deep.equal([NAME])
  })

  it('of the fixture is read', async () => {
    const store = await place.open()
    const whole = [SMALL, LARGE, SEQUENCE, BLOCK, ...TOGETHER.slice(0, -1)]
    for (const { bytes, root } of whole) {
      expect(same(await store.bytes(root), bytes)).to.equal(true)
      expect(same(await collect(store.slice(root)), sliceOf(bytes))).to.equal(true)
    }
    for (const { bytes, root } of [PART, LONG]) {
      expect((await store.stat(root)).present.equals(ChunkRanges.fromBytes(0, 16384))).to.equal(true)
      expect(same(await store.bytes(root, FIRST_GROUP), bytes.subarray(0, 16384))).to.equal(true)
    }
    const roots = (await listed(store.list())).map(({ cid }) => hex(cid.multihash.digest))
    expect(roots).to.deep.equal([...whole, PART, LONG].map(({ root }) => hex(root)).sort())
    const tags = (await listed(store.tags.list())).map(({ name, format }) => `${name} ${format}`)
    expect(tags).to.deep.equal(['long raw', 'päärt raw', 'sequence hashseq', 'until raw'])
    expect(await store.tags.get('until')).to.deep.include(UNTIL)
    expect(await store.tags.get('expired')).to.equal(undefined)
    expect(same(await collect(asBlockstore(store).get(await blockCid())), BLOCK.bytes)).to.equal(true)
    expect(await store.fsck()).to.include({ isSound: true })
  })

  it('of the fixture can be written to', async () => {
    let store = await place.open()
    for (const { bytes, root } of [PART, LONG]) {
      const received = bytes.length - 16384
      expect(await store.receive(root, sliceOf(bytes))).to.deep.equal({ received, complete: true })
      expect(same(await store.bytes(root), bytes)).to.equal(true)
    }
    const mine = noise(2_000_000)
    const { cid } = await store.put(mine, { tag: 'mine' })
    await store.tags.set('small', SMALL.root)
    await store.gc()
    expect(await store.has(LARGE.root), 'a member of a sequence').to.equal(true)
    await store.close()
    store = await place.open()
    expect(same(await store.bytes(cid), mine)).to.equal(true)
    expect(same(await store.bytes(SMALL.root), SMALL.bytes)).to.equal(true)
    for (const { root } of [DELETED, ...TOGETHER]) expect(await store.has(root)).to.equal(false)
    await store.close()
    await expectNoOrphans(place)
  })

  it('of the fixture keeps its number, and its deletion notes are carried out', async () => {
    await place.look(async ({ index, data }) => {
      const notes = await deletionsIn(index)
      expect(notes).to.have.length(1)
      expect(idsWithout(await idsIn(data), await recordsIn(index))).to.deep.equal(notes)
    })
    await (await place.open()).close()
    await place.look(async ({ index }) => {
      expect(await deletionsIn(index)).to.deep.equal([])
      expect((await readState(index)).version).to.equal(LAYOUT_VERSION)
    })
    await expectNoOrphans(place)
  })

  it('with any other number is refused with STORE_VERSION, and the store is left as it is', async () => {
    for (const version of [0, LAYOUT_VERSION + 1, 2 ** 40]) {
      const states = []
      await place.look(async ({ index }) => {
        await changeState(index, { version })
        states.push(await stateEntry(index).read())
      })
      expect(await errorOf(place.open())).to.include({ code: 'STORE_VERSION', location: place.where })
      await place.look(async ({ index }) => {
        expect(same(await stateEntry(index).read(), states[0])).to.equal(true)
        expect(await deletionsIn(index)).to.have.length(1)
      })
    }
  })
})
