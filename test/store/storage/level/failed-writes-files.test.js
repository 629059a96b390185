// A store on a disk whose writes fail, and a store whose directory is moved or removed while it is open.
import { expect } from 'chai'
import { execFileSync, fork } from 'node:child_process'
import { cp, rename, rm } from 'node:fs/promises'
import { once } from 'node:events'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { newLocation } from '../../../support/runtime.js'
import { same } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'

const small = [noise(5000, 1), noise(6000, 2), noise(7000, 3)]

describe('store: its directory is moved or removed while it is open', () => {
  let location
  let store
  beforeEach(async () => {
    location = await newLocation()
    store = await BlobStore.open(location)
    await store.put(small[0])
  })
  afterEach(async () => {
    await store.close().catch(() => {})
    for (const path of [location, `${location}.moved`]) await rm(path, { recursive: true, force: true })
  })

  for (const [what, takeAway] of Object.entries({
    moved: () => rename(location, `${location}.moved`),
    removed: () => rm(location, { recursive: true }),
    'replaced by a copy': async () => {
      await rename(location, `${location}.moved`)
      await cp(`${location}.moved`, location, { recursive: true })
    }
  })) {
    it(`a store that was ${what} acknowledges nothing`, async () => {
      await takeAway()
      for (const write of [
        () => store.put(small[1]),
        () => store.put(noise(3_000_000, 4)),
        () => store.tags.set('name', hash(small[0])),
        async () => { for await (const { isNew } of store.putMany(small)) expect(isNew).to.equal('never') }
      ]) expect(await errorOf(write())).to.include({ code: 'STORE_MOVED', location })
    })
  }

  it('a store that was moved back goes on', async () => {
    await rename(location, `${location}.moved`)
    expect(await errorOf(store.put(small[1]))).to.include({ code: 'STORE_MOVED' })
    await rename(`${location}.moved`, location)
    expect(await store.put(small[2])).to.include({ isNew: true })
    await store.close()
    store = await BlobStore.open(location)
    expect(same(await store.bytes(hash(small[2])), small[2])).to.equal(true)
  })
})

/**
 * Returns true if the limit for the size of files can change while a process runs. Deno dies of the signal that Node.js
 * and Bun ignore.
 */
function canLimit () {
  if ('Deno' in globalThis) return false
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe('store: files that may not grow', () => {
  let location
  let child
  beforeEach(async () => { location = await newLocation() })
  afterEach(async () => {
    child?.kill()
    await rm(location, { recursive: true, force: true })
  })

  it('a store whose logs may not grow for a while keeps what it acknowledges afterwards', async function () {
    if (!canLimit()) return this.skip()
    const worker = new URL('../../../support/store/failed-writes-worker.js', import.meta.url)
    child = fork(worker, [location], { stdio: 'inherit' })
    const died = once(child, 'exit').then(([code, signal]) => {
      throw new Error(`the worker ended: ${code ?? signal}`)
    })
    const [{ refused, kept }] = await Promise.race([once(child, 'message'), died])
    expect(refused).to.have.members(['STORE_WRITE_FAILED'])
    const store = await BlobStore.open(location, { wait: 10_000 })
    try {
      for (const name of kept) expect(await store.tags.get(name), name).to.not.equal(undefined)
      for (let i = 0; i < 40; i++) {
        const bytes = noise(3000 + i, i)
        expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      }
      expect(await store.fsck()).to.include({ isSound: true })
    } finally {
      await store.close()
    }
  })
})
