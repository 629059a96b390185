// A store in a directory: who can open it, and what is left of it when its process dies.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ChunkRanges, hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { makeMissing } from '../../../../store/storage/opening/making.js'
import { same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import { databasesOf, deletionsIn, idsIn, idsWithout, recordsIn } from '../../../support/store/inspect.js'
import { expectNoOrphans, onDisk } from '../../../support/store/stores.js'
import {
  GARBAGE_COUNT, blobOf, garbageOf, isReceived, isTagged, nextRound, sizeOf
} from '../../../support/store/worker.js'

const WORKER = fileURLToPath(new URL('../../../support/store/worker.js', import.meta.url))

describe('store: on a disk', () => {
  let place
  const children = []
  beforeEach(async () => { place = await onDisk() })
  afterEach(async () => {
    for (const child of children.splice(0)) await killed(child)
    await place.remove()
  })

  /** Starts the worker. @returns {import('node:child_process').ChildProcess & { lines: AsyncIterator<string> }} */
  function start (task, ...args) {
    const stdio = ['ignore', 'pipe', 'inherit']
    const child = spawn(process.execPath, [WORKER, task, place.where, ...args], { stdio })
    child.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    children.push(child)
    return child
  }

  it('is made where there is nothing', async () => {
    const store = await BlobStore.open(join(place.where, 'a', 'b'))
    await store.put(Uint8Array.of(1))
    await store.close()
  })

  it('cannot be made in the place of a file', async () => {
    const path = join(place.where, 'file')
    await writeFile(path, 'text')
    expect(await errorOf(BlobStore.open(path))).to.include({ code: 'STORE_OPEN_FAILED', location: path })
  })

  it('is made once when several processes make it at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const location = join(place.where, `${round}`)
      await mkdir(location)
      await Promise.all(Array.from({ length: 3 }, () => makeMissing(location, { sync: true })))
      const store = await BlobStore.open(location)
      await store.put(noise(100))
      await store.close()
      expect(await readdir(location)).to.have.members(['blobs', 'data', 'index', 'seal'])
    }
  })

  it('does not count folders, and files whose names are not ids, as blobs', async () => {
    const bytes = noise(2 * MIB)
    let store = await place.open()
    const { cid } = await store.put(bytes)
    await store.close()
    const names = ['99999999999999999999', '1e3', '-1', '007', '.DS_Store']
    for (const name of names) await writeFile(join(place.where, 'blobs', name), 'x')
    store = await place.open()
    expect(await store.has((await store.put(noise(100))).cid)).to.equal(true)
    expect(await store.fsck()).to.include({ isSound: true })
    await mkdir(join(place.where, 'blobs', '77'))
    expect(await store.fsck({ repair: true })).to.include({ strays: 1, orphans: 0 })
    expect(same(await store.bytes(cid), bytes)).to.equal(true)
  })

  it('opens no file after it was closed', async () => {
    const store = await place.open()
    await store.put(noise(2 * MIB))
    const { files } = databasesOf(store)
    const [id] = await files.ids()
    await store.close()
    expect(() => files.reader(id)).to.throw('closed')
    expect(await errorOf(files.writer(id))).to.match(/closed/)
  })

  it('can be open in one process only', async () => {
    const child = start('hold')
    expect((await child.lines.next()).value).to.equal('open')
    expect(await errorOf(place.open())).to.include({ code: 'STORE_LOCKED', location: place.where })
    await killed(child)
    await place.open()
  })

  it('says which process has it open, if the system tells', async () => {
    const child = start('hold')
    await child.lines.next()
    const error = await errorOf(place.open())
    expect(error).to.include({ code: 'STORE_LOCKED', location: place.where })
    expect(error.pid).to.equal(process.platform === 'linux' ? child.pid : undefined)
    if (error.pid !== undefined) expect(error.message).to.include(`process ${child.pid} has the store`)
    await killed(child)
    await place.open()
    const own = await errorOf(BlobStore.open(place.where))
    expect(own).to.include({ pid: process.pid })
    expect(own.message).to.include('this process has the store')
    expect(await errorOf(BlobStore.rescue(place.where))).to.include({ code: 'STORE_LOCKED', pid: process.pid })
  })

  it('is waited for while it is open elsewhere', async () => {
    const child = start('hold')
    await child.lines.next()
    expect(await errorOf(place.open({ wait: 50 }))).to.include({ code: 'STORE_LOCKED', location: place.where })
    const reason = new Error('enough')
    const controller = new AbortController()
    const waiting = errorOf(place.open({ wait: Infinity, signal: controller.signal }))
    setTimeout(() => controller.abort(reason), 20)
    expect(await waiting).to.equal(reason)
    const opening = place.open({ wait: 60_000 })
    await killed(child)
    const store = await opening
    // The same in one process: after a close, the next opening succeeds.
    const next = place.open({ wait: 60_000 })
    await store.close()
    expect(await (await next).put(Uint8Array.of(1))).to.include({ isNew: true })
    for (const bad of [-1, 0.5, NaN, '5', null]) await expectSlip('wait', () => place.open({ wait: bad }))
  })

  it('is not made when "create" is false', async () => {
    for (const where of [place.where, join(place.where, 'a'), join(place.where, 'a', 'b')]) {
      const error = await errorOf(BlobStore.open(where, { create: false }))
      expect(error).to.include({ name: 'BaoError', code: 'STORE_ABSENT', location: where })
    }
    expect(await readdir(place.where), 'nothing was made').to.deep.equal([])
    await (await place.open()).close()
    await (await place.open({ create: false })).put(Uint8Array.of(1))
  })

  it('is opened in a directory or in two levels, and in nothing else', async () => {
    for (const bad of [undefined, null, 5, {}, { index: {} }]) {
      await expectSlip('where', () => BlobStore.open(bad), [TypeError])
    }
  })

  it('refuses an unknown durability', async () => {
    expect(await errorOf(place.open({ durability: 'never' }))).to.be.instanceOf(TypeError)
    const store = await place.open({ durability: 'process' })
    const { cid } = await store.put(noise(MIB))
    expect(await store.has(cid)).to.equal(true)
  })

  it('keeps what it acknowledged when its process is killed again and again', async () => {
    /** By the numbers of the blobs: the promised state; with a question mark while the call was under way. */
    const known = new Map()
    let first = 0
    let leftovers = 0
    // Piece 9 of ten or eleven, counted from 0, fills the first batch, which is then written.
    for (const mark of [
      'begin put', 'given put 4', 'given put 9', 'given put 10', 'done put',
      'begin receive', 'given receive 4', 'given receive 9', 'done receive',
      'begin delete', 'done delete', 'given put 10'
    ]) {
      const child = start('work', mark.includes('receive') ? nextRound(first) + 1 : nextRound(first))
      let killing
      for await (const line of { [Symbol.asyncIterator]: () => child.lines }) {
        const [event, what, number, given] = line.split(' ')
        if (event === 'open') continue
        const i = Number(number)
        if (event !== 'given') known.set(i, event === 'done' ? what : `${what}?`)
        first = Math.max(first, i + 1)
        const isMark = mark === (event === 'given' ? `given ${what} ${given}` : `${event} ${what}`)
        if (isMark && sizeOf(i) > 4 * MIB) killing ??= killed(child)
      }
      await killing

      leftovers += await place.look(async ({ index, data, files }) =>
        idsWithout([...await idsIn(data), ...files], await recordsIn(index)).length)
      const store = await place.open()
      for (const [i, state] of known) await expectKept(store, i, state)
      await store.close()
      await expectNoOrphans(place)
      // Blobs that survive one death must survive the next. To save time, only the last are checked again.
      for (const i of [...known.keys()].slice(0, -3)) known.delete(i)
    }
    expect(leftovers, 'some were killed in the middle').to.be.greaterThan(0)
  })

  it('keeps what is protected when its process is killed while it collects garbage', async () => {
    let next = 0
    let leftovers = 0
    for (const mark of ['gone 1', 'gone 3', 'gone 8', 'collected 1', 'gone 5', 'collected 2']) {
      const child = start('litter', next)
      const counts = { put: 0, gone: 0, collected: 0 }
      const gone = []
      const first = next
      let killing
      for await (const line of { [Symbol.asyncIterator]: () => child.lines }) {
        const [event, what] = line.split(' ')
        if (event === 'put') next = Number(what) + GARBAGE_COUNT
        if (event === 'gone') gone.push(what)
        if (mark === `${event} ${++counts[event]}`) killing ??= killed(child)
      }
      await killing
      leftovers += await place.look(async ({ index, data, files }) =>
        (await deletionsIn(index)).length + idsWithout([...await idsIn(data), ...files], await recordsIn(index)).length)
      const store = await place.open()
      for (let i = first; i < next; i++) {
        if (isTagged(i)) expect(same(await store.bytes(hash(garbageOf(i))), garbageOf(i)), `blob ${i}`).to.equal(true)
        const tag = await store.tags.get(`tag ${i}`)
        const cid = isTagged(i) ? toCid(hash(garbageOf(i))).toString() : undefined
        expect(tag?.cid.toString(), `tag ${i}`).to.equal(cid)
      }
      for (const cid of gone) expect(await store.has(cid)).to.equal(false)
      await store.gc()
      const names = []
      for await (const { cid } of store.list()) names.push(cid.toString())
      const tagged = []
      for await (const { cid } of store.tags.list()) tagged.push(cid.toString())
      expect(names.sort()).to.deep.equal(tagged.sort())
      await store.close()
      await expectNoOrphans(place)
      next += GARBAGE_COUNT // some of these may have been put before the worker could tell
    }
    expect(leftovers, 'some were killed before the deletion had ended').to.be.greaterThan(0)
  })
})

