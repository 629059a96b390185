// gc() that cannot read tags and sequences, or that is interrupted.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { GROUP, VIEWS } from '../../support/constants.js'
import { hex } from '../../support/bytes.js'
import { errorOf, listed } from '../../support/feeding.js'
import { small, sequenceOf, namesIn, namesOf, putAll, expectKept } from '../../support/store/collected.js'
import { damageRecord, entriesOf, idsIn } from '../../support/store/inspect.js'
import { expectNoOrphans, newStores } from '../../support/store/stores.js'

describe('store: gc() that fails', () => {
  describe('because something is damaged', () => {
    const newStore = newStores()
    const sequence = sequenceOf(
      ...Array.from({ length: 2000 }, (_, i) => ({ root: hash(Uint8Array.of(i, i >> 8)) })), small[0]
    )

    it('gc() deletes nothing while a sequence is damaged', async () => {
      for (const spoil of ['put', 'del']) {
        const { store, data } = await newStore()
        await store.put(sequence.bytes, { tag: 'a', format: 'hashseq' })
        const [extent] = (await entriesOf(data)).filter(({ offset }) => offset !== undefined)
        await (spoil === 'del'
          ? extent.del()
          : extent.put(extent.value.map((byte, i) => i === 40_000 ? byte ^ 1 : byte)))
        await putAll(store, small)
        const all = await namesIn(store)
        for (const options of [{}, { dryRun: true }]) {
          expect(await errorOf(store.gc(options)))
            .to.include({ code: 'STORE_CORRUPT', start: spoil === 'del' ? 0 : 2 * GROUP })
        }
        expect(await namesIn(store)).to.deep.equal(all)
        await store.tags.delete('a')
        expect(await store.gc()).to.deep.equal({
          blobs: small.length + 1,
          bytes: all.length && sequence.bytes.length + small.reduce((sum, { bytes }) => sum + bytes.length, 0)
        })
      }
    })

    it('gc() deletes nothing while the record of a sequence is damaged', async () => {
      const { store, index } = await newStore()
      await store.put(sequence.bytes, { tag: 'a', format: 'hashseq' })
      await putAll(store, small)
      await damageRecord(index, sequence.root)
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
      expect(await listed(store.list({ prefix: hex(small[0].root) }))).to.have.length(1)
    })

    it('gc() does not delete a blob with a damaged record', async () => {
      const { store, index } = await newStore()
      await putAll(store, small)
      await damageRecord(index, small[3].root)
      expect(await store.gc()).to.include({ blobs: small.length - 1 })
      expect(await errorOf(store.stat(small[3].root))).to.include({ code: 'STORE_CORRUPT' })
    })

    it('gc() verifies sequences, also in a store with verify: false', async () => {
      const { store, data } = await newStore({ verify: false })
      await store.put(sequence.bytes, { tag: 'a', format: 'hashseq' })
      const [extent] = await entriesOf(data)
      await extent.put(extent.value.map((byte, i) => i === 0 ? byte ^ 1 : byte))
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
    })
  })

  describe('because it is interrupted', () => {
    const newStore = newStores()
    const sequence = sequenceOf(small[0], small[1])
    const kept = [small[0], small[1], small[2], sequence]

    /** Makes all writes to a database fail from one on, as if the disk were gone. */
    function failFrom (database, methods, number, reason) {
      let calls = 0
      const originals = methods.map(method => database[method])
      methods.forEach((method, i) => {
        database[method] = function (...args) {
          return calls++ >= number
            ? Promise.reject(reason)
            : originals[i].apply(this, args)
        }
      })
      return () => methods.forEach((method, i) => { database[method] = originals[i] })
    }

    for (const [name, methods, most] of [['index', ['batch', 'put', 'del'], 120], ['data', ['clear', 'batch'], 60]]) {
      it(`gc() whose writes to the ${name} fail loses nothing protected, and the next gc() finishes`, async () => {
        const reason = new Error('the disk is gone')
        for (let number = 0; number < most; number += 7) {
          const databases = { index: new MemoryLevel(VIEWS), data: new MemoryLevel(VIEWS) }
          const store = await BlobStore.open(databases)
          await putAll(store, [...small, sequence])
          await store.tags.set('a', sequence.root, { format: 'hashseq' })
          await store.tags.set('b', small[2].root)
          const restore = failFrom(databases[name], methods, number, reason)
          const error = await errorOf(store.gc())
          if (error) expect(error).to.equal(reason)
          restore()
          // The next opening finds the same, whether the store was closed or the process has ended.
          if (number % 2) await store.close()
          const again = await BlobStore.open(databases)
          await expectKept(again, kept)
          await again.gc()
          expect(await namesIn(again)).to.deep.equal(namesOf(kept))
          expect(await idsIn(databases.data)).to.have.length(kept.length)
          await again.close()
        }
      })
    }

    it('gc() fails with STORE_CLOSED when the store is closed', async () => {
      for (let steps = 0; steps < 400; steps += 9) {
        const { store, place } = await newStore()
        await putAll(store, [...small, sequence])
        await store.tags.set('a', sequence.root, { format: 'hashseq' })
        const collecting = errorOf(store.gc())
        for (let i = 0; i < steps; i++) await undefined
        await store.close()
        const error = await collecting
        if (error) expect(error, error.stack).to.include({ code: 'STORE_CLOSED' })
        const again = await place.open()
        await expectKept(again, [small[0], small[1], sequence])
        await again.close()
        await expectNoOrphans(place)
      }
    })
  })
})
