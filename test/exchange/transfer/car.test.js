// Stores are written as CARs and read from them. Other programs can read these CARs, and write others.
import { CarReader } from '@ipld/car/reader'
import { CarWriter } from '@ipld/car/writer'
import { expect } from 'chai'
import fc from 'fast-check'
import { encode } from '@ipld/dag-cbor'
import { varint } from 'multiformats'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { fromCid, hash, toCid } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { LikeBuffer, concat, flipped, hex, same } from '../../support/bytes.js'
import { GROUP, MIB } from '../../support/constants.js'
import { collect, errorOf, listed, oneByOne, ragged, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { holds } from '../../support/property.js'
import { expectSlip } from '../../support/slips.js'
import { cidOf, toy } from '../../support/store/blocks.js'
import { newStores, sliceOf } from '../../support/store/stores.js'
import { exportCar, importCar } from '../../../exchange/transfer/index.js'

const SMALL = [0, 1, 300, GROUP + 1, 70_000].map((size, i) => noise(size, 700 + i))
const LONG = noise(MIB + 70_000, 720)
const own = bytes => toCid(hash(bytes))

/** A CAR as `@ipld/car` writes it. */
async function written (roots, blocks) {
  const { writer, out } = CarWriter.create(roots)
  const writing = (async () => {
    for (const block of blocks) await writer.put(block)
    await writer.close()
  })()
  const car = await collect(out)
  await writing
  return car
}

const blocksOf = blobs => blobs.map(bytes => ({ cid: own(bytes), bytes }))

/** A number in 8 bytes, little-endian. */
const u64 = value => {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true)
  return bytes
}

const PRAGMA = Uint8Array.of(0x0a, 0xa1, 0x67, 0x76, 0x65, 0x72, 0x73, 0x69, 0x6f, 0x6e, 0x02)

/** A CARv2 around a CARv1, as in the specification. */
const wrapped = (car, { padding = 9, dataOffset = 51 + padding, dataSize = car.length } = {}) => concat([
  PRAGMA, new Uint8Array(16), u64(dataOffset), u64(dataSize), u64(0), new Uint8Array(padding), car, noise(500, 5)
])