/**
 * @param {number} i  number of the blob
 * @param {string} state  the promised state, with a question mark if the call was under way
 */
async function expectKept (store, i, state) {
  const bytes = blobOf(i)
  const root = hash(bytes)
  const isThere = await store.has(root)
  if (state === 'put' || state === 'receive') expect(isThere, `blob ${i} after ${state}`).to.equal(true)
  if (state === 'delete') expect(isThere, `blob ${i} after ${state}`).to.equal(false)
  if (isThere) {
    expect(same(await store.bytes(root), bytes), `bytes of blob ${i}`).to.equal(true)
    return
  }
  const stat = await errorOf(async () => {
    const { present } = await store.stat(root)
    expect(state, `blob ${i}`).to.match(/\?$/)
    expect(isReceived(i), `blob ${i} is shown in part, but was not received`).to.equal(true)
    for (const { start, end } of present.toBytes(bytes.length)) {
      const got = await store.bytes(root, { start, end })
      expect(same(got, bytes.subarray(start, end)), `part of blob ${i}`).to.equal(true)
    }
    const missing = ChunkRanges.all.canonical(bytes.length).difference(present)
    expect((await store.missing(root)).equals(missing)).to.equal(true)
  })
  if (stat) expect(stat, stat.stack).to.include({ code: 'STORE_NOT_FOUND' })
}

/** Kills a process that was started here. */
async function killed (child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
