// The hashing that an append needs: it counts all blocks that the kernel compresses.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { concat, same } from '../../../support/bytes.js'
import { GROUP, KIB, MIB } from '../../../support/constants.js'
import { atEffort } from '../../../support/effort.js'
import { noise } from '../../../support/inputs.js'
import { splice } from '../../../support/store/grown.js'
import { lensOfFiles } from '../../../support/store/sharers.js'
import { onDisk } from '../../../support/store/stores.js'
import { counted, work } from '../../../support/work.js'

const BLOCK = 64
const COUNT = atEffort(1000)
/** Blocks to hash so many bytes: those of their chunks and parents. */
const blocksOf = len => Math.ceil(len / BLOCK) + Math.ceil(len / KIB)
/** Blocks of the last group, which is verified, and then hashed again with the appended bytes. */
const LAST_GROUP = 2 * blocksOf(GROUP)
/** Blocks of the right edge: each parent is compared with the one above it, and joined to the new tree. */
const edgeOf = size => 3 * Math.ceil(Math.log2(size / GROUP))
/** Blocks for the checksums of index entries. */
const CHECKS = 24
const mostFor = (size, len) => LAST_GROUP + blocksOf(len) + edgeOf(size) + CHECKS

async function blocksOfCall (call) {
  const before = work.blocks
  const result = await call()
  return { blocks: work.blocks - before, result }
}

describe('store: the hashing of an append', () => {
  let place, store
  beforeEach(async () => {
    place = await onDisk()
    store = await place.open({ durability: 'process' })
  })
  afterEach(() => place.remove())

  for (const kernel of ['simd', 'js']) {
    it(`of lines to a log covers the lines and the right edge, on kernel ${kernel}`, () =>
      counted(kernel, async () => {
        const lines = Array.from({ length: COUNT }, (_, i) => new TextEncoder().encode(`${i} ${'x'.repeat(i % 150)}\n`))
        const start = noise(4 * MIB + 3, 551)
        let { cid, size } = await store.put(start, { tag: 'log' })
        let total = 0
        for (const line of lines) {
          const { blocks, result } = await blocksOfCall(() => store.append(cid, line, { tag: 'log' }))
          expect(blocks, `at ${size} bytes`).to.be.at.most(mostFor(size, line.length))
          total += blocks
          ;({ cid, size } = result)
        }
        expect(total).to.be.above(blocksOf(size - start.length)) // it counts
        expect(total).to.be.below(COUNT * blocksOf(start.length) / 100)
        expect(await lensOfFiles(store)).to.deep.equal([size])
        expect(same(cid.multihash.digest, hash(concat([start, ...lines])))).to.equal(true)
      }))
  }

  it('to 32 MiB is as much as to 2 MiB, apart from the right edge', () =>
    counted('simd', async () => {
      for (const len of [1, GROUP, 3 * MIB]) {
        const sums = []
        for (const size of [2 * MIB, 32 * MIB]) {
          const { cid } = await store.put(noise(size, 552 + len))
          const { blocks, result } = await blocksOfCall(() => store.append(cid, noise(len, 553)))
          expect(blocks).to.be.within(blocksOf(len), mostFor(size, len))
          sums.push(blocks)
          for (const name of [cid, result.cid]) await store.delete(name)
        }
        expect(sums[1] - sums[0]).to.be.within(0, edgeOf(32 * MIB))
      }
    }))

  it('compose() without "verify" hashes only the new bytes, their group, and one block for each pair', () =>
    counted('simd', async () => {
      const size = 8 * MIB
      const { cid } = await store.put(noise(size, 554))
      const change = { start: MIB + 5, end: MIB + 5 + 4 * GROUP, source: noise(4 * GROUP, 555) }
      const { blocks } = await blocksOfCall(() => splice(store, cid, change, { verify: false }))
      expect(blocks).to.be.within(blocksOf(5 * GROUP), blocksOf(5 * GROUP) + LAST_GROUP + 2 * size / GROUP + CHECKS)
    }))
})