describe('CAR', () => {
  const newStore = newStores()
  const open = async options => (await newStore(options)).store

  describe('exportCar()', () => {
    it('writes every whole blob, with tags as roots, so that others can read it', async () => {
      const store = await open()
      await listed(store.putMany([...SMALL, LONG]))
      await store.tags.set('a', own(LONG))
      await store.tags.set('b', own(LONG))
      await store.tags.set('missing', own(noise(8)))
      const { cid: sequence } = await store.put(hash(SMALL[2]), { tag: 'sequence', format: 'hashseq' })
      const part = noise(4 * GROUP, 9)
      await store.receive(hash(part), sliceOf(part, { start: 0, end: GROUP }), { start: 0, end: GROUP })
      const typed = await CarReader.fromBytes(await collect(exportCar(store, { dasl: false })))
      const hashseq = toCid(sequence.multihash.digest, 0x80)
      expect((await typed.getRoots()).map(String)).to.deep.equal([own(LONG), hashseq].map(String))
      const car = await CarReader.fromBytes(await collect(exportCar(store)))
      const roots = (await car.getRoots()).map(String)
      expect(roots).to.deep.equal([own(LONG), sequence].map(String))
      const blocks = await listed(car.blocks())
      expect(blocks.map(({ cid }) => `${cid}`))
        .to.have.members([...SMALL.slice(1), LONG, hash(SMALL[2])].map(bytes => `${own(bytes)}`))
      for (const { cid, bytes } of blocks) expect(same(hash(bytes), cid.multihash.digest)).to.equal(true)
    })

    it('writes only CIDs that DASL has, unless it is told otherwise', async () => {
      const store = await open()
      const { cid } = await store.put(SMALL[2])
      await asBlockstore(store).put(await cidOf(sha256, SMALL[3]), SMALL[3])
      const bytes = await collect(exportCar(store, { cids: [toCid(fromCid(cid), 0x71), toCid(fromCid(cid), 0x80)] }))
      const roots = await (await CarReader.fromBytes(bytes)).getRoots()
      expect(roots.map(String)).to.deep.equal([`${cid}`])
      const whole = await CarReader.fromBytes(await collect(exportCar(store)))
      const cids = await listed(whole.cids())
      expect(cids.map(({ bytes }) => hex(bytes.subarray(0, 4)))).to.have.members(['01551e20', '01551220'])
      expect(cids.every(({ bytes }) => bytes.length === 36)).to.equal(true)
      const name = await cidOf(sha512, SMALL[4])
      await asBlockstore(store).put(name, SMALL[4])
      const error = await errorOf(collect(exportCar(store)))
      expect(error).to.include({ code: 'CID_UNSUPPORTED' })
      expect(`${error.cid}`).to.equal(`${CID.createV1(0x55, name.multihash)}`)
      const all = await CarReader.fromBytes(await collect(exportCar(store, { dasl: false })))
      expect((await listed(all.cids())).map(String)).to.include(`${error.cid}`)
      await expectSlip('dasl', () => listed(exportCar(store, { dasl: 1 })), [TypeError])
    })

    it('writes the blobs of cids and tags, each once', async () => {
      const store = await open()
      await listed(store.putMany([...SMALL, LONG]))
      await store.put(concat([hash(SMALL[1]), hash(SMALL[2])]), { tag: 'sequence', format: 'hashseq' })
      const events = []
      const options = { cids: [hash(SMALL[1]), own(SMALL[0])], tags: ['sequence'], onProgress: e => events.push(e) }
      const bytes = await collect(exportCar(store, options))
      expect(events.at(-1)).to.deep.equal({ type: 'baobox:export', detail: { done: bytes.length, unit: 'bytes' } })
      const car = await CarReader.fromBytes(bytes)
      expect(await car.getRoots()).to.have.length(3)
      expect((await listed(car.blocks())).map(({ bytes }) => bytes.length)).to.deep.equal([1, 0, 64, 300])
    })

    it('fails when a blob that was asked for is missing or damaged', async () => {
      const { store, data } = await newStore()
      const part = noise(4 * GROUP, 9)
      const range = { start: 0, end: GROUP }
      await store.receive(hash(part), sliceOf(part, range), range)
      const exporting = options => errorOf(listed(exportCar(store, options)))
      expect(await exporting({ cids: [own(part)] })).to.include({ code: 'STORE_MISSING' })
      expect(await exporting({ cids: [own(SMALL[3])] })).to.include({ code: 'STORE_NOT_FOUND' })
      expect(await exporting({ tags: ['x'] })).to.include({ code: 'STORE_TAG_NOT_FOUND', tag: 'x' })
      await store.put(SMALL[2])
      for (const [key, value] of await data.iterator().all()) await data.put(key, flipped(value, 5))
      expect(await exporting()).to.include({ code: 'STORE_CORRUPT' })
    })

    it('ends with the signal, and refuses unknown options', async () => {
      const store = await open()
      await listed(store.putMany(SMALL))
      expect(await errorOf(listed(exportCar(store, { signal: AbortSignal.abort(6) })))).to.equal(6)
      await expectSlip('cids', () => listed(exportCar(store, { cids: 5 })), [TypeError])
      await expectSlip('format', () => listed(exportCar(store, { format: 'car' })), [TypeError])
    })
  })

  describe('importCar()', () => {
    it('takes the archives of exportCar(), in pieces of any length', async () => {
      const from = await open()
      await listed(from.putMany([...SMALL, LONG]))
      await from.tags.set('long', own(LONG))
      await asBlockstore(from).put(await cidOf(sha512, noise(50)), noise(50))
      const bytes = await collect(exportCar(from, { dasl: false }))
      for (const pieces of [[bytes], ragged(bytes, 3)]) {
        const to = await open()
        const result = await importCar(to, stream(pieces), { tagRoot: (cid, i) => `root ${i}` })
        expect(result).to.deep.include({ version: 1, blocks: SMALL.length + 1, skipped: 0 })
        for (const blob of [...SMALL, LONG]) expect(same(await to.bytes(hash(blob)), blob)).to.equal(true)
        expect(same(await collect(asBlockstore(to).get(await cidOf(sha512, noise(50)))), noise(50))).to.equal(true)
        expect(`${(await to.tags.get('root 0')).cid}`).to.equal(`${own(LONG)}`)
        expect(await to.fsck()).to.include({ isSound: true })
      }
    })

    it('takes the archives of others: SHA-2, version 0, identity, and blocks that occur twice', async () => {
      const v0 = CID.createV0(await sha256.digest(SMALL[3]))
      const blocks = [
        ...blocksOf([SMALL[1], LONG, SMALL[1]]), { cid: v0, bytes: SMALL[3] },
        { cid: await cidOf(identity, SMALL[2]), bytes: SMALL[2] }
      ]
      const car = await written([v0], blocks)
      const store = await open()
      const result = await importCar(store, stream(oneByOne(car.subarray(0, 200)).concat([car.subarray(200)])), {
        tagRoot: () => 'v0'
      })
      const bytes = blocks.reduce((sum, { bytes }) => sum + bytes.length, 0)
      expect(result).to.deep.include({ version: 1, blocks: 5, bytes, skipped: 0 })
      expect(result.roots.map(String)).to.deep.equal([`${v0}`])
      expect(same(await collect(asBlockstore(store).get(v0)), SMALL[3])).to.equal(true)
      expect(same((await store.tags.get('v0')).cid.multihash.bytes, v0.multihash.bytes)).to.equal(true)
      const again = await CarReader.fromBytes(await collect(exportCar(store, { tags: ['v0'] })))
      expect((await again.getRoots()).map(String)).to.deep.equal([`${CID.createV1(0x55, v0.multihash)}`])
      expect(await listed(store.list())).to.have.length(3)
    })

    it('takes the metadata that DASL has in headers', async () => {
      const roots = [own(SMALL[2])]
      const plain = await written([], blocksOf([SMALL[2]]))
      const block = plain.subarray(plain[0] + 1)
      const fields = { name: 'A', resources: { '/': { src: own(SMALL[2]) } } }
      const header = encode({ version: 1, roots, ...fields })
      const len = varint.encodeTo(header.length, new Uint8Array(varint.encodingLength(header.length)))
      const car = concat([len, header, block])
      for (const form of [car, wrapped(car)]) {
        const result = await importCar(await open(), form, { tagRoot: () => 'a' })
        expect(result).to.deep.include({ blocks: 1, metadata: fields })
      }
      for (const wrong of [
        { roots }, { version: 1 }, { version: 1, roots: {} }, { version: 1, roots: ['a'] }, { version: 3, roots }, [],
        null
      ]) {
        const bytes = encode(wrong)
        const error = await errorOf(importCar(await open(), concat([Uint8Array.of(bytes.length), bytes, block])))
        expect(error, JSON.stringify(wrong)).to.include({ code: 'CAR_INVALID' })
      }
    })

    it('tags a root as a sequence if the store has all of its members', async () => {
      const from = await open()
      await listed(from.putMany(SMALL))
      const members = concat(SMALL.map(bytes => hash(bytes)))
      const { cid } = await from.put(members, { tag: 'sequence', format: 'hashseq' })
      const to = await open()
      await importCar(to, await collect(exportCar(from, { tags: ['sequence'] })), { tagRoot: () => 'a' })
      expect(await to.tags.get('a')).to.deep.include({ format: 'hashseq' })
      expect((await to.gc()).blobs).to.equal(0)
      const part = await open()
      await importCar(part, await collect(exportCar(from, { cids: [cid] })), { tagRoot: () => 'a' })
      expect(await part.tags.get('a')).to.deep.include({ format: 'raw' })
      await importCar(part, await written([own(SMALL[0])], blocksOf([SMALL[0]])), { tagRoot: () => 'b' })
      expect(await part.tags.get('b')).to.deep.include({ format: 'raw' })
    })

    it('reads a root once, however often an archive names it, and not after an abort', async () => {
      const members = concat(Array(5000).fill(hash(SMALL[1])))
      const roots = Array.from({ length: 40 }, (_, i) => toCid(hash(members), 0x55 + i))
      const car = await written(roots, blocksOf([members, SMALL[1]]))
      for (const stopsAt of [undefined, 1]) {
        const store = await open()
        const ending = new AbortController()
        let reads = 0
        store.bytes = (...args) => {
          if (++reads === stopsAt) ending.abort(new Error('no longer wanted'))
          return Object.getPrototypeOf(store).bytes.apply(store, args)
        }
        const tagging = importCar(store, car, { tagRoot: (_, i) => `${i}`, signal: ending.signal })
        if (stopsAt === undefined) await tagging
        else expect(await errorOf(tagging)).to.have.property('message', 'no longer wanted')
        expect(reads).to.be.below(stopsAt === undefined ? 100 : 2)
        expect(await store.tags.get('39') === undefined).to.equal(stopsAt !== undefined)
      }
    })

    it('takes version 2, and reads nothing after its data', async () => {
      const store = await open()
      const car = wrapped(await written([], blocksOf(SMALL)))
      async function * source () {
        yield car.slice(0, -490)
        throw new Error('too far')
      }
      expect(await importCar(store, source())).to.deep.include({ version: 2, blocks: SMALL.length })
      expect(await importCar(store, wrapped(await written([], []), { padding: 0 }))).to.include({ blocks: 0 })
    })

    it('takes Buffers, whose slice() is no copy, also if their memory is used again', async () => {
      const car = await written([own(LONG)], blocksOf([SMALL[2], LONG]))
      for (const [version, bytes] of [[1, car], [2, wrapped(car)]]) {
        const buffer = new LikeBuffer(bytes)
        const result = await importCar(await open(), buffer)
        buffer.fill(0)
        expect(result).to.include({ version, blocks: 2 })
        expect(result.roots.map(String)).to.deep.equal([`${own(LONG)}`])
      }
    })

    it('refuses blocks of an unknown hash function, leaves them out, or is given the function', async () => {
      const blocks = [...blocksOf([SMALL[1]]), { cid: await cidOf(toy, LONG), bytes: LONG }, ...blocksOf([SMALL[2]])]
      const car = await written([], blocks)
      const store = await open()
      expect(await errorOf(importCar(store, car))).to.include({ code: 'CID_UNSUPPORTED' })
      expect(await store.has(own(SMALL[1])), 'what came before').to.equal(true)
      expect(await importCar(store, car, { unknown: 'skip' })).to.include({ blocks: 2, skipped: 1 })
      expect(await errorOf(importCar(store, car.slice(0, car.length - 400), { unknown: 'skip' })))
        .to.include({ code: 'CAR_TRUNCATED' })
      expect(await errorOf(importCar(store, car, { hashers: [toy], maxBlockBytes: 1000 }))).to.include({
        code: 'BLOCK_TOO_LONG', len: 1000
      })
      expect(await importCar(store, car, { hashers: [toy] })).to.include({ blocks: 3 })
    })

    it('keeps nothing of a block that does not match its CID, and all blocks before it', async () => {
      for (const wrong of [SMALL[3], LONG]) {
        const store = await open()
        const blocks = [...blocksOf([SMALL[1]]), { cid: own(wrong), bytes: flipped(wrong, 9000) }]
        const error = await errorOf(importCar(store, await written([own(wrong)], blocks)))
        expect(error).to.include({ code: 'CID_MISMATCH' })
        expect(`${error.cid}`).to.equal(`${own(wrong)}`)
        expect(await listed(store.list())).to.have.length(1)
      }
    })

    it('sets no tag when a root is missing', async () => {
      const store = await open()
      const car = await written([own(SMALL[3])], blocksOf([SMALL[1]]))
      expect(await errorOf(importCar(store, car, { tagRoot: () => 'a' }))).to.include({ code: 'STORE_NOT_FOUND' })
      expect(await listed(store.tags.list())).to.deep.equal([])
      await expectSlip('tagRoot', () => importCar(store, car, { tagRoot: () => 5 }), [TypeError])
    })

    it('fails with a code for bytes that are no CAR', async () => {
      const store = await open()
      const car = await written([own(LONG)], blocksOf([SMALL[2], LONG]))
      const headerLen = car[0] + 1
      const withSection = (...parts) => concat([car.subarray(0, headerLen), ...parts])
      const arrays = new Uint8Array(1_000_000).fill(0x81)
      const list = concat([Uint8Array.of(0x9a, 0, 0x1e, 0x84, 0x80), new Uint8Array(2_000_000).fill(0x80)])
      const huge = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f)
      const cases = {
        'a huge varint': [Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), 'CAR_INVALID'],
        'a header that claims petabytes': [concat([huge, car]), 'CAR_INVALID'],
        'an empty header': [Uint8Array.of(0), 'CAR_INVALID'],
        'a header that is no CBOR': [Uint8Array.of(3, 0xff, 0xff, 0xff), 'CAR_INVALID'],
        'arrays in arrays': [concat([Uint8Array.of(0xc0, 0x84, 0x3d), arrays]), 'CAR_INVALID'],
        'a header of empty arrays': [concat([Uint8Array.of(0x85, 0x89, 0x7a), list]), 'CAR_INVALID'],
        'version 3': [flipped(car, headerLen - 1, 2), 'CAR_INVALID'],
        'an empty section': [withSection(Uint8Array.of(0)), 'CAR_INVALID'],
        'a section that ends in its CID': [withSection(Uint8Array.of(5), own(LONG).bytes), 'CAR_INVALID'],
        'a section that claims petabytes': [withSection(huge, own(LONG).bytes, LONG), 'CAR_TRUNCATED'],
        'a CID that claims petabytes': [withSection(huge, Uint8Array.of(1, 0x55, 0x1e), huge, LONG), 'CAR_INVALID'],
        'a CID of a megabyte': [withSection(huge, Uint8Array.of(1, 0x55, 0, 0x80, 0x80, 0x40), LONG), 'CAR_INVALID'],
        'a CID of version 2': [withSection(Uint8Array.of(40, 2, 0x55, 0x1e)), 'CAR_INVALID'],
        'data before the end of its header': [wrapped(car, { dataOffset: 20 }), 'CAR_INVALID'],
        'data beyond the end': [wrapped(car, { dataOffset: 2 ** 50 }), 'CAR_INVALID'],
        'data beyond numbers': [wrapped(car, { dataOffset: 2n ** 64n - 1n }), 'CAR_INVALID'],
        'data that ends in its header': [wrapped(car, { dataSize: 3 }), 'CAR_INVALID'],
        'data that ends in a section': [wrapped(car, { dataSize: car.length - 5 }), 'CAR_INVALID'],
        'data that claims petabytes': [wrapped(car, { dataSize: 2 ** 52 }), 'CAR_INVALID'],
        'nothing at all': [new Uint8Array(0), 'CAR_INVALID']
      }
      for (const [name, [bytes, code]] of Object.entries(cases)) {
        const error = await errorOf(importCar(store, stream([bytes])))
        expect(error?.code, `${name}: ${error?.stack}`).to.equal(code)
      }
      expect((await listed(store.list())).length).to.be.at.most(2)
    })

    it('keeps the blocks of an archive that is cut off, and tells where it ends', async () => {
      const car = await written([own(LONG)], blocksOf([SMALL[2], LONG]))
      const store = await open()
      const error = await errorOf(importCar(store, car.slice(0, -5)))
      expect(error).to.include({ code: 'CAR_TRUNCATED', wanted: LONG.length, got: LONG.length - 5 })
      expect(error.start).to.equal(car.length - LONG.length)
      expect((await listed(store.list())).map(({ cid }) => `${cid}`)).to.deep.equal([`${own(SMALL[2])}`])
    })

    it('needs bounded memory for an endless archive, and ends with the signal', async () => {
      const store = await open()
      const car = await written([], [])
      const header = concat([Uint8Array.of(0x80, 0x80, 0x80, 0x03), new Uint8Array(10)])
      let given = 0
      async function * endless (start) {
        yield start
        for (;;) yield noise(65_536, given++)
      }
      expect(await errorOf(importCar(store, endless(header)))).to.include({ code: 'CAR_INVALID' })
      expect(given * 65_536).to.be.below(10 * MIB)
      const claim = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f)
      const controller = new AbortController()
      const onProgress = ({ detail: { done } }) => { if (done > 20 * MIB) controller.abort(8) }
      const { signal } = controller
      const source = endless(concat([car, claim, own(LONG).bytes]))
      expect(await errorOf(importCar(store, source, { signal, onProgress }))).to.equal(8)
      expect(await listed(store.list())).to.deep.equal([])
    })

    it('does not wait for a source that is stuck when the store is closed', async () => {
      const store = await open()
      async function * stuck () {
        yield (await written([], blocksOf([LONG]))).subarray(0, 5000)
        await new Promise(() => {})
      }
      const importing = errorOf(importCar(store, stuck()))
      await new Promise(resolve => setTimeout(resolve, 20))
      await store.close()
      expect(await importing).to.include({ code: 'STORE_CLOSED' })
    })

    it('passes on the error of the source', async () => {
      const store = await open()
      const failure = new Error('the source')
      for (const len of [0, 5, 30, 100]) {
        const car = await written([own(LONG)], blocksOf([LONG]))
        async function * failing () {
          yield car.subarray(0, len)
          throw failure
        }
        expect(await errorOf(importCar(store, failing())), `${len}`).to.equal(failure)
      }
    })

    it('keeps only right blocks of an archive that is damaged anywhere', async () => {
      const blobs = [SMALL[2], SMALL[3], noise(40, 2)]
      const car = await written([own(SMALL[2])], [
        ...blocksOf(blobs), { cid: await cidOf(sha256, SMALL[1]), bytes: SMALL[1] }
      ])
      const forms = [car, wrapped(car)]
      const hashes = [...blobs, SMALL[1]].map(bytes => `${own(bytes)}`)
      const damage = fc.record({
        form: fc.nat(1), at: fc.nat(300), xor: fc.integer({ min: 1, max: 255 }), cut: fc.option(fc.nat(20_000))
      })
      await holds('store: CAR', fc.asyncProperty(damage, async ({ form, at, xor, cut }) => {
        const store = await open()
        const bytes = flipped(forms[form], at, xor).subarray(0, cut ?? undefined)
        const error = await errorOf(importCar(store, stream(ragged(bytes, at)), { unknown: 'skip' }))
        if (error) {
          expect(error.code, error.stack)
            .to.be.oneOf(['CAR_INVALID', 'CAR_TRUNCATED', 'CID_MISMATCH', 'CID_UNSUPPORTED', 'BLOCK_TOO_LONG'])
        }
        for (const { cid } of await listed(store.list())) expect(hashes).to.include(`${cid}`)
        await store.close()
      }), 100)
    })

    it('refuses unknown options', async () => {
      const store = await open()
      await expectSlip('unknown', () => importCar(store, new Uint8Array(5), { unknown: 'keep' }), [TypeError])
      await expectSlip('tag', () => importCar(store, new Uint8Array(5), { tag: 'a' }), [TypeError])
      expect(await errorOf(importCar(store, 5))).to.be.instanceOf(TypeError)
    })
  })
})
