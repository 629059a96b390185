// What a store has of each blob of a collection, a manifest or another sequence of hashes.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { hash, toCid } from '../../../lib/index.js'
import { Manifest, memberStats, putCollection, putManifest } from '../../../exchange/collections/index.js'
import { concat } from '../../support/bytes.js'
import { errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { newStores, sliceOf } from '../../support/store/stores.js'

const [ONE, TWO, PART] = [noise(100, 1), noise(20_000, 2), noise(40_000, 3)]
const cidOf = bytes => `${toCid(hash(bytes))}`
const shown = members => members.map(({ cid, name, stat }) =>
  [name, `${cid}`, stat === undefined ? 'absent' : stat.complete ? stat.size : 'partial'])

describe('memberStats', () => {
  const newStore = newStores()
  async function filled () {
    const { store } = await newStore()
    await store.put(ONE)
    await store.receive(hash(PART), sliceOf(PART, { start: 0, end: 16_384 }), { start: 0, end: 16_384 })
    return store
  }
  const entries = [['a/one', hash(ONE)], ['a/two', hash(TWO)], ['part', hash(PART)], ['again', hash(ONE)]]
  const rows = [
    ['a/one', cidOf(ONE), 100], ['a/two', cidOf(TWO), 'absent'], ['part', cidOf(PART), 'partial'],
    ['again', cidOf(ONE), 100]
  ]

  it('gives the sequence, the names and the members of a collection', async () => {
    const store = await filled()
    const { cid } = await putCollection(store, entries)
    const meta = toCid((await store.bytes(cid)).subarray(0, 32))
    const { size } = await store.stat(meta)
    expect(shown(await listed(memberStats(store, cid)))).to.deep.equal([
      [undefined, cidOf(await store.bytes(cid)), 160], [undefined, `${meta}`, size], ...rows
    ])
  })

  it('gives members without names when the names are gone, and for other sequences', async () => {
    const store = await filled()
    const { cid } = await putCollection(store, entries)
    const sequence = await store.bytes(cid)
    await store.delete(sequence.subarray(0, 32))
    const unnamed = rows.map(([, ...rest]) => [undefined, ...rest])
    expect(shown(await listed(memberStats(store, cid)))).to.deep.equal([
      [undefined, cidOf(sequence), 160], [undefined, `${toCid(sequence.subarray(0, 32))}`, 'absent'], ...unnamed
    ])
    const plain = concat(entries.map(([, root]) => root))
    await store.put(plain)
    expect(shown(await listed(memberStats(store, hash(plain))))).to.deep.equal([
      [undefined, cidOf(plain), 128], ...unnamed
    ])
  })

  it('takes more members than one lookup has', async () => {
    const store = await filled()
    const roots = Array.from({ length: 3000 }, (_, i) => hash(noise(4, i)))
    const plain = concat(roots)
    await store.put(plain)
    const [, ...members] = await listed(memberStats(store, hash(plain)))
    expect(members.map(({ cid }) => `${cid}`)).to.deep.equal(roots.map(root => `${toCid(root)}`))
  })

  it('gives the resources of a manifest, by its own CID or that of its sequence', async () => {
    const store = await filled()
    const gone = CID.createV1(0x55, await sha256.digest(TWO))
    const resources = [['/', { src: toCid(hash(ONE)) }], ['/two', { src: toCid(hash(TWO)) }]]
    const { cid, sequence } = await putManifest(store, Manifest.from(resources))
    const files = [['index.html', cidOf(ONE), 100], ['two', cidOf(TWO), 'absent']]
    const [own, ...others] = shown(await listed(memberStats(store, cid)))
    expect(others).to.deep.equal(files)
    expect(shown(await listed(memberStats(store, sequence))).slice(1)).to.deep.equal([own, ...files])
    const foreign = await store.put(Manifest.from([['/gone', { src: gone }]]).toBytes())
    expect(shown(await listed(memberStats(store, foreign.cid))).slice(1)).to.deep.equal([['gone', `${gone}`, 'absent']])
  })

  it('gives only the blob itself when that is not whole', async () => {
    const store = await filled()
    expect(shown(await listed(memberStats(store, hash(TWO))))).to.deep.equal([[undefined, cidOf(TWO), 'absent']])
    expect(shown(await listed(memberStats(store, hash(PART))))).to.deep.equal([[undefined, cidOf(PART), 'partial']])
  })

  it('refuses blobs that are not a sequence, and wrong arguments', async () => {
    const store = await filled()
    expect((await errorOf(listed(memberStats(store, hash(ONE))))).code).to.equal('COLLECTION_INVALID')
    await store.put(new Uint8Array(0))
    expect((await errorOf(listed(memberStats(store, hash(new Uint8Array(0)))))).code).to.equal('COLLECTION_INVALID')
    expect(() => memberStats(store, 'x')).to.throw().with.property('code', 'CID_UNSUPPORTED')
    expect(() => memberStats(store, hash(ONE), { recursive: true })).to.throw(TypeError, 'recursive')
    expect(() => memberStats({}, hash(ONE))).to.throw(TypeError)
  })
})
