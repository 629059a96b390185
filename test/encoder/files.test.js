// Files as sources, by path, by URL and as a stream of Node.js, give the results of their bytes. Outboards in files.
import { execFileSync, spawn } from 'node:child_process'
import fs, { createReadStream } from 'node:fs'
import { appendFile, mkdtemp, open, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { ChunkRanges, closeWorkers } from '../../lib/index.js'
import {
  appendOutboard, createOutboardSync, encodeSlice, encodeSliceSync, openOutboard, writeOutboard
} from '../../encoder/index.js'
import { VerifiedReader, validRanges } from '../../verifier/index.js'
import { findValid } from '../../verifier/valid.js'
import { same } from '../support/bytes.js'
import { turns } from '../support/fake-clock.js'
import { collect, errorOf, ragged, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { BYTES, describeRandomAccess, describeSequences } from './source-suite.js'

const ENOUGH = new Error('enough')
const ENCODER = pathToFileURL(join(import.meta.dirname, '../../encoder/index.js'))

describe('files as sources', () => {
  let folder
  let path
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    path = join(folder, 'blob')
    await writeFile(path, BYTES)
  })
  after(() => rm(folder, { recursive: true }))

  const FILES = {
    'a path': () => path,
    'a file URL': () => pathToFileURL(path)
  }
  describeSequences({ ...FILES, 'a Node stream': () => createReadStream(path) })
  describeRandomAccess(FILES)
})

describe('files that block', () => {
  let folder
  let path
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    path = join(folder, 'blob')
    await writeFile(path, BYTES)
  })
  after(() => rm(folder, { recursive: true }))

  const outboard = createOutboardSync(BYTES)
  const old = createOutboardSync(BYTES.subarray(0, BYTES.length - 1), { order: 'post' })
  const WAYS = {
    encodeSlice: (path, signal) => collect(encodeSlice(path, outboard, undefined, { signal })),
    validRanges: (path, signal) => validRanges(path, outboard, undefined, { signal, threads: 1 }),
    appendOutboard: (path, signal) => appendOutboard(path, old, { signal })
  }
  for (const [name, way] of Object.entries(WAYS)) {
    it(`do not delay an abort: ${name} of a pipe without a writer`, async function () {
      if (process.platform === 'win32') this.skip()
      const pipe = join(folder, name)
      execFileSync('mkfifo', [pipe])
      const abort = new AbortController()
      const ending = errorOf(way(pipe, abort.signal))
      await turns() // until the pipe is being opened
      abort.abort(ENOUGH)
      expect(await ending).to.equal(ENOUGH)
      await (await open(pipe, 'w')).close() // ends the thread that still waits
    })

    it(`do not delay an abort: ${name} of a disk that hangs`, async function () {
      if (process.versions.bun || process.versions.deno) this.skip() // `read` cannot be replaced there
      const { read } = fs
      const stuck = []
      const abort = new AbortController()
      try {
        const isStuck = new Promise(resolve => {
          fs.read = (...args) => {
            stuck.push(args.at(-1))
            resolve()
          }
        })
        syncBuiltinESMExports()
        const ending = errorOf(way(path, abort.signal))
        await isStuck
        abort.abort(ENOUGH)
        expect(await ending).to.equal(ENOUGH)
      } finally {
        fs.read = read
        syncBuiltinESMExports()
        for (const done of stuck) done(null, 0)
      }
    })
  }
})

