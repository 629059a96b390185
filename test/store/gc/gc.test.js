// gc() deletes the blobs that nothing protects, and no others.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { concat, hex, same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { errorOf, listed, stream } from '../../support/feeding.js'
import {
  blobOf, small, fillers, sequenceOf, namesIn, namesOf, putAll, expectKept
} from '../../support/store/collected.js'
import { countCompactions, idsIn } from '../../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, sliceOf } from '../../support/store/stores.js'

const START = { start: 0, end: GROUP }

const receivePart = (store, { bytes, root }, range = START) => store.receive(root, sliceOf(bytes, range), range)

describe('store: gc()', () => {
  forEachPlace(newPlace => {
    let place
    let store
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
    })

    it('gc() with "compact" compacts the databases after the blobs are deleted, and not in a dry run', async () => {
      const { bytes, root } = blobOf(300_000)
      await store.put(bytes)
      const compactions = countCompactions(store)
      const expected = { blobs: 1, bytes: bytes.length }
      expect(await store.gc({ compact: true, dryRun: true })).to.deep.equal(expected)
      expect(compactions.count).to.equal(0)
      expect(await store.gc({ compact: true })).to.deep.equal(expected)
      expect(compactions.count).to.equal(1)
      expect(await store.has(root)).to.equal(false)
      await store.gc()
      expect(compactions.count).to.equal(1)
    })

    it('gc() deletes the blobs that nothing protects, and reports them', async () => {
      expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
      const [tagged, temporary, large, untagged, member, absent] = [10, 20_000, 5_000_000, 300_000, 70_000, 5].map(
        blobOf
      )
      const [taggedPart, untaggedPart] = [blobOf(100_001, 8), blobOf(100_002, 9)]
      const sequence = sequenceOf(member, absent, tagged)
      await putAll(store, [tagged, temporary, large, untagged, member, sequence])
      await receivePart(store, taggedPart)
      await receivePart(store, untaggedPart)
      await store.tags.set('a', tagged.root)
      await store.tags.set('b', tagged.root)
      await store.tags.set('part', taggedPart.root)
      await store.tags.set('sequence', sequence.root, { format: 'hashseq' })
      await store.tags.set('nothing', absent.root)
      const tag = store.tempTag(temporary.root)

      const expected = { blobs: 3, bytes: large.bytes.length + untagged.bytes.length + GROUP }
      const sweptOf = async options => {
        const swept = []
        expect(await store.gc({
          ...options,
          onBlob: ({ cid, bytes }) => swept.push(`${hex(cid.multihash.digest)} ${bytes}`)
        })).to.deep.equal(expected)
        return swept
      }
      const names = [
        `${hex(large.root)} ${large.bytes.length}`, `${hex(untagged.root)} ${untagged.bytes.length}`,
        `${hex(untaggedPart.root)} ${GROUP}`
      ]
      const all = await namesIn(store)
      expect(await sweptOf({ dryRun: true })).to.deep.equal(names.sort())
      expect(await namesIn(store), 'a dry run deletes nothing').to.deep.equal(all)
      expect(await sweptOf()).to.deep.equal(names)
      expect(await namesIn(store)).to.deep.equal(namesOf([tagged, temporary, member, sequence, taggedPart]))
      expect(await store.gc(), 'nothing is left').to.deep.equal({ blobs: 0, bytes: 0 })

      expect(await receivePart(store, untaggedPart), 'no memory of it is left')
        .to.deep.equal({ received: GROUP, complete: false })
      expect(same(await store.bytes(untaggedPart.root, START), untaggedPart.bytes.subarray(0, GROUP))).to.equal(true)
      await store.delete(untaggedPart.root)

      tag.release()
      expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: 20_000 })
      await store.tags.delete('a')
      await store.tags.delete('sequence')
      expect(await store.gc(), 'tag b is left').to.deep.equal({ blobs: 2, bytes: 70_000 + sequence.bytes.length })
      await expectKept(store, [tagged])
      expect(same(await store.bytes(taggedPart.root, START), taggedPart.bytes.subarray(0, GROUP))).to.equal(true)
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(2))
      store = await place.open()
      await expectKept(store, [tagged])
    })

    it('gc() keeps the members of tagged sequences of any length', async () => {
      // More members than one lookup or one group has. The last present members come after many missing ones.
      const others = Array.from({ length: 1500 }, (_, i) => ({ root: hash(Uint8Array.of(i, i >> 8)) }))
      const [first, second, third, last] = small
      const long = sequenceOf(first, ...others.slice(0, 511), second, ...others.slice(511), third)
      // Bytes after the last whole hash name nothing, and a member that is a sequence counts as a plain blob.
      const nested = sequenceOf(last)
      const odd = { bytes: concat([nested.root, long.root, small[4].root.subarray(0, 31)]) }
      odd.root = hash(odd.bytes)
      const empty = { bytes: new Uint8Array(0), root: hash(new Uint8Array(0)) }
      await putAll(store, [...small.slice(0, 5), long, nested, odd])
      await store.tags.set('odd', odd.root, { format: 'hashseq' })
      await store.tags.set('empty', empty.root, { format: 'hashseq' })
      const temporary = store.tempTag(long.root, { format: 'hashseq' })
      await store.gc()
      expect(await namesIn(store)).to.deep.equal(namesOf([first, second, third, long, nested, odd]))
      temporary.release()
      await store.tags.set('raw', long.root)
      await store.gc()
      expect(await namesIn(store), 'tagged as bytes, it protects itself').to.deep.equal(namesOf([long, nested, odd]))
    })

    it('gc() keeps the members that the present part of a sequence names', async () => {
      const members = [...small, ...Array.from({ length: 1200 }, (_, i) => ({ root: hash(Uint8Array.of(i, i >> 8)) }))]
      const sequence = sequenceOf(...members.toReversed())
      expect(sequence.bytes.length).to.be.greaterThan(2 * GROUP)
      await putAll(store, small)
      const sequenceEnd = { start: 2 * GROUP, end: sequence.bytes.length }
      await receivePart(store, sequence, sequenceEnd)
      await store.tags.set('a', sequence.root, { format: 'hashseq' })
      await store.gc()
      const named = Math.floor((sequence.bytes.length - 2 * GROUP) / 32)
      expect(await namesIn(store)).to.deep.equal(namesOf([sequence, ...small.slice(0, named)]))
    })

    it('gc() deletes many blobs at a time, and reports its progress', async () => {
      const blobs = Array.from({ length: 1300 }, (_, i) => Uint8Array.of(i, i >> 8))
      await Promise.all(blobs.map(bytes => store.put(bytes, { tag: bytes[0] === 7 ? `seven ${bytes[1]}` : undefined })))
      const told = []
      const kept = blobs.filter(bytes => bytes[0] === 7)
      expect(await store.gc({ onProgress: event => told.push(event) }))
        .to.deep.equal({ blobs: 1300 - kept.length, bytes: 2 * (1300 - kept.length) })
      expect(told).to.deep.equal(
        [1000, 1300 - kept.length].map(done => ({ type: 'baobox:gc', detail: { done, unit: 'blobs' } }))
      )
      await expectKept(store, kept.map(bytes => ({ bytes, root: hash(bytes) })))
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(kept.length))
    })

    it('gc() stops when it is aborted, and has deleted the blobs that it reported', async () => {
      await putAll(store, small)
      const reason = new Error('enough')
      expect(await errorOf(store.gc({ signal: AbortSignal.abort(reason) }))).to.equal(reason)
      expect(await namesIn(store)).to.have.length(small.length)
      const controller = new AbortController()
      await listed(store.putMany(fillers.map(({ bytes }) => bytes)))
      const all = namesOf([...small, ...fillers])
      const swept = []
      const onBlob = ({ cid }) => {
        swept.push(hex(cid.multihash.digest))
        if (swept.length === 5) controller.abort(reason)
      }
      expect(await errorOf(store.gc({ signal: controller.signal, onBlob }))).to.equal(reason)
      expect(swept.length).to.be.within(5, all.length - 1)
      expect(swept).to.deep.equal(all.slice(0, swept.length))
      expect(await namesIn(store)).to.deep.equal(all.slice(swept.length))
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(all.length - swept.length))
    })

    it('gc() with dryRun stops immediately when it is aborted', async () => {
      await putAll(store, small)
      const reason = new Error('enough')
      const controller = new AbortController()
      let told = 0
      const onBlob = () => { if (++told === 5) controller.abort(reason) }
      expect(await errorOf(store.gc({ dryRun: true, signal: controller.signal, onBlob }))).to.equal(reason)
      expect(told).to.equal(5)
      expect(await namesIn(store)).to.have.length(small.length)
    })

    it('gc() deletes the page of a small blob that came in a slice', async () => {
      const received = blobOf(5000, 1)
      await store.receive(received.root, sliceOf(received.bytes))
      expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: 5000 })
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.deep.equal([]))
    })

    it('gc() runs at the same time as every other call', async () => {
      for (let round = 0; round < 8; round++) {
        const blobs = Array.from(
          { length: 12 }, (_, i) => blobOf([50, 20_000, 150_000][i % 3] + i, 900 + 20 * round + i)
        )
        await Promise.all(blobs.map(async (blob, i) => {
          const { bytes, root } = blob
          if (i % 4 === 0) return store.put(stream([bytes]), { tag: `put ${i}` })
          const temporary = store.tempTag(root)
          if (i % 4 === 1) await store.receive(root, sliceOf(bytes))
          else await store.put(stream([bytes]))
          if (i % 4 === 2) await store.put(root, { tag: `sequence ${i}`, format: 'hashseq' })
          else await store.tags.set(`other ${i}`, root)
          temporary.release()
          expect(same(await store.bytes(root), bytes)).to.equal(true)
        }).concat(store.gc(), store.gc({ dryRun: true }), store.gc()))
        await store.gc()
        await expectKept(store, blobs)
      }
      await store.close()
      await expectNoOrphans(place)
    })
  })
})
