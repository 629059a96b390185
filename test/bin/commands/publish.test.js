import { EventEmitter, once } from 'node:events'
import { mkdir, readFile, readdir, stat, truncate } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname } from 'node:path'
import { expect } from 'chai'
import { hash, parseRoot, toCid } from '../../../lib/index.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { Manifest } from '../../../exchange/collections/index.js'
import { FakeS3 } from '../../support/bucket/fake-s3.js'
import { noise } from '../../support/inputs.js'
import { newFolder } from '../../support/program.js'
import { writeServiceWorker } from '../../support/service-worker-file.js'

const KEYS = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' }
const cidOf = bytes => `${toCid(hash(bytes))}`
const FILM = noise(100_000, 60)
const PAGE = Buffer.from('<!doctype html><title>A site</title>')

describe('baobox publish', () => {
  const folder = newFolder()

  before(writeServiceWorker)
  beforeEach(async () => {
    for (const name of ['in', 'out']) await folder.clear(name)
    await mkdir(folder.at('in', 'films'), { recursive: true })
    await folder.write('in/index.html', PAGE)
    await folder.write('in/films/one.mp4', FILM)
    await folder.write('in/films/same.mp4', FILM)
  })

  const run = (args, env) => folder.run(['publish', ...args], { env })
  const read = name => readFile(folder.at(name))
  const blobsIn = async () => (await readdir(folder.at('out', 'blobs'))).sort()

  it('writes the files under their hashes, the manifest, the worker and the page that starts it', async () => {
    const mirrors = ['--mirror', 'https://b.test/site/', '--mirror', 'https://c.test/{hex}']
    const result = JSON.parse((await run(['in', '--out', 'out', ...mirrors, '--json'])).out)
    const { cid, files, size, written, from } = result
    expect(from).to.deep.equal(['blobs/{cid}', 'https://b.test/site/blobs/{cid}', 'https://c.test/{hex}'])
    const names = { film: cidOf(FILM), page: cidOf(PAGE), site: `${toCid(parseRoot(cid))}` }
    expect(await blobsIn()).to.deep.equal([names.film, `${names.film}.obao4`, names.page, names.site].sort())
    expect(await read(`out/blobs/${names.film}`)).to.deep.equal(Buffer.from(FILM))
    expect(await read(`out/blobs/${names.film}.obao4`)).to.deep.equal(Buffer.from(createOutboardSync(FILM).bytes))
    const manifest = Manifest.fromBytes(new Uint8Array(await read(`out/blobs/${names.site}`)))
    expect(`${manifest.cid}`).to.equal(cid)
    expect([...manifest].map(([path]) => path).sort())
      .to.deep.equal(['/', '/films/one.mp4', '/films/same.mp4', '/index.html'])
    expect([files, written]).to.deep.equal([3, size])
    const worker = `${await read('out/sw.js')}`
    expect(worker.endsWith(`baobox.serveVerified(${JSON.stringify({ site: cid, from })})\n`)).to.equal(true)
    for (const name of ['index.html', '404.html']) expect(`${await read(`out/${name}`)}`).to.include(cid)
  })

  it('writes again only what is new or was cut, and leaves the files of older versions', async () => {
    await run(['in', '--out', 'out'])
    const film = `out/blobs/${cidOf(FILM)}`
    const { mtimeMs } = await stat(folder.at(film))
    const before = await blobsIn()
    const other = Buffer.from('<!doctype html><title>Another site</title>')
    await folder.write('in/index.html', other)
    await truncate(folder.at(`${film}.obao4`), 10)
    const { out } = await run(['in', '--out', 'out', '--json'])
    const { written, cid } = JSON.parse(out)
    expect(written).to.be.below(1000)
    expect((await stat(folder.at(film))).mtimeMs).to.equal(mtimeMs)
    expect((await read(`${film}.obao4`)).length).to.equal(createOutboardSync(FILM).bytes.length)
    expect(await blobsIn()).to.include.members([...before, cidOf(other)])
    expect(`${await read('out/sw.js')}`).to.include(cid)
    expect((await run(['in', '--out', 'out'])).out).to.match(/3 files, .*, 0 bytes written\n$/)
  })

  it('takes patterns and a fallback', async () => {
    const args = ['in', '--out', 'out', '--ignore', 'same*', '--fallback', 'index.html', '--json']
    const { cid, files, from } = JSON.parse((await run(args)).out)
    expect(files).to.equal(2)
    const options = { site: { cid, fallback: 'index.html' }, from }
    expect(`${await read('out/sw.js')}`).to.include(`baobox.serveVerified(${JSON.stringify(options)})`)
  })

  it('writes to a bucket, with media types for what browsers load first', async () => {
    const fake = new FakeS3()
    for (let i = 0; i < 40; i++) await folder.write(`in/films/${i}.mp4`, noise(20_000, 1000 + i))
    // The first request is answered when there are others beside it.
    const beside = new EventEmitter()
    const areBeside = once(beside, 'there')
    let count = 0
    const server = createServer(async (request, response) => {
      const url = new URL(request.url, 'http://127.0.0.1')
      if (++count === 3) beside.emit('there')
      await areBeside
      const body = new Uint8Array(Buffer.concat(await request.toArray()))
      const key = decodeURIComponent(url.pathname.replace(/^\/bucket\/?/, ''))
      const { method } = request
      const answer = fake.answer({ method, key, query: url.searchParams, headers: new Headers(request.headers), body })
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      response.end(method === 'HEAD' ? undefined : new Uint8Array(await answer.arrayBuffer()))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    try {
      const endpoint = `http://127.0.0.1:${server.address().port}`
      const args = ['in', '--out', 's3://bucket/some/site/', '--endpoint', endpoint, '--json']
      const { out, err } = await run(args, KEYS)
      const { cid, written, size } = JSON.parse(out)
      expect([err, written]).to.deep.equal(['', size])
      // The fake keeps the order of the first writes.
      const names = [`blobs/${toCid(parseRoot(cid))}`, 'sw.js', 'index.html', '404.html']
      expect([...fake.objects.keys()].slice(-4)).to.deep.equal(names.map(name => `some/site/${name}`))
      expect([...fake.objects.keys()]).to.include.members([
        `some/site/blobs/${cidOf(FILM)}`, `some/site/blobs/${cidOf(FILM)}.obao4`, 'some/site/sw.js'
      ])
      expect(fake.objects.get('some/site/sw.js').type).to.equal('text/javascript')
      expect(fake.objects.get('some/site/index.html').type).to.equal('text/html; charset=utf-8')
      expect(JSON.parse((await run(args, KEYS)).out).written).to.equal(0)
    } finally {
      server.close()
    }
  })

  it('refuses files that the worker could not show, and writes nothing', async () => {
    for (const path of ['v2/guide.html', 'collections/new.html', 'blobs/x', cidOf(PAGE), `${cidOf(PAGE)}.obao4`]) {
      await mkdir(dirname(folder.at('in', path)), { recursive: true })
      await folder.write(`in/${path}`, PAGE)
      const { code, err } = await run(['in', '--out', 'out'])
      expect([code, err.includes(`has the file '${path}'`)], err).to.deep.equal([2, true])
      await folder.clear(`in/${path}`)
    }
    for (const path of ['v2.html', 'docs/v2/guide.html', 'collection', '%2e', 'a?b#c']) {
      await mkdir(dirname(folder.at('in', path)), { recursive: true })
      await folder.write(`in/${path}`, PAGE)
    }
    expect(JSON.parse((await run(['in', '--out', 'out', '--json'])).out).files).to.equal(8)
  })

  it('refuses more names than the worker reads, and writes nothing', async () => {
    // The path has nearly the maximum length, so there need not be many files.
    const long = [...Array(14).fill('d'.repeat(250)), 'd'.repeat(200)].join('/')
    await mkdir(folder.at('in', long), { recursive: true })
    for (let i = 0; i < 2250; i++) await folder.write(`in/${long}/${i}`, '')
    const { code, err } = await run(['in', '--out', 'out'])
    expect([code, err]).to.deep.equal([1, err])
    expect(err).to.match(/^baobox: COLLECTION_TOO_LONG: .*: .* leave some out with --ignore\n$/)
    expect(await readdir(folder.path)).to.not.include('out')
  })

  it('refuses wrong arguments, and writes nothing', async () => {
    for (const [args, message] of [
      [['in'], 'missing --out'],
      [['in', '--out', 'in/site'], 'is in the folder that is published'],
      [['in', '--out', 'in/new/site'], 'is in the folder that is published'],
      [['in/films', '--out', 'out'], "has no file 'index.html'"],
      [['in/index.html', '--out', 'out'], "'in/index.html' is a file: DIR is a folder"],
      [['in', '--out', 'out', '--fallback', 'none.html'], "has no file 'none.html'"],
      [['in', '--out', 'out', '--mirror', 'b.test'], '--mirror expected'],
      [['in', '--out', 'out', '--region', 'x'], 'are for buckets'],
      [['in', '--out', 's3:///x'], 'expected s3://BUCKET/PREFIX']
    ]) {
      const { code, err } = await run(args)
      expect([code, err.includes(message)], `${args}: ${err}`).to.deep.equal([2, true])
    }
    expect(await readdir(folder.path)).to.not.include('out')
    expect((await readdir(folder.at('in'))).sort()).to.deep.equal(['films', 'index.html'])
  })
})
