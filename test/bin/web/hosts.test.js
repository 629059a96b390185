import { expect } from 'chai'
import { once } from 'node:events'
import { get } from 'node:http'
import { startHosts } from '../../../bin/web/hosts.js'
import { noise } from '../../support/inputs.js'

const GROUP_LEN = 1 << 14
const FILM = noise(200_000)
const OUTBOARD = noise(64)

describe('the hosts of the demo page', () => {
  /** @type {import('../../../bin/web/hosts.js').Host[]} */
  let hosts
  before(async () => {
    hosts = await startHosts({ film: FILM, outboard: OUTBOARD }, '127.0.0.1')
    for (const host of hosts) host.set({ speed: 1 << 27 })
  })
  afterEach(() => { for (const host of hosts) host.set({ mode: 'honest' }) })
  after(() => { for (const host of hosts) host.close() })

  const ask = (url, range) => fetch(url, { headers: range === undefined ? {} : { range } })
  const bytesOf = async response => new Uint8Array(await response.arrayBuffer())

  it('send the film and its outboard, whole and in ranges, to pages of any origin', async () => {
    for (const { url, name } of hosts) {
      expect(await bytesOf(await ask(url)), name).to.deep.equal(FILM)
      expect(await bytesOf(await ask(`${url}.obao4`))).to.deep.equal(OUTBOARD)
    }
    const [{ url }] = hosts
    for (const [range, start, end] of [
      ['bytes=10-19', 10, 20], ['bytes=199990-', 199_990, 200_000], ['bytes=-5', 199_995, 200_000],
      ['bytes=0-999999', 0, 200_000]
    ]) {
      const response = await ask(url, range)
      expect(response.status, range).to.equal(206)
      expect(response.headers.get('content-range')).to.equal(`bytes ${start}-${end - 1}/200000`)
      expect(response.headers.get('access-control-allow-origin')).to.equal('*')
      expect(await bytesOf(response)).to.deep.equal(FILM.slice(start, end))
    }
    expect((await ask(url, 'bytes=200000-')).status).to.equal(416)
    expect((await ask(`${url}x`)).status).to.equal(404)
  })

  it('change one bit in every other group when they lie, and say which byte only when they are asked', async () => {
    const [{ url }] = hosts
    hosts[0].set({ mode: 'lies' })
    const bytes = await bytesOf(await ask(url))
    const wrong = [...bytes.keys()].filter(at => bytes[at] !== FILM[at])
    expect(wrong.map(at => Math.floor(at / GROUP_LEN))).to.deep.equal([1, 3, 5, 7, 9, 11])
    expect(hosts[0].state).to.include({ mode: 'lies', lastLie: wrong.at(-1) })
    expect(await bytesOf(await ask(`${url}.obao4`))).to.deep.equal(OUTBOARD)
    expect(await bytesOf(await ask(hosts[1].url))).to.deep.equal(FILM)
  })

  it('send nothing while they stall, and go on when they are honest again', async () => {
    hosts[2].set({ mode: 'stalls' })
    const [response] = await once(get(hosts[2].url), 'response')
    const chunks = []
    response.on('data', chunk => chunks.push(chunk))
    expect(await bytesOf(await ask(hosts[1].url))).to.deep.equal(FILM) // others answer
    expect(chunks).to.deep.equal([])
    hosts[2].set({ mode: 'honest' })
    await once(response, 'end')
    expect(new Uint8Array(Buffer.concat(chunks))).to.deep.equal(FILM)
  })

  it('end all answers when they are dead', async () => {
    hosts[1].set({ mode: 'stalls' })
    const [response] = await once(get(hosts[1].url), 'response')
    const ended = once(response, 'error')
    response.resume()
    hosts[1].set({ mode: 'dead' })
    await ended
    expect(await ask(hosts[1].url).catch(error => error)).to.be.an('error')
  })
})
