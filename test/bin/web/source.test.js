import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { hash, toCid } from '../../../lib/index.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { BlobStore } from '../../../store/index.js'
import { startHosts } from '../../../bin/web/hosts.js'
import { FILM, FILM_LEN } from '../../../bin/web/page/film/facts.js'
import { FilmLog } from '../../../bin/web/page/film/log.js'
import { FilmSource } from '../../../bin/web/page/film/source.js'

const film = new Uint8Array(readFileSync(new URL('../../../bin/web/film/film.webm', import.meta.url)))
const level = () => new MemoryLevel({ keyEncoding: 'view', valueEncoding: 'view', storeEncoding: 'view' })

describe('the film of the demo page', () => {
  /** @type {import('../../../bin/web/hosts.js').Host[]} */
  let hosts
  beforeEach(async () => {
    hosts = await startHosts({ film, outboard: createOutboardSync(film).bytes }, '127.0.0.1')
    for (const host of hosts) host.set({ speed: 1 << 27 })
  })
  afterEach(() => { for (const host of hosts) host.close() })

  /** Reads the film through a store, and returns what came from whom. */
  async function read (use, { ranges, patience = 60_000 } = {}) {
    const log = new FilmLog(['A', 'B', 'C'])
    const source = new FilmSource(hosts.map(({ state }) => state), event => log.add(event), { patience })
    const store = await BlobStore.open({ index: level(), data: level() }, { supply: source.slice })
    try {
      return { log, bytes: await use(store, ranges) }
    } finally {
      await store.close()
    }
  }
  const whole = store => store.bytes(FILM)

  it('is the one that the page names', () => {
    expect(`${toCid(hash(film))}`).to.equal(FILM)
    expect(film).to.have.length(FILM_LEN)
  })

  it('comes from all three hosts', async () => {
    const { log, bytes } = await read(whole)
    expect(bytes).to.deep.equal(film)
    expect(log.isWhole).to.equal(true)
    for (const name of ['A', 'B', 'C']) expect(log.hosts[name].bytes, name).to.be.above(0)
    expect(log.entries).to.deep.equal([])
  })

  it('is right while one host lies, and the log says which bytes were refused', async () => {
    hosts[1].set({ mode: 'lies' })
    const { log, bytes } = await read(whole)
    expect(bytes).to.deep.equal(film)
    expect(log.refused).to.be.above(0)
    expect(log.hosts.B.refused).to.equal(log.refused)
    expect(log.hosts.A.refused + log.hosts.C.refused).to.equal(0)
    for (const { host, type, start, end, code, helper } of log.entries) {
      expect({ host, type, code }).to.deep.equal({ host: 'B', type: 'refused', code: 'BAO_LEAF_MISMATCH' })
      expect([start / 16384 % 2, helper], `${start} to ${end}`).to.deep.equal([1, helper === 'A' ? 'A' : 'C'])
    }
  })

  it('comes from the last honest host when another is dead and the third stalls', async () => {
    hosts[0].set({ mode: 'dead' })
    hosts[2].set({ mode: 'stalls' })
    const { log, bytes } = await read(whole, { patience: 1000 })
    expect(bytes).to.deep.equal(film)
    expect(log.hosts.A.bytes + log.hosts.C.bytes).to.equal(0)
    expect(log.entries.some(({ host, type }) => host === 'A' && type === 'absent')).to.equal(true)
    expect(log.entries.some(({ host, type }) => host === 'C' && type === 'late')).to.equal(true)
  })

  it('waits while all hosts fail, and goes on when one is honest again', async () => {
    for (const host of hosts) host.set({ mode: 'lies' })
    const log = new FilmLog(['A', 'B', 'C'])
    let mend
    const isMended = new Promise(resolve => { mend = resolve })
    const source = new FilmSource(hosts.map(({ state }) => state), event => {
      log.add(event)
      if (log.refused === 6) mend()
    }, { patience: 200 })
    isMended.then(() => hosts[2].set({ mode: 'honest' }))
    const store = await BlobStore.open({ index: level(), data: level() }, { supply: source.slice })
    try {
      expect(await store.bytes(FILM)).to.deep.equal(film)
      expect(log.refused).to.be.at.least(6)
    } finally {
      await store.close()
    }
  })

  it('is fetched only where it is read', async () => {
    const start = 1_400_000
    const { log, bytes } = await read(store => store.bytes(FILM, { start, end: start + 10 }))
    expect(bytes).to.deep.equal(film.slice(start, start + 10))
    expect(log.pieces[0].from).to.equal(undefined)
    expect(log.pieces[Math.floor(start / 16384)].from).to.be.oneOf(['A', 'B', 'C'])
  })
})
