import { expect } from 'chai'
import fc from 'fast-check'
import { ChunkRanges } from '../../lib/index.js'
import { Outboard, createOutboardSync } from '../../encoder/index.js'
import { validOutboardRanges, validRanges } from '../../verifier/index.js'
import { flipped, same } from '../support/bytes.js'
import { counter } from '../support/count.js'
import { errorOf } from '../support/feeding.js'
import { KEY, input, noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { boundaries, groupLogs, holds, keys, sizes } from '../support/property.js'
import { expectSlip, refusesAllButKeys } from '../support/slips.js'
import { Bao, Tree, modeOf } from '../support/twin/index.js'
import { cvBytes, leftLen, parent, rootBytes, subtree } from '../support/twin/blake3.js'
import { integers, vectors } from '../support/vectors.js'

const orders = fc.constantFrom('pre', 'post')

/** An outboard that keeps its pairs by node number; those in `without` are missing. */
const lazily = (outboard, without = []) => ({
  root: outboard.root,
  size: outboard.size,
  groupLog: outboard.groupLog,
  prepared: new Set(),
  asked: [],
  async prepare (nodes) {
    await undefined
    this.prepared = new Set(nodes)
    this.asked.push(...nodes)
  },
  copyPair (step, out, at) {
    expect(this.prepared.has(step.node), `pair ${step.node} was announced`).to.equal(true)
    // Bytes count only if `copyPair` returns true.
    out.set(outboard.pair(step.node), at)
    return !without.includes(step.node)
  }
})

/** The right chunks, by recursion: one leaf, one pair after the other. */
function twinValid ({ data, pairOf, root, size, groupLog, list, mode, looksAtData }) {
  if (size === 0) return []
  const chosen = Tree.selected(size, list)
  const right = new Set()
  const visit = (start, end, expected) => {
    if (Tree.wanted(chosen, start, end) === 'none') return
    const isRoot = start === 0 && end === size
    const matches = last => same(isRoot ? rootBytes(last) : cvBytes(last), expected)
    if (end - start <= 1024 * 2 ** groupLog) {
      if (looksAtData && (data.length < end || !matches(subtree(data.subarray(start, end), start / 1024, mode)))) return
      for (let chunk = start / 1024; chunk < end / 1024; chunk++) right.add(chunk)
      return
    }
    const pair = pairOf(Tree.nodeNumber(start, end))
    if (pair === undefined || !matches(parent(pair.subarray(0, 32), pair.subarray(32), mode))) return
    const split = start + leftLen(end - start)
    visit(start, split, pair.subarray(0, 32))
    visit(split, end, pair.subarray(32))
  }
  visit(0, size, root)
  const found = []
  for (const chunk of [...right].sort((a, b) => a - b)) {
    if (found.at(-1) === chunk) found[found.length - 1]++
    else found.push(chunk, chunk + 1)
  }
  return found
}

const changes = {
  data_flip: ({ data }, places) => { for (const at of places) data[at] ^= 1 },
  data_zero: ({ data }, [start, end]) => data.fill(0, start, end),
  data_truncate: (blob, to) => { blob.data = blob.data.slice(0, to) },
  outboard_flip: ({ pairs }, places) => { for (const at of places) pairs[at] ^= 1 },
  outboard_zero: ({ pairs }, [start, end]) => pairs.fill(0, start, end)
}

forEachKernel(kernel => describe('the valid chunks', () => {
  describe('in the vectors', () => {
    const count = counter('valid', kernel)

    for (const { input: name, chunk_log: groupLog, rows } of vectors.valid.cases) {
      it(`${name.len} bytes at group log ${groupLog}: the same as in bao-tree`, async () => {
        const bytes = input(name)
        const good = createOutboardSync(bytes, { groupLog })
        for (const { change = {}, q, valid, outboard_valid: outboardValid } of rows) {
          const blob = { data: bytes.slice(), pairs: good.bytes.slice() }
          for (const [what, how] of Object.entries(change)) changes[what](blob, how)
          const ranges = ChunkRanges.fromBoundaries(integers(q))
          const pre = Outboard.from({ ...good, cid: good.root, bytes: blob.pairs })
          for (const outboard of [pre, pre.flip(), lazily(pre)]) {
            const message = JSON.stringify({ change, q })
            expect((await validRanges(blob.data, outboard, ranges)).boundaries, message).to.deep.equal(valid)
            expect((await validOutboardRanges(outboard, ranges)).boundaries, message).to.deep.equal(outboardValid)
          }
          count()
        }
      })
    }
  })

  for (const [title, max, runs] of [['small', 24_000, 120], ['large', 700_000, 12]]) {
    it(`${title}: equal those of the twin`, () => holds(`valid: twin (${title}, ${kernel})`, fc.asyncProperty(
      fc.record({
        size: sizes(max),
        groupLog: title === 'small' ? groupLogs : fc.integer({ min: 0, max: 9 }),
        list: fc.oneof(boundaries(max), fc.constant([0])),
        key: keys,
        seed: fc.nat(),
        order: orders,
        flips: fc.array(fc.nat(), { maxLength: 3 }),
        pairFlips: fc.array(fc.nat(), { maxLength: 2 }),
        absent: fc.array(fc.nat(), { maxLength: 2 }),
        cut: fc.option(fc.nat(), { nil: undefined })
      }),
      async ({ size, groupLog, list, key, seed, order, flips, pairFlips, absent, cut }) => {
        let data = noise(size, seed)
        const good = createOutboardSync(data, { groupLog, key, order })
        const pairs = good.bytes.slice()
        for (const at of flips) if (size > 0) data[at % size] ^= 1
        for (const at of pairFlips) if (pairs.length > 0) pairs[at % pairs.length] ^= 1
        if (cut !== undefined) data = data.slice(0, cut % (size + 1))
        const outboard = Outboard.from({ ...good, cid: good.root, bytes: pairs })
        const nodes = Tree.steps(size, groupLog).filter(
          step => step.kind === 'enter' && step.isStored
        ).map(step => step.node)
        const without = nodes.length === 0 ? [] : absent.map(i => nodes[i % nodes.length])
        const ranges = ChunkRanges.fromBoundaries(list)

        for (const [tree, missing] of [[outboard, []], [lazily(outboard, without), without]]) {
          const what = {
            data,
            root: good.root,
            size,
            groupLog,
            list,
            mode: modeOf({ key }),
            pairOf: node => missing.includes(node) ? undefined : outboard.pair(node)
          }
          const source = cut === undefined ? data : { size: data.length, read: (start, end) => data.slice(start, end) }
          expect(
            (await validRanges(source, tree, ranges, { key })).boundaries
          ).to.deep.equal(twinValid({ ...what, looksAtData: true }))
          expect(
            (await validOutboardRanges(tree, ranges, { key })).boundaries
          ).to.deep.equal(twinValid({ ...what, looksAtData: false }))
        }
      }), runs))
  }

  it('lack exactly those below a pair with a wrong byte', async () => {
    const bytes = noise(6 * 1024 + 5)
    for (const groupLog of [0, 1]) {
      const good = createOutboardSync(bytes, { groupLog })
      for (let at = 0; at < good.bytes.length; at++) {
        const pairs = flipped(good.bytes, at)
        const outboard = Outboard.from({ ...good, cid: good.root, bytes: pairs })
        const what = {
          data: bytes,
          root: good.root,
          size: bytes.length,
          groupLog,
          list: [0],
          mode: modeOf(),
          pairOf: node => outboard.pair(node),
          looksAtData: true
        }
        expect((await validRanges(bytes, outboard)).boundaries, `byte ${at}`).to.deep.equal(twinValid(what))
      }
    }
  })

  it('of another blob are none, even if its bytes and pairs fit each other', async () => {
    const bytes = noise(256 * 1024)
    const other = flipped(bytes, 200_000)
    for (const groupLog of [0, 4]) {
      const good = createOutboardSync(bytes, { groupLog })
      const pairs = createOutboardSync(other, { groupLog }).bytes.slice()
      pairs.set(good.bytes.subarray(0, 64))
      const outboard = Outboard.from({ ...good, cid: good.root, bytes: pairs })
      expect((await validRanges(other, outboard)).boundaries).to.deep.equal([0, 128])
      expect((await validOutboardRanges(outboard)).boundaries).to.deep.equal([0, 128])
    }
  })

  it('do not depend on the memory that an earlier audit has left', async () => {
    const bytes = noise(256 * 1024)
    const end = { start: 128 * 1024, end: 256 * 1024 }
    for (const groupLog of [0, 4, 7]) {
      const outboard = createOutboardSync(bytes, { groupLog })
      for (const missing of [1, 1024, 70_000]) {
        expect((await validRanges(bytes, outboard, end)).boundaries).to.deep.equal([128, 256])
        const right = Math.floor((256 * 1024 - missing) / 1024 / 2 ** groupLog) * 2 ** groupLog
        expect(
          (await validRanges(bytes.subarray(0, -missing), outboard, end)).boundaries
        ).to.deep.equal(right > 128 ? [128, right] : [])
      }
    }
  })

  it('of a blob that is shorter than its claimed size are none', async () => {
    for (const [size, claimed] of [[900, 1000], [1_000_000, 1_000_100]]) {
      const bytes = noise(size)
      const { root } = createOutboardSync(bytes)
      const lie = Outboard.from({ cid: root, size: claimed, groupLog: 16, bytes: new Uint8Array(0) })
      expect((await validRanges(bytes, lie)).boundaries).to.deep.equal([])
    }
  })

  it('lack exactly one leaf for any wrong chunk, also in full batches', async () => {
    const bytes = noise(300 * 1024 + 77)
    const chunks = 301
    const outboard = createOutboardSync(bytes, { groupLog: 0, key: KEY })
    expect(same(outboard.root, Bao.grow(bytes, modeOf({ key: KEY })).cv)).to.equal(true)
    for (const chunk of [0, 1, 63, 64, 127, 128, 255, 256, 299, 300]) {
      const data = flipped(bytes, chunk * 1024 + 50)
      const all = new ChunkRanges([0, chunks])
      const valid = await validRanges(data, outboard, undefined, { key: KEY })
      expect(all.difference(valid).boundaries, `chunk ${chunk}`).to.deep.equal([chunk, chunk + 1])
    }
  })
}))

describe('audits', () => {
  const bytes = noise(1_000_000)
  const outboard = createOutboardSync(bytes)
  const all = [0, 977]

  it('take any source', async () => {
    for (const source of [
      bytes, new Blob([bytes]), { size: bytes.length, read: (start, end) => bytes.slice(start, end) },
      { size: bytes.length, read: async (start, end) => bytes.slice(start, end) }
    ]) {
      expect((await validRanges(source, outboard)).boundaries).to.deep.equal(all)
    }
    expect((await validRanges(new Blob([bytes.subarray(0, 500_000)]), outboard)).boundaries).to.deep.equal([0, 480])
    expect((await validRanges(new Uint8Array(0), outboard)).boundaries).to.deep.equal([])
  })

  it('read groups that are larger than a window piece by piece', async () => {
    const large = createOutboardSync(bytes, { groupLog: 16 })
    let most = 0
    const source = {
      size: bytes.length, read (start, end) { most = Math.max(most, end - start); return bytes.slice(start, end) }
    }
    expect((await validRanges(source, large)).boundaries).to.deep.equal(all)
    expect((await validRanges(source, createOutboardSync(bytes, { groupLog: 9 }))).boundaries).to.deep.equal(all)
    expect(most).to.be.at.most(1 << 20)
    expect((await validRanges(bytes.subarray(0, 999_999), large)).boundaries).to.deep.equal([])
    expect(
      (await validRanges(flipped(bytes, 700_000), createOutboardSync(bytes, { groupLog: 9 }))).boundaries
    ).to.deep.equal([0, 512])
  })

  it('read only the wanted ranges', async () => {
    const reads = []
    const source = {
      size: bytes.length, read (start, end) { reads.push([start, end]); return bytes.slice(start, end) }
    }
    const pairs = lazily(outboard)
    expect((await validRanges(source, pairs, { start: 40_000, end: 40_001 })).boundaries).to.deep.equal([32, 48])
    expect(reads).to.deep.equal([[32768, 49152]])
    expect(pairs.asked.length).to.equal(6)
  })

  it('do not walk through lost parts, however long the claimed size', async () => {
    const endless = { root: outboard.root, size: Number.MAX_SAFE_INTEGER, groupLog: 0, copyPair: () => false }
    const source = { size: Number.MAX_SAFE_INTEGER, read: (start, end) => new Uint8Array(end - start) }
    expect((await validRanges(source, endless)).boundaries).to.deep.equal([])
    expect((await validOutboardRanges(endless)).boundaries).to.deep.equal([])
  })

  it('go on after a lost part far from the root', async () => {
    const size = 128 << 20
    const tree = createOutboardSync(new Uint8Array(size))
    const left = 2 ** 15 - 1
    const missing = {
      ...lazily(tree, [left]), copyPair: (step, out, at) => step.node !== left && tree.copyPair(step, out, at)
    }
    const chunks = size / 1024
    expect((await validOutboardRanges(missing)).boundaries).to.deep.equal([chunks / 2, chunks])
    const source = { size, read: (start, end) => new Uint8Array(end - start) }
    expect(
      (await validRanges(source, missing, { start: 0, end: size / 2 + 100_000 })).boundaries
    ).to.deep.equal([chunks / 2, chunks / 2 + 112])
  })

  it('report progress', async () => {
    for (const [type, audit] of [
      ['baobox:valid', options => validRanges(bytes, outboard, undefined, options)],
      ['baobox:valid-outboard', options => validOutboardRanges(outboard, undefined, options)]
    ]) {
      const events = []
      await audit({ onProgress: event => events.push(event) })
      expect(events.every(event => event.type === type && event.detail.total === bytes.length)).to.equal(true)
      expect(events.at(-1).detail.done).to.equal(bytes.length)
      for (let i = 1; i < events.length; i++) expect(events[i].detail.done).to.be.greaterThan(events[i - 1].detail.done)
    }
  })

  it('pass on errors of the source', async () => {
    const broken = new Error('unplugged')
    expect(await errorOf(validRanges({ size: bytes.length, read: () => { throw broken } }, outboard))).to.equal(broken)
    const pairs = { root: outboard.root, size: outboard.size, groupLog: 4, copyPair () { throw broken } }
    expect(await errorOf(validRanges(bytes, pairs))).to.equal(broken)
    expect(await errorOf(validOutboardRanges({ ...pairs, prepare: () => Promise.reject(broken) }))).to.equal(broken)
    expect((await validRanges(bytes, outboard)).boundaries, 'and leave no trace').to.deep.equal(all)
  })

  it('let an outboard hash while it gives pairs', async () => {
    const hashing = {
      root: outboard.root,
      size: outboard.size,
      groupLog: 4,
      copyPair (step, out, at) { createOutboardSync(bytes.subarray(0, 5000)); return outboard.copyPair(step, out, at) }
    }
    expect((await validRanges(bytes, hashing)).boundaries).to.deep.equal(all)
  })

  it('end immediately when they are aborted', async () => {
    const reason = new Error('enough')
    const stuck = { size: bytes.length, read: () => new Promise(() => {}) }
    const soon = () => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(reason), 10)
      return controller.signal
    }
    expect(await errorOf(validRanges(stuck, outboard, undefined, { signal: soon() }))).to.equal(reason)
    expect(await errorOf(
      validOutboardRanges({ ...lazily(outboard), prepare: () => new Promise(() => {}) }, undefined, { signal: soon() })
    )).to.equal(reason)
    expect(
      await errorOf(validRanges(bytes, outboard, undefined, { signal: AbortSignal.abort(reason) }))
    ).to.equal(reason)
    const long = { size: 2 ** 40, read: (start, end) => new Uint8Array(end - start) }
    const tree = { root: outboard.root, size: 2 ** 26, groupLog: 16, copyPair: () => true }
    expect(await errorOf(validRanges(long, tree, undefined, { signal: soon() }))).to.equal(reason)
  })

  it('refuse wrong arguments', async () => {
    for (const value of [undefined, null, 5, 'abc', {}]) {
      await expectSlip('outboard', () => validRanges(bytes, value), [TypeError])
      await expectSlip('outboard', () => validOutboardRanges(value), [TypeError])
    }
    for (const value of [undefined, null, 5, {}, [1]]) {
      await expectSlip(
        'source', () => validRanges(value, outboard), [TypeError]
      )
    }
    for (const ranges of [null, 5, 'all', true, [0, 1]]) {
      await expectSlip('ranges', () => validRanges(bytes, outboard, ranges), [TypeError])
      await expectSlip('ranges', () => validOutboardRanges(outboard, ranges), [TypeError])
    }
    await refusesAllButKeys(key => validRanges(bytes, outboard, undefined, { key }))
    await refusesAllButKeys(key => validOutboardRanges(outboard, undefined, { key }))
    for (const [name, value] of [
      ['size', -1], ['size', '5'], ['groupLog', 17], ['groupLog', 0.5], ['root', 'abc'], ['root', new Uint8Array(31)]
    ]) {
      const wrong = { root: outboard.root, size: outboard.size, groupLog: 4, copyPair: () => true, [name]: value }
      await expectSlip(`outboard.${name}`, () => validRanges(bytes, wrong))
      await expectSlip(`outboard.${name}`, () => validOutboardRanges(wrong))
    }
  })
})
