// Verifiers with difficult sources and callers: sources that end or hang, callers that hash, memory that others see.

import { expect } from 'chai'
import { ChunkRanges, Hasher, hash, hashStream } from '../../lib/index.js'
import { Outboard, createOutboardSync, encodeSlice, encodeSliceSync } from '../../encoder/index.js'
import { SliceVerifier, VerifiedReader, verifyStream, verifyTransform } from '../../verifier/index.js'
import { concat, same } from '../support/bytes.js'
import { collect, errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'

const content = noise(300_000)
const outboard = createOutboardSync(content)
const slice = encodeSliceSync(content, outboard)
const { root } = outboard

/** Milliseconds until an abort. */
const soon = reason => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(reason), 10)
  return controller.signal
}
const stuck = size => ({ size, read: () => new Promise(() => {}) })

describe('slices that are sent', () => {
  it('have no byte that was not verified, when the source ends within a leaf', async () => {
    const cut = {
      size: content.length,
      read: (start, end) => content.slice(start, Math.min(end, 200_000)).fill(0x66, Math.max(0, 190_000 - start))
    }
    const pieces = []
    const error = await errorOf(
      async () => { for await (const piece of encodeSlice(cut, outboard)) pieces.push(piece) }
    )
    expect(error).to.include({ code: 'BAO_LEAF_MISMATCH' })
    const short = { size: content.length, read: (start, end) => content.subarray(start, Math.min(end, 200_000)) }
    pieces.length = 0
    expect(
      await errorOf(async () => { for await (const piece of encodeSlice(short, outboard)) pieces.push(piece) })
    ).to.include({ code: 'BAO_TRUNCATED' })
    const sent = concat(pieces)
    expect(same(sent, slice.subarray(0, sent.length))).to.equal(true)
    // 12 whole groups, and nothing of the thirteenth: its first byte would come next in the slice.
    const verifier = new SliceVerifier({ cid: root, release: 'leaf' })
    expect(verifier.write(sent).reduce((len, { bytes }) => len + bytes.length, 0)).to.equal(12 * 16384)
  })

  it('are cut in bounded memory, also if a little of many groups is wanted', async () => {
    for (const groupLog of [4, 8, 10]) {
      const size = 24 << 20
      const wanted = ChunkRanges.fromBoundaries(
        Array.from({ length: 2 * (size >> (10 + groupLog)) }, (_, i) => ((i >> 1) << groupLog) + 1 + (i & 1))
      )
      let most = 0
      const source = {
        size, read (start, end) { most = Math.max(most, end - start); return new Uint8Array(end - start) }
      }
      const tree = createOutboardSync(new Uint8Array(size), { groupLog })
      const pieces = await collect(encodeSlice(source, tree, wanted))
      expect(most, `group log ${groupLog}`).to.be.at.most(2 << 20)
      expect(new SliceVerifier({ cid: tree.root, ranges: wanted, groupLog }).write(pieces).length).to.be.greaterThan(0)
    }
  })
})

describe('a verifier whose sink', () => {
  it('hashes gets an error, and no wrong bytes', () => {
    const verifier = new SliceVerifier(
      { cid: root }, { leaf: (_start, memory, at, len) => new Hasher().update(memory.subarray(at, at + len)).digest() }
    )
    expect(() => verifier.write(slice)).to.throw('borrowed')
    expect(hash(content), 'the arena is fit for the next call').to.deep.equal(root)
  })

  it('throws has ended', () => {
    let fails = true
    const verifier = new SliceVerifier({ cid: root }, { leaf () { if (fails) throw new Error('disk full') } })
    expect(() => verifier.write(slice.subarray(0, 200_000))).to.throw('disk full')
    fails = false
    expect(() => verifier.write(slice.subarray(200_000))).to.throw('disk full')
    expect(() => verifier.end()).to.throw('disk full')
  })
})

describe('an abort', () => {
  it('does not wait for sources that hang', async () => {
    const reason = new Error('enough')
    expect(await errorOf(hashStream(stuck(10), { signal: soon(reason) }))).to.equal(reason)
    expect(
      await errorOf(collect(encodeSlice(stuck(content.length), outboard, undefined, { signal: soon(reason) })))
    ).to.equal(reason)
    expect(await errorOf(
      new VerifiedReader(
        { cid: root, source: stuck(content.length), outboard }
      ).read({ start: 0, end: 10 }, { signal: soon(reason) })
    )).to.equal(reason)
  })

  it('is the error that is thrown, even when bytes before it were wrong', async () => {
    const reason = new Error('enough')
    const controller = new AbortController()
    const wrong = slice.slice(0, 30_000)
    wrong[20_000] ^= 1
    const source = (async function * () {
      yield wrong
      controller.abort(reason)
      yield new Uint8Array(1)
    })()
    expect(await errorOf(collect(verifyStream(source, { cid: root, signal: controller.signal })))).to.equal(reason)
  })
})