describe('outboards in files', () => {
  let folder
  let blob
  let target
  before(async () => { folder = await mkdtemp(join(tmpdir(), 'baobox-')) })
  beforeEach(async () => {
    blob = join(folder, 'blob')
    target = join(folder, 'outboard')
    await rm(target, { force: true })
    await writeFile(blob, BYTES)
  })
  after(async () => {
    await closeWorkers()
    await rm(folder, { recursive: true })
  })

  it('equal outboards in memory, and give the same results', async () => {
    for (const [name, source] of [['a path', () => blob], ['a stream', () => stream(ragged(BYTES, 3))]]) {
      for (const options of [{}, { groupLog: 0, order: 'post' }, { groupLog: 0, order: 'pre', header: true }]) {
        const { header, ...shape } = options
        const expected = createOutboardSync(BYTES, shape)
        const info = await writeOutboard(source(), options.order ? target : pathToFileURL(target), options)
        const bytes = header ? expected.toBao() : expected.bytes
        expect(same(await readFile(target), bytes), name).to.equal(true)
        const outboard = await openOutboard(target, info)
        expect(same(await collect(encodeSlice(blob, outboard)), encodeSliceSync(BYTES, expected))).to.equal(true)
        const reader = new VerifiedReader({ cid: info.root, source: blob, outboard })
        expect(same(await reader.read({ start: 50_000, end: 100_000 }), BYTES.subarray(50_000, 100_000))).to.equal(true)
        expect((await validRanges(blob, outboard)).boundaries).to.deep.equal([0, 293])
        await Promise.all([reader.close(), outboard.close()])
      }
    }
    expect((await readdir(folder)).sort()).to.deep.equal(['blob', 'outboard'])
  })

  it('of long files equal those of their bytes, although memory is reused', async () => {
    const bytes = noise(5_000_001, 8)
    await writeFile(blob, bytes)
    for (const groupLog of [0, 4]) {
      const expected = createOutboardSync(bytes, { groupLog })
      const info = await writeOutboard(blob, target, { groupLog, threads: 1 })
      expect(same(await readFile(target), expected.bytes)).to.equal(true)
      const outboard = await openOutboard(target, info)
      for (const ranges of [ChunkRanges.all, ChunkRanges.fromBoundaries([1000, 2050, 2060, 4000, 4097, 7000, 8000])]) {
        const slice = encodeSliceSync(bytes, expected, ranges)
        expect(same(await collect(encodeSlice(blob, outboard, ranges)), slice)).to.equal(true)
        let at = 0
        for await (const piece of encodeSlice(blob, outboard, ranges, { reuse: true })) {
          expect(same(piece, slice.subarray(at, at + piece.length)), `at ${at}`).to.equal(true)
          at += piece.length
        }
        expect(at).to.equal(slice.length)
        expect((await validRanges(blob, outboard, ranges)).equals(
          ranges.canonical(bytes.length).roundToGroups(groupLog).canonical(bytes.length)
        )).to.equal(true)
      }
      expect(
        (await findValid(blob, outboard, undefined, { threads: 2, spanLen: 1 << 18 })).boundaries
      ).to.deep.equal([0, 4883])
      const reader = new VerifiedReader({ cid: info.root, source: blob, outboard })
      expect(same(await reader.read(), bytes)).to.equal(true)
      await Promise.all([reader.close(), outboard.close()])
    }
  })

  it('are extended in place', async () => {
    for (const options of [{ order: 'post' }, { order: 'post', groupLog: 0, header: true }]) {
      await writeFile(blob, BYTES.subarray(0, 100_000))
      let info = await writeOutboard(blob, target, options)
      for (const size of [100_000, 100_001, 200_000, BYTES.length]) {
        await writeFile(blob, BYTES.subarray(0, size))
        await appendFile(target, 'left by one that was interrupted')
        info = await writeOutboard(blob, size % 2 === 0 ? target : pathToFileURL(target), { append: info })
      }
      const expected = join(folder, 'expected')
      expect(await writeOutboard(blob, expected, options)).to.deep.equal(info)
      expect(same(await readFile(target), await readFile(expected))).to.equal(true)
      await rm(expected)
    }
    expect(await errorOf(writeOutboard(
      blob, join(folder, 'nothing'), { append: { cid: new Uint8Array(32), size: 1, groupLog: 4, order: 'post' } }
    ))).to.include({ code: 'ENOENT' })
    expect((await readdir(folder)).sort()).to.deep.equal(['blob', 'outboard'])
  })

  it('leave the old file unchanged, and no other file, when they fail', async () => {
    await writeFile(target, 'old')
    const broken = async function * () {
      yield BYTES
      throw new Error('broken')
    }
    expect(await errorOf(writeOutboard(broken(), target))).to.include({ message: 'broken' })
    expect(await errorOf(writeOutboard(stream([BYTES, 'no bytes']), target))).to.be.instanceOf(TypeError)
    expect(
      await errorOf(writeOutboard(blob, target, { signal: AbortSignal.abort() }))
    ).to.include({ name: 'AbortError' })
    expect(await errorOf(writeOutboard(join(folder, 'nothing'), target))).to.include({ code: 'ENOENT' })
    expect(await errorOf(writeOutboard(blob, join(folder, 'nowhere', 'outboard')))).to.include({ code: 'ENOENT' })
    expect(await readFile(target, 'utf8')).to.equal('old')
    expect((await readdir(folder)).sort()).to.deep.equal(['blob', 'outboard'])
  })

  it('leave nothing that looks whole when the process is killed', async () => {
    const script = `
      import { writeOutboard } from ${JSON.stringify(ENCODER)}
      async function * endless () {
        for (let i = 0; ; i++) {
          yield new Uint8Array(1 << 20).fill(i)
          if (i === 8) console.log('under way')
          if (i > 8) await new Promise(resolve => setTimeout(resolve, 20))
        }
      }
      await writeOutboard(endless(), ${JSON.stringify(target)}, { groupLog: 0, order: 'post' })`
    const child = spawn(
      process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] }
    )
    await new Promise(resolve => child.stdout.once('data', resolve))
    child.kill('SIGKILL')
    await new Promise(resolve => child.once('exit', resolve))
    const left = (await readdir(folder)).filter(name => name !== 'blob')
    expect(left).to.have.length(1)
    expect(left[0]).to.match(/^\.outboard\..*\.part$/)
    await rm(join(folder, left[0]))
  })
})
