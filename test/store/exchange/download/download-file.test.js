// Downloads straight to a file.
import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newLocation, removeLocation } from '#runtime'
import { createOutboardSync, encodeSliceSync } from '../../../../encoder/index.js'
import { mirrorOf } from '../../../../verifier/index.js'
import { BlobStore } from '../../../../store/index.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { endings, fetchOf, file, streamOf } from '../../../support/servers.js'

const content = noise(3_000_000, 471)
const outboard = createOutboardSync(content)
const { cid } = outboard

/** Slices of a blob, in pieces; `ending` may change them. Notes how many bytes were asked for. */
const slices = (ending = endings.whole, asked = []) => async (_cid, ranges) => {
  const slice = encodeSliceSync(content, outboard, ranges)
  asked.push(slice.length)
  return streamOf(ending(slice))
}

describe('a download to a file', () => {
  let folder
  let path
  beforeEach(async () => {
    folder = await newLocation()
    await mkdir(folder, { recursive: true })
    path = join(folder, 'movie.mp4')
  })
  afterEach(() => removeLocation(folder))

  it('puts the whole blob there, and leaves nothing beside it', async () => {
    await writeFile(path, 'what was there before')
    const result = await BlobStore.downloadFile(cid, path, { from: [slices()] })
    expect(result).to.include({ size: content.length, received: content.length, complete: true })
    expect((await readFile(path)).equals(content)).to.equal(true)
    expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
    expect((await stat(path)).nlink).to.equal(1)
  })

  it('takes small blobs, too', async () => {
    for (const len of [0, 100, 70_000]) {
      const small = content.slice(0, len)
      const tree = createOutboardSync(small)
      await BlobStore.downloadFile(tree.cid, path, { from: [{ source: small, outboard: tree }] })
      expect((await readFile(path)).equals(small), `${len} bytes`).to.equal(true)
      expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
    }
  })

  it('takes long blobs from a server that has the bytes alone', async () => {
    const long = noise((1 << 24) + 1, 472)
    const { cid } = createOutboardSync(long)
    const at = 'https://plain.example/movie'
    for (const [ending, isRight] of [[endings.flip(1 << 24), false], [endings.whole, true]]) {
      const from = [mirrorOf(at, { fetch: fetchOf({ [at]: file(long, { ending }) }) })]
      const error = await errorOf(BlobStore.downloadFile(cid, path, { from }))
      if (!isRight) expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
      expect(existsSync(path)).to.equal(isRight)
    }
    expect((await readFile(path)).equals(long)).to.equal(true)
    expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
  })

  it('goes on where it was interrupted, and leaves the file as it was until then', async () => {
    await writeFile(path, 'old')
    const controller = new AbortController()
    const from = [slices(endings.stall(1_000_000, () => controller.abort(new Error('enough'))))]
    const error = await errorOf(BlobStore.downloadFile(cid, path, { from, signal: controller.signal }))
    expect(error).to.have.property('message', 'enough')
    expect(await readFile(path, 'utf8')).to.equal('old')
    const asked = []
    const result = await BlobStore.downloadFile(cid, path, { from: [slices(endings.whole, asked)] })
    expect(result.received).to.be.below(2_200_000)
    expect(asked.reduce((sum, len) => sum + len)).to.be.below(2_300_000)
    expect((await readFile(path)).equals(content)).to.equal(true)
    expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
  })

  it('keeps the part when no mirror is left, and puts no wrong byte into the file', async () => {
    const from = [slices(endings.flip(500_000))]
    expect(await errorOf(BlobStore.downloadFile(cid, path, { from }))).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(existsSync(path)).to.equal(false)
    expect(await readdir(folder)).to.deep.equal(['movie.mp4.part'])
  })

  it('leaves nothing behind when nothing has come', async () => {
    expect(await errorOf(BlobStore.downloadFile(cid, path, { from: [] }))).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('asks no mirror when a folder has the name, or a file that of the part', async () => {
    const from = [() => { throw new Error('nobody is to be asked') }]
    const failing = () => errorOf(BlobStore.downloadFile(cid, path, { from, retries: 0 }))
    await mkdir(path)
    const message = `${path} is a folder: give the path of a file in it`
    expect(await failing()).to.include({ code: 'EISDIR', message })
    expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
    await rmdir(path)
    await writeFile(`${path}.part`, 'mine')
    const error = await failing()
    expect(error).to.include({ code: 'ENOTDIR' })
    expect(error.message).to.match(/movie\.mp4\.part is a file, .*: move it away, or delete it$/)
    expect(await readFile(`${path}.part`, 'utf8')).to.equal('mine')
  })

  it('says why a mirror cannot be reached', async () => {
    const refuse = () => Promise.reject(new TypeError('fetch failed', {
      cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    }))
    const from = [mirrorOf('http://localhost/blob', { fetch: refuse })]
    const { message } = await errorOf(BlobStore.downloadFile(cid, path, { from, retries: 0 }))
    expect(message).to.match(/^no mirror is left: the connection to http:.* failed: ECONNREFUSED$/)
  })

  it('fetches again what was damaged of the part of an earlier run', async () => {
    const from = [slices(endings.cut(1_500_000))]
    await errorOf(BlobStore.downloadFile(cid, path, { from, retries: 0 }))
    const blobs = join(`${path}.part`, 'blobs')
    const [name] = await readdir(blobs)
    const part = await readFile(join(blobs, name))
    part[100] ^= 1
    await writeFile(join(blobs, name), part)
    const result = await BlobStore.downloadFile(cid, path, { from: [slices()] })
    expect(result).to.include({ complete: true, received: 16_384 })
    expect((await readFile(path)).equals(content)).to.equal(true)
  })

  it('is refused for wrong arguments, and for ranges', async () => {
    for (const options of [undefined, { from: [], ranges: { start: 0 } }, { from: 'x' }]) {
      expect(await errorOf(BlobStore.downloadFile(cid, path, options))).to.be.instanceOf(TypeError)
    }
    expect(await errorOf(BlobStore.downloadFile('x', path, { from: [] }))).to.include({ code: 'CID_UNSUPPORTED' })
  })
})
