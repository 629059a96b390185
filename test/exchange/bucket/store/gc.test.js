// Garbage collection of a store in a bucket, with other processes that write, stop and go on.
import { expect } from 'chai'
import { adopt } from '../../../../exchange/bucket/index.js'
import { SharedBucket } from '../../../support/bucket/faulty.js'
import { hex, same } from '../../../support/bytes.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { cidOf, keyOfBytes, keysIn, openStore, withStore } from '../../../support/bucket/stores.js'

const DAY_MS = 24 * 60 * 60 * 1000
const key = keyOfBytes(noise(20_000))
const epoch = (number, name) => `gc/${String(number).padStart(16, '0')}/${name}`
const textOf = async (bucket, key) => {
  let text = ''
  for await (const piece of (await bucket.get(key)).body) text += new TextDecoder().decode(piece)
  return text
}

describe('bucket store: garbage collection', () => {
  let shared, a, b
  beforeEach(async () => {
    shared = new SharedBucket()
    ;[a, b] = [await openStore(shared.direct), await openStore(shared.direct)]
  })
  afterEach(async () => {
    await a.close()
    await b.close()
  })

  /** A process that stops after it has created an object of an epoch. */
  const stopAfter = async (name, work = store => store.gc()) => {
    const ending = shared.process(({ key }) => key.startsWith('gc/') && key.endsWith(name) ? 'stopAfter' : undefined)
    await withStore(ending.bucket, async store => expect(await errorOf(work(store))).to.be.an('error'))
  }

  it('keeps blobs without a tag for untaggedTtl, by the clock of the bucket', async () => {
    shared.now = Date.now() - 1000 * DAY_MS
    await a.put(noise(100))
    await withStore(shared.direct, async store => {
      expect((await store.gc()).blobs).to.equal(0)
      shared.now += DAY_MS - 1
      expect((await store.gc({ dryRun: true })).blobs).to.equal(0)
      shared.now += 1
      expect((await store.gc({ dryRun: true })).blobs).to.equal(1)
      expect(await keysIn(shared.direct, 'gc/')).to.deep.equal([])
      const seen = []
      expect(await store.gc({ onBlob: blob => seen.push(blob) })).to.deep.equal({ blobs: 1, bytes: 100 })
      expect(seen.map(({ bytes }) => bytes)).to.deep.equal([100])
    }, { untaggedTtl: DAY_MS })
  })

  it('finishes what another process has condemned, and nobody else may use', async () => {
    await a.put(noise(20_000))
    await stopAfter('final')
    expect(await keysIn(shared.direct, 'blobs/')).to.have.length(2)
    await b.gc()
    expect(await keysIn(shared.direct, 'blobs/')).to.deep.equal([])
    expect(await keysIn(shared.direct, 'gc/')).to.include(epoch(1, 'done'))
  })

  it('does not finish an epoch of more than a week', async () => {
    await a.put(noise(20_000))
    await stopAfter('final')
    shared.now += 7 * DAY_MS
    await b.gc()
    expect(await keysIn(shared.direct, 'gc/')).not.to.include(epoch(1, 'done'))
    expect(await keysIn(shared.direct, 'blobs/'), 'a new epoch has deleted it').to.deep.equal([])
  })

  it('stops if it takes more than a week', async () => {
    await a.put(noise(20_000))
    const slow = shared.process(({ call, key }) => {
      if (call === 'put' && key === epoch(1, 'dead')) shared.now += 7 * DAY_MS
    })
    await withStore(slow.bucket, async store =>
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CHANGED' }))
    expect(await keysIn(shared.direct, 'blobs/')).to.have.length(2)
  })

  for (const name of ['dead', 'final']) {
    it(`lets condemned keys lie, and puts the blob under another one: ${name}`, async () => {
      await a.put(noise(20_000))
      await stopAfter(name)
      await withStore(shared.direct, async store => {
        expect(await store.put(noise(20_000), { tag: 'x' })).to.include({ isNew: true })
        expect(await store.put(noise(20_000), { tag: 'y' })).to.include({ isNew: false })
      })
      const keys = await keysIn(shared.direct, key)
      expect(keys.filter(key => key.endsWith('.obao4'))).to.have.length(2)
      expect(keys).to.have.length(4)
      await b.gc()
      expect(await keysIn(shared.direct, key)).to.have.length(name === 'dead' ? 4 : 2)
      await withStore(shared.direct, async store =>
        expect(same(await store.bytes(cidOf(noise(20_000))), noise(20_000))).to.equal(true))
    })
  }

  it('leaves the keys of what is deleted alone, also those of short blobs', async () => {
    const short = noise(100)
    for (let i = 0; i < 3; i++) {
      await a.put(short)
      const keys = await keysIn(shared.direct, 'blobs/')
      expect(keys).to.have.length(1)
      if (i > 0) expect(keys[0]).to.match(/\.[\da-f]{8}$/)
      await b.gc()
    }
  })

  it('makes those who have no bytes fail with STORE_CONDEMNED, and their tags are as before', async () => {
    await a.put(noise(20_000))
    await b.put(noise(100), { tag: 'x' })
    await stopAfter('dead')
    await withStore(shared.direct, async store => {
      expect(await errorOf(store.tags.set('x', cidOf(noise(20_000))))).to.include({ code: 'STORE_CONDEMNED' })
      expect(`${(await store.tags.get('x')).cid}`).to.equal(`${cidOf(noise(100))}`)
      expect(await store.has(cidOf(noise(20_000)))).to.equal(false)
    })
  })

  it('makes a tag that is set at the same moment be taken back by a void version', async () => {
    await a.put(noise(20_000))
    await b.put(noise(100), { tag: 'x' })
    let isStopped = false
    const tagging = shared.process(({ call, key }) => {
      // The second look: the blob was condemned since the first one.
      if (call === 'list' && key === 'gc/' && isStopped) condemn(shared, [keyOfBytes(noise(20_000))])
      if (call === 'put' && key.startsWith('tags/x/')) isStopped = true
    })
    await withStore(tagging.bucket, async store => {
      expect(await errorOf(store.tags.set('x', cidOf(noise(20_000))))).to.include({ code: 'STORE_CONDEMNED' })
      expect(`${(await store.tags.get('x')).cid}`).to.equal(`${cidOf(noise(100))}`)
    })
    const versions = [1, 3].map(n => `tags/x/${String(n).padStart(16, '0')}`)
    expect(await keysIn(shared.direct, 'tags/x/')).to.deep.equal(versions)
  })

  it('protects a member of a sequence that was tagged after the first look', async () => {
    const member = noise(20_000)
    const sequence = new Uint8Array(cidOf(member).multihash.digest)
    await a.put(member)
    let work
    const collecting = shared.process(({ call, key }) => {
      if (call === 'put' && key.endsWith('/dead')) work = b.put(sequence, { tag: 's', format: 'hashseq' })
      return undefined
    })
    await b.bytes(cidOf(member)) // Its local store has the bytes.
    await withStore(collecting.bucket, store => store.gc())
    await work
    await withStore(shared.direct, async store => {
      await store.gc()
      expect(same(await store.bytes(cidOf(member)), member)).to.equal(true)
    })
  })

  it('removes folders after 30 days, except the last one', async () => {
    for (let i = 0; i < 3; i++) {
      await a.put(noise(100, i + 1))
      await b.gc()
    }
    shared.now += 30 * DAY_MS
    await b.gc()
    expect(await keysIn(shared.direct, 'gc/')).to.have.length(12)
    shared.now += 1
    await a.gc()
    expect(await keysIn(shared.direct, 'gc/'))
      .to.deep.equal(['begin', 'dead', 'done', 'final'].map(name => epoch(3, name)))
    // The keys are ordinary ones again.
    await a.put(noise(100, 1))
    expect(await keysIn(shared.direct, 'blobs/')).to.deep.equal([keyOfBytes(noise(100, 1))])
    await b.gc()
    expect(await keysIn(shared.direct, 'gc/')).to.include(epoch(4, 'done'))
  })

  it('goes on with what was removed only in part', async () => {
    for (let i = 0; i < 2; i++) {
      await a.put(noise(100, i + 1))
      await a.gc()
    }
    shared.now += 31 * DAY_MS
    const ending = shared.process(({ call, key }) => call === 'delete' && key === epoch(1, 'dead') ? 'stop' : undefined)
    await withStore(ending.bucket, async store => expect(await errorOf(store.gc())).to.be.an('error'))
    const keys = await keysIn(shared.direct, 'gc/')
    expect(keys).to.include(epoch(1, 'dead'))
    expect(keys).not.to.include(epoch(1, 'begin'))
    await b.gc()
    expect(await keysIn(shared.direct, 'gc/')).to.have.length(4)
  })

  it('relies on nothing that was seen more than a week ago', async () => {
    const { cid } = await a.put(noise(20_000))
    shared.now += 8 * DAY_MS
    await withStore(shared.direct, store => store.gc())
    shared.now += 31 * DAY_MS
    await b.put(noise(1))
    await b.gc()
    await b.put(noise(2))
    await b.gc()
    expect(await keysIn(shared.direct, 'gc/')).not.to.include(epoch(1, 'begin'))
    // It still has the bytes, and puts them again.
    await a.tags.set('x', cid)
    await withStore(shared.direct, async store =>
      expect(same(await store.bytes(cid), noise(20_000))).to.equal(true))
  })

  it('reads no damaged list of condemned keys', async () => {
    await a.put(noise(20_000))
    await b.gc()
    const final = await textOf(shared.direct, epoch(1, 'final'))
    const lines = final.split('\n')
    const damaged = ['', final.slice(0, -1), final.slice(1), lines.slice(0, -2).join('\n'), `${lines[0]}\n`,
      final.replace(/blobs/, 'blubs'), `${final}x`, lines.slice(1).join('\n')]
    for (const text of damaged) {
      await shared.direct.put(epoch(1, 'final'), new TextEncoder().encode(text))
      await withStore(shared.direct, async store => {
        expect(await errorOf(store.put(noise(20_000))), JSON.stringify(text)).to.include({ code: 'BUCKET_INVALID' })
        expect(await errorOf(store.gc())).to.include({ code: 'BUCKET_INVALID' })
      })
    }
    expect(await keysIn(shared.direct, 'blobs/')).to.deep.equal([])
  })

  it('passes over what others have put there', async () => {
    const foreign = ['blobs/x', 'blobs/00/x', 'blobs/00/0', `refs/${'0'.repeat(2)}/${'0'.repeat(64)}.obao4`, 'gc/x',
      'gc/0000000000000001/x', 'tags/x', 'tags/%/1', 'tags/x/1', 'other/x']
    for (const key of foreign) await shared.direct.put(key, new Uint8Array(1))
    await a.put(noise(100))
    await a.put(noise(200), { tag: 'x' })
    expect((await b.gc()).blobs).to.equal(1)
    expect(await listed(b.list())).to.have.length(1)
    expect(await keysIn(shared.direct)).to.include.members(foreign)
  })

  it('leaves the bytes of a blob that is put again at the same time', async () => {
    const bytes = noise(20_000)
    await a.put(bytes)
    let collecting
    const putting = shared.process(({ call, key: asked }) => {
      // Between the local store and the upload, the same process deletes the blob.
      if (call === 'list' && asked === key && collecting === undefined) collecting = store.delete(cidOf(bytes))
    })
    const store = await openStore(putting.bucket)
    try {
      await store.put(bytes, { tag: 'x' })
      await collecting
    } finally {
      await store.close()
    }
    await withStore(shared.direct, async store => expect(same(await store.bytes(cidOf(bytes)), bytes)).to.equal(true))
  })

  it('lets an adopted object be adopted again, under another name', async () => {
    await shared.direct.put('videos/one', noise(20_000))
    const [{ cid }] = await listed(adopt(shared.direct))
    expect((await a.gc()).blobs).to.equal(1)
    expect(await keysIn(shared.direct, 'refs/')).to.deep.equal([])
    const [again] = await listed(adopt(shared.direct))
    expect(`${again.cid}`).to.equal(`${cid}`)
    expect((await listed(adopt(shared.direct))).map(({ isNew }) => isNew)).to.deep.equal([false])
    await b.tags.set('x', cid)
    await withStore(shared.direct, async store => {
      await store.gc()
      expect(same(await store.bytes(cid), noise(20_000))).to.equal(true)
    })
    expect(await keysIn(shared.direct, 'videos/')).to.deep.equal(['videos/one'])
  })

  it('tells of an object that is adopted while its blob is deleted', async () => {
    await shared.direct.put('videos/one', noise(20_000))
    const adopting = shared.process(({ call, key }) => {
      if (call === 'put' && key.startsWith('refs/')) condemn(shared, [key])
    })
    const [{ error }] = await listed(adopt(adopting.bucket))
    expect(error).to.include({ code: 'STORE_CONDEMNED' })
    expect(await listed(adopt(shared.direct))).to.have.nested.property('[0].isNew', true)
    expect(await keysIn(shared.direct, 'refs/')).to.have.length(2)
  })
})

/** Another process condemns keys. */
function condemn (shared, keys) {
  const lines = keys.map(key => `${key}\n`).join('')
  const sum = hex(cidOf(new TextEncoder().encode(lines)).multihash.digest)
  for (const [name, text] of [['begin', 'x'], ['dead', `${lines}${sum}\n`]]) {
    shared.direct.put(epoch(1, name), new TextEncoder().encode(text))
  }
}
