// Blobs that were appended to, and share a file, are moved in every way that a store has, and stay the same.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { asBlockstore } from '../../exchange/blockstore/index.js'
import { fromMirrors } from '../../exchange/download/index.js'
import { createHandler } from '../../exchange/http/index.js'
import { irohMirror, serveIroh } from '../../exchange/iroh/index.js'
import { createOutboardSync, encodeSliceSync } from '../../encoder/index.js'
import { fetchVerified, mirrorOf } from '../../verifier/index.js'
import { toCid } from '../../lib/index.js'
import { concat, same } from '../support/bytes.js'
import { GROUP, MIB } from '../support/constants.js'
import { collect, errorOf, listed } from '../support/feeding.js'
import { absence, closeEndpoints, openEndpoint } from '../support/iroh.js'
import { flipStoredByte, recordOf } from '../support/store/inspect.js'
import { ALL, expectReads, expectSound, grow, part, rootOf } from '../support/store/sharers.js'
import { onDisk, sliceOf } from '../support/store/stores.js'
import { skipAloud } from '../support/vectors.js'
import { download, downloadFile } from '../../exchange/download/index.js'
import { copy, exportCar, importCar } from '../../exchange/transfer/index.js'

/** The first one is kept in extents, not in a file. The tree of the fourth is perfect. */
const SIZES = [20_000, MIB + 5, MIB + 90_000, 2 * MIB, 2 * MIB + 300_000]
const LONGEST = SIZES.at(-1)
const CIDS = SIZES.map(size => toCid(rootOf(size)))
/** Ranges of a blob: its start, around the end of the first blob in a file, and its own end. */
const rangesOf = size => [[0, 10], [MIB - 3, MIB + 20_000], [size - 20_000, size], [0, size]]
  .filter(([start]) => start < size).map(([start, end]) => ({ start, end: Math.min(end, size) }))
const rangeOf = (size, { start, end }) => part(size).subarray(start, end)

const expectSame = (actual, expected, what) => expect(same(actual, expected), what).to.equal(true)

