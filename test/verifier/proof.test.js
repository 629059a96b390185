import { expect } from 'chai'
import { BaoError, ChunkRanges } from '../../lib/index.js'
import { createOutboardSync, createProofSync } from '../../encoder/index.js'
import { Proof, verifyProof } from '../../verifier/index.js'
import { concat, header } from '../support/bytes.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { IMPOSSIBLE_NUMBERS, NOT_NUMBERS, expectSlip, refusesAllButBytes, refusesAllButKeys } from '../support/slips.js'

const bytes = noise(10_000)
const outboard = createOutboardSync(bytes)
const proof = createProofSync(bytes, outboard, { start: 2048, end: 3072 })
const content = bytes.subarray(2048, 3072)
const { root } = outboard
const options = { cid: root }

const u32 = value => new Uint8Array(Uint32Array.of(value).buffer)
const sent = (size, boundaries, siblings = 0, count = boundaries.length / 2) => concat(
  [header(size), u32(count), ...boundaries.map(header), new Uint8Array(32 * siblings)]
)
const codeOf = action => errorOf(action).then(error => {
  expect(error).to.be.instanceOf(BaoError)
  return error.code
})

describe('a forged proof', () => {
  it('is refused before anything is done with it', async () => {
    for (const [title, lie, code = 'BAO_BAD_PROOF'] of [
      ['nothing', new Uint8Array(0)],
      ['half a header', new Uint8Array(11)],
      ['no range', sent(10_000, [])],
      ['ranges that are not there', sent(10_000, [], 0, 1)],
      ['four billion of them', sent(10_000, [], 0, 2 ** 32 - 1)],
      ['an empty range', sent(10_000, [1, 1], 4)],
      ['a range backwards', sent(10_000, [2, 1], 4)],
      ['ranges that touch', sent(10_000, [1, 2, 2, 3], 4)],
      ['ranges that overlap', sent(10_000, [1, 3, 2, 4], 4)],
      ['a range beyond the end', sent(10_000, [9, 11], 4)],
      ['a range far beyond', sent(10_000, [0, 2n ** 53n - 1n])],
      ['a range that is no number', sent(10_000, [0, 2n ** 64n - 1n]), 'BAO_SIZE_TOO_LARGE'],
      ['a size that is no number', sent(2n ** 64n - 1n, [0, 1]), 'BAO_SIZE_TOO_LARGE'],
      ['the largest size, without siblings', sent(2n ** 53n - 1n, [0, 1])],
      ['the largest size, and too few', sent(2n ** 53n - 1n, [0, 1], 42)],
      ['the largest size, and too many', sent(2n ** 53n - 1n, [0, 1], 44)],
      ['half a sibling more', concat([proof.toBytes(), new Uint8Array(16)])],
      ['a thousand more', concat([proof.toBytes(), new Uint8Array(32_000)])]
    ]) {
      expect(await codeOf(() => Proof.fromBytes(lie)), title).to.equal(code)
      expect(await codeOf(() => verifyProof(lie, content, options)), title).to.equal(code)
    }
  })

  it('may claim any size: that takes neither memory nor time', async () => {
    const all = sent(Number.MAX_SAFE_INTEGER, [0, 2 ** 43])
    expect(Proof.fromBytes(all).contentLen).to.equal(Number.MAX_SAFE_INTEGER)
    expect(await errorOf(() => verifyProof(all, content, options))).to.include(
      { code: 'BAO_BAD_PROOF', wanted: Number.MAX_SAFE_INTEGER, got: 1024 }
    )
    expect(
      await codeOf(() => verifyProof(sent(Number.MAX_SAFE_INTEGER, [2, 3], 43), content, options))
    ).to.equal('BAO_PROOF_MISMATCH')
  })

  it('with many ranges and no siblings costs no more than reading it', async () => {
    const ranges = Array.from({ length: 200_000 }, (_, i) => i * 1_000_003 + 1)
    const lie = sent(Number.MAX_SAFE_INTEGER, ranges)
    // A check of every range for each range would not end within the timeout of a test.
    expect(await codeOf(() => Proof.fromBytes(lie))).to.equal('BAO_BAD_PROOF')
  })

  it('is refused when it is about other chunks than the wanted ones', async () => {
    expect(verifyProof(proof, content, { ...options, ranges: { start: 2500, end: 2501 } })).to.have.length(1)
    for (const ranges of [
      ChunkRanges.all, ChunkRanges.last, ChunkRanges.none, { start: 0, end: 1 }, { start: 2048, end: 3073 }
    ]) {
      expect(await codeOf(() => verifyProof(proof, content, { ...options, ranges }))).to.equal('BAO_BAD_PROOF')
    }
  })

  it('is refused when bytes of another place, root or key come with it', async () => {
    expect(await codeOf(() => verifyProof(proof, bytes.subarray(0, 1024), options))).to.equal('BAO_PROOF_MISMATCH')
    expect(await codeOf(() => verifyProof(proof, content, { cid: noise(32) }))).to.equal('BAO_PROOF_MISMATCH')
    expect(
      await codeOf(() => verifyProof(proof, content, { cid: root, key: noise(32) }))
    ).to.equal('BAO_PROOF_MISMATCH')
    expect(await codeOf(() => verifyProof(proof, content.subarray(1), options))).to.equal('BAO_BAD_PROOF')
    const elsewhere = new Proof({ ...proof, ranges: new ChunkRanges([3, 4]) })
    expect(await codeOf(() => verifyProof(elsewhere, content, options))).to.equal('BAO_PROOF_MISMATCH')
  })
})

