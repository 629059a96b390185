import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { serve } from '../../../../exchange/http/node/index.js'
import { BlobStore } from '../../../../store/index.js'
import { same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { newFolder, stopped } from '../../../support/program.js'

const BYTES = noise(3_000_000)
const CID = `${toCid(hash(BYTES))}`
const ENV = { BAOBOX_PUT_TOKEN: 'secret' }

describe('baobox push', () => {
  const folder = newFolder()
  let server
  let to
  let temporary

  before(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'baobox-test-'))
    await folder.write('file', BYTES)
    await mkdir(folder.at('photos/sub'), { recursive: true })
    await mkdir(folder.at('other'))
    await folder.write('photos/a', BYTES)
    await folder.write('photos/sub/b', noise(100))
    await folder.write('photos/sub/c', noise(100))
    server = folder.start(['serve', '--store', 'there', '--port', '0', '--quiet'], { env: ENV })
    const [line] = await once(server.stdout, 'data')
    to = `${line}`.split('  ')[0]
  })
  after(async () => {
    server.kill('SIGKILL')
    await rm(temporary, { recursive: true })
  })

  const run = (args, env = ENV) => folder.run(['push', ...args], { env: { ...env, TMPDIR: temporary } })

  it('sends a file, once, and keeps nothing of it here', async () => {
    const first = await run(['file', '--to', to, '--bytes'])
    expect(first).to.include({ code: 0, err: '', out: `${CID}  3000000 of 3000000 sent, 1 blob\n` })
    const got = await fetch(`${to}/blobs/${CID}`)
    expect(same(new Uint8Array(await got.arrayBuffer()), BYTES)).to.equal(true)
    const again = await run(['file', '--to', `${to}/`, '--json'])
    expect(JSON.parse(again.out)).to.deep.equal({ cid: CID, size: 3_000_000, blobs: 0, bytes: 0 })
    expect(await readdir(temporary)).to.deep.equal([])
    expect((await folder.run(['ls'])).code).to.equal(1)
  })

  it('sends a folder as the collection that add -r makes of it', async () => {
    const { code, out } = await run(['photos', '--to', to, '--json', '--parallel', '1'])
    const { cid, blobs } = JSON.parse(out)
    expect([code, blobs]).to.deep.equal([0, 3]) // b and c are one blob, the file was there
    const [added] = (await folder.run(['add', '-r', 'photos', '--store', 'here'])).out.split('  ')
    expect(cid).to.equal(added)
    const page = await fetch(`${to}/collections/${cid}/photos/sub/c`)
    expect(same(new Uint8Array(await page.arrayBuffer()), noise(100))).to.equal(true)
  })

  it('sends blobs and collections of a store, by CID or tag', async () => {
    await folder.write('other/x', noise(50, 7))
    await folder.write('y', noise(50, 8))
    const [cid] = (await folder.run(['add', '-r', 'other', '--tag', 'kept', '--store', 'here'])).out.split('  ')
    const [single] = (await folder.run(['add', 'y', '--tag', 'single', '--store', 'here'])).out.split('  ')
    const sent = async args => JSON.parse((await run([...args, '--to', to, '--store', 'here', '--json'])).out)
    expect(await sent(['kept', '-r'])).to.include({ cid, blobs: 3 })
    expect(await sent([cid, '--recursive'])).to.include({ cid, blobs: 0 })
    expect(await sent(['single'])).to.include({ cid: single, blobs: 1 })
    expect((await fetch(`${to}/blobs/${single}`, { method: 'HEAD' })).status).to.equal(200)
  })

  it('shows one CID of a folder, and warns when its files are not sent', async () => {
    const [cid] = (await folder.run(['add', '-r', 'other', '--tag', 'kept', '--store', 'here'])).out.split('  ')
    const { code, out, err } = await run(['kept', '--to', to, '--store', 'here', '--bytes'])
    expect([code, out.split('  ')[0]]).to.deep.equal([0, cid])
    expect(err).to.match(/^baobox: warning: 'kept' is a folder: .* -r .*\n$/)
    expect(await run(['kept', '-r', '--to', to, '--store', 'here'])).to.include({ code: 0, err: '' })
  })

  it('sends headers, and the user and password of a URL, as fetch does', async () => {
    const seen = []
    const closed = createServer(({ headers }, response) => {
      seen.push(headers)
      response.writeHead(headers.authorization === 'Bearer secret' ? 404 : 401).end()
    }).listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const url = `http://127.0.0.1:${closed.address().port}`
    const basic = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
    for (const [authorization, args, more] of [
      [basic, ['--to', url.replace('//', '//me:p%40ss@')]],
      ['Bearer other', ['--to', url, '--header', 'Authorization: Bearer other']],
      ['Bearer secret', ['--to', url]], ['Bearer third', ['--to', url, '--token', 'third']],
      [undefined, ['--to', url], {}]
    ]) {
      seen.length = 0
      const { code, out, err } = await run(['file', ...args, '--header', 'X-A: 1'], more)
      expect([code, out]).to.deep.equal([1, ''])
      expect(err).to.match(/^baobox: FETCH_STATUS: /).and.not.match(/p@ss|p%40ss/)
      expect(err.includes('--token'), 'a hint').to.equal(authorization === undefined)
      for (const headers of seen) expect([headers.authorization, headers['x-a']]).to.deep.equal([authorization, '1'])
      expect(seen).to.have.length.above(0)
    }
    expect((await run(['file', '--to', 'http://me:p@ss@:bad:/'])).err).to.match(/^baobox: --to: /).and.not.match(/p@ss/)
    const both = await run(['file', '--to', url, '--token', 'a', '--header', 'Authorization: b'])
    expect([both.code, both.err]).to.deep.equal([2, "baobox: --token excludes --header 'Authorization: ...' " +
      "(see 'baobox push --help')\n"])
    closed.close()
  })

  it('tags the blob on a server that allows all writes', async () => {
    const open = folder.start(['serve', '--store', 'open', '--port', '0', '--quiet', '--allow-writes'], { env: ENV })
    const [line] = await once(open.stdout, 'data')
    const [url] = `${line}`.split('  ')
    for (const [source, tag] of [['file', 'a b/c'], ['photos', 'photos']]) {
      const { code, out } = await run([source, '--to', url, '--tag', tag, '--json'])
      const { cid } = JSON.parse(out)
      expect([code, JSON.parse(out).tag]).to.deep.equal([0, tag])
      expect(await (await fetch(`${url}/tags/${encodeURIComponent(tag)}`)).json()).to.include({ name: tag, cid })
    }
    const headers = { authorization: 'Bearer secret' }
    const statuses = []
    for (const path of [`/blobs/${CID}`, '/tags/a%20b%2Fc', `/blobs/${CID}`]) {
      statuses.push((await fetch(url + path, { method: 'DELETE' })).status)
      statuses.push((await fetch(url + path, { method: 'DELETE', headers })).status)
    }
    expect(statuses).to.deep.equal([401, 409, 401, 200, 401, 200])
    expect(await stopped(open)).to.equal(0)
    expect((await fetch(`${to}/blobs/${CID}`, { method: 'DELETE', headers })).status).to.equal(403)
    const { code, err } = await run(['file', '--to', to, '--tag', 'no'])
    expect([code, err])
      .to.deep.equal([1, `baobox: FETCH_STATUS: ${CID} is on the server, but its tag was not set: ` +
        `${to}/tags/no answers with status 404 (HTTP_NOT_FOUND)\n`])
    expect((await folder.run(['serve', '--allow-writes'])).err).to.match(/^baobox: --allow-writes needs --put-token /)
  })

  it('says what is wrong', async () => {
    const fails = async (args, env) => {
      const { code, err } = await run(args, env)
      return [code, err.split('\n')[0]]
    }
    await folder.write('new', noise(10, 9))
    const location = `${to}/blobs/${toCid(hash(noise(10, 9)))}`
    const refused = `baobox: FETCH_STATUS: ${location} answers with status 401 (HTTP_UNAUTHORIZED)`
    expect(await fails(['new', '--to', to, '--token', 'other'])).to.deep.equal([1, refused])
    expect(await fails(['new', '--to', to], {}))
      .to.deep.equal([1, `${refused}: if the server wants a token, give it with --token`])
    const store = await BlobStore.open(folder.at('reader'))
    const reader = await serve(store)
    const closed = `baobox: FETCH_STATUS: ${location.replace(to, reader.url)} answers with status 405 (HTTP_METHOD)`
    expect(await fails(['new', '--to', reader.url])).to.deep.equal(
      [1, `${closed}: the server takes no uploads; baobox serve does with --put-token`])
    await reader.close()
    await store.close()
    const [code, err] = await fails(['none', '--to', to])
    expect([code, err.startsWith("baobox: there is no file or folder 'none', and there is no store at ")])
      .to.deep.equal([1, true])
    const unknown = "baobox: there is no file or folder 'none', and 'none' is neither a CID nor a tag of the store"
    expect(await fails(['none', '--to', to, '--store', 'here'])).to.deep.equal([1, unknown])
    for (const args of [['new'], ['new', '--to', 'localhost'], ['new', '--to', `${to}?x`], ['--to', to],
      ['new', '--to', to, '--token', 'a b'], ['new', '-r', '--to', to], ['new', '--to', to, '--parallel', '0'],
      ['new', 'file', '--to', to]]) {
      expect((await run(args)).code, args.join(' ')).to.equal(2)
    }
    expect(await readdir(temporary)).to.deep.equal([])
    expect(await stopped(server)).to.equal(0)
    expect((await fails(['new', '--to', to]))[1]).to.match(/^baobox: FETCH_FAILED: /)
  })
})
