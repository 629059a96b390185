// Tests that the memory of a store does not grow with the size of a blob.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { Hasher } from '../../lib/index.js'
import { hex } from '../support/bytes.js'
import { MIB } from '../support/constants.js'
import { noise } from '../support/inputs.js'
import { onDisk } from '../support/store/stores.js'

/** SIZE_MIB=10240 takes minutes, and twice that size on the disk. */
const SIZE = Number(process.env.SIZE_MIB ?? 256) * MIB
const PIECE = noise(MIB, 121)
const BOUND = 64 * MIB

// Garbage is collected before memory is measured: only memory that is still in use counts.
setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

function used () {
  gc()
  const { heapUsed, external } = process.memoryUsage() // `external` includes ArrayBuffers
  return heapUsed + external
}

/** Pieces that differ from each other, made on demand. @param {(at: number) => void} sample */
async function * generated (sample) {
  for (let at = 0; at < SIZE; at += PIECE.length) {
    const piece = PIECE.slice()
    new DataView(piece.buffer).setUint32(0, at)
    if (at % (16 * MIB) === 0) sample(at)
    yield piece
  }
}

describe('store: memory', () => {
  let place
  before(async () => { place = await onDisk() })
  after(() => place.remove())

  it('stays bounded while a large blob is put, read, sent and received', async function () {
    this.timeout(Math.max(1_800_000, SIZE / MIB * 500))
    const store = await place.open({ durability: 'process' })
    const receiver = await onDisk()
    try {
      const there = await receiver.open({ durability: 'process' })
      const idle = used()
      let most = { len: 0, during: 'nothing' }
      const sampler = during => () => {
        const len = used() - idle
        if (len > most.len) most = { len, during }
      }
      const { cid, size } = await store.put(generated(sampler('put')))
      expect(size).to.equal(SIZE)

      const hasher = new Hasher()
      const sample = sampler('get')
      let pieces = 0
      for await (const piece of store.get(cid)) {
        hasher.update(piece)
        if (pieces++ % 1000 === 0) sample()
      }
      expect(hex(hasher.digest())).to.equal(hex(cid.multihash.digest))

      const between = sampler('slice and receive')
      const { complete } = await there.receive(cid, sampled(store.slice(cid), between))
      expect(complete).to.equal(true)
      expect(most.len, `at most ${Math.round(most.len / MIB)} MiB, during ${most.during}`).to.be.lessThan(BOUND)
    } finally {
      await receiver.remove()
    }
  })
})

async function * sampled (pieces, sample) {
  let i = 0
  for await (const piece of pieces) {
    if (i++ % 128 === 0) sample()
    yield piece
  }
}
