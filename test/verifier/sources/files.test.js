// Readers, audits and proofs of files; transforms among streams of Node.js.
import { readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { createOutboardSync, createProof, encode } from '../../../encoder/index.js'
import { SliceSource, VerifiedReader, validRanges, verifyProof, verifyTransform } from '../../../verifier/index.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'

const content = noise(300_000)
const { root, bytes: encoded } = encode(content, { groupLog: 0 })

describe('a reader of a file', () => {
  it('closes a file that is unusable, and opens it again', async function () {
    if (process.platform !== 'linux') this.skip()
    const directory = await mkdtemp(join(tmpdir(), 'baobox-reader-'))
    const path = join(directory, 'encoded')
    await writeFile(path, 'abc')
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    const reader = new VerifiedReader({ cid: root, encoded: path, groupLog: 0 })
    for (let i = 0; i < 10; i++) expect(await errorOf(reader.read())).to.include({ code: 'BAO_TRUNCATED' })
    expect(open()).to.be.at.most(before + 1)
    await writeFile(path, encoded)
    expect(await reader.read({ start: 7, end: 9 })).to.deep.equal(content.slice(7, 9))
    await reader.close()
    await rm(directory, { recursive: true })
  })
})

describe('a file of slices', () => {
  it('gives the bytes after them in fresh memory', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'baobox-slices-'))
    const long = noise(4_500_000)
    await writeFile(join(directory, 'long'), long)
    const pieces = []
    for await (const piece of new SliceSource(join(directory, 'long'))) pieces.push(piece)
    expect(Buffer.compare(Buffer.concat(pieces), long)).to.equal(0)
    await rm(directory, { recursive: true })
  })
})

describe('an audit of a file', () => {
  const long = noise(3_500_000)
  const outboard = createOutboardSync(long)
  let directory
  before(async () => { directory = await mkdtemp(join(tmpdir(), 'baobox-audit-')) })
  after(() => rm(directory, { recursive: true }))

  it('finds wrong and missing bytes', async () => {
    const path = join(directory, 'blob')
    await writeFile(path, long)
    for (const source of [path, pathToFileURL(path)]) {
      expect(
        (await validRanges(source, outboard)).boundaries
      ).to.deep.equal([0, 3418])
    }
    // Not at borders of pieces of 1 MiB, so that windows cross these borders.
    expect((await validRanges(path, outboard, { start: 20_000, end: 3_000_000 })).boundaries).to.deep.equal([16, 2944])

    const spoilt = long.slice(0, 3_000_000)
    spoilt[1_500_000] ^= 1
    await writeFile(path, spoilt)
    expect((await validRanges(path, outboard)).boundaries).to.deep.equal([0, 1456, 1472, 2928])
  })

  it('always closes it at the end', async function () {
    if (process.platform !== 'linux') this.skip()
    const path = join(directory, 'blob')
    await writeFile(path, long)
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    const fails = {
      root: outboard.root, size: outboard.size, groupLog: 4, copyPair () { throw new Error('unplugged') }
    }
    for (let i = 0; i < 10; i++) {
      await validRanges(path, outboard)
      expect((await errorOf(validRanges(path, fails))).message).to.equal('unplugged')
      const controller = new AbortController()
      expect(await errorOf(
        validRanges(path, outboard, undefined, { signal: controller.signal, onProgress: () => controller.abort() })
      )).to.include({ name: 'AbortError' })
    }
    for (let i = 0; i < 200 && open() > before + 1; i++) await new Promise(resolve => setTimeout(resolve, 20))
    expect(open()).to.be.at.most(before + 1)
  })

  it('and a proof take a path', async () => {
    const path = join(directory, 'blob')
    await writeFile(path, long)
    const proof = await createProof(path, outboard, { start: 2_000_000, end: 2_000_001 })
    const [{ start, end }] = proof.byteRanges
    expect(verifyProof(proof.toBytes(), long.subarray(start, end), { cid: outboard.root })).to.have.length(1)
  })
})

describe('a transform in a pipeline of Node.js', () => {
  before(function () {
    // The `pipeline` of Bun never ends with a pair of streams that is not a TransformStream. Its `pipeThrough` works.
    if (process.versions.bun) this.skip()
  })

  const piped = async (bytes, take = (_piece, _encoding, done) => done()) => {
    let len = 0
    const sink = new Writable({ write (piece, encoding, done) { len += piece.length; take(piece, encoding, done) } })
    const pieces = Array.from(
      { length: Math.ceil(bytes.length / 10_000) }, (_, i) => bytes.subarray(i * 10_000, (i + 1) * 10_000)
    )
    const error = await errorOf(pipeline(Readable.from(pieces), verifyTransform({ cid: root, groupLog: 0 }), sink))
    return { len, error }
  }

  it('ends without an error at the end of the slice', async () => {
    expect(await piped(encoded)).to.deep.equal({ len: content.length, error: undefined })
  })

  it('fails with the error of the slice', async () => {
    const flipped = encoded.slice()
    flipped[200_000] ^= 1
    for (const [spoilt, code] of [[flipped, 'BAO_LEAF_MISMATCH'], [encoded.subarray(0, 200_000), 'BAO_TRUNCATED']]) {
      const { len, error } = await piped(spoilt, (_piece, _encoding, done) => setTimeout(done, 1))
      expect(error).to.include({ code })
      expect(len, 'but for what waited in a stream that an error ends').to.be.within(100_000, 190_000)
    }
  })

  it('fails with the error of the next stage', async () => {
    const full = new Error('disk full')
    expect((await piped(encoded, (_piece, _encoding, done) => done(full))).error).to.equal(full)
  })
})
