// Several slices after one another in one stream.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { createOutboardSync, encode, encodeSliceSync } from '../../../encoder/index.js'
import { SliceSource, SliceVerifier, verifyStream } from '../../../verifier/index.js'
import { concat, flipped, hex, same } from '../../support/bytes.js'
import { collect, errorOf, oneByOne, ragged, readable, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'

const blobs = [0, 1, 5000, 300_000, 16_384].map((len, i) => noise(len, i + 1))
const asked = blobs.map((blob, i) => {
  const outboard = createOutboardSync(blob)
  const range = [undefined, undefined, { start: 2000, end: 3000 }, { start: 100_000, end: 200_000 }, undefined][i]
  return { blob, cid: outboard.root, ranges: range, slice: encodeSliceSync(blob, outboard, range) }
})
const tail = noise(50_000, 9)
const all = concat([...asked.map(({ slice }) => slice), tail])

/** A source that reports how far it was read, and whether it was closed. */
function watched (pieces) {
  const seen = { len: 0, isClosed: false }
  seen.source = (async function * () {
    try {
      for (const piece of pieces) {
        seen.len += piece.length
        yield piece
      }
    } finally {
      seen.isClosed = true
    }
  })()
  return seen
}

const isRight = (leaves, { blob }) => leaves.every(
  ({ offset, bytes }) => same(bytes, blob.subarray(offset, offset + bytes.length))
)

const optionsOf = ({ cid, ranges }) => ({ cid, ranges })

async function leavesOf (source, { blob, slice, ...options }) {
  const leaves = []
  for await (const leaf of verifyStream(source, options)) leaves.push(leaf)
  return leaves
}

forEachKernel(() => describe('slices after one another', () => {
  for (const [title, cut] of Object.entries({
    'in one piece': () => [all],
    'in pieces of any length': () => ragged(all, 12),
    'byte by byte': () => oneByOne(all.subarray(0, all.length - tail.length + 10)),
    'in a piece for each': () => [...asked.map(({ slice }) => slice), tail]
  })) {
    it(title, async () => {
      const pieces = cut()
      const source = new SliceSource(stream(pieces))
      for (const { cid, ranges, ...what } of asked) {
        expect(await source.isAtEnd()).to.equal(false)
        const leaves = await leavesOf(source, { cid, ranges })
        expect(isRight(leaves, what)).to.equal(true)
        expect(leaves.length > 0).to.equal(what.blob.length > 0)
      }
      const rest = await collect(source)
      expect(same(rest, tail.subarray(0, rest.length))).to.equal(true)
      expect(rest.length).to.equal(pieces.reduce((len, piece) => len + piece.length, 0) - (all.length - tail.length))
      expect(await source.isAtEnd()).to.equal(true)
    })
  }

  it('with bytes of other kinds between them', async () => {
    const framed = concat(asked.flatMap(({ slice }, i) => [Uint8Array.of(i, 7, 7), slice]))
    for (const pieces of [[framed], ragged(framed, 3), oneByOne(framed.subarray(0, 20_000))]) {
      const source = new SliceSource(readable(pieces))
      for (const [i, { cid, ranges, ...what }] of asked.entries()) {
        if (pieces.length >= 20_000 && i === 3) break
        expect(await source.read(3)).to.deep.equal(Uint8Array.of(i, 7, 7))
        expect(isRight(await leavesOf(source, { cid, ranges }), what)).to.equal(true)
      }
      await source.close()
    }
    const pieces = new SliceSource(stream([...asked.map(({ slice }) => slice), tail]))
    for (const { slice } of asked) expect(same(await collect(pieces.take(slice.length)), slice)).to.equal(true)
    expect(await errorOf(collect(pieces.take(tail.length + 1))))
      .to.include({ code: 'BAO_TRUNCATED', wanted: tail.length + 1, got: tail.length })
    const short = new SliceSource(stream([Uint8Array.of(1, 2)]))
    expect(await short.read(0)).to.have.length(0)
    expect(await errorOf(short.read(3))).to.include({ code: 'BAO_TRUNCATED', wanted: 3, got: 2 })
  })

  it('are read only up to the piece in which they end', async () => {
    const pieces = [asked[3].slice.subarray(0, 100_000), asked[3].slice.subarray(100_000), tail]
    const seen = watched(pieces)
    const source = new SliceSource(seen.source)
    await leavesOf(source, asked[3])
    expect(seen.len).to.equal(asked[3].slice.length)
    expect(seen.isClosed).to.equal(false)
    await source.close()
    expect(seen.isClosed).to.equal(true)
    expect(await errorOf(leavesOf(source, asked[3]))).to.include({ code: 'BAO_TRUNCATED' })
  })

  it('without ranges wait for no byte', async () => {
    const source = new SliceSource(watched([]).source)
    expect(await leavesOf(
      source, { cid: new Uint8Array(32), size: 10_000, ranges: asked[0].ranges ?? { start: 0, end: 1 } }
    ).catch(error => error.code)).to.equal('BAO_TRUNCATED')
    const stuck = new SliceSource({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) })
    expect(
      await leavesOf(stuck, { cid: new Uint8Array(32), size: 10_000, ranges: ChunkRanges.none })
    ).to.deep.equal([])
  })

  it('end with a slice that is wrong, cut off, or not read to its end', async () => {
    const [, , , long] = asked
    const ways = {
      BAO_LEAF_MISMATCH: () => leavesOf(lied, long),
      BAO_TRUNCATED: () => leavesOf(cut, long)
    }
    const seen = watched([flipped(long.slice, long.slice.length - 10), asked[1].slice])
    const lied = new SliceSource(seen.source)
    const cut = new SliceSource(stream([long.slice.subarray(0, 90_000)]))
    for (const [code, way] of Object.entries(ways)) {
      expect(await errorOf(way())).to.include({ code })
      expect(await errorOf(way()), 'again').to.include({ code: 'BAO_TRUNCATED', got: 0 })
    }
    expect(seen.isClosed).to.equal(true)

    const left = watched([long.slice.subarray(0, 50_000), long.slice.subarray(50_000), asked[1].slice])
    const source = new SliceSource(left.source)
    for await (const leaf of verifyStream(source, optionsOf(long))) if (leaf.offset >= 0) break
    expect(left.isClosed).to.equal(true)
    expect(await source.isAtEnd()).to.equal(true)
  })

  it('may be left at the last leaf: the next slice begins after it', async () => {
    const source = new SliceSource(stream([all]))
    await leavesOf(source, asked[0])
    for await (const leaf of verifyStream(source, optionsOf(asked[1]))) if (leaf.bytes.length > 0) break
    expect(isRight(await leavesOf(source, asked[2]), asked[2])).to.equal(true)
  })

  it('are read only one after the other', async () => {
    const source = new SliceSource(stream([all]))
    const first = verifyStream(source, optionsOf(asked[0]))
    const second = verifyStream(source, optionsOf(asked[1]))
    const [one, two] = await Promise.allSettled([first.next(), second.next()])
    expect(one.status).to.equal('fulfilled')
    expect(two.reason).to.be.instanceOf(TypeError)
  })

  it('lose no byte when a call that waits is aborted', async () => {
    let go = () => {}
    const gone = () => new Promise(resolve => { go = resolve })
    const source = new SliceSource((async function * () {
      yield all.subarray(0, 3)
      await gone()
      yield all.subarray(3)
    })())
    const soon = () => ({ signal: AbortSignal.timeout(5) })
    expect(await errorOf(source.read(8, soon()))).to.include({ name: 'TimeoutError' })
    expect(await source.read(3)).to.deep.equal(all.slice(0, 3))
    expect(await errorOf(source.isAtEnd(soon()))).to.include({ name: 'TimeoutError' })
    expect(await errorOf(source.read(1, soon()))).to.include({ name: 'TimeoutError' })
    go()
    expect(await errorOf(source.read(5, { signal: AbortSignal.abort() }))).to.include({ name: 'AbortError' })
    expect(await source.read(5)).to.deep.equal(all.slice(3, 8))
    expect(await errorOf(source.read(5, { signal: AbortSignal.abort() }))).to.include({ name: 'AbortError' })
    const rest = await collect(source)
    expect(same(rest, all.subarray(8))).to.equal(true)
  })

  it('come in order when several calls wait', async () => {
    for (const pieces of [[all], ragged(all, 5), oneByOne(all.subarray(0, 500))]) {
      const source = new SliceSource(stream(pieces))
      const asked = [source.isAtEnd(), source.read(3), source.isAtEnd(), source.isAtEnd(), source.read(4)]
      const [, first, , , second] = await Promise.all(asked)
      const sorted = [first, second].sort((a, b) => a.length - b.length)
      expect(sorted.map(({ length }) => length)).to.deep.equal([3, 4])
      if (pieces[0].length > 1) expect(hex(concat([first, second]))).to.equal(hex(all.subarray(0, 7)))
      const rest = await collect(source)
      expect(rest.length + 7).to.equal(pieces.reduce((len, piece) => len + piece.length, 0))
      expect(same(rest, all.subarray(7, 7 + rest.length))).to.equal(true)
    }
  })

  it('from a source that hangs end with an abort, and when they are closed', async () => {
    for (const way of [source => errorOf(
      leavesOf(source, { cid: hash(tail), signal: AbortSignal.timeout(5) })
    ), source => {
      const waiting = errorOf(source.isAtEnd())
      return Promise.all([source.close(), waiting])
    }]) {
      let isCancelled = false
      const source = new SliceSource(
        new ReadableStream({ pull: () => new Promise(() => {}), cancel () { isCancelled = true } })
      )
      await way(source)
      await new Promise(resolve => setTimeout(resolve, 5))
      expect(isCancelled).to.equal(true)
      expect(await errorOf(source.read(1))).to.include({ code: 'BAO_TRUNCATED', got: 0 })
    }
  })

  it('close the stream if no bytes are wanted', async () => {
    let isCancelled = false
    const stream = new ReadableStream({ cancel () { isCancelled = true } })
    expect(await leavesOf(stream, { cid: hash(tail), size: 10_000, ranges: ChunkRanges.none })).to.deep.equal([])
    expect(isCancelled).to.equal(true)
  })

  it('from a source that hangs end with an abort', async () => {
    const reason = new Error('enough')
    const stuck = () => (
      { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: () => new Promise(() => {}) }) }
    )
    const soon = () => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(reason), 5)
      return controller.signal
    }
    expect(await errorOf(leavesOf(new SliceSource(stuck()), { cid: hash(tail), signal: soon() }))).to.equal(reason)
    expect(await errorOf(leavesOf(new SliceSource(stuck(), { signal: soon() }), { cid: hash(tail) }))).to.equal(reason)
    expect(await errorOf(new SliceSource(stuck()).read(1, { signal: soon() }))).to.equal(reason)
    expect(await errorOf(new SliceSource(stuck()).isAtEnd({ signal: soon() }))).to.equal(reason)
  })
}))

