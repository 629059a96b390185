// Downloads into a store from mirrors of every kind. The mirrors are functions in the process.
import { expect } from 'chai'
import fc from 'fast-check'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { ChunkRanges } from '../../../lib/index.js'
import { mirrorOf } from '../../../verifier/index.js'
import { fromMirrors } from '../../../exchange/download/index.js'
import { createHandler } from '../../../exchange/http/index.js'
import { same } from '../../support/bytes.js'
import { FakeClock } from '../../support/fake-clock.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { holds } from '../../support/property.js'
import { endings, endpoint, fetchOf, file, status, streamOf } from '../../support/servers.js'
import { downloadBy, isHeld } from '../../support/store/inspect.js'
import { inMemory } from '../../support/store/stores.js'
import { download } from '../../../exchange/download/index.js'

const MIB = 1 << 20
const content = noise(5 * MIB + 12_345, 371)
const outboard = createOutboardSync(content)
const { cid, root } = outboard
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Slices of the blob, in pieces; `ending` may change them. */
const slices = (ending = endings.whole) => async (_cid, ranges) =>
  streamOf(ending(encodeSliceSync(content, outboard, ranges)))

/** A mirror that sends so many bytes each second, by a clock. */
const paced = (clock, rate) => async function * (_cid, ranges, { signal }) {
  const slice = encodeSliceSync(content, outboard, ranges)
  const pieceLen = slice.length > 4096 ? 65_536 : 256 // A proof of the size comes in several pieces, too.
  for (let at = 0; at < slice.length; at += pieceLen) {
    const piece = slice.slice(at, at + pieceLen)
    await clock.sleep(1000 * piece.length / rate, signal)
    yield piece
  }
}

/** Does work with an empty store in memory. */
async function withStore (work, options) {
  const place = await inMemory()
  try {
    const store = await place.open(options)
    return await work(store)
  } finally {
    await place.remove()
  }
}

async function expectWhole (store) {
  expect(await store.has(cid)).to.equal(true)
  expect(same(await store.bytes(cid), content)).to.equal(true)
}

const report = ({ mirrors }, location) => mirrors.find(mirror => mirror.location === location)
const named = (location, from) => mirrorOf(from, { location })

