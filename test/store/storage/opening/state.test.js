// The state of a store says which ids were given. No blob may be lost when it is lost.

import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { equals } from 'uint8arrays/equals'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { VIEWS } from '../../../support/constants.js'
import { flipped, same } from '../../../support/bytes.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { cidOf } from '../../../support/store/blocks.js'
import {
  aliasEntry, databasesOf, deletionEntry, entriesOf, extentEntry, idsIn, isRecordKey, malformedKeys, noteDeletion,
  recordEntry, stateEntry, usedEntry
} from '../../../support/store/inspect.js'
import { sliceOf } from '../../../support/store/stores.js'

const first = noise(100_000, 1)
const second = noise(100_000, 2)

describe('store: the state', () => {
  for (const [what, spoil] of [
    ['lost', (index) => stateEntry(index).remove()],
    ['damaged', index => stateEntry(index).change(state => state.fill(0, 9, 25))],
    ['cut short', (index) => stateEntry(index).write(new Uint8Array(3))]
  ]) {
    it(`may be ${what}, and no id is given twice`, async () => {
      const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
      const store = await BlobStore.open(pair)
      await store.put(first)
      await spoil(pair.index)
      // As after a crash, the databases are opened again without having been closed.
      const again = await BlobStore.open(pair)
      await again.put(second)
      expect(same(await again.bytes(hash(first)), first)).to.equal(true)
      expect(same(await again.bytes(hash(second)), second)).to.equal(true)
      await again.close()
    })
  }

  it('is not clean after a crash, and a signal ends an opening that reads the index', async () => {
    for (const method of ['iterator', 'snapshot']) {
      const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
      const store = await BlobStore.open(pair)
      await store.put(first)
      await extentEntry(pair.data, 7, 0).write(second.subarray(0, 100))
      const controller = new AbortController()
      const reason = new Error('enough')
      const real = pair.index[method].bind(pair.index)
      pair.index[method] = (...args) => {
        controller.abort(reason)
        return real(...args)
      }
      expect(await errorOf(BlobStore.open(pair, { signal: controller.signal })), method).to.equal(reason)
      await pair.data.open()
      expect(await idsIn(pair.data), 'nothing was swept away').to.have.length(2)
      const again = await BlobStore.open(pair)
      expect(same(await again.bytes(hash(first)), first)).to.equal(true)
      expect(await idsIn(pair.data)).to.have.length(1)
      await again.close()
    }
  })

  it('may be an old one if LevelDB has lost later ones, and no id is given twice', async () => {
    for (const lose of [async () => {}, index => recordEntry(index, hash(first)).remove()]) {
      const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
      await (await BlobStore.open(pair)).close()
      await pair.index.open()
      const clean = await stateEntry(pair.index).read()
      await pair.index.close()
      const store = await BlobStore.open(pair)
      await store.put(first)
      await lose(pair.index)
      await stateEntry(pair.index).write(clean)
      const again = await BlobStore.open(pair)
      await again.put(second)
      expect(await idsIn(pair.data), 'each has its own').to.have.length(2)
      expect(same(await again.bytes(hash(second)), second)).to.equal(true)
      await again.close()
    }
  })

  it('may be lost together with all records, and then the opening sweeps nothing', async () => {
    const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
    const store = await BlobStore.open(pair)
    await store.put(first)
    await pair.index.clear()
    for (let life = 0; life < 3; life++) {
      const again = await BlobStore.open(pair)
      expect(await idsIn(pair.data)).to.have.length(1)
      if (life === 1) continue // a crash
      await again.close()
      await Promise.all([pair.index.open(), pair.data.open()])
    }
  })

  describe('that does not say that the index is whole', () => {
    const small = noise(300, 7)
    const part = noise(400_000, 8)
    const range = { start: 0, end: 5 << 14 }
    const LOSSES = {
      'because the index is empty': async index => index.clear(),
      'because it is lost, with the records': async index => {
        await stateEntry(index).remove()
        for (const bytes of [first, small, part]) await recordEntry(index, hash(bytes)).remove()
      },
      'because it is damaged': async index => {
        await stateEntry(index).change(state => flipped(state, 20))
        for (const bytes of [first, small, part]) await recordEntry(index, hash(bytes)).remove()
      },
      'because the index is an older one': async (index, older) => {
        await index.clear()
        await index.batch(older.map(([key, value]) => ({ type: 'put', key, value })), VIEWS)
      }
    }
    let pair
    /** Makes and closes a store, whose index then loses the first and the small blob, and the part of a third one. */
    const lossy = async lose => {
      pair = { index: new MemoryLevel(), data: new MemoryLevel() }
      let store = await BlobStore.open(pair)
      await store.put(second, { tag: 'second' })
      await store.close()
      await pair.index.open()
      const older = (await pair.index.iterator(VIEWS).all()).map(entry => entry.map(bytes => new Uint8Array(bytes)))
      store = await BlobStore.open(pair)
      for (const bytes of [first, small]) await store.put(bytes)
      await store.receive(hash(part), sliceOf(part, range), range)
      await store.close()
      await Promise.all([pair.index.open(), pair.data.open()])
      await lose(pair.index, older)
    }

    for (const [why, lose] of Object.entries(LOSSES)) {
      it(`prevents all sweeping ${why}, until a repair has looked at all data`, async () => {
        await lossy(lose)
        const before = await idsIn(pair.data)
        for (let life = 0; life < 2; life++) {
          const store = await BlobStore.open(pair)
          for (const call of [() => store.gc(), () => store.gc({ dryRun: true }), () => store.compact()]) {
            expect(await errorOf(call)).to.include({ code: 'STORE_CORRUPT' })
          }
          expect(await store.fsck()).to.include({ isStateDamaged: true, isSound: false })
          await store.close()
          await Promise.all([pair.index.open(), pair.data.open()])
          expect(await idsIn(pair.data)).to.deep.equal(before)
        }
        const store = await BlobStore.open(pair)
        const report = await store.fsck({ repair: true })
        expect(report).to.include({ isStateDamaged: true, orphans: 1 })
        expect(report.records.every(({ isRestored }) => isRestored)).to.equal(true)
        for (const bytes of [first, second, small]) {
          expect(same(await store.bytes(hash(bytes)), bytes), `${bytes.length} bytes`).to.equal(true)
        }
        expect(await idsIn(pair.data), 'the part is kept, and was reported').to.deep.equal(before)
        expect(await store.fsck()).to.include({ isStateDamaged: false, orphans: 1 })
        expect(await store.fsck({ repair: true })).to.include({ orphans: 1 })
        expect(await store.fsck()).to.include({ isSound: true })
        await store.gc()
        await store.close()
      })
    }

    it('prevents evictions', async () => {
      await lossy(LOSSES['because it is damaged'])
      const store = await BlobStore.open(pair, { quota: 500_000 })
      await store.tags.delete('second')
      expect(await errorOf(store.put(noise(450_000)))).to.include({ code: 'STORE_CORRUPT' })
      expect(await store.has(hash(second))).to.equal(true)
      await store.close()
    })

    it('is not written by a repair if LevelDB could not read all data', async () => {
      await lossy(LOSSES['because it is damaged'])
      const store = await BlobStore.open(pair)
      const { keys } = pair.data
      pair.data.keys = function (options) {
        const made = keys.call(this, options)
        made.nextv = async () => { throw Object.assign(new Error('Corruption'), { code: 'LEVEL_CORRUPTION' }) }
        return made
      }
      expect(await store.fsck({ repair: true })).to.include({ isReadable: false, isStateDamaged: true })
      pair.data.keys = keys
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
      await store.close()
    })
  })

  it('is written again after a failed write', async () => {
    const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
    const store = await BlobStore.open(pair)
    const { batch } = pair.index
    pair.index.batch = async () => {
      pair.index.batch = batch
      throw new Error('the disk is full')
    }
    expect((await errorOf(store.put(first))).message).to.equal('the disk is full')
    await store.put(first)
    expect(same(await store.bytes(hash(first)), first)).to.equal(true)
    await store.close()
  })

  it('does not count as an old one while a write of it reserves more ids', async () => {
    const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
    const store = await BlobStore.open(pair)
    const { ids } = databasesOf(store)
    const old = await stateEntry(pair.index).read()
    const { batch } = pair.index
    let write
    const held = new Promise(resolve => { write = resolve })
    pair.index.batch = async (...args) => {
      await held
      return batch.apply(pair.index, args)
    }
    const asked = ids.isStateSound()
    const giving = ids.newId()
    expect(await asked, 'asked before the id was given').to.equal(true)
    expect(await ids.isStateSound(), 'asked while the state is written').to.equal(true)
    write()
    ids.release(await giving)
    expect(await ids.isStateSound(), 'asked after the write').to.equal(true)
    await stateEntry(pair.index).write(old)
    expect(await ids.isStateSound(), 'asked when the disk has an old state').to.equal(false)
    await store.close()
  })

  it('of a store that is closed during a list makes the list fail with STORE_CLOSED', async () => {
    const store = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() })
    await store.put(first)
    await store.put(second)
    const list = store.list()
    await list.next()
    await store.close()
    expect(await errorOf(list.next())).to.include({ code: 'STORE_CLOSED' })
  })

  describe('beside keys and values that no store writes', () => {
    let pair
    /** Opens a store as after a crash, with entries in it that no store writes. */
    const opened = async spoil => {
      pair = { index: new MemoryLevel(), data: new MemoryLevel() }
      const store = await BlobStore.open(pair)
      await store.put(first)
      await store.put(second)
      await spoil(pair)
      return BlobStore.open(pair)
    }
    const expectBoth = async store => {
      const listed = []
      for await (const blob of store.list()) listed.push(blob)
      expect(listed).to.have.length(2)
      for (const bytes of [first, second]) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    }

    it('stays right when the data has keys that are empty, too short, too long or have huge ids', async () => {
      const zeros = new Uint8Array(17)
      const lengths = [1, 16, 18].map(len => new Uint8Array(len))
      const keys = [...lengths, new Uint8Array(17).fill(255), flipped(zeros, 0, 0x80), flipped(zeros, 16, 0x80)]
      const store = await opened(async ({ data }) => {
        for (const key of keys) await data.put(key, new Uint8Array(5), VIEWS)
      })
      await expectBoth(store)
      const third = noise(100_000, 3)
      await store.put(third)
      expect(same(await store.bytes(hash(third)), third)).to.equal(true)
      await store.close()
    })

    it('does not send a reader in circles when an extent comes after its page', async () => {
      const bytes = noise(3 << 20, 5)
      const range = { start: 0, end: 2 << 20 }
      await (await opened(async () => {})).receive(hash(bytes), sliceOf(bytes, range), range)
      const store = await BlobStore.open(pair)
      // LevelDB gives keys as they are in its files, even damaged ones.
      const { keys } = pair.data
      pair.data.keys = function (options) {
        const iterator = keys.call(this, options)
        const { next } = iterator
        let extent
        iterator.next = async () => {
          const key = await next.call(iterator)
          if (key?.[16] === 0) extent = key
          // Instead of a page comes an extent that belongs before it.
          return extent !== undefined && key?.[16] === 1 ? extent : key
        }
        return iterator
      }
      expect((await store.missing(hash(bytes))).boundaries).to.deep.equal([2048, 3072])
      await store.close()
    })

    it('stays right when the index has keys that no store writes', async () => {
      const store = await opened(async ({ index }) => {
        for (const key of [1, 5, 32, 34].flatMap(malformedKeys)) await index.put(key, new Uint8Array(33), VIEWS)
        await usedEntry(index, hash(first)).write(new Uint8Array(3))
        await usedEntry(index, hash(second)).write(new Uint8Array(8).fill(255))
      })
      const { created, lastUsed } = await store.stat(hash(second))
      expect(lastUsed).to.deep.equal(created)
      const listed = []
      const listing = async () => { for await (const blob of store.list()) listed.push(blob) }
      expect(await errorOf(listing)).to.include({ code: 'STORE_CORRUPT' })
      expect(listed).to.have.length(2)
      for (const bytes of [first, second]) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      await store.close()
    })

    it('does not delete the data of another blob when a deletion note is damaged', async () => {
      const store = await opened(async ({ index, data }) => {
        const [id, other] = await idsIn(data)
        await noteDeletion(index, other)
        await deletionEntry(index, id).write(await deletionEntry(index, other).read())
        await deletionEntry(index, other).write(new Uint8Array(0))
      })
      await expectBoth(store)
      await store.close()
    })
  })

  describe('when LevelDB cannot read an entry', () => {
    const unreadable = async () => {
      throw Object.assign(new Error('Corruption: bad entry in block'), { code: 'LEVEL_CORRUPTION' })
    }
    const bytes = noise(3 << 20, 6)
    const spoilt = async (database, method, isSpoilt) => {
      const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
      const store = await BlobStore.open(pair)
      await store.put(bytes)
      await store.put(first)
      const original = pair[database][method]
      pair[database][method] = function (...args) { return isSpoilt(args) ? unreadable() : original.apply(this, args) }
      return { store, pair }
    }

    it('reports an unreadable record as damaged', async () => {
      const { store, pair } = await spoilt('index', 'getSync', ([key]) => isRecordKey(key, hash(first)))
      pair.index.get = pair.index.getSync
      expect(await errorOf(store.bytes(hash(first)))).to.include({ code: 'STORE_CORRUPT' })
      await store.put(first)
      await store.close()
    })

    it('reports the bytes that an unreadable page proves as damaged', async () => {
      const { store, pair } = await spoilt('data', 'getMany', () => true)
      expect(same(await store.bytes(hash(bytes)), bytes), 'others are asked for one by one').to.equal(true)
      pair.data.get = unreadable
      const error = await errorOf(collect(store.slice(hash(bytes))))
      expect(error).to.include({ code: 'STORE_CORRUPT', start: 0, len: bytes.length })
      await store.close()
    })

    it('lists the other aliases before it reports unreadable ones', async () => {
      const aliases = await Promise.all([sha256, sha512].map(hasher => cidOf(hasher, first)))
      const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
      const store = await BlobStore.open(pair)
      for (const alias of aliases) await store.put(first, { alias })
      const { get } = pair.index
      const isSpoilt = key => equals(key, aliasEntry(pair.index, aliases[0].multihash.bytes).key)
      pair.index.getMany = unreadable
      pair.index.get = function (key, ...args) { return isSpoilt(key) ? unreadable() : get.call(this, key, ...args) }
      const seen = []
      const reading = (async () => { for await (const { alias } of store.aliases.list()) seen.push(`${alias}`) })()
      expect(await errorOf(reading)).to.include({ code: 'STORE_CORRUPT' })
      expect(seen).to.deep.equal([`${aliases[1]}`])
      await store.close()
    })

    it('reports an unreadable extent as damaged', async () => {
      const { store, pair } = await spoilt('data', 'get', () => false)
      const { iterator } = pair.data
      pair.data.iterator = function (...args) {
        const made = iterator.apply(this, args)
        const { next } = made
        let count = 0
        made.next = () => count++ < 10 ? next.call(made) : unreadable()
        return made
      }
      const { code, start, len } = await errorOf(store.bytes(hash(bytes)))
      expect({ code, start, len }).to.deep.equal({ code: 'STORE_CORRUPT', start: 10 << 16, len: 16384 })
      expect((await entriesOf({ iterator: (...args) => iterator.apply(pair.data, args) })).length).to.be.greaterThan(10)
      await store.close()
    })

    it('passes an I/O error through unchanged', async () => {
      const failed = Object.assign(new Error('IO error: too many open files'), { code: 'LEVEL_IO_ERROR' })
      const { store, pair } = await spoilt('data', 'get', () => false)
      pair.data.getMany = pair.data.getSync = pair.data.get = () => Promise.reject(failed)
      expect(await errorOf(store.bytes(hash(bytes)))).to.equal(failed)
      expect(await errorOf(collect(store.slice(hash(bytes))))).to.equal(failed)
      await store.close()
    })
  })
})
