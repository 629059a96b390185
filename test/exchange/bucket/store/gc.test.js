// Garbage collection of a store in a bucket, with other processes that write, stop and go on.
import { expect } from 'chai'
import { adopt } from '../../../../exchange/bucket/index.js'
import { SharedBucket } from '../../../support/bucket/faulty.js'
import { hex, same } from '../../../support/bytes.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import {
  changedBucket, cidOf, keyOfBytes, keysIn, openStore, withBefore, withStore
} from '../../../support/bucket/stores.js'

const DAY_MS = 24 * 60 * 60 * 1000
const key = keyOfBytes(noise(20_000))
const ID = '0123456789abcdef'
const epoch = (number, name) => `gc/${String(number).padStart(16, '0')}.${ID}/${name}`
/** Replaces the random id in the key of an object of an epoch. */
const withKnownId = key => key.replace(/\.[\da-f]{16}\//, `.${ID}/`)
const epochKeysIn = async bucket => (await keysIn(bucket, 'gc/')).map(withKnownId)
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
      expect(await epochKeysIn(shared.direct)).to.deep.equal([])
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
    expect(await epochKeysIn(shared.direct)).to.include(epoch(1, 'done'))
  })

  it('does not finish an epoch of more than a week', async () => {
    await a.put(noise(20_000))
    await stopAfter('final')
    shared.now += 7 * DAY_MS
    await b.gc()
    expect(await epochKeysIn(shared.direct)).not.to.include(epoch(1, 'done'))
    expect(await keysIn(shared.direct, 'blobs/'), 'a new epoch has deleted it').to.deep.equal([])
  })

  it('gives up what another process has condemned a day ago, and has not deleted', async () => {
    const { cid } = await a.put(noise(20_000))
    await stopAfter('dead')
    const tagged = () => withStore(shared.direct, async store => {
      await store.gc()
      return errorOf(store.tags.set('x', cid))
    }, { untaggedTtl: 30 * DAY_MS })
    shared.now += DAY_MS - 1
    expect(await tagged()).to.include({ code: 'STORE_CONDEMNED' })
    shared.now += 1
    expect(await tagged()).to.equal(undefined)
    await b.gc()
    expect(same(await b.bytes(cid), noise(20_000))).to.equal(true)
  })

  it('deletes nothing if another process has given up its epoch', async () => {
    const { cid } = await a.put(noise(20_000))
    const slow = withBefore(shared.direct, key => key.endsWith('/final'), async () => {
      shared.now += DAY_MS
      await withStore(shared.direct, store => store.gc(), { untaggedTtl: 30 * DAY_MS })
      await b.tags.set('x', cid)
    })
    await withStore(slow, async store => expect(await errorOf(store.gc())).to.include({ code: 'STORE_CHANGED' }))
    expect(same(await b.bytes(cid), noise(20_000))).to.equal(true)
  })

  it('stops if it takes more than a week', async () => {
    await a.put(noise(20_000))
    const slow = shared.process(({ call, key }) => {
      if (call === 'put' && withKnownId(key) === epoch(1, 'dead')) shared.now += 7 * DAY_MS
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
      expect(await store.has(cidOf(noise(20_000))), 'it can be read until it is deleted').to.equal(true)
    })
    await stopAfter('final')
    await withStore(shared.direct, async store => {
      await store.put(noise(10)) // It looks at gc/.
      expect(await store.has(cidOf(noise(20_000)))).to.equal(false)
    })
  })

  it('hides no tag that was set just before a collector has condemned its blob and stopped', async () => {
    await a.put(noise(100), { tag: 'x' })
    await a.put(noise(20_000))
    const isDead = key => key.endsWith('/dead')
    const ending = shared.process(({ key }) => isDead(key) ? 'stopAfter' : undefined)
    const undeleting = shared.process(({ call }) => call === 'delete' ? 'refuse' : undefined)
    // The collector has looked at the tags. The version below the new one stays.
    const tagging = withBefore(ending.bucket, isDead, () =>
      withStore(undeleting.bucket, store => store.tags.set('x', cidOf(noise(20_000)))))
    await withStore(tagging, async store => expect(await errorOf(store.gc())).to.be.an('error'))
    expect(await keysIn(shared.direct, 'tags/x/')).to.have.length(2)
    await withStore(shared.direct, async store => {
      await store.gc() // It looks at gc/.
      expect(`${(await store.tags.get('x')).cid}`).to.equal(`${cidOf(noise(20_000))}`)
      expect(await store.has(cidOf(noise(20_000)))).to.equal(true)
      expect((await store.stat(cidOf(noise(20_000)))).complete).to.equal(true)
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

  it('removes folders after 30 days', async () => {
    for (let i = 0; i < 3; i++) {
      await a.put(noise(100, i + 1))
      await b.gc()
    }
    shared.now += 30 * DAY_MS
    await b.gc()
    expect(await epochKeysIn(shared.direct)).to.have.length(12)
    shared.now += 1
    await a.gc()
    expect(await epochKeysIn(shared.direct)).to.deep.equal([])
    // The keys are ordinary ones again.
    await a.put(noise(100, 1))
    expect(await keysIn(shared.direct, 'blobs/')).to.deep.equal([keyOfBytes(noise(100, 1))])
    await b.gc()
    expect(await epochKeysIn(shared.direct)).to.include(epoch(1, 'done'))
  })

  it('keeps an epoch of which a list does not show `begin`, because it was created during the list', async () => {
    const { cid } = await a.put(noise(100))
    let isTried = false
    const deleting = withBefore(shared.direct, key => key.endsWith('/final'), async () => {
      const list = async function * (...args) {
        for await (const object of shared.direct.list(...args)) if (!object.key.endsWith('/begin')) yield object
      }
      await withStore(changedBucket(shared.direct, { list }), store => store.gc())
      expect(await epochKeysIn(shared.direct)).to.include(epoch(1, 'dead'))
      isTried = true
    })
    await withStore(deleting, store => store.delete(cid))
    expect(isTried).to.equal(true)
  })

  it('condemns nothing by a list without `begin`, which a late request has created in a removed folder', async () => {
    const { cid } = await a.put(noise(100))
    await stopAfter('/dead')
    for (const key of await keysIn(shared.direct, 'gc/')) if (key.endsWith('/begin')) await shared.direct.delete(key)
    expect(await epochKeysIn(shared.direct)).to.deep.equal([epoch(1, 'dead')])
    await withStore(shared.direct, async store => {
      await store.tags.set('a', cid)
      await store.gc()
      expect((await store.tags.get('a')).cid.toString()).to.equal(cid.toString())
      expect(await store.has(cid)).to.equal(true)
    })
    expect(await keysIn(shared.direct, 'blobs/')).to.deep.equal([keyOfBytes(noise(100))])
  })

  it('of many CIDs, one of them tagged and twice among them, deletes only those before it', async () => {
    const [before, between, tagged] = [1, 2, 3].map(seed => noise(100, seed))
    for (const bytes of [before, between]) await a.put(bytes)
    await a.put(tagged, { tag: 'a' })
    const cids = [before, tagged, between, tagged].map(cidOf)
    expect(await errorOf(a.deleteMany(cids))).to.include({ code: 'STORE_TAGGED', tag: 'a' })
    for (const [bytes, isThere] of [[before, false], [between, true], [tagged, true]]) {
      expect(await b.has(cidOf(bytes))).to.equal(isThere)
    }
  })

  it('deletes outboards last: a blob that is deleted only in part is no damaged one', async () => {
    const { cid } = await a.put(noise(20_000))
    for (const left of [key, `${key}.obao4`]) {
      const failing = shared.process(({ call, key }) => call === 'delete' && key === left ? 'refuse' : undefined)
      await withStore(failing.bucket, async store =>
        expect(await errorOf(left === key ? store.delete(cid) : store.gc())).to.include({ code: 'BUCKET_FAILED' }))
      await withStore(shared.direct, async store => {
        const isWhole = left === key
        expect(await store.fsck()).to.include({ isSound: true, blobs: isWhole ? 1 : 0 })
        const read = await store.bytes(cid).catch(({ code }) => code)
        expect(isWhole ? same(read, noise(20_000)) : read).to.equal(isWhole || 'STORE_NOT_FOUND')
      })
    }
    await a.gc()
    expect(await keysIn(shared.direct, 'blobs/')).to.deep.equal([])
  })

  it('goes on with what was removed only in part', async () => {
    for (let i = 0; i < 2; i++) {
      await a.put(noise(100, i + 1))
      await a.gc()
    }
    shared.now += 31 * DAY_MS
    const ending = shared.process(({ call, key }) =>
      call === 'delete' && withKnownId(key) === epoch(1, 'dead') ? 'stop' : undefined)
    await withStore(ending.bucket, async store => expect(await errorOf(store.gc())).to.be.an('error'))
    const keys = await epochKeysIn(shared.direct)
    expect(keys).to.include(epoch(1, 'dead'))
    expect(keys).not.to.include(epoch(1, 'begin'))
    await b.gc()
    expect(await epochKeysIn(shared.direct)).to.deep.equal([])
  })

  describe('many epochs', () => {
    const folders = async () => new Set((await keysIn(shared.direct, 'gc/')).map(key => key.split('/')[1]))
    /** Puts and deletes blobs one by one. */
    const deleteMany = async (from, to) => {
      for (let i = from; i < to; i++) await a.delete((await a.put(noise(60, i))).cid)
    }
    const isFree = async i => {
      await withStore(shared.direct, store => store.put(noise(60, i)))
      const keys = await keysIn(shared.direct, keyOfBytes(noise(60, i)))
      expect(keys).to.have.length(1)
      return keys[0] === keyOfBytes(noise(60, i))
    }

    it('are merged, and condemn the same keys', async () => {
      await deleteMany(0, 32)
      expect(await folders()).to.have.length(32)
      await deleteMany(32, 33)
      expect(await folders(), 'one for 32, one for the last').to.have.length(2)
      for (const i of [0, 17, 31, 32]) expect(await isFree(i), `${i}`).to.equal(false)
      await deleteMany(33, 100)
      expect((await folders()).size).to.be.at.most(33)
      for (const i of [1, 33, 99]) expect(await isFree(i), `${i}`).to.equal(false)
      shared.now += 30 * DAY_MS + 1
      await a.gc()
      expect(await folders(), 'that of this call').to.have.length(1)
      expect(await isFree(2)).to.equal(true)
    })

    for (const [call, name, most] of [
      ['put', 'begin', 5], ['put', 'final', 5], ['put', 'done', 5],
      ['delete', 'begin', 34], ['delete', 'dead', 34], ['delete', 'final', 34]
    ]) {
      it(`stay condemned when a process stops while it merges: ${call} ${name}`, async () => {
        await deleteMany(0, 32)
        const { cid } = await a.put(noise(60, 99))
        const ending = shared.process(request =>
          request.call === call && request.key.endsWith(`/${name}`) ? 'stopAfter' : undefined)
        await withStore(ending.bucket, async store => expect(await errorOf(store.delete(cid))).to.be.an('error'))
        for (const i of [0, 31]) expect(await isFree(i), `${i}`).to.equal(false)
        await b.gc()
        await deleteMany(32, 33)
        expect((await folders()).size).to.be.at.most(most)
        for (const i of [1, 30, 32]) expect(await isFree(i), `${i}`).to.equal(false)
      })
    }

    it('are not merged after a week, when their keys may be forgotten', async () => {
      await deleteMany(0, 32)
      shared.now += 7 * DAY_MS
      await deleteMany(32, 34)
      expect(await folders()).to.have.length(34)
    })

    it('are not merged by a process that sleeps for a week while it does so', async () => {
      await deleteMany(0, 32)
      const { cid } = await a.put(noise(60, 99))
      const slow = shared.process(({ call, key }) => {
        if (call === 'put' && key.endsWith('/begin')) shared.now += 7 * DAY_MS
      })
      await withStore(slow.bucket, async store =>
        expect(await errorOf(store.delete(cid))).to.include({ code: 'STORE_CHANGED' }))
      expect((await keysIn(shared.direct, 'gc/')).filter(key => key.endsWith('/final'))).to.have.length(32)
      expect(await isFree(0)).to.equal(false)
    })

    it('are not merged if they were given up, because a late `final` would have other keys', async () => {
      await a.put(noise(60, 99))
      let isFirst = true
      const failing = shared.process(({ key }) => {
        if (!isFirst || !key.endsWith('/final')) return
        isFirst = false
        return 'late'
      })
      await withStore(failing.bucket, async store =>
        expect(await errorOf(store.gc())).to.include({ code: 'BUCKET_UNKNOWN' }))
      const [givenUp] = await folders()
      await b.delete(cidOf(noise(60, 99)))
      await b.gc() // It finishes what was given up.
      await deleteMany(0, 32)
      expect([...await folders()], 'beside the merged one and the last').to.have.length(3).and.to.include(givenUp)
    })

    it('are merged by several at the same time', async () => {
      await deleteMany(0, 40)
      const stores = await Promise.all([1, 2, 3].map(() => openStore(shared.direct)))
      const cids = await Promise.all(stores.map(async (store, i) => (await store.put(noise(70, i))).cid))
      await Promise.all(stores.map((store, i) => store.delete(cids[i])))
      await Promise.all(stores.map(store => store.close()))
      expect((await folders()).size).to.be.at.most(20)
      for (const i of [0, 20, 39]) expect(await isFree(i), `${i}`).to.equal(false)
    })
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
    expect(await epochKeysIn(shared.direct)).not.to.include(epoch(1, 'begin'))
    // It still has the bytes, and puts them again.
    await a.tags.set('x', cid)
    await withStore(shared.direct, async store =>
      expect(same(await store.bytes(cid), noise(20_000))).to.equal(true))
  })

  it('reads no damaged list of condemned keys', async () => {
    await a.put(noise(20_000))
    await b.gc()
    const place = (await keysIn(shared.direct, 'gc/')).find(key => key.endsWith('/final'))
    const final = await textOf(shared.direct, place)
    const lines = final.split('\n')
    const damaged = ['', final.slice(0, -1), final.slice(1), lines.slice(0, -2).join('\n'), `${lines[0]}\n`,
      final.replace(/blobs/, 'blubs'), `${final}x`, lines.slice(1).join('\n')]
    for (const text of damaged) {
      await shared.direct.put(place, new TextEncoder().encode(text))
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
    // The same process deletes the blob after the put has found it.
    const isTag = key => key.startsWith('tags/')
    const bucket = withBefore(shared.direct, isTag, () => store.delete(cidOf(bytes), { force: true }))
    const store = await openStore(bucket)
    try {
      expect(await store.put(bytes, { tag: 'x' })).to.include({ isNew: true })
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