forEachKernel(() => describe('the rest', () => {
  it('of a piece in which a slice ends is a view of it', () => {
    for (const groupLog of [0, 4]) {
      const { root, bytes: encoded } = encode(blobs[3], { groupLog })
      for (const release of ['soon', 'leaf', 'window']) {
        for (const len of [1, 8, 9, 1000, encoded.length - 1, encoded.length]) {
          const verifier = new SliceVerifier({ cid: root, groupLog, release })
          verifier.write(encoded.subarray(0, encoded.length - len))
          expect(verifier.rest).to.have.length(0)
          const piece = concat([encoded.subarray(encoded.length - len), tail])
          verifier.write(piece)
          expect(verifier.done).to.equal(true)
          expect(verifier.rest.buffer).to.equal(piece.buffer)
          expect(same(verifier.rest, tail)).to.equal(true)
          expect(verifier.bytesRead).to.equal(encoded.length)
          expect(verifier.write(tail)).to.deep.equal([])
          expect(same(verifier.rest, tail)).to.equal(true)
          verifier.write(new Uint8Array(0))
          expect(verifier.rest).to.have.length(0)
        }
      }
    }
  })

  it('is nothing before the end, and nothing after a fault', () => {
    const { root, bytes: encoded } = encode(blobs[3], { groupLog: 0 })
    const verifier = new SliceVerifier({ cid: root, groupLog: 0 })
    verifier.write(flipped(encoded, 100_000))
    expect(verifier.error).to.include({ code: 'BAO_LEAF_MISMATCH' })
    expect(verifier.rest).to.have.length(0)
  })
}))
