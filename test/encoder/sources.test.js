// Bytes come in many shapes, and give the same outboards, slices and hashes in all of them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { hash, hashStream, keyedHash } from '../../lib/index.js'
import { createOutboard, createOutboardSync, encode, encodeSlice, encodeSliceSync, encodeStream } from '../../encoder/index.js'
import { VerifiedReader } from '../../verifier/index.js'
import { hex, same } from '../support/bytes.js'
import { collect, errorOf, ragged, stream } from '../support/feeding.js'
import { KEY, input } from '../support/inputs.js'

const BYTES = input({ gen: 'xs', seed: 41, len: 300_001 })
const RANGES = { start: 100_000, end: 220_000 }

describe('sources', () => {
  let folder
  let path
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    path = join(folder, 'blob')
    await writeFile(path, BYTES)
  })
  after(() => rm(folder, { recursive: true }))

  const RANDOM_ACCESS = {
    bytes: () => BYTES,
    'a Blob': () => new Blob([BYTES]),
    'a path': () => path,
    'a file URL': () => pathToFileURL(path),
    'an object that reads': () => ({ size: BYTES.length, read: (start, end) => BYTES.subarray(start, end) }),
    'an object that reads later': () => ({ size: BYTES.length, read: async (start, end) => BYTES.slice(start, end) })
  }
  const SEQUENCES = {
    ...RANDOM_ACCESS,
    'an async iterable': () => stream(ragged(BYTES, 2)),
    'an array of pieces': () => ragged(BYTES, 2),
    'a ReadableStream': () => new Blob([BYTES]).stream(),
    'a Node stream': () => createReadStream(path)
  }

  for (const [name, open] of Object.entries(SEQUENCES)) {
    it(`${name}: outboard and hash`, async () => {
      for (const options of [{}, { groupLog: 0, order: 'post' }, { key: KEY }]) {
        const outboard = await createOutboard(open(), options)
        const expected = createOutboardSync(BYTES, options)
        expect(hex(outboard.root)).to.equal(hex(expected.root))
        expect(same(outboard.bytes, expected.bytes)).to.equal(true)
      }
      expect(hex(await hashStream(open()))).to.equal(hex(hash(BYTES)))
      expect(hex(await hashStream(open(), { key: KEY }))).to.equal(hex(keyedHash(KEY, BYTES)))
    })
  }

  for (const [name, open] of Object.entries(RANDOM_ACCESS)) {
    it(`${name}: slices and reads`, async () => {
      for (const groupLog of [0, 4]) {
        const outboard = createOutboardSync(BYTES, { groupLog })
        const { root } = outboard
        expect(same(await collect(encodeSlice(open(), outboard, RANGES)), encodeSliceSync(BYTES, outboard, RANGES))).to.equal(true)
        expect(same(await collect(encodeStream(open(), outboard)), encode(BYTES, { groupLog }).bytes)).to.equal(true)
        const reader = new VerifiedReader({ root, source: open(), outboard })
        expect(same(await reader.read(100_000, 220_000), BYTES.subarray(100_000, 220_000))).to.equal(true)
        await reader.close()
      }
    })
  }

  it('are left when the work is called off', async () => {
    const signal = AbortSignal.abort()
    const outboard = createOutboardSync(BYTES)
    for (const action of [
      () => createOutboard(BYTES, { signal }),
      () => hashStream(stream(ragged(BYTES, 2)), { signal }),
      () => collect(encodeSlice(BYTES, outboard, RANGES, { signal }))
    ]) expect(await errorOf(action)).to.include({ name: 'AbortError' })
  })

  it('are closed when they are not read to the end', async () => {
    let isClosed = false
    async function * pieces () {
      try {
        yield BYTES.subarray(0, 1000)
        yield 'not bytes'
      } finally {
        isClosed = true
      }
    }
    expect(await errorOf(createOutboard(pieces()))).to.be.instanceOf(TypeError)
    expect(isClosed).to.equal(true)
  })

  it('tell how far they are', async () => {
    const told = []
    await createOutboard(stream([BYTES.subarray(0, 1000), BYTES.subarray(1000)]), { onProgress: event => told.push(event) })
    expect(told.map(event => event.detail.done)).to.deep.equal([1000, BYTES.length])
    expect(told.every(event => event.type === 'baobox:outboard')).to.equal(true)
  })
})
