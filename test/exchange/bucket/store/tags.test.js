// Tags and aliases of a store in a bucket, as several processes see them.
import { expect } from 'chai'
import { sha256 } from 'multiformats/hashes/sha2'
import { CID } from 'multiformats/cid'
import { BaoError } from '../../../../lib/index.js'
import { SharedBucket } from '../../../support/bucket/faulty.js'
import { same } from '../../../support/bytes.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import {
  changedBucket, cidOf, keyOfBytes, keysIn, openStore, withBefore, withStore
} from '../../../support/bucket/stores.js'

const DAY_MS = 24 * 60 * 60 * 1000
const aliasOf = async bytes => CID.createV1(0x55, await sha256.digest(bytes))
const sequenceOf = (...members) => {
  const bytes = new Uint8Array(32 * members.length)
  for (const [i, member] of members.entries()) bytes.set(cidOf(member).multihash.digest, 32 * i)
  return bytes
}
const version = (name, number) => `tags/${name}/${String(number).padStart(16, '0')}`

describe('bucket store: tags', () => {
  let shared, a, b
  beforeEach(async () => {
    shared = new SharedBucket()
    ;[a, b] = [await openStore(shared.direct), await openStore(shared.direct)]
  })
  afterEach(async () => {
    await a.close()
    await b.close()
  })

  it('are seen by other processes, with all that they say', async () => {
    const expires = new Date(shared.now + DAY_MS)
    const { cid } = await a.put(noise(100), { tag: 'x/y z\u00e4%', meta: { n: [1, new Uint8Array(2)] }, expires })
    const tag = await b.tags.get('x/y z\u00e4%')
    expect(tag).to.deep.include({ meta: { n: [1, new Uint8Array(2)] }, format: 'raw' })
    expect(tag.expires.getTime()).to.equal(expires.getTime())
    expect(`${tag.cid}`).to.equal(`${cid}`)
    await b.tags.delete('x/y z\u00e4%')
    expect(await a.tags.get('x/y z\u00e4%')).to.equal(undefined)
    expect(await b.tags.delete('x/y z\u00e4%')).to.equal(false)
  })

  it('are listed in the order of their names, whatever their keys look like', async () => {
    const names = ['.', '..', 'a', 'a b', 'a!', 'a/b', 'a0', '\u00e4', '\uffee', '\u{1f600}']
    for (const name of names) await a.tags.set(name, cidOf(noise(1)))
    const namesIn = async options => (await listed(b.tags.list(options))).map(({ name }) => name)
    expect(await namesIn({})).to.deep.equal(names)
    expect(await namesIn({ prefix: 'a' })).to.deep.equal(['a', 'a b', 'a!', 'a/b', 'a0'])
    expect(await namesIn({ after: 'a0' })).to.deep.equal(['\u00e4', '\uffee', '\u{1f600}'])
    expect(await namesIn({ prefix: '.' })).to.deep.equal(['.', '..'])
  })

  it('are not lost if somebody has used the highest number', async () => {
    await a.tags.set('tag', cidOf(noise(100)))
    await shared.direct.put(version('tag', '9'.repeat(16)), new TextEncoder().encode('{"void":true}'))
    expect(await errorOf(a.tags.set('tag', cidOf(noise(200))))).to.include({ code: 'BUCKET_INVALID' })
    expect(`${(await b.tags.get('tag')).cid}`).to.equal(`${cidOf(noise(100))}`)
  })

  it('are added once, by one of many processes', async () => {
    const added = await Promise.all([a, b, a, b].map((store, i) => store.tags.add('one', cidOf(noise(i + 1)))))
    expect(added.filter(isNew => isNew)).to.have.length(1)
    expect(await a.tags.add('one', cidOf(noise(9)))).to.equal(false)
  })

  it('of which one is set by many processes at the same time have one value, and one version in the end', async () => {
    await a.put(noise(1))
    await Promise.all(Array.from({ length: 8 }, (_, i) => [a, b][i % 2].tags.set('many', cidOf(noise(i + 1)))))
    const [x, y] = [await a.tags.get('many'), await b.tags.get('many')]
    expect(`${x.cid}`).to.equal(`${y.cid}`)
    await a.tags.set('many', cidOf(noise(1)))
    expect(await keysIn(shared.direct, 'tags/many/')).to.have.length(1)
  })

  it('are written again if their version was overtaken while it was gone', async () => {
    const set = number => b.tags.set('x', cidOf(noise(number)))
    await set(1)
    // Version 2 comes and goes before this process creates it.
    const bucket = withBefore(shared.direct, key => key === version('x', 2), async () => {
      await set(2)
      await set(3)
    })
    await withStore(bucket, store => store.tags.set('x', cidOf(noise(4))))
    expect(`${(await a.tags.get('x')).cid}`).to.equal(`${cidOf(noise(4))}`)
    expect(await keysIn(shared.direct, 'tags/x/')).to.deep.equal([version('x', 4)])
  })

  it('are read again if a version goes while it is read', async () => {
    await a.put(noise(100), { tag: 'x' })
    const { direct } = shared
    const get = async (key, ...rest) => {
      const object = await direct.get(key, ...rest)
      if (object === undefined || key !== version('x', 1)) return object
      const body = async function * () {
        yield new Uint8Array(1)
        await b.tags.set('x', cidOf(noise(2)))
        throw new BaoError('FETCH_CHANGED', 'the object has changed', { location: key })
      }
      return { ...object, body: body() }
    }
    const changing = new Proxy(direct, { get: (target, name) => name === 'get' ? get : target[name] })
    await withStore(changing, async store =>
      expect(`${(await store.tags.get('x')).cid}`).to.equal(`${cidOf(noise(2))}`))
  })

  it('keep their highest version when they are deleted, so that no number is used twice', async () => {
    await a.tags.set('x', cidOf(noise(1)))
    await a.tags.delete('x')
    expect(await keysIn(shared.direct, 'tags/')).to.deep.equal([version('x', 2)])
    await b.tags.set('x', cidOf(noise(2)))
    expect(await keysIn(shared.direct, 'tags/')).to.deep.equal([version('x', 3)])
  })

  it('expire by the clock of the bucket, whatever that of the process says', async () => {
    shared.now = Date.now() - 400 * DAY_MS
    const { cid } = await a.put(noise(100), { tag: 'x', ttl: DAY_MS })
    expect((await b.tags.get('x')).expires.getTime()).to.equal(shared.now + DAY_MS)
    await b.gc()
    expect(await withStore(shared.direct, store => store.bytes(cid))).to.have.length(100)
    shared.now += DAY_MS
    expect(await b.tags.get('x')).to.equal(undefined)
    expect(await listed(b.tags.list())).to.deep.equal([])
    expect((await b.gc()).blobs).to.equal(1)
  })

  it('that are weak protect nothing, and go with their blob', async () => {
    const { cid } = await a.put(noise(100), { tag: 'weak', weak: true })
    expect(`${(await b.tags.get('weak')).cid}`).to.equal(`${cid}`)
    expect((await b.gc()).blobs).to.equal(1)
    expect(await b.tags.get('weak')).to.equal(undefined)
  })

  it('that are damaged are reported after all others, protect by stopping gc, and can be set again', async () => {
    await a.put(noise(100), { tag: 'a' })
    await a.put(noise(200), { tag: 'b' })
    await a.put(noise(300), { tag: 'c' })
    for (const [name, text] of [['a', '{'], ['c', '{"cid":"nonsense"}']]) {
      const [key] = await keysIn(shared.direct, `tags/${name}/`)
      await shared.direct.put(key, new TextEncoder().encode(text))
    }
    await withStore(shared.direct, async store => {
      expect(await errorOf(store.tags.get('a'))).to.include({ code: 'STORE_CORRUPT', tag: 'a' })
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
      const names = []
      const error = await errorOf((async () => { for await (const { name } of store.tags.list()) names.push(name) })())
      expect(error).to.include({ code: 'STORE_CORRUPT', tag: 'a' })
      expect(names).to.deep.equal(['b'])
      const { isSound, tags } = await store.fsck()
      expect(isSound).to.equal(false)
      expect(tags.map(({ name }) => name)).to.deep.equal(['a', 'c'])
      await store.tags.set('a', cidOf(noise(100)))
      await store.tags.delete('c')
      expect((await store.gc()).blobs).to.equal(1)
    })
  })

  it('are passed over if their blob is gone and they were never acknowledged', async () => {
    await a.put(noise(100), { tag: 'x' })
    const ending = shared.process(({ call, key }) => call === 'delete' && key === version('x', 1) ? 'stop' : undefined)
    await withStore(ending.bucket, store => store.put(noise(200), { tag: 'x' }))
    expect(await keysIn(shared.direct, 'tags/x/')).to.have.length(2)
    await shared.direct.delete(keyOfBytes(noise(200)))
    await withStore(shared.direct, async store =>
      expect(`${(await store.tags.get('x')).cid}`).to.equal(`${cidOf(noise(100))}`))
  })

  it('on a sequence that is not there are not passed over, even if members are there', async () => {
    const [member, other] = [noise(100, 1), noise(20_000, 2)]
    const sequence = sequenceOf(...Array.from({ length: 600 }, () => member))
    await a.put(member)
    await a.put(other, { tag: 'x' })
    // A part of the sequence is in the local store.
    const whole = await openStore(new SharedBucket().direct)
    await whole.put(sequence)
    const part = { start: 0, end: 16_384 }
    await a.receive(cidOf(sequence), whole.slice(cidOf(sequence), part), part)
    await whole.close()
    await a.tags.set('x', cidOf(sequence), { format: 'hashseq' })
    const [key] = await keysIn(shared.direct, 'tags/x/')
    const { body } = await shared.direct.get(key)
    let text = ''
    for await (const piece of body) text += new TextDecoder().decode(piece)
    expect(JSON.parse(text)).to.include({ isThere: false })
  })

  it('of a process that was killed leave nothing behind when they are deleted again', async () => {
    await a.put(noise(100), { tag: 'x' })
    const ending = shared.process(({ call, key }) => call === 'delete' && key.startsWith('tags/') ? 'stop' : undefined)
    await withStore(ending.bucket, store => store.tags.delete('x'))
    expect(await keysIn(shared.direct, 'tags/x/')).to.have.length(2)
    expect((await b.gc()).blobs, 'the version below protects its blob').to.equal(0)
    expect(await b.tags.delete('x')).to.equal(false)
    expect(await keysIn(shared.direct, 'tags/x/')).to.have.length(1)
    expect((await b.gc()).blobs).to.equal(1)
  })

  it('are as they were if the call fails after it has written a version', async () => {
    await a.put(noise(100), { tag: 'x' })
    let lists = 0
    const failing = shared.process(({ call, key }) =>
      call === 'list' && key === 'tags/x/' && ++lists === 2 ? 'refuse' : undefined)
    await withStore(failing.bucket, async store =>
      expect(await errorOf(store.put(noise(200), { tag: 'x' }))).to.include({ code: 'BUCKET_FAILED' }))
    expect(`${(await b.tags.get('x')).cid}`).to.equal(`${cidOf(noise(100))}`)
  })

  it('are taken back in the end if lists hide what is there', async () => {
    const { direct } = shared
    const hidden = 'tags/x/0000000000000002'
    await direct.put(hidden, new Uint8Array(0))
    let hasFailed = false
    const list = async function * (prefix, ...rest) {
      if (prefix === 'gc/' && (await keysIn(direct, 'tags/x/')).length > 1) {
        hasFailed = true
        throw new BaoError('BUCKET_FAILED', 'no answer', { location: 'memory' })
      }
      for await (const object of direct.list(prefix, ...rest)) if (object.key !== hidden) yield object
    }
    await withStore(changedBucket(direct, { list }), async store =>
      expect(await errorOf(store.put(noise(100), { tag: 'x' }))).to.include({ code: 'BUCKET_FAILED' }))
    expect(hasFailed).to.equal(true)
    expect(await keysIn(direct, 'tags/x/')).to.deep.equal([hidden])
  })

  it('are read where lists and reads disagree, or the tag is called damaged', async () => {
    await a.put(noise(100), { tag: 'x' })
    const { direct } = shared
    const get = async (key, ...rest) => key.startsWith('tags/') ? undefined : direct.get(key, ...rest)
    const stale = new Proxy(direct, { get: (target, name) => name === 'get' ? get : target[name] })
    await withStore(stale, async store =>
      expect(await errorOf(store.tags.get('x'))).to.include({ code: 'STORE_CORRUPT', tag: 'x' }))
  })

  it('by an alias protect what it leads to', async () => {
    const alias = await aliasOf(noise(100))
    await a.tags.set('x', alias)
    await a.put(noise(100), { alias })
    expect((await b.gc()).blobs).to.equal(0)
    expect(`${(await b.tags.get('x')).cid}`).to.equal(`${alias}`)
    // Another version below, which a process has left.
    const ending = shared.process(({ call, key }) => call === 'delete' && key.startsWith('tags/') ? 'stop' : undefined)
    await withStore(ending.bucket, store => store.tags.set('x', alias))
    expect(await keysIn(shared.direct, 'tags/x/')).to.have.length(2)
    expect(`${(await b.tags.get('x')).cid}`).to.equal(`${alias}`)
    await a.put(noise(300))
    await b.tags.set('x', cidOf(noise(300)))
    expect((await b.gc()).blobs).to.equal(1)
  })
})

