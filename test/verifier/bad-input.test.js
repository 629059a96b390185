import { expect } from 'chai'
import { ChunkRanges, toCid } from '../../lib/index.js'
import { createOutboardSync, encode, encodeSlice, encodeSliceSync } from '../../encoder/index.js'
import { SliceVerifier, VerifiedReader, decode, verifySlice, verifyStream } from '../../verifier/index.js'
import { header } from '../support/bytes.js'
import { collect, errorOf, feed, stream } from '../support/feeding.js'
import { input } from '../support/inputs.js'
import {
  IMPOSSIBLE_NUMBERS,
  NOT_BYTES,
  expectSlip,
  refusesAllButBytes,
  refusesAllButCounts,
  refusesAllButGroupLogs,
  refusesAllButKeys
} from '../support/slips.js'

const BYTES = input({ gen: 'b3', len: 5000 })
const { root, bytes: encoded } = encode(BYTES, { groupLog: 0 })
const OPTIONS = { cid: root, ranges: ChunkRanges.all, groupLog: 0 }

describe('bad input to slice verifiers', () => {
  const create = options => new SliceVerifier({ ...OPTIONS, ...options })

  it('values that are not bytes are refused', async () => {
    await refusesAllButBytes('bytes', value => create().write(value))
    await refusesAllButBytes('slice', value => verifySlice(value, OPTIONS))
    await refusesAllButBytes('combined', value => decode(value, root, { groupLog: 0 }))
    for (const piece of NOT_BYTES) {
      const error = await errorOf(() => collect(verifyStream(stream([piece]), OPTIONS)))
      expect(error).to.be.instanceOf(TypeError)
    }
  })

  it('a refused piece does not change the verifier', async () => {
    const verifier = create()
    await errorOf(() => verifier.write('abc'))
    expect(verifier.write(encoded).length + (verifier.end() ?? []).length).to.be.greaterThan(0)
    expect(verifier.done).to.equal(true)
  })

  it('wrong options are refused at the call, not at the first byte', async () => {
    for (const bad of [undefined, null, 5, root, [root]]) {
      for (const action of [
        () => new SliceVerifier(bad), () => verifySlice(encoded, bad), () => verifyStream(encoded, bad),
        () => new VerifiedReader(bad)
      ]) await expectSlip('options', action, [TypeError])
    }
    for (const value of [undefined, null, 5, {}, [1]]) {
      await expectSlip('cid', () => create({ cid: value }), [TypeError])
    }
    for (const value of ['', 'nonsense', new Uint8Array(31)]) {
      expect(await errorOf(() => create({ cid: value }))).to.include({ code: 'CID_UNSUPPORTED' })
    }
    await refusesAllButGroupLogs(groupLog => create({ groupLog }))
    await refusesAllButGroupLogs(groupLog => create({ groupLog, size: 5000 }))
    await refusesAllButCounts('size', size => create({ size }))
    await refusesAllButKeys(key => create({ key }))
    for (const ranges of [null, 5, 'all', true, [0, 1]]) {
      await expectSlip(
        'ranges', () => create({ ranges }), [TypeError]
      )
    }
    await refusesAllButCounts('start', start => create({ ranges: { start, end: 5 } }))
    await refusesAllButCounts(
      'end', end => create({ ranges: { start: 0, end } }), IMPOSSIBLE_NUMBERS.filter(value => value !== Infinity)
    )
  })

  it('a CID in the place of the options, and a stream in the place of bytes, are named in the error', async () => {
    const wrong = await errorOf(() => verifySlice(encoded, toCid(root)))
    expect(wrong.message).to.match(/^unknown option "code" of CID: expected cid, ranges, /)
    const unread = encodeSlice(BYTES, createOutboardSync(BYTES))
    const { message } = await errorOf(() => verifySlice(unread, OPTIONS))
    expect(message).to.equal('"slice" expected a Uint8Array, got AsyncGenerator')
  })

  it('an error says that a slice may be of other ranges', async () => {
    const slice = encodeSliceSync(BYTES, createOutboardSync(BYTES, { groupLog: 0 }), { start: 4000, end: 4100 })
    const { code, message } = await errorOf(() => verifySlice(slice, OPTIONS))
    expect([code, /, or the slice is of other ranges, /.test(message)]).to.deep.equal(['BAO_PARENT_MISMATCH', true])
  })

  it('a header beyond 2^53 - 1 is BAO_SIZE_TOO_LARGE', async () => {
    for (const size of [2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
      for (const action of [
        () => create().write(header(size)), () => verifySlice(header(size), OPTIONS), () => decode(
          header(size), root, { groupLog: 0 }
        )
      ]) {
        expect(await errorOf(action)).to.include({ code: 'BAO_SIZE_TOO_LARGE' })
      }
    }
  })

  it('nothing is allocated for a header of 2^53 - 1', async () => {
    const verifier = create()
    verifier.write(header(Number.MAX_SAFE_INTEGER))
    expect(verifier.size).to.equal(Number.MAX_SAFE_INTEGER)
    expect(verifier.sizeProven).to.equal(false)
    // The blob has three parents above its first chunk. The fourth that the header requires is made of
    // that chunk's bytes.
    const { leaves, error } = feed(verifier, [encoded.subarray(8)])
    expect(leaves).to.deep.equal([])
    expect(error).to.include({ code: 'BAO_PARENT_MISMATCH', node: 2 ** 39 - 1 })
    expect(
      await errorOf(() => decode(header(Number.MAX_SAFE_INTEGER), root, { groupLog: 0 }))
    ).to.include({ code: 'BAO_TRUNCATED' })
  })
})

describe('bad input to readers', () => {
  const outboard = createOutboardSync(BYTES)

  it('a wrong origin is refused', async () => {
    expect(await errorOf(() => new VerifiedReader({ cid: root, groupLog: 0 }))).to.be.instanceOf(TypeError)
    expect(await errorOf(() => new VerifiedReader({ cid: root, source: BYTES }))).to.be.instanceOf(TypeError)
    expect(await errorOf(() => new VerifiedReader({ cid: root, outboard, groupLog: 0 }))).to.be.instanceOf(TypeError)
    for (const value of [null, 5, {}, [1]]) {
      expect(
        await errorOf(() => new VerifiedReader({ cid: root, encoded: value, groupLog: 0 }).read({ start: 0, end: 1 }))
      ).to.be.instanceOf(TypeError)
      expect(
        await errorOf(() => new VerifiedReader({ cid: root, source: value, outboard }).read({ start: 0, end: 1 }))
      ).to.be.instanceOf(TypeError)
      expect(
        await errorOf(
          () => new VerifiedReader({ cid: root, source: BYTES, outboard: value }).read({ start: 0, end: 1 })
        )
      ).to.be.instanceOf(TypeError)
    }
    for (const value of [undefined, null, 5, {}]) {
      await expectSlip(
        'cid', () => new VerifiedReader({ cid: value, encoded, groupLog: 0 }), [TypeError]
      )
    }
    await refusesAllButKeys(key => new VerifiedReader({ cid: root, encoded, key, groupLog: 0 }))
    await refusesAllButGroupLogs(
      groupLog => new VerifiedReader({ cid: root, encoded, groupLog }).read({ start: 0, end: 1 })
    )
  })

  it('a wrong range is refused', async () => {
    const reader = new VerifiedReader({ cid: root, encoded, groupLog: 0 })
    await refusesAllButCounts('start', start => reader.read({ start, end: 5 }))
    await refusesAllButCounts(
      'end', end => reader.read({ start: 0, end }), IMPOSSIBLE_NUMBERS.filter(value => value !== Infinity)
    )
    await refusesAllButCounts('start', start => collect(reader.stream({ start, end: 5 })))
  })
})
