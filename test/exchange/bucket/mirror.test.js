// Blobs are fetched from a bucket: every byte is verified, and few requests are made.
import { expect } from 'chai'
import { ChunkRanges, hash, toCid } from '../../../lib/index.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { fetchVerified, mirrorOf, verifyStream } from '../../../verifier/index.js'
import { bucketMirror, memoryBucket } from '../../../exchange/bucket/index.js'
import { download, fromMirrors } from '../../../exchange/download/index.js'
import { hex, same } from '../../support/bytes.js'
import { GROUP, MIB } from '../../support/constants.js'
import { turns } from '../../support/fake-clock.js'
import { collect, errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { newStores } from '../../support/store/stores.js'

const SIZES = [0, 1, 1024, GROUP, GROUP + 1, 5 * GROUP, 300_000, 3 * MIB + 77]
const keyOf = bytes => `blobs/${hex(hash(bytes)).slice(0, 2)}/${hex(hash(bytes))}`

/** A bucket that counts its requests. */
function counted () {
  const bucket = memoryBucket()
  const requests = []
  const { get, list } = bucket
  bucket.get = (key, range, options) => {
    requests.push({ key, ...range })
    return get.call(bucket, key, range, options)
  }
  bucket.list = (...args) => {
    requests.push({ list: args[0] })
    return list.apply(bucket, args)
  }
  return { bucket, requests }
}

async function putBlob (bucket, bytes) {
  await bucket.put(keyOf(bytes), bytes)
  if (bytes.length > GROUP) await bucket.put(`${keyOf(bytes)}.obao4`, createOutboardSync(bytes).bytes)
  return toCid(hash(bytes))
}

describe('the mirror of a bucket', () => {
  const newStore = newStores()
  let bucket, requests
  beforeEach(() => { ({ bucket, requests } = counted()) })

  it('gives blobs of every size, whole and in ranges', async () => {
    const mirror = bucketMirror(bucket)
    for (const size of SIZES) {
      const bytes = noise(size, size)
      const cid = await putBlob(bucket, bytes)
      const response = await fetchVerified(mirror, { cid })
      expect(same(new Uint8Array(await response.arrayBuffer()), bytes), `${size} bytes`).to.equal(true)
      for (const [start, end] of [[0, 1], [Math.floor(size / 2), size], [size - 1, size]]) {
        if (start < 0 || start >= end) continue
        const part = await fetchVerified(mirror, { cid, range: { start, end } })
        expect(same(new Uint8Array(await part.arrayBuffer()), bytes.subarray(start, end)), `${start}`).to.equal(true)
      }
    }
  })

  it('gives any slices, also those that begin beyond the end', async () => {
    const bytes = noise(300_000, 5)
    const cid = await putBlob(bucket, bytes)
    const mirror = bucketMirror(bucket)
    const every = [
      ChunkRanges.last, ChunkRanges.fromBytes(400_000, 500_000), ChunkRanges.fromBytes(20 * GROUP),
      ChunkRanges.fromBytes(0, 5).union(ChunkRanges.fromBytes(6 * GROUP, 7 * GROUP)).union(ChunkRanges.last)
    ]
    for (const ranges of every) {
      for (const size of [undefined, bytes.length]) {
        const request = { root: hash(bytes), ranges, groupLog: 4, size }
        const slice = mirror.pieces(request, new AbortController().signal)
        const leaves = await listed(verifyStream(slice, { cid, ranges }))
        expect(leaves.every(({ offset, bytes: leaf }) => same(leaf, bytes.subarray(offset, offset + leaf.length))))
          .to.equal(true)
        expect(leaves).to.not.have.length(0)
      }
    }
  })

  it('does not believe in an outboard that is longer than that of any blob', async () => {
    const bytes = noise(300_000, 5)
    const cid = await putBlob(bucket, bytes)
    const { get } = bucket
    bucket.get = async (key, ...rest) => {
      const object = await get(key, ...rest)
      return key.endsWith('.obao4') ? { ...object, size: Number.MAX_SAFE_INTEGER } : object
    }
    const ranges = ChunkRanges.last
    const request = { root: hash(bytes), ranges, groupLog: 4 }
    const slice = bucketMirror(bucket).pieces(request, new AbortController().signal)
    const [leaf] = await listed(verifyStream(slice, { cid, ranges }))
    expect(same(leaf.bytes, bytes.subarray(leaf.offset))).to.equal(true)
  })

  it('is used by downloads and by the supply of a store', async () => {
    const bytes = noise(3 * MIB, 6)
    const cid = await putBlob(bucket, bytes)
    const { store } = await newStore()
    expect(await download(store, cid, { from: [bucketMirror(bucket)] })).to.include({ complete: true })
    expect(same(await store.bytes(cid), bytes)).to.equal(true)
    const supply = fromMirrors([bucketMirror(bucket)])
    const slice = await supply(cid, ChunkRanges.fromBytes(0, MIB), { size: bytes.length })
    expect((await collect(slice)).length).to.be.above(MIB)
    expect(mirrorOf(bucketMirror(bucket, { location: 'far away' })).location).to.equal('far away')
  })

  it('needs two requests for a slice of a blob, and one for a slice that follows or for a small blob', async () => {
    const bytes = noise(3 * MIB, 7)
    const cid = await putBlob(bucket, bytes)
    const small = noise(GROUP, 8)
    await putBlob(bucket, small)
    const mirror = bucketMirror(bucket)
    const ask = async (content, ranges, size) => {
      requests.length = 0
      const request = { root: hash(content), ranges, groupLog: 4, size }
      await collect(mirror.pieces(request, new AbortController().signal))
      return requests.map(({ key, start, end }) => [key.endsWith('.obao4') ? 'outboard' : 'blob', start, end])
    }
    const [outboard] = [['outboard', 0, 4 * MIB]]
    expect(await ask(bytes, ChunkRanges.fromBytes(MIB, 2 * MIB))).to.deep.equal([['blob', MIB, 2 * MIB], outboard])
    expect(await ask(bytes, ChunkRanges.fromBytes(0, MIB), bytes.length)).to.deep.equal([['blob', 0, MIB]])
    expect(await ask(bytes, ChunkRanges.last)).to.deep.equal([['blob', 3 * MIB - GROUP, 3 * MIB]])
    expect(await ask(small, ChunkRanges.all)).to.deep.equal([['blob', 0, 8 * MIB]])
    requests.length = 0
    const response = await fetchVerified(bucketMirror(bucket), { cid, range: { start: 0, end: MIB } })
    await response.arrayBuffer()
    expect(requests.length, 'from nothing to the first verified MiB').to.be.at.most(3)
  })

  it('reads a long range in parts of 8 MiB', async () => {
    const bytes = noise(20 * MIB + 5, 10)
    const cid = await putBlob(bucket, bytes)
    requests.length = 0
    const response = await fetchVerified(bucketMirror(bucket), { cid })
    expect(same(new Uint8Array(await response.arrayBuffer()), bytes)).to.equal(true)
    const parts = requests.filter(({ key, start, end }) => !key.endsWith('.obao4') && end - start > GROUP)
    expect(parts.map(({ start, end }) => [start, end])).to.deep.equal(
      [[0, 8 * MIB], [8 * MIB, 16 * MIB], [16 * MIB, bytes.length]])
  })

  it('reads aligned groups only', async () => {
    const bytes = noise(10 * GROUP + 5, 9)
    const cid = await putBlob(bucket, bytes)
    const response = await fetchVerified(bucketMirror(bucket), { cid, range: { start: GROUP + 5, end: 3 * GROUP - 5 } })
    await response.arrayBuffer()
    const starts = requests.filter(({ key }) => !key.endsWith('.obao4')).map(({ start }) => start % GROUP)
    expect(new Set(starts)).to.deep.equal(new Set([0]))
  })

  it('reads long outboards in blocks', async () => {
    const ask = sparse(2 ** 31)
    const lens = await ask(0, 2 ** 30)
    expect(lens[0]).to.equal(4 * MIB)
    expect(lens.slice(1).every(len => len === MIB / 4)).to.equal(true)
    expect(lens.length).to.be.below(8)
  })

  it('reads a block of an outboard once for all slices that need it, and no longer than one of them does', async () => {
    const bytes = noise(3 * MIB, 7)
    await putBlob(bucket, bytes)
    const { get } = bucket
    const reads = []
    bucket.get = async (key, range, options) => {
      if (!key.endsWith('.obao4')) return get.call(bucket, key, range, options)
      const { signal } = options
      await new Promise((resolve, reject) => {
        reads.push({ answer: resolve, signal })
        signal.addEventListener('abort', () => reject(signal.reason))
      })
      return get.call(bucket, key, range, options)
    }
    const mirror = bucketMirror(bucket)
    const begin = start => {
      const ending = new AbortController()
      const request = { root: hash(bytes), ranges: ChunkRanges.fromBytes(start, start + 1), groupLog: 4 }
      return { end: () => ending.abort(new Error('ended')), slice: collect(mirror.pieces(request, ending.signal)) }
    }
    const [first, second, third] = [0, MIB, 2 * MIB].map(begin)
    await turns()
    expect(reads.length).to.equal(1)
    first.end()
    expect(await errorOf(first.slice)).to.have.property('message', 'ended')
    expect(reads[0].signal.aborted).to.equal(false)
    reads[0].answer()
    expect((await second.slice).length).to.be.above(1024)
    expect((await third.slice).length).to.be.above(1024)

    const other = bucketMirror(bucket)
    const alone = new AbortController()
    const request = { root: hash(bytes), ranges: ChunkRanges.fromBytes(0, 1), groupLog: 4 }
    const slice = errorOf(collect(other.pieces(request, alone.signal)))
    await turns()
    alone.abort(new Error('ended'))
    const again = collect(other.pieces(request, new AbortController().signal))
    expect(await slice).to.have.property('message', 'ended')
    await turns()
    const [, ended, own] = reads.map(({ signal }) => signal.aborted)
    expect([ended, own], 'it begins a read of its own').to.deep.equal([true, false])
    reads[2].answer()
    expect((await again).length).to.be.above(1024)
  })

  it('finds an outboard that was put again under another key, between two blocks', async () => {
    let id = '01234567'
    const ask = sparse(2 ** 31, () => id)
    expect(await ask(0, 0)).not.to.have.length(0)
    id = '89abcdef'
    expect(await ask(0, 2 ** 30)).not.to.have.length(0)
  })

  it('keeps 32 MiB of outboards, and forgets those that were used least recently', async () => {
    const ask = sparse(2 ** 30)
    for (let root = 0; root < 8; root++) expect(await ask(root, 0)).to.deep.equal([4 * MIB])
    for (let root = 0; root < 8; root++) expect(await ask(root, MIB), 'kept').to.deep.equal([])
    await ask(8, 0)
    expect(await ask(1, MIB)).to.deep.equal([])
    expect(await ask(0, MIB)).to.deep.equal([4 * MIB])
    const askShort = sparse(2 ** 20)
    for (let root = 0; root < 100; root++) await askShort(root, 0)
    for (let root = 0; root < 100; root++) expect(await askShort(root, 0)).to.deep.equal([])
  })

  /**
   * Makes a mirror of a bucket whose objects have a size and no right bytes.
   *
   * @param {number} size @param {() => string} [outboardId]  of the outboard; default: none
   * @returns a function that reads the group at an offset of a blob. It returns the lengths that were asked for of the
   *   outboard
   */
  function sparse (size, outboardId) {
    const unused = ['head', 'put', 'putParts', 'delete', 'abortUploads', 'url'].map(name => [name, () => {}])
    const outboards = []
    const mirror = bucketMirror({
      ...bucket,
      ...Object.fromEntries(unused),
      location: 'sparse',
      list: async function * (prefix) {
        if (outboardId !== undefined) yield { key: `${prefix}${outboardId()}.obao4`, size: size / GROUP * 64 - 64 }
      },
      get: async (key, { start, end }) => {
        const isOutboard = key.endsWith('.obao4')
        if (isOutboard && outboardId !== undefined && !key.endsWith(`.${outboardId()}.obao4`)) return undefined
        if (isOutboard) outboards.push(end - start)
        const len = isOutboard ? size / GROUP * 64 - 64 : size
        const part = { start, end: Math.min(end, len) }
        const body = async function * () {
          for (let at = part.start; at < part.end; at += GROUP) yield new Uint8Array(Math.min(GROUP, part.end - at))
        }
        return { size: len, range: part, body: body() }
      }
    })
    return async (root, offset) => {
      outboards.length = 0
      const ranges = ChunkRanges.fromBytes(offset, offset + 1)
      const request = { root: new Uint8Array(32).fill(root), ranges, groupLog: 4, size }
      await collect(mirror.pieces(request, new AbortController().signal))
      return [...outboards]
    }
  }

  it('finds a blob that was put again under another key', async () => {
    const bytes = noise(5 * GROUP, 10)
    const cid = await putBlob(bucket, bytes)
    await bucket.put(`${keyOf(bytes)}.0123abcd`, bytes)
    await bucket.put(`${keyOf(bytes)}.zzz`, bytes)
    await bucket.delete(keyOf(bytes))
    const response = await fetchVerified(bucketMirror(bucket), { cid })
    expect(same(new Uint8Array(await response.arrayBuffer()), bytes)).to.equal(true)
  })

  it('says what the bucket lacks', async () => {
    const bytes = noise(5 * GROUP, 11)
    const mirror = bucketMirror(bucket)
    const pieces = () => collect(mirror.pieces(
      { root: hash(bytes), ranges: ChunkRanges.all, groupLog: 4 }, new AbortController().signal))
    expect(await errorOf(pieces())).to.include({ code: 'STORE_NOT_FOUND', location: 'memory' })
    await bucket.put(keyOf(bytes), bytes)
    const error = await errorOf(pieces())
    expect(error).to.include({ code: 'FETCH_REFUSED' })
    expect(error.message).to.include('.obao4')
  })

  it('lacks a blob in the same way if its size is known', async () => {
    const absent = toCid(hash(noise(300_000, 9)))
    const supply = fromMirrors([bucketMirror(bucket)])
    for (const size of [undefined, 100, 300_000]) {
      expect(await supply(absent, ChunkRanges.fromBytes(0, GROUP), { size }), `${size}`).to.equal(undefined)
    }
  })

  it('does not look through an endless list of other keys', async () => {
    let listed = 0
    bucket.list = async function * (prefix) { while (true) yield { key: `${prefix}other ${listed++}`, size: 1 } }
    const absent = toCid(hash(noise(300_000, 10)))
    expect(await errorOf(fetchVerified(bucketMirror(bucket), { cid: absent }))).to.include({ code: 'STORE_NOT_FOUND' })
    expect(listed).to.be.below(10_000)
  })

  it('never passes on wrong bytes, whatever is in the bucket', async () => {
    const bytes = noise(20 * GROUP + 99, 12)
    const cid = await putBlob(bucket, bytes)
    const pairs = createOutboardSync(bytes).bytes
    const flipped = (from, at) => from.map((byte, i) => i === at ? byte ^ 1 : byte)
    const damages = {
      'a flipped byte': [flipped(bytes, 70_000), pairs],
      'a flipped last byte': [flipped(bytes, bytes.length - 1), pairs],
      'a flipped pair': [bytes, flipped(pairs, 100)],
      'a flipped first pair': [bytes, flipped(pairs, 0)],
      'a cut blob': [bytes.subarray(0, 100_000), pairs],
      'a blob cut to one group': [bytes.subarray(0, GROUP), pairs],
      'an empty blob': [bytes.subarray(0, 0), pairs],
      'a longer blob': [noise(30 * GROUP, 12), pairs],
      'a cut outboard': [bytes, pairs.subarray(0, 200)],
      'an empty outboard': [bytes, pairs.subarray(0, 0)],
      'an outboard of odd length': [bytes, pairs.subarray(0, pairs.length - 1)],
      'another blob': [noise(bytes.length, 13), createOutboardSync(noise(bytes.length, 13)).bytes]
    }
    for (const [what, [blob, outboard]] of Object.entries(damages)) {
      await bucket.put(keyOf(bytes), blob)
      await bucket.put(`${keyOf(bytes)}.obao4`, outboard)
      const reading = fetchVerified(bucketMirror(bucket), { cid, retries: 0 }).then(response => response.arrayBuffer())
      expect(await errorOf(reading), what).to.be.an.instanceOf(Error)
    }
  })

  it('checks its arguments', () => {
    expect(() => bucketMirror({})).to.throw(TypeError, 'get()')
    expect(() => bucketMirror(bucket, { name: 'a' })).to.throw(TypeError)
  })
})
