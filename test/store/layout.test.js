// Stores that releases have written are kept in fixtures/: every later release opens them, and finds everything.
import { cp, readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ChunkRanges } from '../../lib/index.js'
import { asBlockstore } from '../../store/index.js'
import { LAYOUT_VERSION, allDoomed, doomedKey, idOfDoomed, encodeDoomed, encodeState, stateKey, decodeState } from '../../store/keys.js'
import { hex, same } from '../support/bytes.js'
import { collect, errorOf, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { expectNoOrphans, idsIn, idsWithout, onDisk, recordsIn, sliceOf } from '../support/stores.js'
import { BLOCK, DELETED, FIRST_GROUP, LARGE, LONG, PACKED, PART, SEQUENCE, SMALL, blockCid } from '../support/store-fixture.js'

const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' }
const FIXTURES = fileURLToPath(new URL('fixtures/', import.meta.url))

/** What stands in them beyond the blobs that all have. */
const LATER = { 'layout-1': {}, 'layout-2': { hasTags: true }, 'layout-3': { hasTags: true, hasPacks: true } }

describe('store: layouts', () => {
  let place
  beforeEach(async () => { place = await onDisk() })
  afterEach(() => place.remove())

  const notesIn = async index => (await index.keys({ ...allDoomed, ...VIEWS }).all()).map(idOfDoomed)

  it('of all releases are kept', async () => {
    expect((await readdir(FIXTURES)).sort()).to.deep.equal(Object.keys(LATER))
    expect(Object.keys(LATER).at(-1)).to.equal(`layout-${LAYOUT_VERSION}`)
  })

  for (const [name, { hasTags = false, hasPacks = false }] of Object.entries(LATER)) {
    describe(name, () => {
      beforeEach(() => cp(FIXTURES + name, place.where, { recursive: true }))

      it('is read', async () => {
        const store = await place.open()
        const others = [...hasTags ? [SEQUENCE, BLOCK] : [], ...hasPacks ? PACKED.slice(0, -1) : []]
        for (const { bytes, root } of [SMALL, LARGE, ...others]) {
          expect(same(await store.bytes(root), bytes)).to.equal(true)
          expect(same(await collect(store.slice(root)), sliceOf(bytes))).to.equal(true)
        }
        for (const { bytes, root } of [PART, LONG]) {
          expect((await store.stat(root)).present.equals(ChunkRanges.fromBytes(0, 16384))).to.equal(true)
          expect(same(await store.bytes(root, FIRST_GROUP), bytes.subarray(0, 16384))).to.equal(true)
        }
        expect((await listed(store.list())).map(({ cid }) => hex(cid.multihash.digest))).to.deep.equal([SMALL, LARGE, PART, LONG, ...others].map(({ root }) => hex(root)).sort())
        expect((await listed(store.tags.list())).map(({ name, format }) => `${name} ${format}`)).to.deep.equal(hasTags ? ['long raw', 'päärt raw', 'sequence hashseq'] : [])
        if (hasTags) expect(same(await collect(asBlockstore(store).get(await blockCid())), BLOCK.bytes)).to.equal(true)
      })

      it('is worked with', async () => {
        let store = await place.open()
        for (const { bytes, root } of [PART, LONG]) {
          expect(await store.receive(root, sliceOf(bytes))).to.deep.equal({ received: bytes.length - 16384, complete: true })
          expect(same(await store.bytes(root), bytes)).to.equal(true)
        }
        const mine = noise(2_000_000)
        const { cid } = await store.put(mine, { tag: 'mine' })
        await store.tags.set('small', SMALL.root)
        await store.gc()
        expect(await store.has(LARGE.root), 'a member of a sequence, if there is one').to.equal(hasTags)
        await store.close()
        store = await place.open()
        expect(same(await store.bytes(cid), mine)).to.equal(true)
        expect(same(await store.bytes(SMALL.root), SMALL.bytes)).to.equal(true)
        expect(await store.has(DELETED.root)).to.equal(false)
        await store.close()
        await expectNoOrphans(place)
      })

      it('has its notes followed, and is of this layout then', async () => {
        await place.look(async ({ index, data }) => {
          const notes = await notesIn(index)
          expect(notes).to.have.length(1)
          expect(idsWithout(await idsIn(data), await recordsIn(index))).to.deep.equal(notes)
        })
        await (await place.open()).close()
        await place.look(async ({ index }) => {
          expect(await notesIn(index)).to.deep.equal([])
          expect(decodeState(await index.get(stateKey, VIEWS)).version).to.equal(LAYOUT_VERSION)
        })
        await expectNoOrphans(place)
      })
    })
  }

  it('that are brought up to date only halfway are so the next time', async () => {
    await cp(`${FIXTURES}layout-1`, place.where, { recursive: true })
    await place.look(async ({ index }) => {
      const [id] = await notesIn(index)
      await index.put(doomedKey(id), encodeDoomed(id), VIEWS)
      await index.put(doomedKey(id + 1), new Uint8Array(0), VIEWS)
      expect(decodeState(await index.get(stateKey, VIEWS)).version).to.equal(1)
    })
    await (await place.open()).close()
    await place.look(async ({ index }) => expect(await notesIn(index)).to.deep.equal([]))
    await expectNoOrphans(place)
  })

  it('that nobody ever released are refused, and left as they are', async () => {
    await cp(`${FIXTURES}layout-1`, place.where, { recursive: true })
    for (const version of [0, LAYOUT_VERSION + 1, 2 ** 40]) {
      const states = []
      await place.look(async ({ index }) => {
        states.push(encodeState({ ...decodeState(await index.get(stateKey, VIEWS)), version }))
        await index.put(stateKey, states[0], VIEWS)
      })
      expect(await errorOf(place.open())).to.include({ code: 'STORE_VERSION', location: place.where })
      await place.look(async ({ index }) => {
        expect(same(await index.get(stateKey, VIEWS), states[0])).to.equal(true)
        expect(await notesIn(index)).to.have.length(1)
      })
    }
  })
})
