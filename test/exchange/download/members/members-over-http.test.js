// Members of a sequence from servers: many with one request if a server supports that, and one by one otherwise.
import { expect } from 'chai'
import { HASHSEQ, hash, toCid } from '../../../../lib/index.js'
import { download } from '../../../../exchange/download/index.js'
import { mirrorOf } from '../../../../verifier/index.js'
import { createHandler } from '../../../../exchange/http/index.js'
import { concat, same } from '../../../support/bytes.js'
import { pairsOf, someOf } from '../../../support/effort.js'
import { FakeClock } from '../../../support/fake-clock.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { endings, streamOf } from '../../../support/servers.js'
import { downloadBy } from '../../../support/store/inspect.js'
import { newStores } from '../../../support/store/stores.js'

const MIB = 1 << 20
const LENS = [5, 1024, 16_385, 3 * MIB + 5, MIB, 70_000, 1, 2, 3]
const contents = LENS.map((len, i) => noise(len, 800 + i))
const roots = contents.map(bytes => hash(bytes))
const sequence = concat(roots)
const cid = toCid(hash(sequence), HASHSEQ)
const TYPE = 'application/vnd.bao-members; group-log=4'

let servers = 0

describe('a download of members over HTTP', () => {
  const newStore = newStores()

  /** A server with the sequence and its members. `change` may change the answers to requests for members. */
  async function serve ({ absent = [], blobs = contents, members = blobs.map(bytes => hash(bytes)), change } = {}) {
    const { store } = await newStore()
    await store.put(concat(members))
    await listed(store.putMany(blobs.filter((_, i) => !absent.includes(i))))
    const handler = createHandler(store)
    const asked = []
    const fetch = async (url, init) => {
      const wanted = new URL(url).searchParams.get('members')
      asked.push(wanted ?? new URL(url).pathname)
      const answer = async () => handler(new Request(url, init))
      return wanted === null || change === undefined ? answer() : change(answer, init)
    }
    const origin = `https://server-${++servers}.example`
    const mirror = mirrorOf(`${origin}/blobs/{cid}`, { fetch })
    return { mirror, asked, origin, streams: () => asked.filter(one => !one.startsWith('/')) }
  }

  /** A change of the bytes of an answer. */
  const changed = ending => async answer => {
    const { headers, body } = await answer()
    const bytes = new Uint8Array(await new Response(body).arrayBuffer())
    return new Response(streamOf(ending(bytes)), { headers })
  }
  const fetchAll = (store, { mirror }, options) =>
    download(store, cid, { from: [mirror], recursive: true, ...options })
  const expectHas = async (store, indices) => {
    for (const i of indices) expect(same(await store.bytes(roots[i]), contents[i]), `${i}`).to.equal(true)
  }
  const ALL = [...roots.keys()]

  it('takes one request for members of all lengths', async () => {
    const { store } = await newStore()
    const server = await serve()
    const result = await fetchAll(store, server)
    expect(result).to.include({ members: 9, complete: true })
    expect(result.mirrors[0].error).to.equal(undefined)
    expect(server.streams()).to.deep.equal(['0-9'])
    expect(new Set(server.asked).size, 'the sequence, and its members').to.equal(2)
    await expectHas(store, ALL)
    expect((await store.fsck()).damaged).to.deep.equal([])
  })

  it('asks only for those that are missing', async () => {
    const { store } = await newStore()
    for (const i of [0, 3, 4, 7]) await store.put(contents[i])
    const server = await serve()
    await fetchAll(store, server)
    expect(server.streams()).to.deep.equal(['1-3,5-7,8-9'])
    await expectHas(store, ALL)
  })

  it('goes on after members that the server lacks, and names them', async () => {
    for (const absent of [[4], [0], [2, 3], [8]]) {
      const { store } = await newStore()
      const error = await errorOf(fetchAll(store, await serve({ absent })))
      expect(error).to.have.property('code', 'FETCH_MEMBERS_MISSING')
      expect(error.members.map(({ index }) => index)).to.deep.equal(absent)
      await expectHas(store, ALL.filter(i => !absent.includes(i)))
    }
  })

  it('drops a server that lies in the middle, and keeps the members before that', async () => {
    for (const at of someOf([8 + 5 + 8 + 100, 8 + 5 + 8 + 1024 + 3, 40_000, 2 * MIB])) {
      const { store } = await newStore()
      const error = await errorOf(fetchAll(store, await serve({ change: changed(endings.flip(at)) })))
      expect(error.code, `${at}`).to.match(/^FETCH_/)
      expect((await store.fsck()).damaged).to.deep.equal([])
      await expectHas(store, [0])
      expect(await store.has(roots[3])).to.equal(false)
    }
  })

  it('goes on after an answer that breaks off anywhere', async () => {
    const places = [0, 7, 13, 1000, 20_000, 2 * MIB, 4 * MIB]
    for (const [at, ending] of someOf(pairsOf(places, [endings.reset, endings.cut]))) {
      const { store } = await newStore()
      let count = 0
      const change = (answer, init) => ++count === 1 ? changed(ending(at))(answer, init) : answer()
      const clock = new FakeClock()
      const { mirror } = await serve({ change })
      const options = { from: [mirror], recursive: true }
      const result = await clock.until(downloadBy(clock, store, cid, options))
      expect(result, `${at}`).to.include({ complete: true })
      await expectHas(store, ALL)
    }
  })

  it('ends with the request when it is aborted', async () => {
    const { store } = await newStore()
    const controller = new AbortController()
    let signal
    const server = await serve({
      change: (answer, init) => {
        signal = init.signal
        return changed(endings.stall(20_000, () => controller.abort(new Error('enough'))))(answer)
      }
    })
    const error = await errorOf(fetchAll(store, server, { signal: controller.signal }))
    expect(error).to.have.property('message', 'enough')
    expect(signal.aborted).to.equal(true)
    await expectHas(store, [0, 1])
  })

  it('sends one request for many members to a server without support, and then asks for each alone', async () => {
    const bytes = sequence
    for (const [name, change] of someOf(Object.entries({
      'a bad request': () => new Response('no', { status: 400 }),
      'no such format': () => new Response('no', { status: 406 }),
      'the whole blob': () => new Response(bytes, { headers: { 'content-type': 'application/octet-stream' } }),
      'a page': () => new Response('<p>', { headers: { 'content-type': 'text/html' } }),
      'a slice': () => new Response(bytes, { headers: { 'content-type': 'application/vnd.bao-slice; group-log=4' } }),
      'another group log': () => new Response(bytes, { headers: { 'content-type': TYPE.replace('4', '0') } })
    }))) {
      const { store } = await newStore()
      const server = await serve({ change })
      const result = await fetchAll(store, server)
      expect(result, name).to.include({ complete: true })
      expect([result.mirrors[0].state, result.mirrors[0].error], name).to.deep.equal(['good', undefined])
      await expectHas(store, ALL)
      await fetchAll((await newStore()).store, server)
      expect(server.streams(), name).to.have.length(1)
    }
  })

  it('asks a server that lacks the sequence, or wants credentials for it, once in each download', async () => {
    for (const status of [404, 401, 403]) {
      const server = await serve({ change: () => new Response('no', { status }) })
      for (let i = 1; i < 3; i++) {
        const { store } = await newStore()
        expect(await fetchAll(store, server)).to.include({ complete: true })
        expect(server.streams(), `${status}`).to.have.length(i)
      }
    }
  })

  it('asks for no more ranges in one request than fit into a URL', async () => {
    const { store } = await newStore()
    const { store: other } = await newStore()
    const blobs = Array.from({ length: 1200 }, (_, i) => new TextEncoder().encode(`member ${i}`))
    const members = blobs.map(bytes => hash(bytes))
    await listed(other.putMany(blobs))
    await listed(store.putMany(blobs.filter((_, i) => i % 2 === 0)))
    const { cid } = await other.put(concat(members))
    const handler = createHandler(other)
    const urls = []
    const fetch = async (url, init) => {
      urls.push(`${url}`)
      return handler(new Request(url, init))
    }
    const from = [mirrorOf(`https://server-${++servers}.example/blobs/{cid}`, { fetch })]
    expect(await download(store, cid, { from, recursive: true })).to.include({ members: 1200, complete: true })
    expect(Math.max(...urls.map(({ length }) => length))).to.be.below(4096)
    expect(urls).to.have.length.below(20)
  })

  describe('from several servers', () => {
    const MANY = Array.from({ length: 1200 }, (_, i) => noise(100 + i, 5000 + i))
    const manyCid = toCid(hash(concat(MANY.map(bytes => hash(bytes)))), HASHSEQ)
    /** How many members were asked for in streams. */
    const countOf = server => server.streams().join().split(',').map(range => range.split('-'))
      .reduce((sum, [start, end]) => sum + (end - start), 0)

    it('takes streams from all of them, and each member once', async () => {
      const { store } = await newStore()
      const servers = [await serve({ blobs: MANY }), await serve({ blobs: MANY }), await serve({ blobs: MANY })]
      const from = servers.map(({ mirror }) => mirror)
      const result = await download(store, manyCid, { from, recursive: true })
      expect(result).to.include({ members: 1200, complete: true })
      const counts = servers.map(countOf)
      expect(Math.min(...counts), `${counts}`).to.be.above(100)
      expect(counts.reduce((sum, count) => sum + count, 0)).to.equal(1200)
    })

    it('does not wait for a slow server while another is idle', async () => {
      for (const at of someOf([0, 40, 100_000, 2 * MIB])) {
        const { store } = await newStore()
        const clock = new FakeClock()
        const slow = await serve({ change: changed(endings.stall(at)) })
        const from = [slow.mirror, (await serve()).mirror]
        const result = await clock.until(downloadBy(clock, store, cid, { from, recursive: true }))
        expect(result, `${at}`).to.include({ complete: true })
        // It does not count as stalled, so the download has ended before.
        expect(result.mirrors[0], `${at}`).to.include({ state: 'good' }).and.not.to.have.property('error')
        await expectHas(store, ALL)
      }
    })

    it('does not end a slow stream in favour of a server that has nothing', async () => {
      const { store } = await newStore()
      const clock = new FakeClock()
      const slowly = async function * (bytes) {
        for (let done = 0; done < bytes.length; done += MIB) {
          await clock.sleep(900)
          yield bytes.subarray(done, done + MIB)
        }
      }
      const slow = await serve({ change: changed(slowly) })
      const from = [(await serve({ absent: ALL, members: [] })).mirror, slow.mirror]
      expect(await clock.until(downloadBy(clock, store, cid, { from, recursive: true }))).to.include({ complete: true })
      expect(clock.now()).to.be.above(2000)
      expect(countOf(slow)).to.be.within(8, 9) // one of them may be asked for alone, because the empty server lacks it
    })

    it('fetches from each server the members that it has', async () => {
      const { store } = await newStore()
      const servers = [await serve({ absent: [0, 3, 4, 5] }), await serve({ absent: [1, 2, 6, 8] })]
      const from = servers.map(({ mirror }) => mirror)
      expect(await download(store, cid, { from, recursive: true })).to.include({ complete: true })
      await expectHas(store, ALL)
    })
  })
})
