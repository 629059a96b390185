// Which calls of the store a request of a peer causes.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { answerPieces } from '../../../exchange/iroh/answer.js'
import { concat, hex } from '../../support/bytes.js'
import { errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { newStores } from '../../support/store/stores.js'

const { all, last, none } = ChunkRanges

describe('the answer to a peer', () => {
  const newStore = newStores()
  let store
  beforeEach(async () => { store = (await newStore()).store })

  const answer = (root, wanted) =>
    listed(answerPieces(store, { root, wanted }, new AbortController().signal)).then(concat)
  const sliceOf = (bytes, ranges) => encodeSliceSync(bytes, createOutboardSync(bytes), ranges)

  it('ends where the sequence ends, however many members after it are asked for', async () => {
    const members = [noise(5, 1), noise(20_000, 2), noise(7, 3)]
    for (const bytes of members) await store.put(bytes)
    const sequence = concat(members.map(bytes => hash(bytes)))
    const { cid } = await store.put(sequence)
    const root = cid.multihash.digest
    const beyond = Array.from({ length: 2000 }, (_, i) => [4 + i, i % 2 === 0 ? last : all])
    const lookups = { count: 0 }
    for (const name of ['get', 'bytes', 'slice', 'stat', 'statMany']) {
      const call = store[name]
      store[name] = (...args) => {
        lookups.count++
        return call.apply(store, args)
      }
    }
    const bytes = await answer(root, [[0, last], [1, none], [2, last], [3, all], ...beyond])
    expect(hex(bytes)).to.equal(hex(concat([
      sliceOf(sequence, last), sliceOf(members[1], last), sliceOf(members[2])
    ])))
    expect(lookups.count).to.be.below(20)
    lookups.count = 0
    expect(await answer(root, [[4, last], ...beyond.slice(1)])).to.have.length(0)
    expect(lookups.count).to.equal(1)
  })

  it('is refused for members of a blob that is no sequence', async () => {
    const { cid } = await store.put(noise(33))
    const root = cid.multihash.digest
    for (const wanted of [[[1, all]], [[1000, last]]]) {
      expect(await errorOf(answer(root, wanted))).to.include({ code: 'REQUEST_INVALID' })
    }
    expect((await answer(root, [[0, all], [1, none]])).length).to.equal(41)
    expect(await errorOf(answer(hash(noise(5)), [[1, all]]))).to.include({ code: 'STORE_NOT_FOUND' })
  })
})
