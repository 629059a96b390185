// compose() of any parts makes the same blob as a put of the same bytes.
import { expect } from 'chai'
import fc from 'fast-check'
import { hash } from '../../../../lib/index.js'
import { concat } from '../../../support/bytes.js'
import { GROUP, KIB, MIB } from '../../../support/constants.js'
import { errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { holds } from '../../../support/property.js'
import { expectBlob } from '../../../support/store/grown.js'
import { isHeld } from '../../../support/store/inspect.js'
import { forEachPlace, newStores } from '../../../support/store/stores.js'
import { counted, work } from '../../../support/work.js'

const BLOBS = [noise(2 * MIB + 70_001, 551), noise(2 * MIB, 552), noise(5 * GROUP, 553)]
const NEW = noise(MIB, 554)

const offsets = fc.oneof(fc.nat(2 * MIB / GROUP).map(count => count * GROUP), fc.nat(BLOBS[0].length))
const partsOfBlobs = fc.record({ blob: fc.nat(BLOBS.length - 1), start: offsets, end: offsets, stays: fc.boolean() })
const lens = fc.oneof(fc.constantFrom(0, GROUP, 3 * GROUP), fc.nat(40_000))
const newParts = fc.record({ len: lens, asStream: fc.boolean() })

/** Makes parts, and the bytes of the result. Some parts keep their offset: they begin where the result ends so far. */
function composed (drawn, cids) {
  const given = []
  let at = 0
  const parts = drawn.map(({ blob, start, end, stays, len, asStream }) => {
    const bytes = blob === undefined ? NEW.subarray(0, len) : BLOBS[blob]
    const [from, to] = [start, end].map((place = bytes.length) => Math.min(place, bytes.length)).sort((a, b) => a - b)
    const first = blob === undefined ? 0 : stays ? Math.min(at, bytes.length) : from
    const last = blob === undefined ? len : Math.max(first, to)
    given.push(bytes.subarray(first, last))
    at += last - first
    if (blob === undefined) return { source: asStream ? stream([NEW.subarray(0, len)]) : NEW.subarray(0, len) }
    return { cid: cids[blob], start: first, ...last === bytes.length ? {} : { end: last } }
  })
  return { parts, bytes: concat(given) }
}

describe('store.compose()', () => {
  forEachPlace(newPlace => {
    it('makes the same blob as a put of the same bytes', async () => {
      const store = await (await newPlace()).open({ durability: 'process' })
      const cids = []
      for (const bytes of BLOBS) cids.push((await store.put(bytes, { tag: `${bytes.length}` })).cid)
      const drawn = fc.array(fc.oneof(partsOfBlobs, newParts), { maxLength: 6 })
      await holds('parts', fc.asyncProperty(drawn, fc.boolean(), async (drawn, verify) => {
        const { parts, bytes } = composed(drawn, cids)
        const made = await store.compose(stream(parts), { verify })
        await expectBlob(store, made, bytes)
        if (made.isNew) await store.delete(made.cid)
      }), 60)
    })
  })

  const newStore = newStores()

  it('keeps the subtrees of bytes that keep their offset, from every blob', async () => {
    const { store } = await newStore()
    const [one, other] = BLOBS
    const cids = []
    for (const bytes of [one, other]) cids.push((await store.put(bytes)).cid)
    const middle = { cid: cids[1], start: MIB, end: 2 * MIB - KIB }
    const parts = [{ cid: cids[0], end: MIB }, middle, { source: NEW.subarray(0, 9) }]
    const bytes = concat([one.subarray(0, MIB), other.subarray(MIB, 2 * MIB - KIB), NEW.subarray(0, 9)])
    await counted('simd', async () => {
      const before = work.blocks
      const made = await store.compose(parts, { verify: false })
      expect(work.blocks - before, 'hashed blocks, of 32768').to.be.below(1000)
      await expectBlob(store, made, bytes)
    })
  })

  it('cancels sources that it does not read', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(BLOBS[2])
    const opened = () => {
      let isCancelled = false
      const source = new ReadableStream({ cancel () { isCancelled = true } })
      return { source, get isCancelled () { return isCancelled } }
    }
    const [first, second, third] = [opened(), opened(), opened()]
    const missing = { cid: hash(BLOBS[0]) }
    const error = await errorOf(store.compose([{ source: first.source }, missing, { source: second.source }]))
    expect(error).to.include({ code: 'STORE_NOT_FOUND' })
    expect([first.isCancelled, second.isCancelled]).to.deep.equal([true, true])
    expect(await store.compose([{ source: third.source }], { expect: cid })).to.include({ isNew: false })
    expect(third.isCancelled).to.equal(true)
    expect(isHeld(store, hash(BLOBS[2])), 'is still held').to.equal(false)
    expect(await listed(store.list())).to.have.length(1)
  })
})
