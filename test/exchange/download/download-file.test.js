// Downloads to a file.
import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { lstat, mkdir, readFile, readdir, rename, rm, rmdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newLocation, removeLocation } from '#runtime'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { mirrorOf } from '../../../verifier/index.js'
import { BlobStore } from '../../../store/index.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { endings, fetchOf, file, streamOf } from '../../support/servers.js'
import { downloadFile } from '../../../exchange/download/index.js'

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
    const result = await downloadFile(cid, path, { from: [slices()] })
    expect(result).to.include({ size: content.length, received: content.length, complete: true })
    expect((await readFile(path)).equals(content)).to.equal(true)
    expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
    expect((await stat(path)).nlink).to.equal(1)
  })

  it('asks no mirror when the file has the blob already, and leaves the file as it is', async () => {
    const from = [() => { throw new Error('no mirror should be asked') }]
    for (const len of [0, 100, content.length]) {
      const bytes = content.subarray(0, len)
      const { cid } = createOutboardSync(bytes)
      await writeFile(path, bytes)
      const before = await stat(path)
      const result = await downloadFile(cid, path, { from })
      expect(result).to.deep.equal({ cid, size: len, received: 0, complete: true, mirrors: [] })
      expect(await stat(path)).to.deep.include({ ino: before.ino, mtimeMs: before.mtimeMs, ctimeMs: before.ctimeMs })
      expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
    }
    expect(await errorOf(downloadFile(cid, path, { from, signal: AbortSignal.abort(new Error('no')) })))
      .to.have.property('message', 'no')
  })

  it('replaces a file with other bytes, also of the same length, and removes what an earlier one left', async () => {
    await writeFile(path, content.map((byte, i) => i === 2_999_999 ? byte ^ 1 : byte))
    const stalling = [slices(endings.flip(500_000))]
    expect(await errorOf(downloadFile(cid, path, { from: stalling }))).to.include({ code: 'FETCH_EXHAUSTED' })
    expect((await readdir(folder)).sort()).to.deep.equal(['movie.mp4', 'movie.mp4.part'])
    await writeFile(path, content) // somebody else has brought it
    expect(await downloadFile(cid, path, { from: [] })).to.include({ received: 0, complete: true })
    expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
    await writeFile(path, content.map(byte => byte ^ 1))
    expect(await downloadFile(cid, path, { from: [slices()] })).to.include({ received: content.length })
    expect((await readFile(path)).equals(content)).to.equal(true)
  })

  it('takes small blobs, too', async () => {
    for (const len of [0, 100, 70_000]) {
      const small = content.slice(0, len)
      const tree = createOutboardSync(small)
      await downloadFile(tree.cid, path, { from: [{ source: small, outboard: tree }] })
      expect((await readFile(path)).equals(small), `${len} bytes`).to.equal(true)
      expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
    }
  })

  it('takes long blobs from a server that has only the bytes', async () => {
    const long = noise((1 << 24) + 1, 472)
    const { cid } = createOutboardSync(long)
    const at = 'https://plain.example/movie'
    for (const [ending, isRight] of [[endings.flip(1 << 24), false], [endings.whole, true]]) {
      const from = [mirrorOf(at, { fetch: fetchOf({ [at]: file(long, { ending }) }) })]
      const error = await errorOf(downloadFile(cid, path, { from }))
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
    const error = await errorOf(downloadFile(cid, path, { from, signal: controller.signal }))
    expect(error).to.have.property('message', 'enough')
    expect(await readFile(path, 'utf8')).to.equal('old')
    const asked = []
    const result = await downloadFile(cid, path, { from: [slices(endings.whole, asked)] })
    expect(result.received).to.be.below(2_200_000)
    expect(asked.reduce((sum, len) => sum + len)).to.be.below(2_300_000)
    expect((await readFile(path)).equals(content)).to.equal(true)
    expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
  })

  it('keeps the received part when no mirror is left, and puts no wrong byte into the file', async () => {
    const from = [slices(endings.flip(500_000))]
    expect(await errorOf(downloadFile(cid, path, { from }))).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(existsSync(path)).to.equal(false)
    expect(await readdir(folder)).to.deep.equal(['movie.mp4.part'])
  })

  it('leaves nothing when nothing was received', async () => {
    expect(await errorOf(downloadFile(cid, path, { from: [] }))).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('asks no mirror when a folder or a pipe has the name of the file, or a file the name of the part', async () => {
    const from = [() => { throw new Error('no mirror should be asked') }]
    const failing = () => errorOf(downloadFile(cid, path, { from, retries: 0 }))
    await mkdir(path)
    const message = `${path} is a folder: give the path of a file in it`
    expect(await failing()).to.include({ code: 'EISDIR', message })
    expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
    await rmdir(path)
    if (process.platform !== 'win32') {
      execFileSync('mkfifo', [path])
      expect(await failing()).to.include({ code: 'EEXIST' })
      expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
      await rm(path)
    }
    await writeFile(`${path}.part`, 'mine')
    const error = await failing()
    expect(error).to.include({ code: 'ENOTDIR' })
    expect(error.message).to.match(/movie\.mp4\.part is not a folder, .*: move it away, or delete it$/)
    expect(await readFile(`${path}.part`, 'utf8')).to.equal('mine')
  })

  describe('whose part has the name of something else', () => {
    const part = () => `${path}.part`
    const MARK = 'unfinished-download'

    /** The kinds, times and contents of everything at a path and below it. */
    async function treeOf (path) {
      const { mode, mtimeMs, ino } = await lstat(path)
      const isDirectory = (await lstat(path)).isDirectory()
      const names = isDirectory ? await readdir(path, { recursive: true }) : []
      const files = await Promise.all(names.sort().map(async name => {
        const file = join(path, name)
        const stat = await lstat(file)
        return [name, stat.ino, stat.mtimeMs, stat.isFile() ? (await readFile(file)).toString('hex') : stat.mode]
      }))
      return JSON.stringify([mode, mtimeMs, ino, files])
    }

    /** A folder that an interrupted download has left. */
    async function leavePart (at = path) {
      await errorOf(downloadFile(cid, at, { from: [slices(endings.cut(1_500_000))], retries: 0 }))
      expect(existsSync(`${at}.part`)).to.equal(true)
    }

    for (const [title, code, make] of [
      ['an empty folder', 'PATH_EXISTS', () => mkdir(part())],
      ['a folder with files', 'PATH_EXISTS', async () => {
        await mkdir(join(part(), 'blobs'), { recursive: true })
        await writeFile(join(part(), 'blobs', '1'), 'mine')
        await writeFile(join(part(), 'index'), 'mine')
      }],
      ['a store', 'PATH_EXISTS', async () => {
        const store = await BlobStore.open(part())
        await store.put(content, { tag: 'mine' })
        await store.close()
      }],
      ['an empty store', 'PATH_EXISTS', async () => (await BlobStore.open(part())).close()],
      ['a folder with a file that has the name of the mark', 'PATH_EXISTS', async () => {
        await mkdir(part())
        await writeFile(join(part(), MARK), 'what is left to download')
      }],
      ['a folder with a link to the mark of a part', 'PATH_EXISTS', async () => {
        await leavePart(join(folder, 'other'))
        await mkdir(part())
        await symlink(join(folder, 'other.part', MARK), join(part(), MARK))
      }],
      ['a folder with a folder that has the name of the mark', 'PATH_EXISTS', () =>
        mkdir(join(part(), MARK), { recursive: true })],
      ['a link to a part', 'ENOTDIR', async () => {
        await leavePart(join(folder, 'other'))
        await symlink(join(folder, 'other.part'), part())
      }],
      ['a link to nothing', 'ENOTDIR', () => symlink(join(folder, 'nothing'), part())],
      ['a file', 'ENOTDIR', () => writeFile(part(), 'mine')]
    ]) {
      it(`fails beside ${title}, which stays as it is`, async () => {
        await make()
        const before = await treeOf(part())
        const names = await readdir(folder)
        const from = [() => { throw new Error('no mirror should be asked') }]
        const error = await errorOf(downloadFile(cid, path, { from, retries: 0 }))
        expect(error, `${error}`).to.include({ code })
        expect(error.message).to.match(/movie\.mp4\.part is .*: move it away, or delete it$/)
        if (code === 'PATH_EXISTS') expect(error).to.include({ location: part() })
        expect(await treeOf(part())).to.equal(before)
        expect(await readdir(folder)).to.deep.equal(names)
      })
    }

    it('goes on in a folder with the mark only, as a killed process may leave it', async () => {
      await leavePart()
      for (const name of await readdir(part())) if (name !== MARK) await rm(join(part(), name), { recursive: true })
      await downloadFile(cid, path, { from: [slices()] })
      expect((await readFile(path)).equals(content)).to.equal(true)
      expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
    })

    it('leaves a folder that has replaced its own', async () => {
      const swap = async () => {
        await rename(part(), join(folder, 'moved'))
        await mkdir(part())
        throw new Error('no')
      }
      const error = await errorOf(downloadFile(cid, path, { from: [swap], retries: 0 }))
      expect(error.code).to.be.oneOf(['FETCH_EXHAUSTED', 'STORE_MOVED'])
      expect((await lstat(part())).isDirectory()).to.equal(true)
      expect(await readdir(part())).to.deep.equal([])
    })

    it('makes the folders above it, and works for the longest name of a file', async () => {
      const at = join(folder, 'new', 'folder', 'x'.repeat(250))
      await downloadFile(cid, at, { from: [slices()] })
      expect((await readFile(at)).equals(content)).to.equal(true)
      expect(await readdir(join(folder, 'new', 'folder'))).to.have.length(1)
    })
  })

  it('to the same file fails while another one runs, and does not disturb that one', async () => {
    let release
    const isReleased = new Promise(resolve => { release = resolve })
    let begin
    const hasBegun = new Promise(resolve => { begin = resolve })
    const first = downloadFile(cid, path, {
      from: [async (...what) => {
        begin()
        await isReleased
        return slices()(...what)
      }],
      stall: 600_000
    })
    await hasBegun
    expect(await errorOf(downloadFile(cid, path, { from: [slices()] }))).to.include({ code: 'STORE_LOCKED' })
    release()
    await first
    expect((await readFile(path)).equals(content)).to.equal(true)
    expect(await readdir(folder)).to.deep.equal(['movie.mp4'])
  })

  it('says why a mirror cannot be reached', async () => {
    const refuse = () => Promise.reject(new TypeError('fetch failed', {
      cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    }))
    const from = [mirrorOf('http://localhost/blob', { fetch: refuse })]
    const { message } = await errorOf(downloadFile(cid, path, { from, retries: 0 }))
    expect(message).to.match(/^no mirror is left: the connection to http:.* failed: ECONNREFUSED$/)
  })

  it('fetches damaged groups again when an earlier part was damaged', async () => {
    const from = [slices(endings.cut(1_500_000))]
    await errorOf(downloadFile(cid, path, { from, retries: 0 }))
    const blobs = join(`${path}.part`, 'blobs')
    const [name] = await readdir(blobs)
    const part = await readFile(join(blobs, name))
    part[100] ^= 1
    await writeFile(join(blobs, name), part)
    const result = await downloadFile(cid, path, { from: [slices()] })
    expect(result).to.include({ complete: true, received: 16_384 })
    expect((await readFile(path)).equals(content)).to.equal(true)
  })

  it('is refused for wrong arguments, and for ranges', async () => {
    for (const options of [undefined, { from: [], ranges: { start: 0 } }, { from: 'x' }]) {
      expect(await errorOf(downloadFile(cid, path, options))).to.be.instanceOf(TypeError)
    }
    expect(await errorOf(downloadFile('x', path, { from: [] }))).to.include({ code: 'CID_UNSUPPORTED' })
  })
})