describe('a proof', () => {
  it('proves the size only with the last chunk', async () => {
    const lie = new Proof({ ...proof, size: 9900 })
    expect(verifyProof(lie, content, options)[0].offset).to.equal(2048)
    expect(lie.provesSize).to.equal(false)
    const last = createProofSync(bytes, outboard, ChunkRanges.last)
    expect(last.provesSize).to.equal(true)
    const end = bytes.subarray(9 * 1024)
    expect(verifyProof(last, end, options)[0].offset).to.equal(9 * 1024)
    expect(
      await codeOf(() => verifyProof(new Proof({ ...last, size: 9999 }), end.subarray(0, -1), options))
    ).to.equal('BAO_PROOF_MISMATCH')
  })

  it('of the empty blob proves that it is empty', async () => {
    const nothing = new Uint8Array(0)
    const tree = createOutboardSync(nothing)
    const empty = createProofSync(nothing, tree, ChunkRanges.all)
    expect(empty.provesSize).to.equal(true)
    expect(verifyProof(empty, nothing, { cid: tree.root })).to.deep.equal([])
    expect(await codeOf(() => verifyProof(empty, nothing, { cid: root }))).to.equal('BAO_PROOF_MISMATCH')
  })

  it('may be anywhere in memory', () => {
    const memory = concat([new Uint8Array(3), proof.toBytes(), new Uint8Array(5)])
    expect(verifyProof(memory.subarray(3, -5), content, options)).to.have.length(1)
  })

  it('refuses wrong arguments', async () => {
    await refusesAllButBytes('proof', value => verifyProof(value, content, options))
    await refusesAllButBytes('proof', value => Proof.fromBytes(value))
    await refusesAllButBytes('bytes', value => verifyProof(proof, value, options))
    await refusesAllButBytes('siblings', siblings => new Proof({ ...proof, siblings }))
    await refusesAllButKeys(key => verifyProof(proof, content, { cid: root, key }))
    for (const value of [undefined, null, 5, {}]) {
      await expectSlip(
        'cid', () => verifyProof(proof, content, { cid: value }), [TypeError]
      )
    }
    for (const ranges of [null, 5, 'all', [0, 1]]) {
      await expectSlip(
        'ranges', () => verifyProof(proof, content, { cid: root, ranges }), [TypeError]
      )
    }
    for (const ranges of [undefined, null, [0, 1]]) {
      await expectSlip(
        'ranges', () => new Proof({ ...proof, ranges }), [TypeError]
      )
    }
    for (const size of [...NOT_NUMBERS, ...IMPOSSIBLE_NUMBERS]) {
      await expectSlip(
        'size', () => new Proof({ ...proof, size })
      )
    }
  })
})
