import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, readdir, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { createOutboardSync } from '../../../../encoder/index.js'
import { hex, same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { ended, newFolder } from '../../../support/program.js'

const BYTES = noise(3_000_000)
const ROOT = hash(BYTES)
const CID = `${toCid(ROOT)}`
const OUTBOARD = createOutboardSync(BYTES).bytes

describe('baobox fetch', () => {
  const folder = newFolder()
  const servers = []
  after(() => { for (const server of servers) server.kill?.('SIGKILL') ?? server.close() })
  let served
  let plain
  let liar

  /** A server of a file and its outboard. */
  async function serving (bytes) {
    const server = createServer(({ url, headers }, response) => {
      if (!/^\/(file|[0-9a-f]{64})(\.obao4)?$/.test(url)) return response.writeHead(404).end()
      const body = url.endsWith('.obao4') ? OUTBOARD : bytes
      const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '') ?? []
      if (start === undefined) return response.end(body)
      const part = body.subarray(Number(start), end === '' ? body.length : Number(end) + 1)
      const range = `bytes ${start}-${Number(start) + part.length - 1}/${body.length}`
      response.writeHead(206, { 'content-range': range, 'content-length': part.length }).end(part)
    }).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    return `http://127.0.0.1:${server.address().port}`
  }

  before(async () => {
    await folder.write('a', BYTES)
    await folder.run(['add', 'a'])
    const child = folder.start(['serve', '--port', '0'])
    servers.push(child)
    const [line] = await once(child.stdout, 'data')
    served = `${line}`.split('  ')[0].replace(/\/$/, '')
    plain = await serving(BYTES)
    liar = await serving(BYTES.map(byte => byte ^ 1))
  })

  it('waits while another process downloads to the same file, and finds the file then', async () => {
    const held = []
    let isHeld = true
    const slow = createServer((request, response) => {
      const answer = () => request.url === '/file' ? response.end(BYTES) : response.writeHead(404).end()
      if (isHeld) held.push(answer)
      else answer()
      slow.emit('held')
    }).listen(0, '127.0.0.1')
    servers.push(slow)
    await once(slow, 'listening')
    const args = ['fetch', CID, 'together', '--from', `http://127.0.0.1:${slow.address().port}/file`]
    const asked = once(slow, 'held')
    const first = folder.start(args)
    const end = ended(first)
    await asked
    expect((await folder.run([...args, '--wait', '0'])).err).to.match(/^baobox: STORE_LOCKED: .*--wait\n$/)
    const others = [1, 2].map(() => folder.start([...args, '--wait', '60']))
    const ends = others.map(ended)
    await Promise.all(others.map(({ stderr }) => once(stderr, 'data')))
    isHeld = false
    for (const answer of held.splice(0)) answer()
    expect(await end).to.include({ code: 0, err: '' })
    for (const got of await Promise.all(ends)) {
      expect(got).to.include({ code: 0, out: `${CID}  2.86 MiB, already there\n` })
      expect(got.err).to.match(/^baobox: .*together\.part.*: waiting for at most \d+ s more\n$/)
    }
    expect(same(await readFile(folder.at('together')), BYTES)).to.equal(true)
    expect((await readdir(folder.path)).filter(name => name.startsWith('together.'))).to.deep.equal([])
  })

  it('puts a blob into a store, from a URL with its CID, and tags it', async () => {
    const got = await folder.run(['fetch', `${served}/${CID}`, '--store', 'one', '--tag', 'kept', '--bytes'])
    expect(got).to.include({ code: 0, err: '' })
    const lines = `${CID}  3000000 of 3000000 received, complete\n {2}3000000 from http://.*\n`
    expect(got.out).to.match(new RegExp(`^${lines}$`))
    expect(same((await folder.run(['get', 'kept', '--store', 'one'])).bytes, BYTES)).to.equal(true)
    const again = await folder.run(['fetch', CID, '--from', `${served}/{cid}`, '--store', 'one', '--json'])
    expect(JSON.parse(again.out)).to.include({ received: 0, complete: true })
  })

  it('fetches the blob of a RASL URL from further mirrors', async () => {
    const got = await folder.run(['fetch', `rasl://${CID}/`, '--from', `${served}/{cid}`, '--store', 'rasl'])
    expect(got).to.include({ code: 0, err: '' })
    for (const wrong of [`rasl://${CID}/`, 'rasl://example.org/?hint=a.example', `rasl://${CID}/?hint=a/b`]) {
      expect((await folder.run(['fetch', wrong])).code, wrong).to.equal(2)
    }
  })

  it('takes the folder of a store as a mirror, also if it is in use, and changes nothing in it', async () => {
    await folder.run(['add', 'a', '--store', 'source'])
    const inUse = await folder.run(['fetch', CID, '-', '--from', 'baobox']) // a server has it open
    expect(same(inUse.bytes, BYTES), inUse.err).to.equal(true)
    const got = await folder.run(['fetch', CID, '--from', 'source', '--store', 'from-store', '--bytes'])
    expect(got).to.include({ code: 0, err: '' })
    expect(got.out).to.match(/complete\n {2}3000000 from .*source\n$/)
    const file = await folder.run(['fetch', CID, 'from-store-file', '--from', './source', '--start', '5'])
    expect(file).to.include({ code: 0, err: '' })
    expect(same(await readFile(folder.at('from-store-file')), BYTES.subarray(5))).to.equal(true)
    const empty = await folder.run(['fetch', CID, '--from', 'nowhere'])
    expect(empty.code).to.equal(2)
    expect(empty.err).to.include("--from: 'nowhere' is not an HTTP URL, and there is no store in a folder of that name")
    expect((await folder.run(['fetch', CID, '--from', 'http+unix://%2Fx'])).err).to.include('is a socket')
  })

  it('writes a file, from several mirrors, and names the one that lies', async () => {
    const mirrors = ['--from', `${liar}/file`, '--from', `${plain}/{hex}`, '--from', `${served}/${CID}`]
    const { code, out } = await folder.run(['fetch', CID, 'file', ...mirrors, '--parallel', '1', '--json'])
    expect(code).to.equal(0)
    expect(same(await readFile(folder.at('file')), BYTES)).to.equal(true)
    const { mirrors: reports, ...result } = JSON.parse(out)
    expect(result).to.include({ cid: CID, size: 3_000_000, received: 3_000_000, complete: true })
    expect(reports.find(({ location }) => location.startsWith(liar))).to.include({ state: 'liar' })
    expect((await readdir(folder.path)).filter(name => name.includes('.part'))).to.deep.equal([])
  })

  it('writes into a pipe, and does not replace it', async function () {
    if (process.platform === 'win32') return this.skip()
    execFileSync('mkfifo', [folder.at('pipe')])
    const reader = spawn('cat', [folder.at('pipe')])
    servers.push(reader)
    const read = buffer(reader.stdout)
    expect(await folder.run(['fetch', `${served}/${CID}`, 'pipe'])).to.include({ code: 0, err: '' })
    expect((await stat(folder.at('pipe'))).isFIFO()).to.equal(true)
    expect(same(new Uint8Array(await read), BYTES)).to.equal(true)
    const limited = await folder.run(['fetch', `${served}/${CID}`, 'pipe', '--max-unverified', '5'])
    expect(limited).to.include({ code: 2 })
  })

  it('prints no control characters that a mirror has sent', async () => {
    const odd = createServer((_request, response) => {
      response.writeHead(206, { 'content-range': 'bytes \x9b2J', 'content-encoding': 'x' }).end('x')
    }).listen(0, '127.0.0.1')
    servers.push(odd)
    await once(odd, 'listening')
    const from = ['--from', `http://127.0.0.1:${odd.address().port}/{cid}`, '--from', `${plain}/{hex}`]
    const args = ['fetch', CID, 'plain-text', ...from, '--parallel', '1', '--retries', '0']
    const { code, out } = await folder.run(args)
    expect(code).to.equal(0)
    expect(out).to.contain('it answers with bytes \\x9b2J').and.not.contain('\x9b')
  })

  it('fetches nothing into a file that has the blob already, and says so', async () => {
    await folder.write('there', BYTES)
    const args = ['fetch', CID, 'there', '--from', 'http://127.0.0.1:1/{cid}']
    expect(await folder.run(args)).to.include({ code: 0, out: `${CID}  2.86 MiB, already there\n`, err: '' })
    const { out } = await folder.run([...args, '--json'])
    expect(JSON.parse(out)).to.deep.equal({ cid: CID, size: 3_000_000, received: 0, complete: true, mirrors: [] })
    await folder.write('there', BYTES.subarray(1))
    expect((await folder.run([...args, '--retries', '0'])).code).to.equal(1)
  })

  it('writes no file if OUTPUT.part is a store or folder of somebody else, and does not change that', async () => {
    await folder.run(['add', 'a', '--store', 'mine.part', '--tag', 'mine'])
    await mkdir(folder.at('empty.part'))
    for (const name of ['mine', 'empty']) {
      const { code, out, err } = await folder.run(['fetch', CID, name, '--from', `${plain}/{hex}`])
      expect({ code, out }, name).to.deep.equal({ code: 1, out: '' })
      expect(err).to.match(/^baobox: PATH_EXISTS: .*\.part is a folder that no download has made: move it away, or del/)
      expect(await readdir(folder.path)).to.not.include(name)
    }
    expect(await readdir(folder.at('empty.part'))).to.deep.equal([])
    expect((await folder.run(['get', 'mine', '--store', 'mine.part'])).bytes).to.have.length(BYTES.length)
  })

  it('writes ranges to stdout or a file', async () => {
    for (const [args, start, end] of [
      [['-'], 0, 3_000_000], [['-', '--start', '1MiB', '--count', '100'], 2 ** 20, 2 ** 20 + 100]
    ]) {
      const got = await folder.run(['fetch', `${plain}/file`, ...args, '--cid', hex(ROOT)])
      expect(got).to.include({ code: 0, err: '' })
      expect(same(got.bytes, BYTES.subarray(start, end))).to.equal(true)
    }
    const range = ['--end', '5000', '--from', `${served}/{cid}`]
    const part = await folder.run(['fetch', CID, 'part', ...range])
    expect(part).to.include({ code: 0, err: '' })
    expect(same(await readFile(folder.at('part')), BYTES.subarray(0, 5000))).to.equal(true)
    const stored = await folder.run(['fetch', CID, ...range, '--store', 'part store'])
    expect(stored.out).to.match(/ KiB of 2.86 MiB received, incomplete\n/)
  })

  it('fails if only liars are left, and leaves no file and no empty store', async () => {
    for (const args of [['never'], ['--store', 'never']]) {
      const { code, out, err } = await folder.run(['fetch', CID, ...args, '--from', `${plain}/missing`])
      expect({ code, out }).to.deep.equal({ code: 1, out: '' })
      expect(err).to.match(/^baobox: FETCH_EXHAUSTED: .*: add a mirror with --from, such as .*\/\{cid\}.*\n$/)
      expect(await readdir(folder.path)).to.not.include('never')
    }
    expect((await folder.run(['fetch', CID, 'never', '--from', `${liar}/file`])).err).to.match(/^baobox: FETCH_/)
    expect(await readdir(folder.path)).to.not.include('never')
  })

  it('refuses arguments that name no blob or no mirror', async () => {
    for (const [message, args] of [
      ['missing --from', [CID]],
      ["'ftp://x' is not an HTTP URL", [CID, '--from', 'ftp://x']],
      ['--from: URL must not be empty', [CID, '--from', '']],
      ['the URL has no CID in its path', [`${plain}/file`]],
      ['--cid is for a URL', [CID, '--cid', CID, '--from', plain]],
      ['--tag works only without OUTPUT', [`${served}/${CID}`, 'x', '--tag', 'y']]
    ]) {
      const { code, err } = await folder.run(['fetch', ...args])
      expect(code, message).to.equal(2)
      expect(err).to.include(message)
    }
  })
})