describe('a transform', () => {
  it('ends where the slice ends', async () => {
    let pulled = 0
    const endless = new ReadableStream(
      { pull (controller) { controller.enqueue(pulled++ === 0 ? slice : new Uint8Array(1000)) } }
    )
    const out = await collect(endless.pipeThrough(verifyTransform({ cid: root })))
    expect(same(out, content)).to.equal(true)
    expect(pulled).to.be.lessThan(20)
  })
})

describe('a reader', () => {
  it('gives memory that belongs to the caller', async () => {
    const reader = new VerifiedReader({ cid: root, source: content, outboard })
    for (const bytes of [
      await reader.read({ start: 0, end: 8 }), await reader.read({ start: 0, end: 100 }), encodeSliceSync(
        content, outboard, { start: 0, end: 1 }
      )
    ]) {
      expect(bytes.byteOffset).to.equal(0)
      expect(bytes.buffer.byteLength).to.equal(bytes.length)
    }
  })

  it('does not change when the key is overwritten', async () => {
    const key = noise(32)
    const keyed = createOutboardSync(content, { key })
    const reader = new VerifiedReader({ cid: keyed.root, source: content, outboard: keyed, key })
    key.fill(0)
    expect(await reader.read({ start: 5, end: 10 })).to.deep.equal(content.slice(5, 10))
  })
})

describe('two faults', () => {
  it('the first one in the encoding is thrown, also if the other is the end of the source', async () => {
    const pairs = outboard.bytes.slice()
    pairs[64] ^= 1 // of the pair after the root's
    const wrong = Outboard.from({ ...outboard, cid: outboard.root, bytes: pairs })
    for (const source of [
      content.subarray(0, 5000),
      { size: content.length, read: (start, end) => content.subarray(start, Math.min(end, 5000)) }
    ]) {
      const error = await errorOf(
        new VerifiedReader({ cid: root, source, outboard: wrong }).read({ start: 0, end: 20_000 })
      )
      expect(error).to.include({ code: 'BAO_PARENT_MISMATCH', node: 127 })
      expect(
        await errorOf(new VerifiedReader({ cid: root, source, outboard }).read({ start: 0, end: 20_000 }))
      ).to.include({ code: 'BAO_TRUNCATED', start: 0, wanted: 16384, got: 5000 })
    }
    const noPair = { ...outboard, copyPair: (step, out, at) => step.isRoot && outboard.copyPair(step, out, at) }
    expect(
      await errorOf(
        new VerifiedReader({ cid: root, source: content, outboard: noPair }).read({ start: 0, end: 20_000 })
      )
    ).to.include({ code: 'BAO_TRUNCATED', node: 127, wanted: 64, got: 0 })
  })

  it('but an error of the source itself is thrown', async () => {
    const source = { size: content.length, read: async () => { throw new Error('the disk is gone') } }
    expect(
      await errorOf(new VerifiedReader({ cid: root, source, outboard }).read({ start: 0, end: 20_000 }))
    ).to.include({ message: 'the disk is gone' })
  })
})

describe('the arguments of a call', () => {
  it('are checked at the call, all of them', async () => {
    expect(() => encodeSlice(1, undefined)).to.throw(TypeError, '"outboard"')
    expect(() => verifyStream(slice, { cid: 5 })).to.throw(TypeError, '"cid"')
    expect(() => encodeSliceSync(content, outboard, { start: 0, length: 10 })).to.throw(TypeError, 'length')
    expect(() => encodeSliceSync(content, outboard, { start: 20, end: 10 })).to.throw(RangeError, '"end"')
    for (const size of [NaN, -5, 1.5]) {
      expect(
        await errorOf(hashStream({ size, read: () => content }))
      ).to.be.instanceOf(RangeError)
    }
    expect(() => new Hasher(noise(32))).to.throw(TypeError, '"options"')
    expect(() => ChunkRanges.all.boundaries.push(1)).to.throw(TypeError)
  })
})
