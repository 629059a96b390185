// Blobs that are missing, present in part, or damaged: the status tells the client, or the body breaks.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { errorOf, readUntilBroken } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { damageRecord, entriesOf, extentEntry, isHeld, isPage, recordOf } from '../../support/store/inspect.js'
import { hexOf, newHandlers } from '../../support/store/served.js'
import { sliceOf } from '../../support/store/stores.js'

const CELL = 1 << 18
const BYTES = noise(3 * CELL + 5)
const SIZE = BYTES.length
const ROOT = hash(BYTES)
const HEX = hexOf(ROOT)
const CHUNKS = Math.ceil(SIZE / 1024)

describe('an HTTP handler tells which bytes it cannot give', () => {
  const serve = newHandlers()

  it('of a blob that it does not have', async () => {
    const served = await serve()
    for (const path of [`/${HEX}`, `/${HEX}.obao4`, `/${HEX}?format=bao-slice&start=0&end=0`]) {
      const { status, headers, json } = await served.got(path)
      expect(status).to.equal(404)
      expect(json().code).to.equal('STORE_NOT_FOUND')
      expect(headers.get('content-type')).to.equal('application/json')
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('access-control-allow-origin')).to.equal('*')
    }
    expect(served.events.map(({ status, code, cid }) => [status, code, typeof cid]))
      .to.deep.equal(Array(3).fill([404, 'STORE_NOT_FOUND', 'string']))
  })

  it('of a blob that it has in part, and gives the rest', async () => {
    const served = await serve()
    const held = ChunkRanges.fromBytes(0, 2 * GROUP).union(ChunkRanges.fromBytes(5 * GROUP, 20 * GROUP))
    await served.store.receive(ROOT, sliceOf(BYTES, held), held)
    const ask = async (range, path = `/${HEX}`) => served.got(path, range && { headers: { range: `bytes=${range}` } })

    const part = await ask(`100-${2 * GROUP - 1}`)
    expect(part.status).to.equal(206)
    expect(same(part.bytes, BYTES.subarray(100, 2 * GROUP))).to.equal(true)
    expect(part.headers.get('content-range')).to.equal(`bytes 100-${2 * GROUP - 1}/*`)
    const slice = await ask(undefined, `/${HEX}?format=bao-slice&start=${6 * GROUP}&end=${9 * GROUP}`)
    expect(same(slice.bytes, sliceOf(BYTES, { start: 6 * GROUP, end: 9 * GROUP }))).to.equal(true)

    for (const [range, missing] of [
      [`${GROUP}-${3 * GROUP}`, [[2 * GROUP, 4 * GROUP]]],
      [undefined, [[2 * GROUP, 5 * GROUP], [20 * GROUP, CHUNKS * 1024]]],
      ['-1', [[48 * GROUP, CHUNKS * 1024]]],
      [`${SIZE}-`, [[48 * GROUP, CHUNKS * 1024]]]
    ]) {
      const { status, json } = await ask(range)
      expect([status, json().code], range).to.deep.equal([404, 'STORE_MISSING'])
      expect(json().missing, range).to.deep.equal(missing)
    }
    for (const path of [`/${HEX}.obao4`, `/${HEX}?format=bao-slice`, `/${HEX}?format=bao-slice&start=0&end=0`]) {
      expect((await ask(undefined, path)).json().code, path).to.equal('STORE_MISSING')
    }
    expect((await served.got(`/${HEX}`, { method: 'HEAD' })).status).to.equal(404)
  })

  it('of a part whose end proves the size', async () => {
    const served = await serve()
    const held = ChunkRanges.last
    await served.store.receive(ROOT, sliceOf(BYTES, held), held)
    const { status, headers, bytes } = await served.got(`/${HEX}`, { headers: { range: 'bytes=-5' } })
    expect(status).to.equal(206)
    expect(same(bytes, BYTES.subarray(-5))).to.equal(true)
    expect(headers.get('content-range')).to.equal(`bytes ${SIZE - 5}-${SIZE - 1}/${SIZE}`)
    expect((await served.got(`/${HEX}`, { headers: { range: `bytes=${SIZE}-` } })).status).to.equal(416)
  })

  /** Flips a bit of the stored blob. */
  const damage = async ({ store, data }, at) => {
    const { id } = await recordOf(store, ROOT)
    const entry = extentEntry(data, id, at - at % CELL)
    await entry.change(bytes => {
      bytes[at % CELL] ^= 1
      return bytes
    })
  }

  it('of a blob whose first bytes are damaged, before any byte', async () => {
    for (const path of [`/${HEX}`, `/${HEX}?format=bao-slice&start=0&end=100`, `/${HEX}.obao0`]) {
      const served = await serve()
      await served.store.put(BYTES)
      await damage(served, 5)
      const { status, bytes, json } = await served.got(path)
      expect(status, path).to.equal(500)
      expect(json(), path).to.deep.equal({ code: 'STORE_CORRUPT' })
      expect(bytes.length).to.be.below(100)
      const behind = await served.got(`/${HEX}`, { headers: { range: `bytes=${GROUP}-${2 * GROUP - 1}` } })
      expect([behind.status, same(behind.bytes, BYTES.subarray(GROUP, 2 * GROUP))]).to.deep.equal([206, true])
      expect(served.events[0]).to.deep.include({ status: 500, outcome: 'complete', code: 'STORE_CORRUPT' })
      expect(served.events[0].error.message).to.include('damaged')
    }
  })

  it('of a blob that is damaged later, by a body that breaks after the last right byte', async () => {
    const served = await serve()
    await served.store.put(BYTES)
    const fault = 2 * CELL + 3 * GROUP + 7
    await damage(served, fault)
    const response = await served.ask(`/${HEX}`)
    expect([response.status, response.headers.get('content-length')]).to.deep.equal([200, `${SIZE}`])
    const { bytes, error } = await readUntilBroken(response)
    expect(error).to.include({ code: 'STORE_CORRUPT', start: fault - fault % GROUP })
    expect(same(bytes, BYTES.subarray(0, fault - fault % GROUP))).to.equal(true)
    expect(served.events).to.have.length(1)
    expect(served.events[0]).to.deep.include({
      status: 200, outcome: 'failed', code: 'STORE_CORRUPT', sent: fault - fault % GROUP
    })
    const other = await serve()
    await other.store.put(BYTES)
    await damage(other, fault)
    const sliced = await readUntilBroken(await other.ask(`/${HEX}?format=bao-slice`))
    expect(sliced.error).to.include({ code: 'STORE_CORRUPT' })
    expect(same(sliced.bytes, sliceOf(BYTES).subarray(0, sliced.bytes.length))).to.equal(true)
    expect(isHeld(served.store, ROOT)).to.equal(false)
  })

  it('of an outboard with a wrong pair, unless its bytes give the right one', async () => {
    const served = await serve()
    await served.store.put(BYTES)
    const [page] = (await entriesOf(served.data)).filter(isPage)
    page.value[page.value.length - 3] ^= 1
    await page.put(page.value)
    const { status, bytes, json } = await served.got(`/${HEX}.obao4`)
    if (status === 200) expect(same(bytes, createOutboardSync(BYTES, { order: 'pre' }).bytes)).to.equal(true)
    else expect([status, json().code]).to.deep.equal([500, 'STORE_CORRUPT'])
  })

  it('of a damaged record', async () => {
    const served = await serve()
    await served.store.put(BYTES)
    await damageRecord(served.index, ROOT)
    const { status, json } = await served.got(`/${HEX}`)
    expect([status, json().code]).to.deep.equal([500, 'STORE_CORRUPT'])
  })

  it('of a blob that is deleted while it is sent', async () => {
    const served = await serve()
    await served.store.put(BYTES)
    const response = await served.ask(`/${HEX}`)
    const reader = response.body.getReader()
    await reader.read()
    await served.store.gc()
    expect((await reader.read()).done, 'held against gc()').to.equal(false)
    await served.store.delete(ROOT)
    expect(await errorOf(reader.read())).to.include({ code: 'STORE_NOT_FOUND' })
    expect(served.events[0]).to.deep.include({ status: 200, outcome: 'failed', code: 'STORE_NOT_FOUND' })
  })

  it('when the store closes', async () => {
    const served = await serve()
    await served.store.put(BYTES)
    const reader = (await served.ask(`/${HEX}`)).body.getReader()
    await reader.read()
    await served.store.close()
    expect(await errorOf(reader.read())).to.include({ code: 'STORE_CLOSED' })
    const { status, json } = await served.got(`/${HEX}`)
    expect([status, json()]).to.deep.equal([503, { code: 'STORE_CLOSED' }])
    expect(served.handler.stats().active).to.equal(0)
  })
})
