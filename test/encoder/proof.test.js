// Makes proofs and checks them. Forged proofs are tested in test/verifier.
import { expect } from 'chai'
import fc from 'fast-check'
import { BaoError, ChunkRanges, hash } from '../../lib/index.js'
import {
  Outboard, Proof, createOutboardSync, createProof, createProofSync, encodeSliceSync
} from '../../encoder/index.js'
import { verifyProof } from '../../verifier/index.js'
import { concat, flipped, header, hex, same } from '../support/bytes.js'
import { strideAtEffort } from '../support/effort.js'
import { chosenRuns, errorOf, provesSize } from '../support/feeding.js'
import { KEY, noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { boundaries, groupLogs, holds, keys, sizes } from '../support/property.js'
import { expectSlip, refusesAllButBytes, refusesAllButKeys } from '../support/slips.js'
import { Bao, Tree, modeOf } from '../support/twin/index.js'

const SIZE = 24_000

/**
 * The siblings, by recursion over a whole tree: the other child of every parent that has chosen
 * chunks on one side.
 */
function twinSiblings (tree, list) {
  const chosen = Tree.selected(tree.end, list)
  const isWanted = tree => Tree.wanted(chosen, tree.start, tree.end)
  const visit = tree => {
    if (isWanted(tree) !== 'some') return []
    const { left, right } = tree
    if (isWanted(left) === 'none') return [left.cv, ...visit(right)]
    if (isWanted(right) === 'none') return [right.cv, ...visit(left)]
    return [...visit(left), ...visit(right)]
  }
  return concat(visit(tree))
}

const u32 = value => Uint8Array.of(value & 255, (value >> 8) & 255, (value >> 16) & 255, value >>> 24)
const plain = leaves => leaves.map(({ offset, bytes }) => `${offset} ${hex(bytes)}`)

forEachKernel(kernel => describe('proofs', () => {
  it('are the twin\'s siblings, and verify', () => holds(`proofs: twin (${kernel})`, fc.asyncProperty(
    sizes(SIZE), groupLogs, boundaries(SIZE).filter(list => list.length > 0), keys, fc.nat(),
    fc.constantFrom('pre', 'post'),
    async (size, groupLog, list, key, seed, order) => {
      const bytes = noise(size, seed)
      const tree = Bao.grow(bytes, modeOf({ key }))
      const outboard = createOutboardSync(bytes, { groupLog, key, order })
      const ranges = ChunkRanges.fromBoundaries(list)
      const proof = await createProof(
        { size, read: (start, end) => bytes.slice(start, end) }, outboard, ranges, { key }
      )
      expect(same(proof.siblings, twinSiblings(tree, list))).to.equal(true)

      const { boundaries: canonical } = ranges.canonical(size)
      const sent = proof.toBytes()
      expect(hex(sent)).to.equal(
        hex(concat([header(size), u32(canonical.length / 2), ...canonical.map(header), proof.siblings]))
      )
      expect(hex(createProofSync(bytes, outboard, ranges, { key }).toBytes())).to.equal(hex(sent))

      const runs = chosenRuns(bytes, list)
      const content = concat(runs.map(run => run.bytes))
      expect(proof.contentLen).to.equal(content.length)
      expect(proof.provesSize).to.equal(provesSize(size, list))
      for (const form of [proof, sent, Proof.fromBytes(sent)]) {
        expect(plain(verifyProof(form, content, { cid: tree.cv, ranges, key }))).to.deep.equal(plain(runs))
        expect(plain(verifyProof(form, content, { cid: tree.cv, key }))).to.deep.equal(plain(runs))
      }
    }), 80))

  it('of a chunk verify with no other byte, length or sibling: every byte counts', () => {
    for (const key of [undefined, KEY]) {
      for (const size of [0, 1, 1024, 1025, 3000, 5 * 1024]) {
        const bytes = noise(size)
        const outboard = createOutboardSync(bytes, { groupLog: 1, key })
        for (const list of [[0, 1], [1, 2], [0, 1, 2, 3], [Number.MAX_SAFE_INTEGER]]) {
          const ranges = ChunkRanges.fromBoundaries(list)
          const proof = createProofSync(bytes, outboard, ranges, { key })
          const content = concat(proof.byteRanges.map(({ start, end }) => bytes.subarray(start, end)))
          const sent = proof.toBytes()
          const options = { cid: outboard.root, ranges, key }
          const refused = (proof, content, more) => {
            try {
              verifyProof(proof, content, { ...options, ...more })
            } catch (error) {
              expect(error).to.be.instanceOf(BaoError)
              return true
            }
            return false
          }
          expect(refused(sent, content)).to.equal(false)
          for (let at = 0; at < sent.length; at += strideAtEffort()) {
            if (refused(flipped(sent, at), content)) continue
            // Only a size on which nothing in the proof depends may differ.
            expect(at, `byte ${at} of the proof of [${list}] of ${size} bytes`).to.be.lessThan(8)
            expect(Proof.fromBytes(flipped(sent, at)).provesSize).to.equal(false)
          }
          for (let at = 0; at < content.length; at += strideAtEffort()) {
            expect(
              refused(sent, flipped(content, at)), `byte ${at} of the content`
            ).to.equal(true)
          }
          for (let len = 0; len < sent.length; len += strideAtEffort()) {
            expect(
              refused(sent.subarray(0, len), content), `the first ${len}`
            ).to.equal(true)
          }
          for (const more of [1, 16, 32, 64, 4096]) {
            expect(refused(concat([sent, new Uint8Array(more)]), content), `${more} bytes more`).to.equal(true)
            expect(
              refused(sent, concat([content, new Uint8Array(more)])), `${more} bytes more of content`
            ).to.equal(true)
          }
          if (content.length > 0) expect(refused(sent, content.subarray(1))).to.equal(true)
          expect(refused(sent, content, { cid: hash(Uint8Array.of(1)) })).to.equal(true)
          expect(refused(sent, content, { key: noise(32, 9) })).to.equal(true)
        }
      }
    }
  })

  it('never prove anything wrong after any change', () => holds(`proofs: lies (${kernel})`, fc.property(
    sizes(SIZE), boundaries(SIZE).filter(list => list.length > 0), fc.nat(), fc.array(
      fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 3 }
    ), fc.nat(SIZE),
    (size, list, seed, flips, claim) => {
      const bytes = noise(size, seed)
      const outboard = createOutboardSync(bytes, { groupLog: 0 })
      const proof = createProofSync(bytes, outboard, ChunkRanges.fromBoundaries(list))
      const content = concat(proof.byteRanges.map(({ start, end }) => bytes.subarray(start, end)))
      let sent = proof.toBytes()
      for (const [at, xor] of flips) sent = flipped(sent, at % sent.length, xor)
      for (const lie of [sent, concat([header(claim), proof.toBytes().subarray(8)])]) {
        let leaves
        try {
          leaves = verifyProof(lie, content, { cid: outboard.root })
        } catch (error) {
          expect(error).to.be.instanceOf(BaoError)
          continue
        }
        for (const leaf of leaves) {
          expect(
            same(leaf.bytes, bytes.subarray(leaf.offset, leaf.offset + leaf.bytes.length))
          ).to.equal(true)
        }
        const told = Proof.fromBytes(lie)
        if (told.provesSize) expect(told.size).to.equal(size)
      }
    }), 300))

  it('of many chunks are hashed side by side', () => {
    const bytes = noise(700_000)
    const outboard = createOutboardSync(bytes)
    const proof = createProofSync(bytes, outboard, { start: 1024, end: 600_000 })
    const [leaf] = verifyProof(proof, bytes.subarray(1024, 600_064), { cid: outboard.root })
    expect(leaf.offset).to.equal(1024)
    expect(same(leaf.bytes, bytes.subarray(1024, 600_064))).to.equal(true)
  })
}))

