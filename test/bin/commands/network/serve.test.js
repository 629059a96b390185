import { expect } from 'chai'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { request } from 'node:http'
import { hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { Manifest, putManifest } from '../../../../exchange/collections/index.js'
import { concat, same } from '../../../support/bytes.js'
import { listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { newFolder, stopped } from '../../../support/program.js'

const BYTES = noise(300_000)
const CID = `${toCid(hash(BYTES))}`

describe('baobox serve', () => {
  const folder = newFolder()
  before(async () => {
    await folder.write('file', BYTES)
    await folder.run(['add', '--tag', 'a-tag', 'file'])
  })
  const started = []
  afterEach(() => { for (const server of started.splice(0)) server.kill('SIGKILL') })

  /** A server of the store, and the first line that it prints. */
  async function serving (args, { env } = {}) {
    const server = folder.start(['serve', '--port', '0', ...args], { env })
    started.push(server)
    const lines = linesOf(server.stdout)
    const { value: first } = await lines.next()
    return { server, lines, first, url: first?.split('  ')[0] }
  }

  async function * linesOf (stream) {
    let text = ''
    for await (const piece of stream) {
      text += piece
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        yield text.slice(0, end)
        text = text.slice(end + 1)
      }
    }
  }

  it('is a cache in front of --origin, also after it was killed in the middle of an answer', async () => {
    const long = noise(12 << 20, 7)
    const cid = `${toCid(hash(long))}`
    await folder.write('long', long)
    await folder.run(['add', '--tag', 'long', 'long'])
    const origin = await serving([])
    const edgeArgs = ['--store', folder.at('edge'), '--origin', `${origin.url}/{cid}`, '--quota', '20MiB']
    const edge = await serving(edgeArgs)
    const part = await fetch(`${edge.url}/${CID}`, { headers: { range: 'bytes=5-9' } })
    expect([part.status, part.headers.get('content-range')]).to.deep.equal([206, 'bytes 5-9/300000'])
    expect((await fetch(`${edge.url}/${toCid(hash(noise(9, 9)))}`)).status).to.equal(404)
    const reader = (await fetch(`${edge.url}/${cid}`)).body.getReader()
    await reader.read()
    edge.server.kill('SIGKILL')
    await once(edge.server, 'exit')
    await reader.cancel().catch(() => {})
    const again = await serving(edgeArgs)
    const bytes = new Uint8Array(await (await fetch(`${again.url}/${cid}`)).arrayBuffer())
    expect(same(bytes, long)).to.equal(true)
    expect(await stopped(origin.server)).to.equal(0)
    expect((await fetch(`${again.url}/${cid}`)).status).to.equal(200)
    expect((await fetch(`${again.url}/${toCid(hash(noise(8, 8)))}`)).status).to.equal(502)
    expect(await stopped(again.server)).to.equal(0)
    expect((await folder.run(['fsck', '--store', folder.at('edge')])).code).to.equal(0)
  })

  it('refuses an --origin that names only one blob, and a --quota without --origin', async () => {
    for (const args of [
      ['--origin', 'https://a.example/file'], ['--origin', 'file:///{cid}'], ['--quota', '1GiB'], ['--header', 'A: b']
    ]) {
      const { code, err } = await folder.run(['serve', '--port', '0', '--store', folder.at('none'), ...args])
      expect([code, err.startsWith('baobox: ')], args.join(' ')).to.deep.equal([2, true])
    }
  })

  it('serves a site at the top, by its tag', async () => {
    await folder.write('index.html', '<p>Hello')
    await folder.run(['add', '-r', '--tag', 'web', 'index.html'])
    const { server, url } = await serving(['--site', 'web'])
    const response = await fetch(`${url}/`)
    expect([response.headers.get('content-type'), await response.text()])
      .to.deep.equal(['text/html; charset=utf-8', '<p>Hello'])
    const blob = await fetch(`${url}/blobs/${CID}`)
    expect([blob.status, (await blob.arrayBuffer()).byteLength]).to.deep.equal([200, 300_000])
    expect(await stopped(server)).to.equal(0)
    const { code, err } = await folder.run(['serve', '--port', '0', '--site', 'none'])
    expect([code, err.startsWith("baobox: --site: 'none' is neither a CID nor a tag")]).to.deep.equal([2, true])
  })

  it('serves a folder as add -r has put it, and warns when it has no page at the top', async () => {
    await mkdir(folder.at('public', 'a'), { recursive: true })
    for (const [name, text] of Object.entries({ 'index.html': 'top', 'about.html': 'about', 'a/index.html': 'a' })) {
      await folder.write(`public/${name}`, text)
    }
    await folder.run(['add', '-r', 'public', '--tag', 'public'])
    const warned = async (args, site = 'public') => {
      const { server, url } = await serving(['--site', site, ...args])
      const pieces = []
      server.stderr.on('data', piece => pieces.push(piece))
      const shown = async path => {
        const answer = await fetch(url + path)
        return [answer.status, await answer.text(), answer.headers.get('content-security-policy')?.split(' ')[0]]
      }
      const shows = [await shown('/'), await shown('/about'), await shown('/users/5')]
      expect(await stopped(server)).to.equal(0)
      return { shows, err: Buffer.concat(pieces).toString() }
    }
    const { shows, err } = await warned([])
    expect(err).to.equal('')
    expect(shows.slice(0, 2)).to.deep.equal([[200, 'top', 'sandbox'], [200, 'about', 'sandbox']])
    expect(shows[2][0]).to.equal(404)
    const app = await warned(['--top', 'public/a/', '--fallback', '/index.html', '--no-sandbox'])
    expect(app).to.deep.equal({ err: '', shows: Array(3).fill([200, 'a', undefined]) })
    for (const [args, warning] of [
      [['--top', 'other'], "--top: 'public' has no folder 'other'"],
      [['--top', 'a'], "--top: 'public' has no folder 'a'"],
      [['--fallback', 'nope.html'], "--fallback: 'public' has no file 'nope.html'"],
      [['--fallback', 'a'], "--fallback: 'public' has no file 'a'"],
      [['--fallback', 'about.html', '--top', 'public/a'], "--fallback: 'public' has no file 'about.html' in 'public/a'"]
    ]) expect((await warned(args)).err).to.equal(`baobox: warning: ${warning}\n`)
    const top = "baobox: warning: --site: 'public' has no page at /: it has no index.html at its top; " +
      '--top FOLDER serves a folder of it\n'
    expect((await warned(['--top', ''])).err).to.equal(top)
    const blob = folder.start(['serve', '--port', '0', '--site', CID])
    started.push(blob)
    const [warning] = await once(blob.stderr, 'data')
    expect(`${warning}`)
      .to.match(/^baobox: warning: --site: 'bafkr4i\w+' is no folder or site: COLLECTION_INVALID: .*\n$/)
    await stopped(blob)
    await folder.run(['add', '--tag', 'page', 'public/a/index.html'])
    expect((await warned([], 'page')).err).to.match(/^baobox: warning: --site: 'page' is no folder or site: MANIFEST_/)
    const store = await BlobStore.open(folder.at('baobox'))
    // A manifest, with a path that begins with a control character.
    const encode = text => new TextEncoder().encode(text)
    await store.put(concat([[0xa1, 0x69], encode('resources'), [0xa1, 0x64], encode('\x9b2J'), [0xa0]].map(part =>
      Uint8Array.from(part))), { tag: 'odd' })
    // The site's own page for what is absent is not read, whatever it says that it is.
    const { cid } = await store.put(new TextEncoder().encode('{"code":"X","message":"\\u001b[31mred"}'))
    await putManifest(store, Manifest.from([['/404.html', { src: cid, 'content-type': 'application/json' }]]), {
      tag: 'public'
    })
    await store.close()
    expect((await warned([], 'odd')).err).to.match(/MANIFEST_INVALID: .*, got '\\x9b2J'\n$/)
    const own = await warned([])
    expect([own.err, own.shows[0].slice(0, 2)])
      .to.deep.equal([top, [404, '{"code":"X","message":"\\u001b[31mred"}']])
    expect((await folder.run(['serve', '--fallback', 'x'])).err).to.include('--fallback needs --site')
  })

  it('serves a store until it is interrupted, and prints each request', async () => {
    const { server, lines, first, url } = await serving([])
    expect(first).to.equal(`${url}  ${folder.at('baobox')}`)
    const response = await fetch(`${url}/blobs/${CID}`, { headers: { range: 'bytes=5-9' } })
    expect(same(new Uint8Array(await response.arrayBuffer()), BYTES.subarray(5, 10))).to.equal(true)
    expect((await lines.next()).value).to.match(new RegExp(`^206  5  [\\d.]+ ms  GET /blobs/${CID}$`))
    await fetch(`${url}/blobs/a-tag`)
    expect((await lines.next()).value).to.match(/^404 {2}0 {2}[\d.]+ ms {2}GET \/blobs\/a-tag {2}HTTP_NOT_FOUND$/)
    expect((await fetch(`${url}/blobs`)).status).to.equal(404)
    expect(await stopped(server)).to.equal(0)
    expect((await folder.run(['has', CID])).code).to.equal(0)
  })

  it('takes uploads, tags and lists only with the options for them', async () => {
    const env = { BAOBOX_PUT_TOKEN: 'secret' }
    const { server, lines, first } = await serving(['--json', '--list', '--allow-tags', '--max-put', '1KiB'], { env })
    const { url } = JSON.parse(first)
    const bytes = noise(1000, 5)
    const path = `${url}/blobs/${toCid(hash(bytes))}`
    const headers = { authorization: 'Bearer secret' }
    expect((await fetch(path, { method: 'PUT', body: bytes, headers })).status).to.equal(201)
    expect(JSON.parse((await lines.next()).value)).to.deep.include({ method: 'PUT', status: 201, received: 1000 })
    expect((await fetch(path, { method: 'PUT', body: bytes })).status).to.equal(401)
    expect((await (await fetch(`${url}/blobs`)).json()).blobs.length).to.be.at.least(2)
    expect((await fetch(`${url}/blobs/a-tag`)).url).to.equal(`${url}/blobs/${CID}`)
    expect(await stopped(server, 'SIGTERM')).to.equal(0)
  })

  it('listens at a Unix socket', async () => {
    const server = folder.start(['serve', '--socket', 'socket', '--quiet'])
    started.push(server)
    await once(server.stdout, 'data')
    const answer = await new Promise((resolve, reject) => {
      request({ socketPath: folder.at('socket'), path: `/blobs/${CID}` }, resolve).on('error', reject).end()
    })
    expect(same(new Uint8Array(Buffer.concat(await listed(answer))), BYTES)).to.equal(true)
    expect(await stopped(server)).to.equal(0)
  })

  it('reports wrong arguments', async () => {
    const { code, err } = await folder.run(['serve', '--store', 'none'])
    expect([code, err]).to.deep.equal([1, 'baobox: there is no store at none: ' +
      "make one with 'baobox add', or name another with --store\n"])
    for (const args of [['--port', '65536'], ['--port', 'x'], ['--socket', 'x', '--port', '1'], ['--put-token', 'a b'],
      ['--put-token', ''], ['--max-put', '5'], ['--host', ''], ['extra']]) {
      expect((await folder.run(['serve', ...args])).code, args.join(' ')).to.equal(2)
    }
    const { server, url } = await serving([])
    await folder.run(['add', '--store', 'other', 'file'])
    const taken = await folder.run(['serve', '--store', 'other', '--port', new URL(url).port])
    expect(taken).to.include({ code: 1, out: '' })
    expect(taken.err).to.match(/^baobox: .*\bin use\b.* --port\b.*\n$/)
    await stopped(server)
  })
})
