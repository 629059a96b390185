// Pages of trees in memory, and the pairs in them that are trusted.
import { expect } from 'chai'
import { createOutboardSync } from '../../../../encoder/index.js'
import { TrustedTrees } from '../../../../store/read/verified/trusted-trees.js'
import { flipped, hex } from '../../../support/bytes.js'
import { GROUP } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { pagesOf as pageEntriesOf } from '../../../support/store/inspect.js'

describe('store: TrustedTrees', () => {
  /** A database of pages that counts its reads. */
  const pagesOf = blobs => {
    const pages = new Map(blobs.flatMap(({ id, outboard }) => {
      return pageEntriesOf(id, outboard.bytes, outboard.pairs).map(({ key, value }) => [hex(key), value])
    }))
    const data = { supports: {}, reads: 0, get: async key => { data.reads++; return pages.get(hex(key)) } }
    return data
  }
  const read = async (trees, { id, root, size }, data, start = 0) =>
    trees.of(root, { id, size, complete: true }).expected(start, start + GROUP, data, () => ({}))

  it('keeps a bounded number of pages, the most recently used ones', async () => {
    const bytes = noise(2 * GROUP, 63)
    const { root, bytes: pair } = createOutboardSync(bytes)
    const blobs = Array.from({ length: 2100 }, (_, id) => ({
      id,
      root,
      size: bytes.length,
      outboard: { bytes: pair, pairs: [{ node: 15, at: 0 }] }
    }))
    const data = pagesOf(blobs)
    const trees = new TrustedTrees()
    for (const blob of blobs) await read(trees, blob, data)
    expect(data.reads).to.equal(2100)
    for (const blob of blobs.slice(-1000)) await read(trees, blob, data)
    expect(data.reads, 'the last pages are kept').to.equal(2100)
    for (const blob of blobs.slice(0, 1000)) await read(trees, blob, data)
    expect(data.reads, 'the first pages are dropped').to.equal(3100)
    for (const blob of blobs.slice(1, 1000)) await read(trees, blob, data)
    expect(data.reads).to.equal(3100)
  })

  it('reads a page again before it reports damage, because the page may have been repaired', async () => {
    const bytes = noise(4 * GROUP, 63)
    const { root, bytes: pairs } = createOutboardSync(bytes)
    const blob = { id: 1, root, size: bytes.length }
    const pagesWith = (changed, count) =>
      pagesOf([{
        ...blob,
        outboard: {
          bytes: changed,
          pairs: [{ node: 31, at: 0 }, { node: 15, at: 64 }, { node: 47, at: 128 }].slice(0, count)
        }
      }])
    for (const [before, code] of [
      [pagesWith(flipped(pairs, 130), 3), 'BAO_PARENT_MISMATCH'],
      [pagesWith(pairs, 2), 'BAO_TRUNCATED']
    ]) {
      const trees = new TrustedTrees()
      await read(trees, blob, before)
      expect(await errorOf(read(trees, blob, before, 3 * GROUP))).to.include({ code })
      const after = pagesWith(pairs, 3)
      expect(hex(await read(trees, blob, after, 3 * GROUP))).to.equal(hex(pairs.subarray(160)))
      expect(hex(await read(trees, blob, after, GROUP))).to.equal(hex(pairs.subarray(96, 128)))
      expect(after.reads).to.equal(1)
    }
  })

  it('reports a missing pair', async () => {
    const bytes = noise(2 * GROUP, 63)
    const { root } = createOutboardSync(bytes)
    const data = pagesOf([])
    expect(await errorOf(read(new TrustedTrees(), { id: 1, root, size: bytes.length }, data)))
      .to.include({ code: 'BAO_TRUNCATED' })
  })
})