describe('a download into a store', () => {
  it('asks any mirror: an endpoint, plain bytes with an outboard, another store', () => withStore(async store => {
    await withStore(async other => {
      await other.put(content)
      const fetch = fetchOf({
        'https://bao.example/blob': endpoint(content),
        'https://plain.example/blob': file(content),
        'https://plain.example/blob.obao4': file(outboard.bytes)
      })
      const urls = ['https://bao.example/blob', 'https://plain.example/blob'].map(url => mirrorOf(url, { fetch }))
      const result = await download(store, cid, { from: [...urls, other, { source: content, outboard }] })
      expect(result).to.include({ size: content.length, received: content.length, complete: true })
      expect(result.mirrors.map(({ state }) => state)).to.deep.equal(['good', 'good', 'good', 'good'])
      await expectWhole(store)
    })
  }))

  it('takes a blob from the handler of another store, whole or in part', () => withStore(async store => {
    await withStore(async other => {
      const part = { start: MIB, end: 3 * MIB }
      await other.receive(cid, encodeSliceSync(content, outboard, part), part)
      const handler = createHandler(other)
      const fetch = async (url, init) => handler(new Request(url, init))
      const mirror = name => mirrorOf(`https://${name}.example/blobs/{cid}`, { fetch, location: name })
      const result = await download(store, cid, { from: [mirror('part'), named('all', slices())], parallel: 1 })
      expect(report(result, 'part')).to.include({ state: 'good' })
      await other.put(content)
      await store.delete(cid)
      const whole = await download(store, cid, { from: [mirror('whole')] })
      expect(whole.mirrors).to.have.length(1)
      expect(whole.mirrors[0]).to.include({ state: 'good', bytes: content.length })
      await expectWhole(store)
    })
  }))

  it('lets quicker mirrors fetch more, so that all of them save time together', () => withStore(async store => {
    const clock = new FakeClock()
    const from = [['a', 4 * MIB], ['b', 2 * MIB], ['c', MIB]].map(([name, rate]) => named(name, paced(clock, rate)))
    const result = await clock.until(downloadBy(clock, store, cid, { from }))
    const [a, b, c] = ['a', 'b', 'c'].map(name => report(result, name).bytes)
    expect(a).to.be.above(b)
    expect(b).to.be.at.least(c)
    expect(clock.now()).to.be.below(1000 * content.length / (4 * MIB)) // the quickest alone would take so long
    await expectWhole(store)
  }))

  it('drops and names a mirror that lies, keeps its right bytes, and goes on', () => withStore(async store => {
    const liar = named('liar', slices(endings.flip(700_000)))
    const error = await errorOf(download(store, cid, { from: [liar], ranges: { start: 0, end: MIB } }))
    expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(error.cause.errors).to.have.length(1)
    expect(error.cause.errors[0]).to.include({ code: 'BAO_LEAF_MISMATCH', location: 'liar' })
    const missing = await store.missing(cid)
    expect(missing.boundaries[0]).to.be.within(500, 700)
    const clock = new FakeClock()
    const from = [liar, named('honest', paced(clock, MIB))]
    const result = await clock.until(downloadBy(clock, store, cid, { from }))
    expect(report(result, 'liar').state).to.equal('liar')
    expect(report(result, 'honest').state).to.equal('good')
    expect(result.received).to.equal(content.length - missing.boundaries[0] * 1024)
    await expectWhole(store)
  }))

  it('gives the segment of a stalled mirror to an idle one without waiting', () => withStore(async store => {
    const clock = new FakeClock()
    const from = [named('stalls', slices(endings.stall(100_000))), named('good', paced(clock, 2 * MIB))]
    const result = await clock.until(downloadBy(clock, store, cid, { from }))
    expect(clock.now()).to.be.below(5000) // not only after the 15 s that a mirror may stall
    expect(report(result, 'good').bytes).to.be.at.least(5 * MIB)
    await expectWhole(store)
  }))

  it('counts for a mirror only the bytes that it has delivered itself, also when mirrors race', () =>
    withStore(async store => {
      const silent = async (_cid, ranges, { signal }) => {
        if (ranges.equals(ChunkRanges.last)) return encodeSliceSync(content, outboard, ranges)
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }
      const failing = async (_cid, ranges) => {
        if (ranges.equals(ChunkRanges.last)) return encodeSliceSync(content, outboard, ranges)
        while (!await store.has(cid)) await pause(1)
        throw new Error('gone')
      }
      const from = [named('silent', silent), named('failing', failing), named('good', slices())]
      const result = await download(store, cid, { from })
      expect(result.mirrors.map(({ location, bytes }) => [location, bytes]))
        .to.deep.equal([['silent', 0], ['failing', 0], ['good', content.length]])
    }))

  it('counts each byte for one mirror only, also when several race for it', () => withStore(async store => {
    const stalling = named('stalling', slices(endings.stall(600_000)))
    const { mirrors } = await download(store, cid, { from: [stalling, named('good', slices())] })
    expect(mirrors.reduce((sum, { bytes }) => sum + bytes, 0)).to.equal(content.length)
    await expectWhole(store)
  }))

  it('waits for mirrors that answer 503, longer each time, and gives up in the end', () => withStore(async store => {
    const clock = new FakeClock()
    let answers = 0
    const times = []
    const fetch = fetchOf({
      'https://busy.example/a': request => {
        times.push(clock.now())
        return answers++ < 3 ? status(503)() : endpoint(content)(request)
      },
      'https://busy.example/b': () => { times.push(clock.now()); return status(503)() }
    })
    await clock.until(downloadBy(clock, store, cid, { from: [mirrorOf('https://busy.example/a', { fetch })] }))
    expect(times.slice(0, 4)).to.deep.equal([0, 250, 750, 1750])
    await expectWhole(store)
    await store.delete(cid)
    times.length = 0
    const from = [mirrorOf('https://busy.example/b', { fetch })]
    const failing = downloadBy(clock, store, cid, { from, retries: 1 })
    const error = await errorOf(clock.until(failing))
    expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(times).to.have.length(2)
  }))

  it('plans nothing for a size that is not proven', () => withStore(async store => {
    let asked = 0
    const huge = async (_cid, ranges) => {
      asked++
      const slice = encodeSliceSync(content, outboard, ranges)
      new DataView(slice.buffer).setBigUint64(0, 2n ** 53n - 1n, true)
      return slice
    }
    const result = await download(store, cid, { from: [named('huge', huge), named('good', slices())] })
    expect(report(result, 'huge')).to.include({ bytes: 0 })
    expect(asked).to.be.at.most(5)
    await expectWhole(store)
    await store.delete(cid)
    const error = await errorOf(download(store, cid, { from: [named('huge', huge)], retries: 0 }))
    expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
  }))

  it('asks a mirror that has a part for that part only', () => withStore(async store => {
    await withStore(async other => {
      const part = { start: MIB, end: 2 * MIB }
      await other.receive(cid, encodeSliceSync(content, outboard, part), part)
      const result = await download(store, cid, { from: [named('part', other), named('all', slices())] })
      expect(report(result, 'part').state).to.equal('good')
      await expectWhole(store)
      await store.delete(cid)
      const error = await errorOf(download(store, cid, { from: [named('part', other)] }))
      expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
    })
  }))

  it('takes mirrors that are added while it runs', () => withStore(async store => {
    const from = async function * () {
      yield named('broken', () => { throw new Error('broken') })
      await pause(10)
      yield named('good', slices())
      await new Promise(() => {})
    }
    const result = await download(store, cid, { from: from(), retries: 0 })
    expect(report(result, 'broken')).to.include({ state: 'failed', bytes: 0 })
    expect(report(result, 'broken').error.message).to.equal('broken')
    await expectWhole(store)
  }))

  it('tells an iterable of mirrors that no more are needed, and does not wait for it', () => withStore(async store => {
    const mirrors = [slices()]
    let isEnded = false
    const iterator = {
      next: async () => mirrors.length > 0 ? { done: false, value: mirrors.pop() } : new Promise(() => {}),
      async return () {
        isEnded = true
        return new Promise(() => {})
      }
    }
    await download(store, cid, { from: { [Symbol.asyncIterator]: () => iterator } })
    expect(isEnded).to.equal(true)
  }))

  it('fetches only the missing groups of ranges', () => withStore(async store => {
    const options = { from: [slices()], ranges: { start: 100_000, end: 200_000 } }
    const { received, complete, size } = await download(store, cid, options)
    expect({ received, complete, size }).to.deep.equal({ received: 114_688, complete: false, size: content.length })
    expect([...(await store.stat(cid)).present]).to.deep.equal([[96, 208]])
    expect(await download(store, cid, options)).to.include({ received: 0 })
    expect(await download(store, cid, { from: [slices()] })).to.include({ received: content.length - 114_688 })
    expect(await download(store, cid, { from: [] })).to.include({ received: 0, complete: true })
  }))

  it('fetches blobs of every small size', () => withStore(async store => {
    for (const len of [0, 1, 1024, 16_384, 16_385, 100_000]) {
      const small = content.slice(0, len)
      const tree = createOutboardSync(small)
      const { size, complete } = await download(store, tree.cid, { from: [{ source: small, outboard: tree }] })
      expect({ size, complete }).to.deep.equal({ size: len, complete: true })
      expect(await store.bytes(tree.cid)).to.deep.equal(small)
    }
  }))

  it('reports how far it is, how fast, and how much each mirror has sent', () => withStore(async store => {
    const clock = new FakeClock()
    const events = []
    const onProgress = event => events.push(event)
    const from = [named('one', paced(clock, MIB))]
    await clock.until(downloadBy(clock, store, cid, { from, onProgress }))
    expect(events.every(({ type }) => type === 'baobox:download')).to.equal(true)
    const details = events.map(({ detail }) => detail)
    expect(details.at(-1)).to.deep.include({ done: content.length, total: content.length, timeLeft: 0 })
    expect(details.at(-1).mirrors).to.have.length(1)
    expect(details.at(-1).mirrors[0]).to.include({ location: 'one', bytes: content.length, state: 'good' })
    const middle = details.find(({ done }) => done > 3 * MIB)
    expect(middle.rate).to.be.within(0.8 * MIB, 1.2 * MIB)
    expect(middle.timeLeft).to.be.within(1500, 3500)
    expect(details.length).to.be.within(10, 60)
  }))

  it('that is resumed counts what is present as done, and only what comes in the rate', () => withStore(async store => {
    const clock = new FakeClock()
    const range = { start: 0, end: 3 * MIB }
    await store.receive(cid, encodeSliceSync(content, outboard, range), range)
    const details = []
    const onProgress = ({ detail }) => details.push(detail)
    const from = [named('one', paced(clock, MIB))]
    await clock.until(downloadBy(clock, store, cid, { from, onProgress }))
    expect(details.map(({ done }) => done).filter(done => done < range.end)).to.deep.equal([])
    expect(details[0].done).to.equal(range.end)
    expect(Math.max(...details.map(({ rate }) => rate))).to.be.within(0.8 * MIB, 1.2 * MIB)
    expect(details.at(-1)).to.include({ done: content.length, total: content.length })
  }))

  it('ends with an abort, or with the store, and keeps the received groups', async () => {
    const place = await inMemory()
    const reason = new Error('enough')
    let onStall
    const endless = named('endless', slices(endings.stall(600_000, () => onStall())))
    const stalled = () => new Promise(resolve => { onStall = resolve })
    let store = await place.open()
    const controller = new AbortController()
    const options = { from: [endless], signal: controller.signal }
    let stalls = stalled()
    const aborted = errorOf(download(store, cid, options))
    await stalls
    expect(isHeld(store, root)).to.equal(true)
    controller.abort(reason)
    expect(await aborted).to.equal(reason)
    expect(isHeld(store, root)).to.equal(false)
    expect((await store.missing(cid)).boundaries[0]).to.be.within(400, 600)
    stalls = stalled()
    const closed = errorOf(download(store, cid, { from: [endless] }))
    await stalls
    await store.close()
    expect(await closed).to.include({ code: 'STORE_CLOSED' })
    store = await place.open()
    expect((await download(store, cid, { from: [slices()] })).received).to.be.below(content.length - 400 * 1024)
    await expectWhole(store)
    await place.remove()
  })

  it('fails when the store is full', () => withStore(async store => {
    expect(await errorOf(download(store, cid, { from: [slices(), slices()] }))).to.include({ code: 'STORE_FULL' })
  }, { quota: 2 * MIB }))

  it('refuses wrong options', () => withStore(async store => {
    for (const [options, type] of [
      [undefined, TypeError], [{}, TypeError], [{ from: 'https://a.example' }, TypeError], [{ from: [5] }, TypeError],
      [{ from: [], parallel: 0 }, RangeError], [{ from: [], retries: -1 }, RangeError],
      [{ from: [], stall: 0 }, RangeError], [{ from: [], other: 1 }, TypeError], [{ from: [], ranges: 5 }, TypeError]
    ]) {
      expect(await errorOf(download(store, cid, options)), JSON.stringify(options)).to.be.instanceOf(type)
    }
    expect(await errorOf(download(store, 'x', { from: [] }))).to.include({ code: 'CID_UNSUPPORTED' })
    expect(await errorOf(download(store, cid, { from: [] }))).to.include({ code: 'FETCH_EXHAUSTED' })
  }))

  it('fetches the blob from any mix of mirrors of which one is honest, and never a wrong byte', () => {
    const kind = fc.constantFrom('flip', 'reset', 'cut', 'stall', 'endless')
    const bad = fc.record({ kind, at: fc.nat(1_500_000) })
    return holds('download', fc.asyncProperty(fc.array(bad, { maxLength: 4 }), fc.nat(4), async (list, place) => {
      const from = list.map(({ kind, at }) => slices(kind === 'endless' ? endings.endless : endings[kind](at)))
      from.splice(place, 0, slices())
      await withStore(async store => {
        const clock = new FakeClock()
        await clock.until(downloadBy(clock, store, cid, { from, parallel: 3 }))
        await expectWhole(store)
        expect((await store.fsck()).damaged).to.deep.equal([])
      })
    }), 10)
  })
})

