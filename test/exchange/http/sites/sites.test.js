// Requests for many sites make a server read a limited number of bytes. The test counts them and moves the clock.
import { expect } from 'chai'
import { encode } from '@ipld/dag-cbor'
import { createOutboardSync, encodeSliceSync } from '../../../../encoder/index.js'
import { ChunkRanges, hash, toCid } from '../../../../lib/index.js'
import { Collection } from '../../../../exchange/collections/index.js'
import { Sites } from '../../../../exchange/http/sites/sites.js'
import { concat } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { countReads } from '../../../support/store/inspect.js'
import { newStores } from '../../../support/store/stores.js'

const MIB = 1 << 20
/** Bytes of sites that may be read without waiting, and in each second; and bytes of sites that are kept. */
const [BURST, RATE, KEPT] = [16 * MIB, 2 * MIB, 64 * MIB]
const src = toCid(hash(new Uint8Array(1)))

describe('the sites of a server', () => {
  const newStore = newStores()
  let store
  let sites
  let seconds
  let read

  beforeEach(async () => {
    store = (await newStore()).store
    seconds = 0
    read = 0
    sites = new Sites(store, () => 1000 * seconds)
    const { bytes } = store
    store.bytes = async (...args) => {
      const result = await bytes.apply(store, args)
      read += result.length
      return result
    }
  })

  /** Puts a manifest of this length, or a little longer, and returns its root. */
  const manifest = async (len, seed = 0) => {
    const bytes = encode({ fill: new Uint8Array(len), resources: { '/': { src }, [`/${seed}`]: { src } } })
    return (await store.put(bytes)).cid.multihash.digest
  }
  const manifests = (count, len) => Promise.all(Array.from({ length: count }, (_, i) => manifest(len, i)))
  /** Asks for sites, all at the same time, and returns the code of each refusal. */
  const ask = async roots => {
    const answers = await Promise.all(roots.map(root => errorOf(sites.get(root)).catch(() => undefined)))
    return answers.map(error => error?.code)
  }
  const refused = codes => codes.filter(code => code !== undefined).length

  it('are read at a limited rate, however many are asked for', async () => {
    const roots = await manifests(6, 7 * MIB)
    const codes = await ask(roots)
    expect(codes.filter(code => code === 'HTTP_BUSY')).to.have.length(3)
    for (let i = 0; i < 5; i++) expect(await ask(roots)).to.deep.equal(codes)
    expect(read).to.be.within(21 * MIB, BURST + 8 * MIB)
    const { status, headers } = await errorOf(sites.get(roots[codes.indexOf('HTTP_BUSY')]))
    expect([status, headers]).to.deep.equal([503, { 'retry-after': '3' }]) // 5 MiB too many
    seconds += 3
    expect(refused(await ask(roots))).to.equal(2)
    expect(read).to.be.at.most(BURST + 3 * RATE + 8 * MIB)
  })

  it('that were read are kept up to a number of bytes, and short ones evict no long one', async () => {
    const [long, ...others] = await manifests(10, 7 * MIB)
    await ask([long])
    const before = read
    for (let i = 0; i < 50; i++) await ask([await manifest(5, i)])
    expect(await ask([long])).to.deep.equal([undefined])
    expect(read - before, 'read again').to.be.below(MIB)
    for (const other of others) {
      seconds += 10
      expect(await ask([other])).to.deep.equal([undefined])
    }
    const all = read
    seconds += 10
    await ask([others.at(-1)])
    expect(read).to.equal(all)
    await ask([long])
    expect(read - all).to.be.above(7 * MIB)
    expect(KEPT).to.be.below(10 * 7 * MIB)
  })

  it('are read once under all of their names', async () => {
    const root = await manifest(MIB)
    const names = await Promise.all(Array.from({ length: 50 }, async (_, i) =>
      (await store.put(concat([root, hash(Uint8Array.of(i))]))).cid.multihash.digest))
    await ask([...names, root, ...names])
    await ask(names)
    expect(read).to.be.within(MIB, 2 * MIB)
  })

  it('are not looked for in blobs that do not begin like one', async () => {
    const blobs = [noise(2 * MIB + 1, 3), noise(2 * MIB, 4), new Uint8Array(2 * MIB)]
    for (const bytes of blobs) {
      const { cid } = await store.put(bytes)
      expect(refused(await ask([cid.multihash.digest]))).to.equal(1)
    }
    expect(read).to.be.below(1000)
    expect(await ask(await manifests(3, 5 * MIB)), 'and cost nothing').to.deep.equal([undefined, undefined, undefined])
  })

  it('cost nothing when they are too long or incomplete', async () => {
    const long = await manifest(8 * MIB)
    const names = Array.from({ length: 200 }, (_, i) => [`${i}`.repeat(20_000), src])
    const { sequence, meta } = Collection.from(names).toBytes()
    await store.put(meta)
    const { cid } = await store.put(sequence)
    for (let i = 0; i < 9; i++) {
      expect(await ask([long, cid.multihash.digest])).to.deep.equal(['COLLECTION_TOO_LONG', 'COLLECTION_TOO_LONG'])
    }
    expect(read).to.be.below(10_000)
    expect(await ask(await manifests(3, 5 * MIB))).to.deep.equal([undefined, undefined, undefined])
  })

  it('are not searched for page by page in a long blob that the store has in part', async () => {
    const bytes = noise(32 * MIB)
    bytes[0] = 0xa1
    const outboard = createOutboardSync(bytes)
    const half = ChunkRanges.fromBytes(0, 16 * MIB)
    const { place, store: receiving } = await newStore()
    await receiving.receive(outboard.root, encodeSliceSync(bytes, outboard, half), half)
    await receiving.close()
    const again = await place.open()
    const reads = countReads(again)
    sites = new Sites(again)
    for (let i = 0; i < 3; i++) {
      expect(await errorOf(sites.get(outboard.root))).to.include({ code: 'COLLECTION_TOO_LONG', len: 32 * MIB })
    }
    expect(reads.count).to.be.below(16)
  })

  it('are also limited when their names are long and their sequences short', async () => {
    const roots = await Promise.all(Array.from({ length: 6 }, async (_, i) => {
      const names = Array.from({ length: 110 }, (_, k) => [`${i} ${k} `.padEnd(65_000, 'x'), src])
      const { sequence, meta } = Collection.from(names).toBytes()
      await store.put(meta)
      return (await store.put(sequence)).cid.multihash.digest
    }))
    expect(refused(await ask(roots))).to.equal(3)
    expect(read).to.be.below(BURST + 8 * MIB)
  })

  it('may have as many items as fit, which are not decoded to values', async () => {
    const resources = { '/': { src, list: new Array(600_000).fill(null) } }
    const { cid } = await store.put(encode({ resources }))
    expect((await sites.get(cid.multihash.digest)).files.get('').headers).to.deep.equal({})
  })
})
