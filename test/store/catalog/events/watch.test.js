// watch() tells of the changes of blobs and tags, in the order in which they were written.
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { GROUP } from '../../../support/constants.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import {
  damageRecord, databasesOf, eventEntries, extentEntry, putEvent, recordOf
} from '../../../support/store/inspect.js'
import { forEachPlace, newStores, sliceOf } from '../../../support/store/stores.js'

const BLOBS = Array.from({ length: 8 }, (_, i) => noise(100 + i, i + 1))
const ROOTS = BLOBS.map(bytes => hash(bytes))
const LONG = noise(3 * GROUP)

/** The next events as short texts. */
async function take (events, count) {
  const taken = []
  while (taken.length < count) taken.push((await events.next()).value)
  return taken
}
const inShort = ({ type, cid, complete, tag }) => {
  const i = ROOTS.findIndex(root => `${toCid(root)}` === `${cid}`)
  return [type, i < 0 ? cid && `${cid}` : i, complete ?? tag].join(' ')
}

/** All events after a point, up to now. */
async function eventsSince (store, after) {
  const seen = []
  await store.tags.set('end of the test', ROOTS[0])
  for await (const event of store.watch({ after })) {
    if (event.tag === 'end of the test') break
    seen.push(event)
  }
  await store.tags.delete('end of the test')
  return seen
}