describe('store: appended blobs', () => {
  let place, store
  const places = []
  const newStore = async options => {
    const place = await onDisk()
    places.push(place)
    return place.open(options)
  }
  before(async () => {
    place = await onDisk()
    store = await place.open()
    await grow(store, SIZES)
    expect((await recordOf(store, rootOf(SIZES[1]))).home).to.equal('shared')
  })
  after(() => place.remove())
  afterEach(async () => { for (const place of places.splice(0)) await place.remove() })

  it('are read in ranges, as streams, many at a time, and into files', async () => {
    for (const [i, size] of SIZES.entries()) {
      for (const range of rangesOf(size)) {
        for (const options of [{}, { verify: false }]) {
          expectSame(await store.bytes(CIDS[i], range, options), rangeOf(size, range), `${size} bytes`)
        }
        expectSame(await collect(store.get(CIDS[i], range)), rangeOf(size, range))
      }
      expectSame(await collect(store.stream(CIDS[i])), part(size))
      const path = join(place.where, `exported-${size}`)
      await store.exportFile(CIDS[i], path)
      expectSame(await readFile(path), part(size), `file of ${size} bytes`)
    }
    for (const { cid, bytes, error } of await listed(store.getMany(CIDS))) {
      expect(error).to.equal(undefined)
      expectSame(bytes, part(bytes.length), `${cid}`)
    }
  })

  it('are cut in slices and outboards at any group log', async () => {
    for (const [i, size] of SIZES.entries()) {
      expectSame((await store.outboard(CIDS[i])).bytes, createOutboardSync(part(size)).bytes, `outboard of ${size}`)
      for (const groupLog of [0, 3, 4, 7]) {
        const outboard = createOutboardSync(part(size), { groupLog })
        for (const range of rangesOf(size)) {
          const slice = await collect(store.slice(CIDS[i], range, { groupLog }))
          expectSame(slice, encodeSliceSync(part(size), outboard, range), `${range.start} of ${size} bytes`)
        }
      }
    }
  })

  it('are served over HTTP: whole, in ranges, as slices and outboards', async () => {
    const handler = createHandler(store)
    const got = async (path, headers) => {
      const response = await handler(new Request(`http://store.test${path}`, { headers }))
      return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) }
    }
    for (const [i, size] of SIZES.entries()) {
      const path = `/blobs/${CIDS[i]}`
      expectSame((await got(path)).bytes, part(size))
      for (const range of rangesOf(size)) {
        const { status, bytes } = await got(path, { range: `bytes=${range.start}-${range.end - 1}` })
        expect(status).to.equal(206)
        expectSame(bytes, rangeOf(size, range), `${range.start} of ${size} bytes`)
        const { bytes: slice } = await got(`${path}?format=bao-slice&start=${range.start}&end=${range.end}`)
        expectSame(slice, sliceOf(part(size), range))
      }
      const fetch = (url, init) => handler(new Request(url, init))
      const range = { start: 5, end: size - 3 }
      const response = await fetchVerified(`http://store.test${path}`, { cid: CIDS[i], range, fetch })
      expectSame(new Uint8Array(await response.arrayBuffer()), rangeOf(size, range))
    }
  })

  it('are downloaded from a store and from a server, to a store and to a file', async () => {
    const handler = createHandler(store)
    const fetch = (url, init) => handler(new Request(url, init))
    for (const from of [() => store, cid => mirrorOf(`http://store.test/blobs/${cid}`, { fetch })]) {
      const other = await newStore()
      for (const [i, size] of SIZES.entries()) {
        expect(await download(other, CIDS[i], { from: [from(CIDS[i])] })).to.include({ size, complete: true })
        const path = join(places[0].where, `downloaded-${size}`)
        await downloadFile(CIDS[i], path, { from: [from(CIDS[i])] })
        expectSame(await readFile(path), part(size), `file of ${size} bytes`)
      }
      await expectReads(other, SIZES)
      await expectSound(other)
    }
  })

  it('are copied to another store, where they are extended again', async () => {
    const other = await newStore()
    expect((await copy(store, other)).blobs).to.equal(SIZES.length)
    await expectReads(other, SIZES)
    expect(await copy(store, other)).to.include({ blobs: 0, bytes: 0 })
    await other.append(CIDS.at(-1), ALL.subarray(LONGEST, 3 * MIB))
    expect((await copy(other, await newStore())).blobs).to.equal(SIZES.length + 1)
    await expectReads(other, [...SIZES, 3 * MIB])
    await expectSound(other)
  })

  it('are exported as a CAR, and imported', async () => {
    const other = await newStore()
    const { blocks } = await importCar(other, exportCar(store, { cids: CIDS }))
    expect(blocks).to.equal(SIZES.length)
    await expectReads(other, SIZES)
    await expectSound(other)
  })

  it('are blocks of a blockstore', async () => {
    const blocks = asBlockstore(store)
    for (const [i, size] of SIZES.entries()) {
      expect(await blocks.has(CIDS[i])).to.equal(true)
      expectSame(await collect(blocks.get(CIDS[i])), part(size))
    }
    const all = await listed(blocks.getAll())
    expect(all.map(({ cid }) => `${cid}`)).to.have.members(CIDS.map(cid => `${cid}`))
    const shared = asBlockstore(await newStore())
    for (const [i, size] of SIZES.entries()) await shared.put(CIDS[i], part(size))
    for (const [i, size] of SIZES.entries()) expectSame(await collect(shared.get(CIDS[i])), part(size))
  })

  it('are healed from another store that shares them in a file, too', async () => {
    const damaged = await newStore({ supply: fromMirrors([store]) })
    await grow(damaged, SIZES)
    for (const at of [7, MIB + 3, LONGEST - 1]) await flipStoredByte(damaged, rootOf(LONGEST), at)
    await expectReads(damaged, SIZES)
    await expectReads(damaged, SIZES)
    await expectSound(damaged)
  })

  it('are received in part: the longest in slices, while others are present', async () => {
    const other = await newStore()
    await grow(other, SIZES.slice(0, 3))
    const ranges = [{ start: 0, end: 3 * GROUP }, { start: 2 * MIB, end: LONGEST }, { start: 0, end: LONGEST }]
    for (const range of ranges) {
      expect(await errorOf(other.bytes(rootOf(LONGEST)))).to.be.instanceOf(Error)
      await other.receive(rootOf(LONGEST), store.slice(CIDS.at(-1), range), range)
      expectSame(await other.bytes(rootOf(LONGEST), range), rangeOf(LONGEST, range))
    }
    await expectReads(other, [...SIZES.slice(0, 3), LONGEST])
    await expectSound(other)
  })

  if (absence !== undefined) skipAloud('appended blobs among peers of iroh', absence)
  else {
    it('are given to peers of iroh', async () => {
      const server = serveIroh(store, await openEndpoint())
      const mirror = irohMirror(server.address, { endpoint: await openEndpoint() })
      try {
        const other = await newStore()
        for (const [i, size] of SIZES.entries()) {
          expect(await download(other, CIDS[i], { from: [mirror] })).to.include({ size, complete: true })
          const range = { start: size - 17_000, end: size }
          expectSame(concat(await listed(mirror.slice(CIDS[i], range))), sliceOf(part(size), range))
        }
        await expectReads(other, SIZES)
      } finally {
        await mirror.close()
        await server.close({ grace: 0 })
        await closeEndpoints()
      }
    })
  }
})
