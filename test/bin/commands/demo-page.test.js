import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { newFolder } from '../../support/program.js'

describe('baobox demo --web', () => {
  const folder = newFolder()
  let child
  let url
  before(async () => {
    child = folder.start(['demo', '--web', '--port', '0'])
    let out = ''
    for await (const chunk of child.stdout) {
      out += chunk
      if (out.split('\n').length === 5) break
    }
    url = /^(http:\S+) {2}open this page/.exec(out)[1]
    expect(out.match(/^http:\S+ {2}host [ABC] of the film$/gm)).to.have.length(3)
  })
  after(async () => {
    if (child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  })

  it('serves the page and its scripts, which ask only this machine', async () => {
    const response = await fetch(url)
    expect(await response.text()).to.match(/<script type="module" src="main.js">/)
    expect(response.headers.get('content-security-policy')).to.match(/^default-src 'none'/)
    for (const [path, type] of [
      ['main.js', 'text/javascript'], ['service-worker.js', 'text/javascript'], ['worker.js', 'text/javascript'],
      ['style.css', 'text/css']
    ]) {
      const { status, headers } = await fetch(url + path)
      expect([status, headers.get('content-type')], path).to.deep.equal([200, type])
    }
    for (const path of ['none.js', '../package.json', '%2e%2e/package.json', 'toString', '.js', 'page/main.js']) {
      expect((await fetch(url + path)).status, path).to.equal(404)
    }
  })

  it('lets its page switch the hosts, and no other', async () => {
    const { origin } = new URL(url)
    const post = (body, headers = { origin }) => fetch(`${url}hosts`, { method: 'POST', headers, body })
    const change = JSON.stringify({ name: 'B', mode: 'lies', speed: 1_000_000 })
    const states = await (await post(change)).json()
    expect(states.map(({ mode }) => mode)).to.deep.equal(['honest', 'lies', 'honest'])
    expect(await (await fetch(`${url}hosts`)).json()).to.deep.equal(states)
    for (const headers of [{}, { origin: 'https://example.org' }, { origin: 'null' }]) {
      expect((await post(change, headers)).status).to.equal(403)
    }
    for (const bad of [
      { name: 'D' }, { name: 'A', mode: 'sleeps' }, { name: 'A', speed: 0 }, { name: 'A', speed: 1e12 },
      { name: 'A', speed: '50000' }, {}, null
    ]) {
      expect((await post(JSON.stringify(bad))).status, JSON.stringify(bad)).to.equal(400)
    }
    expect((await post('{')).status).to.equal(400)
    expect((await post(JSON.stringify({ name: 'x'.repeat(2000) }))).status).to.equal(403)
  })

  it('serves the page until Ctrl-C', async () => {
    const ended = once(child, 'exit')
    child.kill('SIGINT')
    expect(await ended).to.deep.equal([0, null])
  })

  it('refuses a file, a store, and a port without --web', async () => {
    for (const [args, message] of [
      [['--web', 'film.mp4'], /FILE cannot be given with --web/],
      [['--web', '--store', 'kept'], /--store/],
      [['--port', '1'], /--port/]
    ]) {
      const { code, err } = await folder.run(['demo', ...args])
      expect(code).to.equal(2)
      expect(err).to.match(message)
    }
  })

  it('says so when the port is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const other = folder.start(['demo', '--web', '--port', `${server.address().port}`])
    const [err, [code]] = await Promise.all([text(other.stderr), once(other, 'exit')])
    server.close()
    expect(code).to.equal(1)
    expect(err).to.include('in use')
  })
})
