// Processes that use a store in a bucket and end at any request: another process goes on, nothing that is tagged is
// lost, and garbage goes in the end.
import { expect } from 'chai'
import { SharedBucket } from '../../../support/bucket/faulty.js'
import { waysInTurn } from '../../../support/effort.js'
import { errorOf } from '../../../support/feeding.js'
import { same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { cidOf, keysIn, withStore } from '../../../support/bucket/stores.js'

/** Contents: `kept` has a tag, and `old` was left without one. */
const [kept, old, fresh] = [noise(40_000, 1), noise(30_000, 2), noise(20_000, 3)]
const members = [noise(100, 4), noise(200, 5)]
const sequence = new Uint8Array(64)
for (const [i, member] of members.entries()) sequence.set(cidOf(member).multihash.digest, 32 * i)

/** What a process does when it ends. */
const WORKS = {
  gc: store => store.gc(),
  'delete of a blob without a tag': store => store.delete(cidOf(old)),
  'put of a blob with a tag': store => store.put(fresh, { tag: 'fresh' }),
  'put of a blob that will be deleted': store => store.put(old, { tag: 'fresh' }),
  'setting of a tag again': async store => {
    await store.put(fresh)
    await store.tags.set('a', cidOf(fresh))
  },
  'deletion of a tag': store => store.tags.delete('b'),
  'renaming of a tag': store => store.tags.rename('b', 'c'),
  'put of a sequence': async store => {
    for (const member of members) await store.put(member)
    await store.put(sequence, { tag: 'fresh', format: 'hashseq' })
  }
}

const faultsInTurn = waysInTurn()

describe('bucket store: a process that ends at any request', () => {
  for (const [name, work] of Object.entries(WORKS)) {
    for (const fault of faultsInTurn(['stop', 'stopAfter', 'lose', 'late'])) {
      it(`${name}: ${fault}`, async () => {
        let requests = Infinity
        for (let at = 1; at <= requests; at++) {
          const shared = await filled()
          const ending = shared.process(({ number }) => number === at ? fault : undefined)
          const error = await withStore(ending.bucket, store => errorOf(work(store)))
          if (requests === Infinity && ending.count() < at) requests = at
          const isDone = error === undefined
          await expectRight(shared, { name, isDone, at })
          await shared.settle()
          await expectRight(shared, { name, isDone, at })
          await expectNoGarbage(shared, at)
        }
        expect(requests).to.be.above(1)
      })
    }
  }
})

async function filled () {
  const shared = new SharedBucket()
  await withStore(shared.direct, async store => {
    await store.put(kept, { tag: 'a' })
    await store.put(kept, { tag: 'b' })
    await store.put(old)
  })
  return shared
}

/** Everything that was acknowledged is there, for a process that has nothing in its local store. */
async function expectRight (shared, { name, isDone, at }) {
  const text = `request ${at}`
  await withStore(shared.direct, async store => {
    const a = await store.tags.get('a')
    const isSet = name === 'setting of a tag again'
    const possible = [...isSet ? [fresh] : [], ...isSet && isDone ? [] : [kept]]
    const content = possible.find(bytes => same(cidOf(bytes).multihash.digest, a.cid.multihash.digest))
    expect(content, text).not.to.equal(undefined)
    expect(same(await store.bytes(a.cid), content), text).to.equal(true)
    const [b, c] = [await store.tags.get('b'), await store.tags.get('c')]
    if (!/tion of a tag/.test(name)) expect(b ?? c, text).not.to.equal(undefined)
    for (const tag of [b, c]) if (tag) expect(same(await store.bytes(tag.cid), kept), text).to.equal(true)
    const put = await store.tags.get('fresh')
    if (isDone && name.startsWith('put')) expect(put, text).not.to.equal(undefined)
    if (isDone && put !== undefined) await store.bytes(put.cid)
    if (isDone && put?.format === 'hashseq') for (const member of members) await store.bytes(cidOf(member))
  })
}

async function expectNoGarbage (shared, at) {
  await withStore(shared.direct, async store => {
    for (const name of ['a', 'b', 'c', 'fresh']) await store.tags.delete(name)
    await store.gc()
    await store.gc()
  })
  expect(await keysIn(shared.direct, 'blobs/'), `request ${at}`).to.deep.equal([])
}