describe('bucket store: aliases', () => {
  let shared, a, b
  beforeEach(async () => {
    shared = new SharedBucket()
    ;[a, b] = [await openStore(shared.direct), await openStore(shared.direct)]
  })
  afterEach(async () => {
    await a.close()
    await b.close()
  })

  it('lead other processes to the blob, until they are deleted', async () => {
    const [alias, other] = [await aliasOf(noise(100)), await aliasOf(noise(200))]
    const { cid } = await a.put(noise(100), { alias })
    await b.aliases.add(cid, other)
    expect((await a.aliases.resolveMany([alias, other])).map(String)).to.deep.equal([`${cid}`, `${cid}`])
    expect((await b.aliases.of(cid)).map(String).sort()).to.deep.equal([`${alias}`, `${other}`].sort())
    expect(await b.aliases.delete(alias)).to.equal(true)
    expect(await a.aliases.resolve(alias)).to.equal(undefined)
    expect(await a.aliases.delete(alias)).to.equal(false)
    await a.put(noise(100), { alias })
    expect(`${await b.aliases.resolve(alias)}`).to.equal(`${cid}`)
    expect(same(await b.bytes(await b.resolve(alias)), noise(100))).to.equal(true)
  })

  it('are added and deleted by many at the same time without a fault', async () => {
    const alias = await aliasOf(noise(100))
    await a.put(noise(100))
    await Promise.all(Array.from({ length: 20 }, (_, i) => [a, b][i % 2].aliases[i % 3 === 0 ? 'delete' : 'add'](
      ...i % 3 === 0 ? [alias] : [cidOf(noise(100)), alias])))
    await b.aliases.add(cidOf(noise(100)), alias)
    expect(`${await a.aliases.resolve(alias)}`).to.equal(`${cidOf(noise(100))}`)
  })

  it('ignore what is no alias', async () => {
    const { cid } = await a.put(noise(100))
    const leadsTo = `0000000000000001-${keyOfBytes(noise(100)).split('/').pop()}`
    // The last two are the BLAKE3 hash of another blob, and bytes themselves.
    const folders = ['1220', `1e20${'a'.repeat(64)}`, '0002abcd']
    for (const key of [...folders.map(folder => `${folder}/${leadsTo}`), '12/0000000000000001-deleted', 'zz/1']) {
      await shared.direct.put(`aliases/${key}`, new Uint8Array(0))
    }
    expect(await listed(a.aliases.list())).to.deep.equal([])
    expect(await a.aliases.of(cid)).to.deep.equal([])
  })
})
