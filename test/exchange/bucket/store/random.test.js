// Random calls of two processes with stores in one bucket, while requests fail, repeat, lose answers or come late.
import { expect } from 'chai'
import fc from 'fast-check'
import { Random } from '../../../fuzz/random.js'
import { Ledger } from '../../../support/bucket/ledger.js'
import { SharedBucket } from '../../../support/bucket/faulty.js'
import { cidOf, keysIn, openStore, withStore } from '../../../support/bucket/stores.js'
import { hex, same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { holds } from '../../../support/property.js'

const CONTENTS = [noise(10, 1), noise(20_000, 2), noise(40_000, 3), noise(16_384, 4)]
const MEMBERS = [noise(100, 5), noise(17_000, 6)]
const SEQUENCE = new Uint8Array(64)
for (const [i, member] of MEMBERS.entries()) SEQUENCE.set(cidOf(member).multihash.digest, 32 * i)
const hexOf = bytes => hex(cidOf(bytes).multihash.digest)
const EXPECTED = ['BUCKET_FAILED', 'BUCKET_UNKNOWN', 'STORE_CONDEMNED', 'STORE_TAGGED', 'STORE_NOT_FOUND',
  'STORE_MISSING', 'FETCH_EXHAUSTED']

const CALLS = {
  put: (store, { name, content }) => store.put(CONTENTS[content], { tag: name }),
  async putThenTag (store, { name, content }) {
    await store.put(CONTENTS[content])
    await store.tags.set(name, cidOf(CONTENTS[content]))
  },
  async tag (store, { name, content }) {
    await store.tags.set(name, cidOf(CONTENTS[content]))
    return { isPromised: await store.has(cidOf(CONTENTS[content])) }
  },
  async putSequence (store, { name }) {
    // A collector may delete members that have no tag yet. Then they are put again from the local store.
    const hold = store.tempTag()
    for (const member of MEMBERS) await store.put(member, { tag: hold })
    await store.put(SEQUENCE, { tag: name, format: 'hashseq' })
    hold.release()
  },
  untag: (store, { name }) => store.tags.delete(name),
  delete: (store, { content }) => store.delete(cidOf(CONTENTS[content])),
  gc: store => store.gc(),
  async read (store, { content }) {
    const bytes = await store.bytes(cidOf(CONTENTS[content]))
    if (!same(bytes, CONTENTS[content])) throw new Error('wrong bytes')
  }
}
/** The value that a call gives a tag; null for a call that changes none. */
const valueAfter = ({ call, content }) => call === 'putSequence'
  ? hexOf(SEQUENCE)
  : call === 'untag' ? undefined : call.startsWith('put') || call === 'tag' ? hexOf(CONTENTS[content]) : null

const step = fc.record({
  call: fc.constantFrom(...Object.keys(CALLS), 'put', 'tag', 'gc'),
  process: fc.nat(1),
  name: fc.constantFrom('a', 'b'),
  content: fc.nat(CONTENTS.length - 1)
})

describe('bucket store: random calls of two processes', () => {
  for (const isFaulty of [false, true]) {
    it(`keep the promise to tags${isFaulty ? ', when requests fail' : ''}`, () => holds(
      `bucket store${isFaulty ? ', faulty' : ''}`,
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), fc.nat(), (steps, seed) =>
        run(steps, { seed, isFaulty })), 150))
  }
})

async function run (steps, { seed, isFaulty }) {
  const random = new Random(seed)
  const shared = new SharedBucket()
  await withStore(shared.direct, store => store.put(noise(1)))
  const ledger = new Ledger()
  const faultFor = () => isFaulty && random.chance(0.04) ? random.pick(['refuse', 'lose', 'again', 'late']) : undefined
  const processes = [0, 1].map(() => shared.process(faultFor, () => random.below(4)).bucket)
  const stores = await Promise.all(processes.map(bucket => openStore(bucket)))
  const left = [...steps]
  const work = async () => {
    for (let next; (next = left.shift()) !== undefined;) {
      const value = valueAfter(next)
      const change = value === null ? undefined : ledger.begin(next.name, value, next.call)
      try {
        const result = await CALLS[next.call](stores[next.process], next)
        if (change) ledger.acknowledge(change, result?.isPromised === false ? { isPromised: false } : {})
      } catch (error) {
        if (!EXPECTED.includes(error.code)) throw error
        if (change) ledger.giveUp(change)
      }
      if (random.chance(0.2)) await shared.settle()
    }
  }
  try {
    await Promise.all([work(), work(), work()])
    await shared.settle()
  } finally {
    for (const store of stores) await store.close()
  }
  await withStore(shared.direct, async store => {
    await expectTags(store, ledger)
    await store.gc()
    await store.gc()
    await expectTags(store, ledger)
    for (const name of ledger.names) await store.tags.delete(name)
    await store.gc()
    await store.gc()
  })
  expect(await keysIn(shared.direct, 'blobs/')).to.deep.equal([])
}

async function expectTags (store, ledger) {
  for (const name of ledger.names) {
    const tag = await store.tags.get(name)
    const contents = tag?.format === 'hashseq' ? [SEQUENCE, ...MEMBERS] : CONTENTS.filter(bytes => isOf(bytes, tag))
    let isReadable = true
    for (const bytes of contents) {
      const read = await store.bytes(cidOf(bytes)).catch(error => {
        if (!['STORE_NOT_FOUND', 'STORE_MISSING'].includes(error.code)) throw error
      })
      isReadable &&= read !== undefined && same(read, bytes)
    }
    const fault = ledger.faultOf(name, tag && hex(tag.cid.multihash.digest), isReadable)
    if (fault !== undefined) throw new Error(fault)
  }
}

const isOf = (bytes, tag) => tag !== undefined && same(cidOf(bytes).multihash.digest, tag.cid.multihash.digest)
