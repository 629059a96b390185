// Files as sources: read ahead, on one thread and on several, and files that change while they are read.

import { execFile, execFileSync } from 'node:child_process'
import fs, {
  appendFileSync, readFileSync, readdirSync, renameSync, truncateSync, utimesSync, writeFileSync
} from 'node:fs'
import { chmod, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { MemoryLevel } from 'memory-level'
import { expect } from 'chai'
import { unheardOf } from '#runtime'
import { Hasher, closeWorkers, hash, hashStream, keyedHash } from '../../../lib/index.js'
import { createOutboard, createOutboardSync } from '../../../encoder/index.js'
import { hashSource } from '../../../lib/parallel/hash-source.js'
import { leaseBuffers } from '../../../lib/engine/read-buffers.js'
import { modeOf } from '../../../lib/hash/mode-options.js'
import { sharedPool } from '../../../lib/parallel/pool.js'
import { CheckedFile, toPieces, toRandomAccess } from '../../../lib/source/source.js'
import { BlobStore } from '../../../store/index.js'
import { MIB } from '../../support/constants.js'
import { collect, errorOf } from '../../support/feeding.js'
import { forEachKernel } from '../../support/kernels.js'
import { hex } from '../../support/bytes.js'
import { KEY, noise } from '../../support/inputs.js'
import { newProject } from '../../support/project.js'

const INDEX = pathToFileURL(join(import.meta.dirname, '../../../lib/index.js'))

/** Hashes like `hashStream`, on a number of threads that are started before. */
const rootOn = async (threads, path, options) => {
  if (threads > 1) await Promise.all(sharedPool.take(threads).map(worker => worker.starting))
  const { root } = await hashSource(path, { mode: modeOf(), threads, spanLen: MIB / 4, type: 'test', ...options })
  return root
}
/** The same on one thread and on two. */
const THREADS = {
  'one thread': (path, options) => rootOn(1, path, options),
  'two threads': (path, options) => rootOn(2, path, options)
}

describe('files', () => {
  const bytes = noise(3 * MIB + 5)
  const expected = hex(hash(bytes))
  let folder
  let path
  before(async () => { folder = await mkdtemp(join(tmpdir(), 'baobox-files-')) })
  beforeEach(async () => {
    path = join(folder, 'file')
    await writeFile(path, bytes)
  })
  after(async () => {
    await closeWorkers()
    await rm(folder, { recursive: true })
  })

  forEachKernel(() => {
    it('of any length give the hash and the outboard of their bytes', async () => {
      for (const size of [0, 1, 1024, 131072, 131073, MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 131072, 3 * MIB + 5]) {
        const content = bytes.subarray(0, size)
        await writeFile(path, content)
        const outboard = createOutboardSync(content, { groupLog: 0 })
        for (const [name, root] of Object.entries(THREADS)) {
          expect(hex(await root(path)), `${size} bytes on ${name}`).to.equal(hex(outboard.root))
          const keyed = await root(pathToFileURL(path), { mode: modeOf({ key: KEY }) })
          expect(hex(keyed), `${size} bytes, keyed, on ${name}`).to.equal(hex(keyedHash(KEY, content)))
        }
        for (const threads of [1, 2]) {
          const options = { mode: modeOf(), outboard: { groupLog: 0, order: 'pre' }, spanLen: MIB / 4, type: '' }
          const { pairs } = await hashSource(path, { ...options, threads })
          expect(hex(hash(pairs)), `${size} bytes on ${threads}`).to.equal(hex(hash(outboard.bytes)))
        }
      }
    })
  })

  it('are read to their end, also pipes and files without a size', async () => {
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    // Another process writes: in Deno, one process cannot be at both ends of a pipe.
    const writing = promisify(execFile)('sh', ['-c', 'cat "$0" > "$1"', path, pipe])
    const [read] = await Promise.all([hashStream(pipe), writing])
    expect(hex(read)).to.equal(expected)
    expect(await errorOf(toRandomAccess('/dev/null'))).to.be.instanceOf(TypeError)
    if (process.platform === 'linux') {
      const version = '/proc/version'
      expect(hex(await hashStream(version, { threads: 2 }))).to.equal(hex(hash(readFileSync(version))))
    }
  })

  it('that cannot be opened or read fail with the error of the system', async () => {
    await mkdir(join(folder, 'directory'), { recursive: true })
    for (const threads of [1, 2, 'auto']) {
      expect(await errorOf(hashStream(join(folder, 'missing'), { threads }))).to.include({ code: 'ENOENT' })
      const message = `${join(folder, 'directory')} is a folder: give the path of a file`
      expect(await errorOf(hashStream(join(folder, 'directory'), { threads }))).to.include({ code: 'EISDIR', message })
    }
    expect(await errorOf(createOutboard(new URL('https://example.org/')))).to.be.instanceOf(TypeError)
  })

  it('that must be certain files are read if they are these, and closed if they are not', async () => {
    const { ino } = fs.statSync(path)
    const seen = []
    const right = new CheckedFile(path, fd => seen.push(fs.fstatSync(fd).ino))
    expect(hex((await hashSource(right, { mode: modeOf(), type: 'test' })).root)).to.equal(expected)
    expect((await collect(toPieces(right))).length).to.equal(bytes.length)
    expect(seen).to.deep.equal([ino, ino])
    if (process.platform !== 'win32') {
      fs.symlinkSync(path, join(folder, 'certain'))
      const behindLink = new CheckedFile(join(folder, 'certain'), () => {})
      expect((await errorOf(collect(toPieces(behindLink)))).code).to.be.oneOf(['ELOOP', 'EMLINK', 'EFTYPE'])
    }
    let opened
    const wrong = new CheckedFile(path, fd => {
      opened = fd
      throw new Error('another one')
    })
    expect((await errorOf(collect(toPieces(wrong)))).message).to.equal('another one')
    expect(() => fs.fstatSync(opened)).to.throw(/EBADF/)
  })

  it('that may not be read fail with the error of the system', async function () {
    if (process.getuid?.() === 0) return this.skip() // root may read everything
    await chmod(path, 0)
    expect(await errorOf(hashStream(path))).to.include({ code: 'EACCES' })
  })

  for (const [name, root] of Object.entries(THREADS)) {
    it(`that shrink are BAO_TRUNCATED, on ${name}`, async () => {
      let isShort = false
      const error = await errorOf(root(path, {
        onProgress () {
          if (!isShort) truncateSync(path, 2 * MIB + 7)
          isShort = true
        }
      }))
      expect(error).to.include({ name: 'BaoError', code: 'BAO_TRUNCATED' })
      expect(error.start).to.be.within(2 * MIB - MIB / 4, 3 * MIB)
      expect(error.got).to.be.lessThan(error.wanted)
    })

    const CHANGES = {
      grow: () => appendFileSync(path, 'more'),
      'are written to': () => {
        writeFileSync(path, noise(bytes.length, 2), { flag: 'r+' }) // not cut first: a worker may be reading
        utimesSync(path, 1, 1)
      },
      'are touched': () => utimesSync(path, 1, 1)
    }
    for (const [what, change] of Object.entries(CHANGES)) {
      it(`that ${what} during the call have no hash, on ${name}`, async () => {
        let isChanged = false
        const error = await errorOf(root(path, {
          onProgress () {
            if (!isChanged) change()
            isChanged = true
          }
        }))
        expect(error).to.include({ name: 'BaoError', code: 'BAO_SOURCE_CHANGED', location: path })
      })
    }

    it(`that are renamed or replaced during the call are the ones that were opened, on ${name}`, async () => {
      const other = join(folder, 'other')
      let told = 0
      const result = await root(path, {
        onProgress () {
          if (told++ === 0) {
            renameSync(path, join(folder, 'renamed'))
            writeFileSync(other, noise(bytes.length, 3))
            renameSync(other, path)
          }
        }
      })
      expect(hex(result)).to.equal(expected)
    })

    it(`report their length, on ${name}`, async () => {
      const told = []
      await root(path, { onProgress: ({ detail }) => told.push(detail) })
      expect(told.length).to.be.at.least(4)
      expect(told.every(({ total }) => total === bytes.length)).to.equal(true)
      expect(told.at(-1).done).to.equal(bytes.length)
    })

    it(`are closed by an abort at any time, on ${name}`, async () => {
      const reason = new Error('enough')
      const openFiles = () => process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0
      await root(path)
      const before = openFiles()
      const unheard = await unheardOf(async () => {
        for (let moment = 0; moment < 4; moment++) {
          const controller = new AbortController()
          let told = 0
          const onProgress = () => { if (told++ === moment) controller.abort(reason) }
          expect(await errorOf(root(path, { signal: controller.signal, onProgress }))).to.equal(reason)
          expect(hex(await root(path))).to.equal(expected)
        }
        for (let ms = 0; ms < 5; ms++) {
          const controller = new AbortController()
          setTimeout(() => controller.abort(reason), ms)
          const error = await errorOf(root(path, { signal: controller.signal }))
          expect(error).to.be.oneOf([reason, undefined])
        }
      })
      expect(unheard).to.deep.equal([])
      for (let i = 0; i < 500 && openFiles() > before; i++) await new Promise(resolve => setTimeout(resolve, 20))
      expect(openFiles()).to.be.at.most(before)
    })
  }

  it('that change during a put leave nothing in a store', async () => {
    const store = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() })
    const told = []
    const error = await errorOf(store.put(path, {
      onProgress ({ detail }) {
        if (told.push(detail) === 1) appendFileSync(path, 'more')
      }
    }))
    expect(error).to.include({ code: 'BAO_SOURCE_CHANGED' })
    expect(told.at(-1)).to.deep.equal({ done: bytes.length, total: bytes.length, unit: 'bytes' })
    expect(await collect(store.list())).to.have.length(0)
    await store.close()
  })

  it('that are Blobs are hashed wherever they can be read', async function () {
    if (fs.openAsBlob === undefined) return this.skip()
    const blob = await fs.openAsBlob(path)
    expect(hex(await rootOn(2, blob))).to.equal(expected)
    expect(hex(await rootOn(1, blob))).to.equal(expected)
    appendFileSync(path, 'more')
    utimesSync(path, 1, 1)
    for (const threads of [1, 2]) {
      const error = await errorOf(rootOn(threads, blob))
      // A runtime that reads the Blob into memory when it is made does not notice the change.
      if (error !== undefined) expect(error.name).to.equal('NotReadableError')
    }
  })

  it('are read at the same time, with other hashing between, and do not disturb each other', async () => {
    const paths = await Promise.all([1, 2, 3].map(async seed => {
      const name = join(folder, `file ${seed}`)
      await writeFile(name, noise(2 * MIB + seed, seed))
      return name
    }))
    const small = noise(5000, 8)
    const whileReading = new Hasher()
    let fed = 0
    for (const threads of [1, 2]) {
      const roots = await Promise.all([...paths, path, path, path].map(name => rootOn(threads, name, {
        onProgress () {
          expect(hex(hash(small))).to.equal(hex(new Hasher().update(small).digest()))
          whileReading.update(small)
          fed++
        }
      })))
      expect(roots.slice(0, 3).map(hex)).to.deep.equal([1, 2, 3].map(seed => hex(hash(noise(2 * MIB + seed, seed)))))
      expect(roots.slice(3).map(hex)).to.deep.equal([expected, expected, expected])
    }
    const repeated = new Uint8Array(fed * small.length)
    for (let i = 0; i < fed; i++) repeated.set(small, i * small.length)
    expect(hex(whileReading.digest())).to.equal(hex(hash(repeated)))
  })

  it('lend their buffers to one reader at a time', async () => {
    const first = leaseBuffers()
    const second = leaseBuffers()
    const third = leaseBuffers()
    const places = [first, second, third].flatMap(({ buffers }) => buffers)
      .map(({ buffer, byteOffset }) => `${buffer === first.buffers[0].buffer} ${byteOffset}`)
    expect(new Set(places).size).to.be.at.least(3)
    expect(second.buffers[0].buffer).to.not.equal(first.buffers[0].buffer)
    expect(second.buffers[0].buffer).to.not.equal(third.buffers[0].buffer)
    second.release()
    expect(leaseBuffers().buffers[0].buffer).to.not.equal(first.buffers[0].buffer)
    first.release()

    const reading = toPieces(path)
    const { value: piece } = await reading.next()
    expect(piece.buffer).to.equal(first.buffers[0].buffer)
    const meanwhile = toPieces(path)
    const { value: other } = await meanwhile.next()
    expect(other.buffer).to.not.equal(piece.buffer)
    expect(hex(piece)).to.equal(hex(other))
    await reading.return()
    await meanwhile.return()
    const again = toPieces(path)
    expect((await again.next()).value.buffer).to.equal(first.buffers[0].buffer)
    await again.return()
  })

  it('that the call waits for do not delay an abort', async () => {
    const reason = new Error('enough')
    const pipe = join(folder, 'silent')
    execFileSync('mkfifo', [pipe])
    for (const isOpen of [false, true]) {
      const controller = new AbortController()
      const work = errorOf(hashStream(pipe, { signal: controller.signal }))
      const writer = isOpen ? await open(pipe, 'w') : undefined
      setTimeout(() => controller.abort(reason), 20)
      expect(await work).to.equal(reason)
      // Ends the thread that still waits.
      await (writer ?? await open(pipe, 'w')).close()
    }
    expect(hex(await hashStream(path))).to.equal(expected)
  })

  it('that are streams are destroyed by an abort, if they hang or have not begun', async () => {
    const soon = AbortSignal.timeout(5)
    const never = AbortSignal.abort()
    const stuck = () => new Readable({ read () {} })
    for (const [stream, signal] of [[stuck(), soon], [stuck(), never], [fs.createReadStream(path), never]]) {
      expect(await errorOf(hashStream(stream, { signal }))).to.equal(signal.reason)
      await new Promise(resolve => setTimeout(resolve, 5))
      expect(stream.destroyed).to.equal(true)
    }
  })

  it('leave nothing that keeps a process alive', async () => {
    const project = await newProject()
    const large = join(project, 'large')
    await writeFile(large, noise(17 * MIB))
    const script = `
      import { hashStream } from 'baobox'
      const root = await hashStream(${JSON.stringify(large)}, { threads: 2 })
      console.log(Buffer.from(root).toString('hex'))
      const controller = new AbortController()
      const { signal } = controller
      hashStream(${JSON.stringify(large)}, { threads: 2, signal }).catch(() => console.log('aborted'))
      setTimeout(() => controller.abort(), 1)`
    await writeFile(join(project, 'script.js'), script)
    const options = { cwd: project, timeout: 100_000 }
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['script.js'], options)
    expect(stderr).to.equal('')
    expect(stdout).to.equal(`${hex(hash(noise(17 * MIB)))}\naborted\n`)
    await rm(project, { recursive: true })
  })

  it('are hashed on several threads by programs that are given as text', async function () {
    if (process.versions.bun || process.versions.deno) return this.skip() // only Node.js has the flag
    const script = `
      import { hashStream } from ${JSON.stringify(INDEX)}
      import { sharedPool } from ${JSON.stringify(new URL('parallel/pool.js', INDEX))}
      await hashStream(new Uint8Array(new SharedArrayBuffer(${17 * MIB})), { threads: 2 })
      for (let i = 0; i < 500 && !sharedPool.isWarm; i++) await new Promise(resolve => setTimeout(resolve, 20))
      console.log(sharedPool.isWarm)`
    const args = ['--input-type=module', '--eval', script]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 100_000 })
    expect(stdout).to.equal('true\n')
  })
})
