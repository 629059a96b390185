// Garbage collection takes what nothing protects, and never anything else: whoever works with the store meanwhile, and wherever it ends.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { compare } from 'uint8arrays/compare'
import { hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { VIEWS } from '../../support/constants.js'
import { concat, hex, same } from '../../support/bytes.js'
import { collect, errorOf, listed, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { damageRecord, databasesOf, deletesRecord, entriesOf, idsIn, isRecordKey } from '../../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, gated, newStores, sliceOf } from '../../support/store/stores.js'

const GROUP = 16384
const MIB = 1 << 20
const START = { start: 0, end: GROUP }

const blobOf = (size, seed) => {
  const bytes = noise(size, seed)
  return { bytes, root: hash(bytes) }
}

/** Small blobs in the order of their hashes, in which they are swept. */
const small = Array.from({ length: 40 }, (_, i) => blobOf(100 + i, 700 + i)).sort((a, b) => hex(a.root) < hex(b.root) ? -1 : 1)
/** More than are swept in one write; all of them behind the first of the small blobs, and in front of the others. */
const fillers = []
for (let i = 0; fillers.length < 1100; i++) {
  const bytes = new Uint8Array(new Uint32Array([i]).buffer)
  const root = hash(bytes)
  if (compare(root, small[0].root) > 0 && compare(root, small[1].root) < 0) fillers.push({ bytes, root })
}
const sequenceOf = (...blobs) => {
  const bytes = concat(blobs.map(({ root }) => root))
  return { bytes, root: hash(bytes) }
}

const namesIn = async store => (await listed(store.list())).map(({ cid }) => hex(cid.multihash.digest))
const namesOf = blobs => blobs.map(({ root }) => hex(root)).sort()
const putAll = async (store, blobs) => { for (const { bytes } of blobs) await store.put(bytes) }
const receivePart = (store, { bytes, root }, range = START) => store.receive(root, sliceOf(bytes, range), range)

async function expectKept (store, blobs) {
  for (const { bytes, root } of blobs) expect(same(await store.bytes(root), bytes)).to.equal(true)
}

describe('store: garbage collection', () => {
  forEachPlace(newPlace => {
    let place
    let store
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
    })

    it('takes what nothing protects, and says what that was', async () => {
      expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
      const [tagged, temporary, large, untagged, member, absent] = [10, 20_000, 5_000_000, 300_000, 70_000, 5].map(blobOf)
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
        expect(await store.gc({ ...options, onBlob: ({ cid, bytes }) => swept.push(`${hex(cid.multihash.digest)} ${bytes}`) })).to.deep.equal(expected)
        return swept
      }
      const names = [`${hex(large.root)} ${large.bytes.length}`, `${hex(untagged.root)} ${untagged.bytes.length}`, `${hex(untaggedPart.root)} ${GROUP}`]
      const all = await namesIn(store)
      expect(await sweptOf({ dryRun: true })).to.deep.equal(names.sort())
      expect(await namesIn(store), 'a dry run takes nothing').to.deep.equal(all)
      expect(await sweptOf()).to.deep.equal(names)
      expect(await namesIn(store)).to.deep.equal(namesOf([tagged, temporary, member, sequence, taggedPart]))
      expect(await store.gc(), 'nothing is left').to.deep.equal({ blobs: 0, bytes: 0 })

      expect(await receivePart(store, untaggedPart), 'no memory of it is left').to.deep.equal({ received: GROUP, complete: false })
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

    it('keeps the members of sequences of hashes, however long', async () => {
      // More than are looked up at a time, more than one group; the last ones stand behind many that are not here.
      const others = Array.from({ length: 1500 }, (_, i) => ({ root: hash(Uint8Array.of(i, i >> 8)) }))
      const [first, second, third, last] = small
      const long = sequenceOf(first, ...others.slice(0, 511), second, ...others.slice(511), third)
      // What stands behind the last whole hash names nothing, and a sequence's own sequences are blobs like others.
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

    it('of a sequence that is here in part, keeps the members that it names so far', async () => {
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

    it('takes many at a time, and says how far it is', async () => {
      const blobs = Array.from({ length: 1300 }, (_, i) => Uint8Array.of(i, i >> 8))
      await Promise.all(blobs.map(bytes => store.put(bytes, { tag: bytes[0] === 7 ? `seven ${bytes[1]}` : undefined })))
      const told = []
      const kept = blobs.filter(bytes => bytes[0] === 7)
      expect(await store.gc({ onProgress: event => told.push(event) })).to.deep.equal({ blobs: 1300 - kept.length, bytes: 2 * (1300 - kept.length) })
      expect(told).to.deep.equal([1000, 1300 - kept.length].map(done => ({ type: 'baobox:gc', detail: { done } })))
      await expectKept(store, kept.map(bytes => ({ bytes, root: hash(bytes) })))
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(kept.length))
    }).timeout(60_000)

    it('stops when it is called off; what it said is gone is gone', async () => {
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

    it('stops a dry run at once when it is called off', async () => {
      await putAll(store, small)
      const reason = new Error('enough')
      const controller = new AbortController()
      let told = 0
      const onBlob = () => { if (++told === 5) controller.abort(reason) }
      expect(await errorOf(store.gc({ dryRun: true, signal: controller.signal, onBlob }))).to.equal(reason)
      expect(told).to.equal(5)
      expect(await namesIn(store)).to.have.length(small.length)
    })

    it('deletes the page of a small blob that came in a slice', async () => {
      const received = blobOf(5000, 1)
      await store.receive(received.root, sliceOf(received.bytes))
      expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: 5000 })
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.deep.equal([]))
    })

    it('runs beside everything else, all at once', async () => {
      for (let round = 0; round < 8; round++) {
        const blobs = Array.from({ length: 12 }, (_, i) => blobOf([50, 20_000, 150_000][i % 3] + i, 900 + 20 * round + i))
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
    }).timeout(60_000)
  })

  describe('beside somebody else', () => {
    const newStore = newStores()
    const [swept, ...rest] = small

    /**
     * Stops a collection, does something else, and lets it go on.
     *
     * @param {'in its batch' | 'in a later batch'} where  in its batch: the collection has locked and looked up the first blob and those beside it, and
     *   is about to look what has become protected. In a later batch: it is writing that the first blob and some others are gone
     * @param {(store: any, index: any) => Promise<void>} prepare @param {(store: any) => Promise<any>} meanwhile @returns the store, afterwards
     */
    async function collectBeside (where, prepare, meanwhile) {
      const { store } = await newStore()
      const { index } = databasesOf(store)
      await store.put(swept.bytes)
      if (where === 'in a later batch') await listed(store.putMany(fillers.map(({ bytes }) => bytes)))
      await prepare(store, index)
      const [method, isMeant] = {
        'in its batch': ['getMany', keys => keys.some(key => isRecordKey(key, swept.root))],
        'in a later batch': ['batch', operations => operations.some(operation => deletesRecord(operation, swept.root))]
      }[where]
      const original = index[method]
      let go
      const reached = new Promise(resolve => {
        index[method] = function (given, ...args) {
          if (!isMeant(given)) return original.call(this, given, ...args)
          resolve()
          return new Promise(_resolve => { go = _resolve }).then(() => original.call(this, given, ...args))
        }
      })
      const collecting = store.gc()
      await reached
      index[method] = original
      const doing = meanwhile(store)
      // What needs a lock that the collection holds waits for it; nothing else is to be late.
      await Promise.race([doing, ...where === 'in its batch' ? [new Promise(resolve => setTimeout(resolve, 500))] : []])
      go()
      const result = await doing
      await collecting
      expect(await store.has(swept.root), 'the collection went on').to.equal(false)
      return { store, result }
    }

    const [one, two] = rest
    const sequence = sequenceOf(two)
    const part = blobOf(100_000, 5)
    const tagSequence = store => store.tags.set('sequence', sequence.root, { format: 'hashseq' })
    for (const where of /** @type {const} */ (['in its batch', 'in a later batch'])) {
      for (const [what, prepare, meanwhile, kept] of [
        ['tags it', store => store.put(one.bytes), store => store.tags.set('a', one.root), [one]],
        ['tags it for a while', store => store.put(one.bytes), store => store.tempTag(one.root), [one]],
        ['puts it again', store => store.put(one.bytes), store => store.put(one.bytes), [one]],
        ['puts it for the first time', async () => {}, store => store.put(one.bytes), [one]],
        ['deletes it and puts it again', store => store.put(one.bytes), async store => { await store.delete(one.root); await store.put(one.bytes) }, [one]],
        ['renames its tag', store => store.put(one.bytes, { tag: 'm' }), async store => { await store.tags.rename('m', 'z'); await store.tags.rename('z', 'a') }, [one]],
        ['tags a sequence that it is a member of', store => putAll(store, [two, sequence]), tagSequence, [two, sequence]],
        ['tags such a sequence for a while', store => putAll(store, [two, sequence]), store => store.tempTag(sequence.root, { format: 'hashseq' }), [two, sequence]],
        ['puts such a sequence, which has a tag', async store => { await tagSequence(store); await store.put(two.bytes) }, store => store.put(sequence.bytes), [two, sequence]],
        ['receives such a sequence, which has a tag', async store => { await tagSequence(store); await store.put(two.bytes) }, store => store.receive(sequence.root, sliceOf(sequence.bytes)), [two, sequence]],
        ['puts and tags such a sequence in one', store => store.put(two.bytes), store => store.put(sequence.bytes, { tag: 'a', format: 'hashseq' }), [two, sequence]],
        ['receives it', async () => {}, store => store.receive(part.root, sliceOf(part.bytes)), [part]],
        ['receives the rest of it', store => receivePart(store, part), store => store.receive(part.root, sliceOf(part.bytes)), [part]]
      ]) {
        it(`who ${what} keeps it, ${where}`, async () => {
          const { store } = await collectBeside(where, prepare, meanwhile)
          expect(await namesIn(store)).to.deep.equal(namesOf(kept))
          await expectKept(store, kept)
        })
      }

      for (const [what, begin] of [
        ['tagging it', (store, write) => write(store.tags.set('a', one.root))],
        ['renaming its tag', async (store, write) => { await store.tags.set('m', one.root); await write(store.tags.rename('m', 'a')) }],
        ['tagging a sequence that it is a member of', (store, write) => write(store.tags.set('a', sequence.root, { format: 'hashseq' }))],
        ['putting and tagging such a sequence', (store, write) => write(store.put(sequence.bytes, { tag: 'a', format: 'hashseq' }))]
      ]) {
        it(`who is ${what} when the collection begins keeps it, ${where}`, async () => {
          let finish
          const { store } = await collectBeside(where, async (store, index) => {
            await putAll(store, [one, two])
            if (what.startsWith('tagging a sequence')) await store.put(sequence.bytes)
            const temporary = store.tempTag(one.root)
            temporary.add(two.root)
            await begin(store, async writing => {
              // It stands before its write, and the collection is about to begin.
              const { batch } = index
              let go
              await new Promise(resolve => {
                index.batch = function (operations, ...args) {
                  resolve()
                  return new Promise(_resolve => { go = _resolve }).then(() => batch.call(this, operations, ...args))
                }
              })
              index.batch = batch
              finish = async () => {
                go()
                await writing
                temporary.release()
              }
            })
          }, () => finish())
          await expectKept(store, what.includes('sequence') ? [two, sequence] : [one])
        })
      }

      it(`who lets go of it does not lose another one, ${where}`, async () => {
        const { store } = await collectBeside(where, store => putAll(store, [two, sequence]).then(() => tagSequence(store)), store => store.tags.delete('sequence'))
        await store.gc()
        expect(await namesIn(store)).to.deep.equal([])
      })
    }

    it('who reads it has it as long as that takes', async () => {
      const { store } = await newStore()
      const large = blobOf(2 * MIB, 6)
      await store.put(large.bytes)
      for (const [read, expected] of [[() => store.get(large.root), large.bytes], [() => store.get(large.root, { verify: false }), large.bytes], [() => store.slice(large.root), sliceOf(large.bytes)]]) {
        const pieces = read()
        const { value } = await pieces.next()
        expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
        expect(same(concat([value, await collect(pieces)]), expected)).to.equal(true)
      }
      const left = store.get(large.root)
      await left.next()
      await left.return()
      expect(await store.gc(), 'nobody reads any more').to.deep.equal({ blobs: 1, bytes: 2 * MIB })
    })

    it('who looks what is here of it before he reads has it, too', async () => {
      const { store, place, data } = await newStore()
      const part = blobOf(100_000, 5)
      await receivePart(store, part)
      await store.close()
      const reopened = await place.open()
      const { keys } = data
      const wanted = { start: 0, end: 1000 }
      for (const read of [() => collect(reopened.slice(part.root, wanted)), () => errorOf(reopened.outboard(part.root)), () => reopened.bytes(part.root, { start: 0, end: 1000 })]) {
        let collected
        data.keys = function (...args) {
          data.keys = keys
          const looking = keys.apply(this, args)
          const next = looking.next.bind(looking)
          looking.next = async () => {
            collected ??= await reopened.gc()
            return next()
          }
          return looking
        }
        await read()
        expect(collected).to.deep.equal({ blobs: 0, bytes: 0 })
      }
    })

    it('who is putting or receiving it is not disturbed', async () => {
      const { store, place } = await newStore()
      const [put, received] = [blobOf(9 * MIB, 7), blobOf(9 * MIB, 8)]
      const slice = sliceOf(received.bytes)
      const [putting, receiving] = [put.bytes, slice].map(bytes => gated([bytes.subarray(0, 6 * MIB)], [bytes.subarray(6 * MIB)]))
      const done = [store.put(putting.source), store.receive(received.root, receiving.source)]
      await Promise.all([putting.reached, receiving.reached])
      expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
      expect(await namesIn(store), 'a part is kept already').to.deep.equal(namesOf([received]))
      putting.open()
      receiving.open()
      expect((await Promise.all(done))[1]).to.deep.equal({ received: 9 * MIB, complete: true })
      await expectKept(store, [put, received])
      expect(await store.gc()).to.deep.equal({ blobs: 2, bytes: 18 * MIB })
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.deep.equal([]))
    })
  })

  describe('that cannot tell', () => {
    const newStore = newStores()
    const sequence = sequenceOf(...Array.from({ length: 2000 }, (_, i) => ({ root: hash(Uint8Array.of(i, i >> 8)) })), small[0])

    it('what a damaged sequence protects takes nothing', async () => {
      for (const spoil of ['put', 'del']) {
        const { store, data } = await newStore()
        await store.put(sequence.bytes, { tag: 'a', format: 'hashseq' })
        const [extent] = (await entriesOf(data)).filter(({ offset }) => offset !== undefined)
        await (spoil === 'del' ? extent.del() : extent.put(extent.value.map((byte, i) => i === 40_000 ? byte ^ 1 : byte)))
        await putAll(store, small)
        const all = await namesIn(store)
        for (const options of [{}, { dryRun: true }]) {
          expect(await errorOf(store.gc(options))).to.include({ code: 'STORE_CORRUPT', start: spoil === 'del' ? 0 : 2 * GROUP })
        }
        expect(await namesIn(store)).to.deep.equal(all)
        await store.tags.delete('a')
        expect(await store.gc()).to.deep.equal({ blobs: small.length + 1, bytes: all.length && sequence.bytes.length + small.reduce((sum, { bytes }) => sum + bytes.length, 0) })
      }
    })

    it('what a sequence with a damaged record protects takes nothing', async () => {
      const { store, index } = await newStore()
      await store.put(sequence.bytes, { tag: 'a', format: 'hashseq' })
      await putAll(store, small)
      await damageRecord(index, sequence.root)
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
      expect(await listed(store.list({ prefix: hex(small[0].root) }))).to.have.length(1)
    })

    it('whose a damaged record is leaves it alone', async () => {
      const { store, index } = await newStore()
      await putAll(store, small)
      await damageRecord(index, small[3].root)
      expect(await store.gc()).to.include({ blobs: small.length - 1 })
      expect(await errorOf(store.stat(small[3].root))).to.include({ code: 'STORE_CORRUPT' })
    })

    it('reads sequences verified, also in a store that does not verify', async () => {
      const { store, data } = await newStore({ verify: false })
      await store.put(sequence.bytes, { tag: 'a', format: 'hashseq' })
      const [extent] = await entriesOf(data)
      await extent.put(extent.value.map((byte, i) => i === 0 ? byte ^ 1 : byte))
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
    })
  })

  describe('that does not end', () => {
    const newStore = newStores()
    const sequence = sequenceOf(small[0], small[1])
    const kept = [small[0], small[1], small[2], sequence]

    /** Each write to a database from some number on fails, as when the disk is gone. */
    function failFrom (database, methods, number, reason) {
      let calls = 0
      const originals = methods.map(method => database[method])
      methods.forEach((method, i) => {
        database[method] = function (...args) { return calls++ >= number ? Promise.reject(reason) : originals[i].apply(this, args) }
      })
      return () => methods.forEach((method, i) => { database[method] = originals[i] })
    }

    for (const [name, methods, most] of [['index', ['batch', 'put', 'del'], 120], ['data', ['clear', 'batch'], 60]]) {
      it(`because writes to the ${name} fail has lost nothing that is protected, and is ended the next time`, async () => {
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
          // Whether the store is closed or its process is gone, the next one finds the same.
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

    it('because the store is closed says so', async () => {
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