describe('fromMirrors', () => {
  it('fetches the groups that a read lacks, also when the first mirror lies', async () => {
    const supply = fromMirrors([slices(endings.flip(5000)), slices()])
    await withStore(async store => {
      const part = { start: 0, end: MIB }
      await store.receive(cid, encodeSliceSync(content, outboard, part), part)
      expect(same(await store.bytes(cid, { start: MIB - 9, end: MIB + 9 }), content.subarray(MIB - 9, MIB + 9)))
        .to.equal(true)
      expect(same(await store.bytes(cid), content)).to.equal(true)
      await expectWhole(store)
    }, { supply })
  })

  it('makes a store a cache of its mirrors', async () => {
    let count = 0
    const counted = (...asked) => {
      count++
      return slices()(...asked)
    }
    await withStore(async store => {
      expect(same(await store.bytes(cid, { start: 5 * MIB }), content.subarray(5 * MIB))).to.equal(true)
      expect(same(await store.bytes(cid), content)).to.equal(true)
      await expectWhole(store)
      const asked = count
      await expectWhole(store)
      expect(count).to.equal(asked)
      const unknown = await errorOf(store.bytes(createOutboardSync(noise(10, 1)).cid))
      expect(unknown).to.include({ code: 'STORE_NOT_FOUND' })
      expect(unknown.cause).to.include({ code: 'FETCH_EXHAUSTED' })
    }, { supply: fromMirrors([slices(endings.flip(5000)), counted]) })
  })

  it('gives verified slices of the first mirror that has them', async () => {
    const supply = fromMirrors([slices(endings.flip(5000)), () => { throw new Error('no') }, slices()])
    const ranges = ChunkRanges.fromBytes(0, 65_536).union(ChunkRanges.fromBytes(MIB, MIB + 16_384))
    const slice = await collect(await supply(cid, ranges, {}))
    expect(same(slice, encodeSliceSync(content, outboard, ranges))).to.equal(true)
  })

  it('fails with the errors of all mirrors', async () => {
    const supply = fromMirrors([slices(endings.flip(5000)), slices(endings.cut(5000))])
    const error = await errorOf(supply(cid, ChunkRanges.fromBytes(0, 65_536), {}))
    expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(error.cause.errors.map(({ code }) => code)).to.deep.equal(['BAO_LEAF_MISMATCH', 'BAO_TRUNCATED'])
  })

  it('tells which bytes came from which mirror, and where one lied', async () => {
    const events = []
    const onRequest = event => {
      events.push(event)
      throw new Error('a fault of the log')
    }
    const mirrors = [named('liar', slices(endings.flip(700_000))), named('honest', slices())]
    await withStore(async store => {
      expect(same(await store.bytes(cid, { start: 0, end: MIB }), content.subarray(0, MIB))).to.equal(true)
    }, { supply: fromMirrors(mirrors, { onRequest }) })
    const [lie, ...others] = events
    expect(lie).to.include({ mirror: 'liar', cid: lie.cid })
    expect(`${lie.cid}`).to.equal(`${cid}`)
    expect(lie.error).to.include({ code: 'BAO_LEAF_MISMATCH' })
    expect(lie.error.start).to.be.within(650_000, 700_000)
    expect(lie.ranges).to.have.length(1)
    expect(lie.ranges[0].start).to.equal(0)
    expect(lie.ranges[0].end).to.be.within(600_000, lie.error.start)
    for (const event of others) {
      expect(event).to.include({ mirror: 'honest' })
      expect(event).to.not.have.property('error')
    }
    const rest = others.flatMap(({ ranges }) => ranges).find(({ start }) => start === lie.ranges[0].end)
    expect(rest.end).to.be.at.least(MIB)
  })

  it('does not call a request failed that nobody wants any longer', async () => {
    const events = []
    const abort = new AbortController()
    const supply = fromMirrors([slices(endings.stall(500_000))], { onRequest: event => events.push(event) })
    const pieces = await supply(cid, ChunkRanges.fromBytes(0, MIB), abort)
    const ended = errorOf(collect(pieces))
    abort.abort(new Error('enough'))
    expect(await ended).to.have.property('message', 'enough')
    expect(events).to.have.length(1)
    expect(events[0]).to.not.have.property('error')
    const early = await supply(cid, ChunkRanges.fromBytes(0, MIB), {})
    await early.next()
    await early.return()
    expect(events).to.have.length(2)
    expect(events[1]).to.not.have.property('error')
  })

  it('refuses an invalid time, a callback that is not a function, and what is no list', () => {
    expect(() => fromMirrors([], { onRequest: 5 })).to.throw('"onRequest"')
    for (const mirrors of ['http://a.test/{cid}', undefined, null, 5, {}]) {
      expect(() => fromMirrors(mirrors), `${mirrors}`).to.throw(TypeError, '"mirrors" expected an array')
    }
    for (const stall of [0, -1, 1.5, '5', null]) {
      expect(() => fromMirrors([], { stall }), `${stall}`).to.throw('"stall"')
    }
  })

  it('ends with its signal', async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(new Error('enough')), 10)
    const supply = fromMirrors([slices(endings.stall(5000))])
    const error = await errorOf(supply(cid, ChunkRanges.fromBytes(0, 65_536), controller))
    expect(error).to.have.property('message', 'enough')
  })
})
