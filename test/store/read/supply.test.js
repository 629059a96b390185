// The option `supply` of a store: a read that finds damaged or missing groups fetches them with it, and goes on.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { flipped, same } from '../../support/bytes.js'
import { EXTENT, GROUP } from '../../support/constants.js'
import { turn, turns } from '../../support/fake-clock.js'
import { collect, errorOf, listed, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { entriesOf } from '../../support/store/inspect.js'
import { newStores, sliceOf } from '../../support/store/stores.js'

const BYTES = noise(70 * GROUP + 500, 75)
const ROOT = hash(BYTES)
const MIB = 1 << 20
const LONG = noise(17 * MIB + 5, 77)
const LONG_ROOT = hash(LONG)
/** The chunks of the first call, and the index that means the last chunk. */
const WINDOW = 1024
const LAST = Number.MAX_SAFE_INTEGER
const rangesOf = (start, end) => ChunkRanges.fromBytes(start, end)

describe('store: supply', () => {
  const newStore = newStores()

  /** Makes a store with a damaged group, the sixth of each blob in extents, and records the calls of `supply`. */
  const damagedStore = async (supply, options) => {
    const asked = []
    const made = await newStore({
      ...options,
      supply: (cid, ranges, more) => {
        asked.push(ranges.boundaries)
        return supply(cid, ranges, more)
      }
    })
    await made.store.put(BYTES)
    const damage = async (at = EXTENT + GROUP + 7) => {
      const offset = at - at % EXTENT
      const extent = (await entriesOf(made.data)).find(entry => entry.offset === offset)
      await extent.put(flipped(extent.value, at - offset))
    }
    await damage()
    return { ...made, asked, damage }
  }
  /** Makes a store that has the first half MiB of 17 MiB, and records the calls of `supply`. */
  const partialStore = async supply => {
    const asked = []
    const { store } = await newStore({
      supply: (cid, ranges) => {
        asked.push(ranges.boundaries)
        return supply === undefined ? sliceOf(LONG, ranges) : supply()
      }
    })
    const part = rangesOf(0, MIB / 2)
    await store.receive(LONG_ROOT, sliceOf(LONG, part), part)
    return { store, asked }
  }
  const fromElsewhere = async (_cid, ranges) => sliceOf(BYTES, ranges)

  for (const [name, read] of Object.entries({
    'bytes()': store => store.bytes(ROOT),
    'get()': store => collect(store.get(ROOT)),
    'get() with borrowed pieces': async store => {
      const all = []
      for await (const piece of store.get(ROOT, undefined, { reuse: true })) all.push(piece.slice())
      return collect(all)
    },
    'get() of chunks': store => collect(store.get(ROOT, ChunkRanges.all.canonical(BYTES.length))),
    'stream()': async store => new Uint8Array(await new Response(store.stream(ROOT)).arrayBuffer()),
    'getMany()': async store => (await listed(store.getMany([ROOT])))[0].bytes,
    'get() of a blockstore': async store => collect(asBlockstore(store).get((await store.stat(ROOT)).cid))
  })) {
    it(`${name} waits for the damaged group, asks for nothing else, and gives all bytes`, async () => {
      const { store, asked } = await damagedStore(fromElsewhere)
      expect(same(await read(store), BYTES)).to.equal(true)
      expect(asked).to.deep.equal([[80, 96]])
      expect(await store.has(ROOT)).to.equal(true)
      expect((await store.fsck()).isSound).to.equal(true)
    })
  }

  it('slice() gives each byte once, at any group log', async () => {
    for (const groupLog of [4, 0]) {
      const { store, asked, damage } = await damagedStore(fromElsewhere)
      await damage(40 * GROUP)
      await damage(68 * GROUP)
      const slice = await collect(store.slice(ROOT, undefined, { groupLog }))
      const { store: sound } = await newStore()
      await sound.put(BYTES)
      expect(same(slice, await collect(sound.slice(ROOT, undefined, { groupLog })))).to.equal(true)
      expect(asked.flat().length).to.equal(6)
    }
  })

  it('outboard() fetches the groups that its pairs need', async () => {
    const { store, place, data } = await damagedStore(fromElsewhere)
    const page = (await entriesOf(data)).find(({ offset }) => offset === undefined)
    await page.put(flipped(page.value, 8 + 64 * 4))
    await store.close()
    const again = await place.open({ supply: fromElsewhere })
    expect((await again.outboard(ROOT)).size).to.equal(BYTES.length)
    expect(await again.has(ROOT)).to.equal(true)
  })

  it('brings missing groups, too', async () => {
    const { store, asked } = await damagedStore(fromElsewhere)
    await store.delete(ROOT)
    await store.receive(ROOT, sliceOf(BYTES, rangesOf(0, GROUP)), rangesOf(0, GROUP))
    for (const range of [{ start: 3 * GROUP + 5, end: 5 * GROUP }, rangesOf(7 * GROUP, 8 * GROUP)]) {
      const [start, end] = range instanceof ChunkRanges ? [7 * GROUP, 8 * GROUP] : [range.start, range.end]
      expect(same(await store.bytes(ROOT, range), BYTES.subarray(start, end))).to.equal(true)
    }
    expect(asked).to.deep.equal([[48, 48 + WINDOW]])
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    expect(asked.slice(1)).to.deep.equal([[16, 48, 48 + WINDOW, 1121]])
  })

  for (const [name, read] of Object.entries({
    'get()': async (store, root) => collect(store.get(root)),
    'bytes()': (store, root) => store.bytes(root),
    'bytes() of chunks': (store, root) => store.bytes(root, ChunkRanges.all),
    'slice()': async (store, root) => (await collect(store.slice(root))).length > LONG.length && LONG
  })) {
    it(`is asked for 1 MiB by ${name}, and then for twice as much each time`, async () => {
      const { store, asked } = await partialStore()
      expect(same(await read(store, LONG_ROOT), LONG)).to.equal(true)
      expect(asked).to.deep.equal([[512, 1536], [1536, 3584], [3584, 7680], [7680, 15_872], [15_872, 17_409]])
      expect((await store.stat(LONG_ROOT)).complete).to.equal(true)
    })
  }

  it('is asked for at most 64 MiB by reads that go on and on', async () => {
    const asked = []
    const { store } = await newStore({
      supply: async (_cid, { boundaries: [start, end] }) => {
        asked.push((end - start) / 1024)
        throw new Error('not today')
      }
    })
    for (let start = 0, i = 0; i < 9; start += asked[i++] * MIB) {
      expect(await errorOf(store.bytes(ROOT, { start, end: start + 1 }))).to.include({ code: 'STORE_NOT_FOUND' })
    }
    expect(asked).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 64, 64])
  })

  it('is asked for at most one call more than the caller of get() has taken bytes of', async () => {
    const { store, asked } = await partialStore()
    let at = 0
    for await (const piece of store.get(LONG_ROOT)) {
      at += piece.length
      for (let i = 0; i < 50; i++) await turn()
      const ahead = asked.filter(([start]) => start * 1024 >= at)
      expect(ahead.length).to.be.at.most(1)
    }
    expect(at).to.equal(LONG.length)
  })

  it('fails after the present bytes, and was asked only once', async () => {
    const { store, asked } = await partialStore(() => { throw new Error('not today') })
    const pieces = []
    const error = await errorOf(async () => {
      for await (const piece of store.get(LONG_ROOT)) pieces.push(piece)
    })
    expect(error).to.include({ code: 'STORE_MISSING' })
    expect(error.cause).to.have.property('message', 'not today')
    expect(same(await collect(pieces), LONG.subarray(0, 512 << 10))).to.equal(true)
    expect(asked).to.have.length(1)
  })

  it('is asked once by reads at the same time, and again when another range is wanted', async () => {
    let open = () => {}
    const opened = new Promise(resolve => { open = resolve })
    const { store, asked } = await damagedStore(async (cid, ranges) => {
      await opened
      return stream([sliceOf(BYTES, ranges)])
    })
    const reads = Promise.all(Array.from({ length: 6 }, (_, i) => store.bytes(ROOT, { start: i * GROUP })))
    while (asked.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    open()
    for (const [i, bytes] of (await reads).entries()) expect(same(bytes, BYTES.subarray(i * GROUP))).to.equal(true)
    expect(asked).to.deep.equal([[80, 96]])
  })

  for (const [name, supply, cause] of [
    ['fails', async () => { throw new Error('not today') }, { message: 'not today' }],
    ['throws at once', () => { throw new Error('not today') }, { message: 'not today' }],
    ['has nothing', async () => undefined, { code: 'STORE_NOT_FOUND' }],
    ['gives wrong bytes', async (_, ranges) => flipped(sliceOf(BYTES, ranges), 3000), { name: 'BaoError' }],
    ['gives another range', async () => sliceOf(BYTES, rangesOf(0, GROUP)), { name: 'BaoError' }],
    ['gives too little', async (_, ranges) => sliceOf(BYTES, ranges).subarray(0, -9), { code: 'BAO_TRUNCATED' }],
    ['gives no source', async () => 5, { name: 'TypeError' }]
  ]) {
    it(`a read fails with its own error, whose cause says why, when supply ${name}`, async () => {
      const { store, asked } = await damagedStore(supply, { maxMissAge: 0 })
      const error = await errorOf(store.bytes(ROOT))
      expect(error).to.include({ code: 'STORE_CORRUPT', start: 5 * GROUP, len: GROUP })
      expect(error.cause).to.include(cause)
      expect((await store.missing(ROOT)).boundaries).to.deep.equal([80, 96])
      const again = await errorOf(store.bytes(ROOT))
      expect(again).to.include({ code: 'STORE_MISSING' })
      expect(again.cause).to.include(cause)
      expect(asked.length).to.equal(2)
    })
  }

  it('all reads at the same time fail when it fails, and ask only once', async () => {
    const { store, asked } = await damagedStore(async () => {
      await turns()
      throw new Error('not today')
    })
    const errors = await Promise.all(Array.from({ length: 4 }, () => errorOf(store.bytes(ROOT))))
    for (const { cause } of errors) expect(cause).to.include({ message: 'not today' })
    expect(asked.length).to.equal(1)
  })

  it('a read ends on a disk that damages the fetched groups again', async () => {
    const made = await damagedStore(async (_cid, ranges) => sliceOf(BYTES, ranges))
    const { store, data } = made
    const { batch } = data
    data.batch = function (operations, ...options) { // flips a byte of everything that is written to the cell
      for (const { type, key, value } of operations) {
        if (type === 'put' && value.length >= GROUP && key[16] === 0) value[value.length >> 1] ^= 1
      }
      return batch.call(this, operations, ...options)
    }
    const error = await errorOf(store.bytes(ROOT))
    expect(error).to.include({ code: 'STORE_CORRUPT' })
    expect(made.asked.length).to.be.at.most(5)
    delete data.batch
  })

  it('a signal ends a read that waits, and aborts the call when no other read waits', async () => {
    const signals = []
    const { store } = await damagedStore((_cid, _ranges, { signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    })
    const reason = new Error('enough')
    const [one, two] = [new AbortController(), new AbortController()]
    const reads = [one, two].map(({ signal }) => errorOf(store.bytes(ROOT, undefined, { signal })))
    while (signals.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    await turns()
    one.abort(reason)
    expect(await reads[0]).to.equal(reason)
    expect(signals[0].aborted).to.equal(false)
    two.abort(reason)
    expect(await reads[1]).to.equal(reason)
    expect(signals[0].aborted).to.equal(true)
    expect(signals.length).to.equal(1)
  })

  it('a read asks again while an aborted one still stores its groups, and gets all bytes', async () => {
    const leave = new AbortController()
    const asked = []
    const { store, data } = await newStore({
      supply: async (_cid, ranges) => {
        const slice = sliceOf(BYTES, ranges)
        if (asked.push(ranges.boundaries) > 1) return slice
        return (async function * () {
          yield slice.subarray(0, slice.length / 2)
          leave.abort(new Error('enough'))
          await new Promise(() => {})
        })()
      }
    })
    await store.receive(ROOT, sliceOf(BYTES, rangesOf(0, GROUP)), rangesOf(0, GROUP))
    const { batch } = data
    const keeping = new Promise(resolve => {
      data.batch = async function (...args) { // holds back the first write, which stores the fetched groups
        delete data.batch
        resolve()
        for (let i = 0; i < 100; i++) await turn()
        return batch.apply(this, args)
      }
    })
    const aborted = errorOf(store.bytes(ROOT, undefined, { signal: leave.signal }))
    await keeping
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    expect(await aborted).to.have.property('message', 'enough')
    expect(asked).to.deep.equal([[16, 1040], [16, 1040], [1040, 1121]])
    expect(await store.fsck()).to.include({ isSound: true, blobs: 1 })
  })

  it('a source that comes after the last read was aborted is cancelled', async () => {
    const leave = new AbortController()
    const given = {}
    const cancelled = new Promise(resolve => {
      given.source = new ReadableStream({ cancel: resolve })
    })
    const { store } = await damagedStore(async (_cid, _ranges, { signal }) => {
      leave.abort(new Error('enough'))
      while (!signal.aborted) await turn()
      return given.source
    })
    expect(await errorOf(store.bytes(ROOT, undefined, { signal: leave.signal }))).to.have.property('message', 'enough')
    await cancelled
  })

  it('close() ends the calls', async () => {
    const signals = []
    const { store } = await damagedStore((_cid, _ranges, { signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    })
    const read = errorOf(store.bytes(ROOT))
    while (signals.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
    await store.close()
    expect(signals[0].aborted).to.equal(true)
    expect((await read).code).to.match(/^STORE_/)
  })

  it('is not asked by reads that do not verify, unless groups are known to be missing', async () => {
    const { store, asked } = await damagedStore(fromElsewhere)
    expect(same(await store.bytes(ROOT, undefined, { verify: false }), BYTES)).to.equal(false)
    expect(asked).to.deep.equal([])
  })

  it('gets the reason, and the size if it is proven', async () => {
    const told = []
    const { store } = await damagedStore(async (_cid, ranges, { size, reason }) => {
      told.push([reason, size])
      return told.length === 1 ? undefined : sliceOf(BYTES, ranges)
    }, { maxMissAge: 0 })
    await errorOf(store.bytes(ROOT))
    await store.bytes(ROOT)
    expect(told.splice(0)).to.deep.equal([['damaged', BYTES.length], ['damaged', BYTES.length]])
    await store.delete(ROOT)
    await store.receive(ROOT, sliceOf(BYTES, rangesOf(0, GROUP)), rangesOf(0, GROUP))
    told.push(0)
    await store.bytes(ROOT, { start: BYTES.length - 5 })
    await store.bytes(ROOT, { end: 2 * GROUP })
    expect(told.slice(1)).to.deep.equal([['missing', undefined], ['missing', BYTES.length]])
  })

  it('must be a function', async () => {
    const { place } = await newStore()
    expect(await errorOf(() => BlobStore.open(place.where, { supply: 5 }))).to.be.instanceOf(TypeError)
    expect(await errorOf(() => BlobStore.open(place.where, { maxMissAge: 5 }))).to.be.instanceOf(TypeError)
    for (const maxMissAge of [-1, 0.5, '5']) {
      const opening = () => BlobStore.open(place.where, { supply: fromElsewhere, maxMissAge })
      expect((await errorOf(opening)).message, `${maxMissAge}`).to.include('"maxMissAge"')
    }
  })
})

describe('store: supply of a blob of which the store has nothing', () => {
  const newStore = newStores()
  const known = new Map([[ROOT.join(), BYTES], [LONG_ROOT.join(), LONG]])
  const LAST_GROUP = 17 * 1024

  /** Makes a store without blobs, and records the calls of `supply`. `give` also gets the number of earlier calls. */
  const emptyStore = async (give = (bytes, ranges) => sliceOf(bytes, ranges)) => {
    const asked = []
    const told = []
    const { store } = await newStore({
      supply: async (cid, ranges, { size, reason }) => {
        asked.push([...ranges.boundaries])
        told.push([reason, size])
        const bytes = known.get(cid.multihash.digest.join())
        return bytes && give(bytes, ranges, asked.length - 1)
      }
    })
    return { store, asked, told }
  }

  for (const [name, read] of Object.entries({
    'bytes()': store => store.bytes(ROOT),
    'get()': store => collect(store.get(ROOT)),
    'get() of chunks': store => collect(store.get(ROOT, ChunkRanges.all)),
    'stream()': async store => new Uint8Array(await new Response(store.stream(ROOT)).arrayBuffer()),
    'getMany()': async store => (await listed(store.getMany([ROOT])))[0].bytes,
    'slice()': async store => { if ((await collect(store.slice(ROOT))).length > BYTES.length) return BYTES },
    'outboard()': async store => { if ((await store.outboard(ROOT)).size === BYTES.length) return BYTES }
  })) {
    it(`${name} gives all of a blob, and keeps it`, async () => {
      const { store, asked } = await emptyStore()
      expect(same(await read(store), BYTES)).to.equal(true)
      expect(asked).to.deep.equal([[0, WINDOW, LAST], [WINDOW, 1120]])
      expect(await store.has(ROOT)).to.equal(true)
      expect(await store.fsck()).to.include({ isSound: true, blobs: 1 })
    })
  }

  it('a long blob is fetched while it is read, and the first call proves its size', async () => {
    const { store, asked, told } = await emptyStore()
    expect(same(await store.bytes(LONG_ROOT), LONG)).to.equal(true)
    expect(told).to.deep.equal([undefined, ...Array(4).fill(LONG.length)].map(size => ['missing', size]))
    expect(asked).to.deep.equal([
      [0, 1024, LAST], [1024, 3072], [3072, 7168], [7168, 15_360], [15_360, LAST_GROUP]
    ])
  })

  it('for a range, 1 MiB from its first group is fetched, and the last chunk', async () => {
    const { store, asked } = await emptyStore()
    const range = { start: 5 * MIB + 3, end: 5 * MIB + 9 }
    expect(same(await store.bytes(LONG_ROOT, range), LONG.subarray(range.start, range.end))).to.equal(true)
    expect(asked).to.deep.equal([[5120, 5120 + WINDOW, LAST]])
    expect(await store.stat(LONG_ROOT)).to.include({ size: LONG.length, sizeProven: true, complete: false })
  })

  it('a range after the end is empty, and so is a range without bytes', async () => {
    for (const range of [{ start: BYTES.length + MIB }, { start: 5, end: 5 }, { start: 2 ** 53 - 1 }]) {
      const { store } = await emptyStore()
      expect(await store.bytes(ROOT, range)).to.have.length(0)
      expect(await store.stat(ROOT)).to.include({ size: BYTES.length, sizeProven: true })
    }
    const { store } = await emptyStore()
    expect(same(await collect(store.slice(ROOT, ChunkRanges.last)), sliceOf(BYTES, ChunkRanges.last))).to.equal(true)
  })

  it('compose() makes another blob of it', async () => {
    const { store } = await emptyStore()
    const { cid } = await store.compose([{ source: BYTES.subarray(0, 1) }, { cid: ROOT, start: 1 }])
    expect(same(await store.bytes(cid), BYTES)).to.equal(true)
  })

  it('reads at the same time share a call', async () => {
    const { store, asked } = await emptyStore()
    const reads = await Promise.all([0, 1, GROUP].map(start => store.bytes(ROOT, { start })))
    for (const [i, start] of [0, 1, GROUP].entries()) expect(same(reads[i], BYTES.subarray(start))).to.equal(true)
    expect(asked).to.deep.equal([[0, WINDOW, LAST], [WINDOW, 1120]])
  })

  for (const [name, give, cause] of [
    ['fails', () => { throw new Error('not today') }, { message: 'not today' }],
    ['has nothing', () => undefined, { code: 'STORE_NOT_FOUND' }],
    ['gives wrong bytes', (bytes, ranges) => flipped(sliceOf(bytes, ranges), 20), { name: 'BaoError' }],
    ['proves no size', (bytes, ranges, i) => i === 0 ? sliceOf(bytes, ranges).subarray(0, 99_999) : undefined, {
      code: 'STORE_NOT_FOUND'
    }]
  ]) {
    it(`the blob is not found, and the cause says why, when supply ${name}`, async () => {
      const { store } = await emptyStore(give)
      for (const read of [root => store.bytes(root), root => collect(store.slice(root))]) {
        const error = await errorOf(read(LONG_ROOT))
        expect(error.code).to.equal('STORE_NOT_FOUND')
        expect(error.cause).to.include(cause)
        await store.delete(LONG_ROOT)
        if (name === 'proves no size') break
      }
      expect(await store.fsck()).to.include({ isSound: true, blobs: 0 })
    })
  }

  it('a false size is not believed', async () => {
    const claimed = (slice, size) => {
      new DataView(slice.buffer, slice.byteOffset).setBigUint64(0, BigInt(size), true)
      return slice
    }
    const { store, asked } = await emptyStore((bytes, ranges, i) =>
      i === 0 ? claimed(sliceOf(bytes, ranges), LONG.length + 3 * GROUP) : sliceOf(bytes, ranges))
    expect(same(await store.bytes(LONG_ROOT), LONG)).to.equal(true)
    expect(asked[1]).to.deep.equal([LAST_GROUP + 48, LAST_GROUP + 49])
  })

  it('nothing is fetched by has(), stat() and missing()', async () => {
    const { store, asked } = await emptyStore()
    expect(await store.has(ROOT)).to.equal(false)
    expect(await errorOf(store.stat(ROOT))).to.include({ code: 'STORE_NOT_FOUND' })
    await store.missing(ROOT)
    expect(asked).to.deep.equal([])
  })

  it('its signal ends the wait', async () => {
    const leave = new AbortController()
    const { store } = await emptyStore(() => {
      leave.abort(new Error('enough'))
      return new Promise(() => {})
    })
    expect(await errorOf(store.bytes(ROOT, undefined, { signal: leave.signal }))).to.have.property('message', 'enough')
  })

  it('close() ends the wait', async () => {
    const { store, asked } = await emptyStore(() => new Promise(() => {}))
    const error = errorOf(store.bytes(ROOT))
    while (asked.length === 0) await turn()
    await store.close()
    expect(await error).to.include({ code: 'STORE_CLOSED' })
  })
})
