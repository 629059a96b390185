// gc() while other calls protect, read or write the blobs that it is about to delete.
import { expect } from 'chai'
import { sha256 } from 'multiformats/hashes/sha2'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { concat, same } from '../../support/bytes.js'
import { GROUP, MIB } from '../../support/constants.js'
import { turns } from '../../support/fake-clock.js'
import { collect, errorOf, listed } from '../../support/feeding.js'
import {
  blobOf, small, fillers, sequenceOf, namesIn, namesOf, putAll, expectKept
} from '../../support/store/collected.js'
import { cidOf } from '../../support/store/blocks.js'
import { databasesOf, deletesRecord, idsIn, isRecordKey } from '../../support/store/inspect.js'
import { gated, newStores, sliceOf } from '../../support/store/stores.js'

/** Of the second small blob. */
const alias = await cidOf(sha256, small[1].bytes)
const START = { start: 0, end: GROUP }

const receivePart = (store, { bytes, root }, range = START) => store.receive(root, sliceOf(bytes, range), range)

describe('store: gc() beside other calls', () => {
  const newStore = newStores()
  const [swept, ...rest] = small

  /**
   * Stops a collection, does something else, and lets the collection go on.
   *
   * @param {'in its batch' | 'in a later batch'} where  in its batch: the collection has locked and looked up the
   *   first blob and those beside it, and is about to check which of them are protected now. In a later batch: the
   *   collection is deleting the records of the first blob and some others
   * @param {(store: any, index: any) => Promise<void>} prepare @param {(store: any) => Promise<any>} act
   *   @returns the store, afterwards
   */
  async function collectBeside (where, prepare, act) {
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
    const doing = act(store)
    // Only calls that need a lock of the collection may have to wait for it.
    await Promise.race([doing, ...where === 'in its batch' ? [turns()] : []])
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
    for (const [what, prepare, act, kept] of [
      ['tags it', store => store.put(one.bytes), store => store.tags.set('a', one.root), [one]],
      ['tags it temporarily', store => store.put(one.bytes), store => store.tempTag(one.root), [one]],
      ['puts it again', store => store.put(one.bytes), store => store.put(one.bytes), [one]],
      ['puts it for the first time', async () => {}, store => store.put(one.bytes), [one]],
      ['deletes it and puts it again', store => store.put(one.bytes), async store => {
        await store.delete(one.root)
        await store.put(one.bytes)
      }, [one]],
      ['renames its tag', store => store.put(one.bytes, { tag: 'm' }), async store => {
        await store.tags.rename('m', 'z')
        await store.tags.rename('z', 'a')
      }, [one]],
      ['tags a sequence that it is a member of', store => putAll(store, [two, sequence]), tagSequence, [two, sequence]],
      [
        'tags such a sequence temporarily', store => putAll(store, [two, sequence]),
        store => store.tempTag(sequence.root, { format: 'hashseq' }), [two, sequence]
      ],
      ['puts such a sequence, which has a tag', async store => {
        await tagSequence(store)
        await store.put(two.bytes)
      }, store => store.put(sequence.bytes), [two, sequence]],
      ['receives such a sequence, which has a tag', async store => {
        await tagSequence(store)
        await store.put(two.bytes)
      }, store => store.receive(sequence.root, sliceOf(sequence.bytes)), [two, sequence]],
      [
        'puts such a sequence with a tag', store => store.put(two.bytes),
        store => store.put(sequence.bytes, { tag: 'a', format: 'hashseq' }), [two, sequence]
      ],
      [
        'tags an alias of it', store => asBlockstore(store).put(alias, one.bytes),
        store => store.tags.set('a', alias), [one]
      ],
      ['renames the tag of its alias', async store => {
        await asBlockstore(store).put(alias, one.bytes)
        await store.tags.set('m', alias)
      }, async store => {
        await store.tags.rename('m', 'z')
        await store.tags.rename('z', 'a')
      }, [one]],
      [
        'puts it under an alias that has a tag', store => store.tags.set('a', alias),
        store => asBlockstore(store).put(alias, one.bytes), [one]
      ],
      ['gives it an alias that has a tag', async store => {
        await store.put(one.bytes)
        await store.tags.set('a', alias)
      }, store => asBlockstore(store).put(alias, one.bytes), [one]],
      ['receives it', async () => {}, store => store.receive(part.root, sliceOf(part.bytes)), [part]],
      [
        'receives the rest of it', store => receivePart(store, part),
        store => store.receive(part.root, sliceOf(part.bytes)), [part]
      ]
    ]) {
      it(`a call that ${what} keeps the blob, ${where}`, async () => {
        const { store } = await collectBeside(where, prepare, act)
        expect(await namesIn(store)).to.deep.equal(namesOf(kept))
        await expectKept(store, kept)
      })
    }

    for (const [what, begin] of [
      ['tagging it', (store, write) => write(store.tags.set('a', one.root))],
      ['renaming its tag', async (store, write) => {
        await store.tags.set('m', one.root)
        await write(store.tags.rename('m', 'a'))
      }],
      [
        'tagging a sequence that it is a member of',
        (store, write) => write(store.tags.set('a', sequence.root, { format: 'hashseq' }))
      ],
      [
        'putting and tagging such a sequence',
        (store, write) => write(store.put(sequence.bytes, { tag: 'a', format: 'hashseq' }))
      ]
    ]) {
      it(`a call that is ${what} when the collection begins keeps the blob, ${where}`, async () => {
        let finish
        const { store } = await collectBeside(where, async (store, index) => {
          await putAll(store, [one, two])
          if (what.startsWith('tagging a sequence')) await store.put(sequence.bytes)
          const temporary = store.tempTag(one.root)
          temporary.add(two.root)
          await begin(store, async writing => {
            // Stop the call before its write, and let the collection begin.
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

    it(`a call that releases the blob endangers no other blob, ${where}`, async () => {
      const { store } = await collectBeside(
        where, store => putAll(store, [two, sequence]).then(
          () => tagSequence(store)
        ), store => store.tags.delete('sequence')
      )
      await store.gc()
      expect(await namesIn(store)).to.deep.equal([])
    })
  }

  it('gc() deletes no blob that is being read', async () => {
    const { store } = await newStore()
    const large = blobOf(2 * MIB, 6)
    await store.put(large.bytes)
    for (const [read, expected] of [
      [() => store.get(large.root), large.bytes],
      [() => store.get(large.root, undefined, { verify: false }), large.bytes],
      [() => store.slice(large.root), sliceOf(large.bytes)]
    ]) {
      const pieces = read()
      const { value } = await pieces.next()
      expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
      expect(same(concat([value, await collect(pieces)]), expected)).to.equal(true)
    }
    const left = store.get(large.root)
    await left.next()
    await left.return()
    expect(await store.gc(), 'after the read').to.deep.equal({ blobs: 1, bytes: 2 * MIB })
  })

  it('gc() deletes no blob while a read looks up its presence', async () => {
    const { store, place, data } = await newStore()
    const part = blobOf(100_000, 5)
    await receivePart(store, part)
    await store.close()
    const reopened = await place.open()
    const { keys } = data
    const wanted = { start: 0, end: 1000 }
    for (const read of [
      () => collect(reopened.slice(part.root, wanted)), () => errorOf(reopened.outboard(part.root)),
      () => reopened.bytes(part.root, { start: 0, end: 1000 })
    ]) {
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

  it('gc() does not disturb a put or a receive', async () => {
    const { store, place } = await newStore()
    const [put, received] = [blobOf(9 * MIB, 7), blobOf(9 * MIB, 8)]
    const slice = sliceOf(received.bytes)
    const [putting, receiving] = [put.bytes, slice].map(
      bytes => gated([bytes.subarray(0, 6 * MIB)], [bytes.subarray(6 * MIB)])
    )
    const done = [store.put(putting.source), store.receive(received.root, receiving.source)]
    await Promise.all([putting.reached, receiving.reached])
    expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
    expect(await namesIn(store), 'a part is already kept').to.deep.equal(namesOf([received]))
    putting.open()
    receiving.open()
    expect((await Promise.all(done))[1]).to.deep.equal({ received: 9 * MIB, complete: true })
    await expectKept(store, [put, received])
    expect(await store.gc()).to.deep.equal({ blobs: 2, bytes: 18 * MIB })
    await store.close()
    await place.look(async ({ data }) => expect(await idsIn(data)).to.deep.equal([]))
  })
})
