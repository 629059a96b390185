// What a fetch sends to servers: headers, tokens and passwords, and only to the servers that the user has named.
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder } from '../../../support/program.js'

const BYTES = noise(200_000, 81)
const CID = `${toCid(hash(BYTES))}`
const PATH = `/${CID}`
const BASIC = `Basic ${Buffer.from('me:p@ss/ö').toString('base64')}`
const SECRET = /p@ss|p%40ss|secret/

describe('baobox fetch sends', () => {
  const folder = newFolder()
  const servers = []
  after(() => servers.forEach(server => server.close()))

  /** A server of the blob. @param {(request: import('node:http').IncomingMessage) => object | undefined} [answer] */
  async function serving (answer = () => undefined) {
    const place = { seen: [], url: '' }
    const server = createServer((request, response) => {
      place.seen.push(request.headers)
      const { status = request.url === PATH ? 200 : 404, headers = {}, body = BYTES } = answer(request) ?? {}
      response.writeHead(status, headers).end(status === 200 ? body : '')
    }).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    place.url = `http://127.0.0.1:${server.address().port}`
    return place
  }

  const isKnown = ({ headers }) => ['Bearer secret', BASIC].includes(headers.authorization)
  const closed = () => serving(request => isKnown(request) ? undefined : { status: 401 })
  const withUser = url => url.replace('http://', 'http://me:p%40ss%2F%C3%B6@')

  for (const [title, output] of [['a store', ['--store', 'one']], ['a file', ['file']], ['stdout', ['-']]]) {
    it(`to ${title}: a token, headers, or the user and password in a URL`, async () => {
      const { url, seen } = await closed()
      const none = await folder.run(['fetch', url + PATH, ...output])
      expect(none.code).to.equal(1)
      expect(none.err).to.include('status 401')
      for (const args of [
        [url + PATH, '--token', 'secret'], [url + PATH, '--header', 'Authorization: Bearer secret'],
        [withUser(url) + PATH], [CID, '--from', `${withUser(url)}/{cid}`, '--token', 'another']
      ]) {
        seen.length = 0
        const got = await folder.run(['fetch', ...args, '--header', 'X-A: 1', '--header', 'x-b:2', ...output])
        expect(got, args.join(' ')).to.include({ code: 0, err: '' })
        expect(got.out).to.not.match(SECRET)
        if (title === 'stdout') expect(same(got.bytes, BYTES)).to.equal(true)
        expect(seen).to.have.length.above(0)
        expect(seen.every(headers => headers['x-a'] === '1' && headers['x-b'] === '2')).to.equal(true)
        await Promise.all(['one', 'file'].map(name => folder.clear(name)))
      }
    })
  }

  it('no header to another origin, by a redirect or by the name of a mirror', async () => {
    const other = await serving()
    const moved = await serving(() => ({ status: 307, headers: { location: other.url + PATH } }))
    const liar = await serving(({ url }) => url === PATH
      ? { headers: { link: `<${other.url}${PATH}>; rel=duplicate` }, body: BYTES.map(byte => byte ^ 1) }
      : undefined)
    for (const { url, seen } of [moved, liar]) {
      for (const first of [url, withUser(url)]) {
        for (const output of ['-', 'file']) {
          other.seen.length = 0
          seen.length = 0
          const args = [first + PATH, output, '--token', 'secret', '--header', 'X-A: secret']
          expect(await folder.run(['fetch', ...args])).to.include({ code: 0, err: '' })
          expect(other.seen).to.have.length.above(0)
          for (const { authorization, 'x-a': header } of other.seen) {
            expect([authorization, header]).to.deep.equal([undefined, undefined])
          }
          expect(seen.every(({ authorization, 'x-a': header }) => authorization && header)).to.equal(true)
          await folder.clear('file')
        }
      }
    }
  })

  it('the same through the process that has the store open', async () => {
    const { url } = await closed()
    const owner = folder.start(['serve', '--store', 'owned', '--port', '0', '--quiet', '--put-token', 'x'])
    servers.push({ close: () => owner.kill('SIGKILL') })
    await once(owner.stdout, 'data')
    const got = await folder.run(['fetch', withUser(url) + PATH, '--store', 'owned', '--verbose'])
    expect(got).to.include({ code: 0 })
    expect(got.err).to.include('which does this now').and.include('answered').and.not.match(SECRET)
  })

  it('no password or header to stderr, whatever fails', async () => {
    const { url } = await serving(() => ({ status: 500 }))
    const env = { BAOBOX_DEBUG: '1' }
    for (const args of [
      [withUser(url) + PATH, '-'], [withUser(url) + PATH, 'file'], [`${withUser(url)}/x`], [withUser('ftp://a/')],
      [CID, '--from', 'ftp://me:p@ss@host/'], [CID, '--from', 'http://me:p@ss@:bad:/'],
      [CID, '--from', 'http:/me:p@ss@host/'], [CID, '--from', 'http:///me:p@ss@host/{cid}'],
      [CID, '-r', '--from', 'http://me:p@ss@127.0.0.1:1/x'], [CID, '-', '--from', 'http://me:p@ss@127.0.0.1:1/{cid}'],
      [CID, '--from', url, '--header', 'secret'], [CID, '--from', url, '--header', 'X-A: secret\nX: y'],
      [CID, '--from', url, '--header', 'secret\u0100: a'], [CID, '--from', url, '--token', 'secret token']
    ]) {
      for (const options of [{}, { env }]) {
        const more = options.env ? ['--verbose'] : []
        const { code, out, err } = await folder.run(['fetch', ...args, '--retries', '0', ...more], options)
        expect(code, args.join(' ')).to.be.oneOf([1, 2])
        expect(out + err, args.join(' ')).to.match(/^baobox: /m).and.not.match(SECRET)
      }
    }
    expect(await readdir(folder.path)).to.not.include('file')
  })

  it('--retries and --stall to mirrors that fail or stall', async () => {
    let count = 0
    const { url } = await serving(({ url }) => ({ status: url === PATH ? (count++, 503) : 404 }))
    for (const [output, retries] of [['-', 0], ['file', 0], ['file', 2]]) {
      count = 0
      const { code } = await folder.run(['fetch', url + PATH, output, '--retries', `${retries}`])
      expect([code, count]).to.deep.equal([1, retries + 1])
    }
    const stalling = createServer(() => {}).listen(0, '127.0.0.1')
    servers.push({ close: () => { stalling.closeAllConnections(); stalling.close() } })
    await once(stalling, 'listening')
    const at = `http://127.0.0.1:${stalling.address().port}${PATH}`
    for (const output of ['-', 'file']) {
      const { code, err } = await folder.run(['fetch', at, output, '--stall', '1', '--retries', '0'])
      expect([code, err.includes('fewer than 16384 bytes arrived within 1000 ms')]).to.deep.equal([1, true])
    }
    expect((await folder.run(['fetch', at, '--stall', '0'])).code).to.equal(2)
  })

  it('--verbose prints a line for each mirror: what it was asked and answered, and why it was dropped', async () => {
    const good = await serving()
    const gone = await serving(() => ({ status: 404 }))
    const liar = await serving(() => ({ status: 200, body: BYTES.subarray(5) }))
    for (const output of [['file'], ['--store', 'two'], ['-']]) {
      const from = [gone, good].flatMap(({ url }) => ['--from', url + PATH])
      const { code, err } = await folder.run(['fetch', CID, ...output, ...from, '--verbose'])
      expect(code).to.equal(0)
      const lines = err.trim().split('\n')
      expect(lines, err).to.have.length(2)
      const end = output[0] === '-' ? ['', ''] : ['; 0 bytes verified; dropped: .* status 404', '; 195.31 KiB verified']
      const [first, second] = [gone, good].map(({ url }) => `^baobox: ${url}${PATH}: asked for 1 slice`)
      expect(lines[0]).to.match(new RegExp(`${first}.*; answered 404 \\(\\d+\\)${end[0]}$`))
      expect(lines[1]).to.match(new RegExp(`${second}.*; answered .*200.*${end[1]}$`))
      await Promise.all(['two', 'file'].map(name => folder.clear(name)))
    }
    const lied = await folder.run(['fetch', liar.url + PATH, 'file', '--verbose'])
    expect(lied.err).to.include('; dropped, because it has sent wrong bytes: ')
    const none = await folder.run(['fetch', CID, '-', '--from', 'http://127.0.0.1:1/x', '--verbose', '--retries', '0'])
    expect(none.err).to.match(/^baobox: http:\/\/127.0.0.1:1\/x: asked for .*; no answer \(\d+\); dropped: /)
  })
})