describe('making proofs', () => {
  const bytes = noise(1_000_000)
  const outboard = createOutboardSync(bytes)

  it('takes half of a slice\'s pairs, and 28 bytes', () => {
    const range = { start: 500_000, end: 500_001 }
    const proof = createProofSync(bytes, outboard, range)
    expect(proof.ranges.boundaries).to.deep.equal([488, 489])
    expect(proof.siblings.length).to.equal(10 * 32)
    expect(proof.toBytes().length).to.equal(28 + 10 * 32)
    expect(encodeSliceSync(bytes, outboard, range, { header: false }).length).to.equal(1024 + 10 * 64)
  })

  it('takes any random-access source', async () => {
    const range = { start: 5000, end: 100_000 }
    const expected = createProofSync(bytes, outboard, range).toBytes()
    for (const source of [
      bytes, new Blob([bytes]), { size: bytes.length, read: async (start, end) => bytes.slice(start, end) }
    ]) {
      expect(same((await createProof(source, outboard, range)).toBytes(), expected)).to.equal(true)
    }
  })

  it('refuses bytes and pairs of another root', async () => {
    const range = { start: 5000, end: 6000 }
    expect(
      () => createProofSync(flipped(bytes, 0), outboard, range)
    ).to.throw(BaoError).with.property('code', 'BAO_LEAF_MISMATCH')
    const pairs = Outboard.from({ ...outboard, cid: outboard.root, bytes: flipped(outboard.bytes, 3) })
    expect(await errorOf(createProof(bytes, pairs, range))).to.include({ code: 'BAO_PARENT_MISMATCH' })
    expect(await errorOf(createProof(bytes.subarray(0, 5500), outboard, range))).to.include({ code: 'BAO_TRUNCATED' })
  })

  it('ends with an abort', async () => {
    const reason = new Error('enough')
    expect(
      await errorOf(createProof(bytes, outboard, { start: 0, end: 5 }, { signal: AbortSignal.abort(reason) }))
    ).to.equal(reason)
  })

  it('refuses wrong arguments', async () => {
    await refusesAllButBytes('bytes', value => createProofSync(value, outboard, { start: 0 }))
    await refusesAllButKeys(key => createProofSync(bytes, outboard, { start: 0 }, { key }))
    for (const value of [undefined, null, 5, {}]) {
      await expectSlip(
        'outboard', () => createProof(bytes, value, { start: 0 }), [TypeError]
      )
    }
    for (const ranges of [null, 5, 'all', true, [0, 1]]) {
      await expectSlip(
        'ranges', () => createProof(bytes, outboard, ranges), [TypeError]
      )
    }
    await expectSlip('ranges', () => createProofSync(bytes, outboard, ChunkRanges.none), [RangeError])
    await expectSlip('ranges', () => createProof(bytes, outboard, ChunkRanges.none), [RangeError])
  })
})