describe('store: watch()', () => {
  forEachPlace(newPlace => {
    let place, store
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
    })

    it('watch() gives every change of blobs and tags from the moment of the call', async () => {
      await store.put(BLOBS[7])
      const events = store.watch()
      await store.put(BLOBS[0], { tag: 'a' })
      await store.put(BLOBS[0]) // again: no change
      await listed(store.putMany(BLOBS.slice(1, 3)))
      const range = { start: 0, end: GROUP }
      await store.receive(hash(LONG), sliceOf(LONG, range), range)
      const rest = { start: GROUP, end: LONG.length }
      await store.receive(hash(LONG), sliceOf(LONG, rest), rest)
      await store.tags.rename('a', 'b')
      await store.tags.setMany([{ name: 'c', cid: ROOTS[1] }, { name: 'b', cid: ROOTS[2] }])
      await store.tags.delete('c')
      await store.delete(ROOTS[1])
      await store.gc()
      const long = `${toCid(hash(LONG))}`
      const expected = [
        'added 0 true', 'tagged 0 a', 'added 1 true', 'added 2 true', `added ${long} false`, `completed ${long} true`,
        'tagged 0 b', 'untagged 0 a', 'tagged 1 c', 'tagged 2 b', 'untagged 1 c', 'removed 1 false'
      ]
      const taken = await take(events, expected.length)
      expect(taken.map(inShort)).to.deep.equal(expected)
      const collected = (await take(events, 3)).map(inShort)
      expect(collected).to.have.members(['removed 0 false', 'removed 7 false', `removed ${long} false`])
      for (const { time } of taken) expect(Date.now() - time.getTime()).to.be.within(0, 60_000)
      await events.return()
    })

    it('the point of every event leads to the next event, even after the store was opened again', async () => {
      const { point } = await store.info()
      await listed(store.putMany(BLOBS, {}))
      await store.tags.setMany(ROOTS.map((cid, i) => ({ name: `t${i}`, cid })))
      const all = await eventsSince(store, point)
      expect(all).to.have.length(16)
      await store.close()
      store = await place.open()
      for (const [i, event] of all.entries()) {
        const rest = await eventsSince(store, event.point)
        expect(rest.slice(0, 16 - i - 1)).to.deep.equal(all.slice(i + 1))
      }
    })

    it('watch() waits for changes, and several callers may watch', async () => {
      const watchers = [store.watch(), store.watch()]
      const first = watchers.map(events => events.next())
      await new Promise(resolve => setTimeout(resolve, 20))
      await store.put(BLOBS[0])
      for (const next of first) expect(inShort((await next).value)).to.equal('added 0 true')
      await store.put(BLOBS[1])
      for (const events of watchers) expect(inShort((await events.next()).value)).to.equal('added 1 true')
    })

    it('an abort ends it, and so does closing the store', async () => {
      const reason = new Error('enough')
      const controller = new AbortController()
      const next = store.watch({ signal: controller.signal }).next()
      const other = store.watch().next()
      setTimeout(() => controller.abort(reason), 10)
      expect(await errorOf(next)).to.equal(reason)
      setTimeout(() => store.close(), 10)
      expect(await errorOf(other)).to.include({ code: 'STORE_CLOSED' })
    })
  })

  const newStore = newStores()

  it('a failed write gives no event', async () => {
    const { store, index } = await newStore()
    const { point } = await store.info()
    await store.put(BLOBS[0])
    const { batch } = index
    index.batch = async () => { throw new Error('the disk is full') }
    expect(await errorOf(store.put(BLOBS[1]))).to.not.equal(undefined)
    index.batch = batch
    const seen = []
    const error = await errorOf((async () => {
      await store.put(BLOBS[2])
      for await (const event of store.watch({ after: point })) seen.push(inShort(event))
    })())
    expect(error).to.include({ code: 'WATCH_GAP' })
    expect(seen).to.deep.equal(['added 0 true'])
  })

  it('damage that fsck() finds and repairs gives events', async () => {
    const { store, data, index } = await newStore()
    await store.put(LONG)
    await store.put(BLOBS[0])
    const { point } = await store.info()
    const { id } = await recordOf(store, hash(LONG))
    await extentEntry(data, id, 0).change(bytes => bytes.map(byte => byte ^ 1))
    await store.fsck({ repair: true })
    await store.put(LONG)
    await damageRecord(index, ROOTS[0])
    await store.fsck({ repair: true })
    const long = `${toCid(hash(LONG))}`
    expect((await eventsSince(store, point)).map(inShort)).to.deep.equal(
      [`damaged ${long} false`, `completed ${long} true`, 'added 0 true']
    )
  })

  it('the event of a tag of an alias has the alias, and an expired tag gives one when gc() deletes it', async () => {
    const { store } = await newStore()
    const { point } = await store.info()
    const { sha256 } = await import('multiformats/hashes/sha2')
    const { CID } = await import('multiformats/cid')
    const alias = CID.createV1(0x55, await sha256.digest(BLOBS[0]))
    await asBlockstore(store).put(alias, BLOBS[0])
    await store.tags.set('alias', alias)
    await store.tags.set('short', ROOTS[0], { expires: new Date(1) })
    await store.gc()
    expect((await eventsSince(store, point)).map(inShort)).to.deep.equal(
      ['added 0 true', `tagged ${alias} alias`, 'tagged 0 short', 'untagged 0 short']
    )
  })

  describe('WATCH_GAP', () => {
    it('is the error for a point that is not in the log', async () => {
      const { store } = await newStore()
      const other = await newStore()
      await store.put(BLOBS[0])
      await other.store.put(BLOBS[1])
      const { point } = await other.store.info()
      const own = (await store.info()).point
      const [position, check] = own.split('-')
      for (const after of [point, `${position}1-${check}`, `9999-${check}`, `${position}-${'0'.repeat(16)}`]) {
        expect(await errorOf(store.watch({ after }).next()), after).to.include({ code: 'WATCH_GAP' })
      }
    })

    it('is the error for a watcher that is too slow, and the log stays short', async () => {
      const { store } = await newStore({ durability: 'process' })
      const events = store.watch()
      await store.put(BLOBS[0])
      expect(inShort((await events.next()).value)).to.equal('added 0 true')
      const name = 'x'.repeat(1 << 16)
      for (let i = 0; i < 80; i++) await store.tags.set(`${name}${i}`, ROOTS[0])
      expect(await errorOf(take(events, 80))).to.include({ code: 'WATCH_GAP' })
      const kept = await eventEntries(databasesOf(store).index)
      const len = kept.reduce((sum, { value }) => sum + value.length, 0)
      expect(len).to.be.within(4 << 20, 5 << 20)
      const { point } = await store.info()
      await store.put(BLOBS[1])
      expect((await eventsSince(store, point)).map(inShort)).to.deep.equal(['added 1 true'])
    })

    it('comes for damage at every byte of the log, after the events before it', async () => {
      const { store, index } = await newStore()
      const { point } = await store.info()
      for (const bytes of BLOBS.slice(0, 3)) await store.put(bytes)
      const entry = (await eventEntries(index))[2] // the first entry is the beginning of the log
      for (let at = 0; at < entry.value.length; at++) {
        const wrong = new Uint8Array(entry.value)
        wrong[at] ^= 1
        await entry.put(wrong)
        const seen = []
        const error = await errorOf((async () => {
          for await (const event of store.watch({ after: point })) seen.push(inShort(event))
        })())
        expect(error, `byte ${at}`).to.include({ code: 'WATCH_GAP' })
        expect(seen).to.deep.equal(['added 0 true'])
      }
      await entry.put(entry.value.subarray(0, 10))
      expect(await errorOf(take(store.watch({ after: point }), 3))).to.include({ code: 'WATCH_GAP' })
      expect(await store.fsck()).to.include({ isSound: false, strays: 1 })
      await store.fsck({ repair: true })
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it('comes after a last entry that makes no sense, and the log goes on', async () => {
      const { store, place, index } = await newStore()
      await store.put(BLOBS[0])
      const { point } = await store.info()
      const entry = (await eventEntries(index)).at(-1)
      await entry.put(new Uint8Array(3))
      await store.close()
      const again = await place.open()
      expect(await errorOf(again.watch({ after: point }).next())).to.include({ code: 'WATCH_GAP' })
      const now = (await again.info()).point
      await again.put(BLOBS[1])
      expect((await eventsSince(again, now)).map(inShort)).to.deep.equal(['added 1 true'])
    })

    it('comes after a last entry of a wrong time, which does not become the time of the store', async () => {
      const { store, place, index } = await newStore()
      const { cid } = await store.put(BLOBS[0])
      const { point } = await store.info()
      const entry = (await eventEntries(index)).at(-1)
      const wrong = new Uint8Array(entry.value)
      wrong[1] ^= 2 // 2^49 milliseconds more
      await entry.put(wrong)
      await store.close()
      const again = await place.open()
      await again.tags.set('for a minute', cid, { ttl: 60_000 })
      const { expires } = await again.tags.get('for a minute')
      expect(expires.getTime()).to.be.below(Date.now() + 60_001)
      expect(await errorOf(again.watch({ after: point }).next())).to.include({ code: 'WATCH_GAP' })
    })

    it('does not stay: a new log begins after all entries, however fast the old log grew', async () => {
      const { store, place, index } = await newStore()
      await store.put(BLOBS[0])
      let open = store
      const breakLast = async () => {
        await open.close()
        await index.open()
        await (await eventEntries(index)).at(-1).put(new Uint8Array(10))
        await index.close()
        open = await place.open()
      }
      await breakLast() // The new log begins at the time of the clock.
      const names = Array.from({ length: 1000 }, (_, i) => `${i}`.padStart(1000, 'n'))
      await open.tags.setMany(names.map(name => ({ name, cid: ROOTS[0] }))) // a MB in much less than 1000 s
      await breakLast()
      const putLater = async () => {
        await open.tags.get('a') // While this runs, watch() finds no event, and waits.
        await open.put(BLOBS[1])
      }
      const [events] = await Promise.all([take(open.watch(), 1), putLater()])
      expect(events.map(inShort)).to.deep.equal(['added 1 true'])
    })
  })

  it('a key of a position that no log reaches is found by fsck(), and the log goes on without it', async () => {
    const { store, place, index } = await newStore()
    await store.put(BLOBS[0])
    await store.close()
    await index.open()
    await putEvent(index, Number.MAX_SAFE_INTEGER, new Uint8Array(16))
    await index.close()
    const again = await place.open()
    expect(await again.fsck({ repair: true })).to.include({ isSound: false, strays: 1 })
    const { point } = await again.info()
    await again.put(BLOBS[1])
    expect((await eventsSince(again, point)).map(inShort)).to.deep.equal(['added 1 true'])
    expect(await again.fsck()).to.include({ isSound: true })
  })

  it('a wrong point is refused', async () => {
    const { store } = await newStore()
    for (const after of [5, null, '', 'now', '-5-0000000000000000', '1-00', `1-${'g'.repeat(16)}`]) {
      await expectSlip('after', async () => store.watch({ after }).next())
    }
  })
})
