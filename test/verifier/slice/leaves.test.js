// Tests when verified bytes come out, and in whose memory.
import { expect } from 'chai'
import { ChunkRanges, Hasher, hash } from '../../../lib/index.js'
import { createOutboardSync, encode, encodeSliceSync } from '../../../encoder/index.js'
import { SliceVerifier, decode, verifySlice, verifyStream, verifyTransform } from '../../../verifier/index.js'
import { concat, flipped, same } from '../../support/bytes.js'
import { KIB } from '../../support/constants.js'
import { errorOf, feed, joined, ragged, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'

const content = noise(700 * KIB + 300, 41)
const inPieces = (bytes, len) => Array.from(
  { length: Math.ceil(bytes.length / len) }, (_, i) => bytes.subarray(i * len, (i + 1) * len)
)

forEachKernel(() => describe('verified bytes come out', () => {
  /** The most bytes that were written and not yet given, over all pieces. */
  function mostHeld (encoded, options, len) {
    const verifier = new SliceVerifier(options)
    let [written, given, most] = [0, 0, 0]
    for (const piece of inPieces(encoded, len)) {
      given += verifier.write(piece).reduce((sum, { bytes }) => sum + bytes.length, 0)
      written += piece.length
      most = Math.max(most, written - given)
    }
    expect(given).to.equal(content.length)
    verifier.end()
    return most
  }

  for (const groupLog of [0, 2, 4]) {
    const pairs = 64 * Math.ceil(content.length / KIB / 2 ** groupLog) + 64
    it(`soon by default: at most 32 KiB and their pairs wait, in groups of ${2 ** groupLog}`, () => {
      const { root, bytes: encoded } = encode(content, { groupLog })
      for (const len of [100, 1400, 16 * KIB, 64 * KIB, 300 * KIB, encoded.length]) {
        // Of the last 32 chunks, one may be missing; subtrees below them add at most as many.
        expect(mostHeld(encoded, { cid: root, groupLog }, len), `pieces of ${len}`).to.be.below(64 * KIB + pairs)
      }
    })

    it(`first after 16 KiB, in groups of ${2 ** groupLog}`, () => {
      const { root, bytes: encoded } = encode(content, { groupLog })
      const verifier = new SliceVerifier({ cid: root, groupLog })
      let written = 0
      for (const piece of inPieces(encoded, 100)) {
        written += piece.length
        if (verifier.write(piece).length > 0) break
      }
      expect(written).to.be.below(16 * KIB + 64 * 32 + 108)
    })

    it(`with the last byte of each leaf if told to, in groups of ${2 ** groupLog}`, () => {
      const { root, bytes: encoded } = encode(content, { groupLog })
      for (const len of [1400, 64 * KIB, 300 * KIB]) {
        expect(
          mostHeld(encoded, { cid: root, groupLog, release: 'leaf' }, len), `pieces of ${len}`
        ).to.be.below(KIB * 2 ** groupLog + pairs)
      }
    })

    it(`in windows if told to, in groups of ${2 ** groupLog}`, () => {
      const { root, bytes: encoded } = encode(content, { groupLog })
      const verifier = new SliceVerifier({ cid: root, groupLog, release: 'window' })
      const leaves = inPieces(encoded, 1400).flatMap(piece => verifier.write(piece))
      leaves.push(...verifier.end())
      expect(leaves.length).to.be.at.most(12)
      expect(same(concat(leaves.map(({ bytes }) => bytes)), content)).to.equal(true)
    })
  }

  it('as one leaf for all that have arrived, up to a window', () => {
    const { root, bytes: encoded } = encode(content, { groupLog: 0 })
    for (const release of ['soon', 'leaf', 'window']) {
      const leaves = new SliceVerifier({ cid: root, groupLog: 0, release }).write(encoded)
      // Of 700 KiB, the first five windows are full. A part of less than 16 chunks may come chunk by chunk.
      expect(
        leaves.slice(0, 5).map(({ bytes }) => bytes.length / KIB), release
      ).to.deep.equal([128, 128, 128, 128, 128])
    }
  })

  it('from scattered ranges in the same way', () => {
    for (const groupLog of [0, 4]) {
      const outboard = createOutboardSync(content, { groupLog })
      const ranges = ChunkRanges.fromBoundaries([1, 2, 5, 40, 41, 43, 64, 200, 333, 334, 699, 700])
      const slice = encodeSliceSync(content, outboard, ranges)
      const expected = ranges.toBytes(content.length).map(
        ({ start, end }) => ({ offset: start, bytes: content.slice(start, end) })
      )
      for (const release of ['soon', 'leaf', 'window']) {
        for (const pieces of [[slice], inPieces(slice, 997), inPieces(slice, 50_000), ragged(slice, 5)]) {
          const { leaves, error } = feed(new SliceVerifier({ cid: outboard.root, ranges, groupLog, release }), pieces)
          expect(error).to.equal(undefined)
          expect(leaves.map(({ offset, bytes }) => [offset, hash(bytes)])).to.deep.equal(
            expected.map(({ offset, bytes }) => [offset, hash(bytes)])
          )
        }
      }
    }
  })

  it('only with a known `release`', () => {
    for (const release of ['', 'late', 'toString', 5, null]) {
      expect(
        () => new SliceVerifier({ cid: hash(content), release })
      ).to.throw(TypeError, '"release"')
    }
  })
}))

forEachKernel(() => describe('verified bytes in memory', () => {
  const ranges = ChunkRanges.fromBoundaries([3, 150, 152, 400])
  const outboard = createOutboardSync(content, { groupLog: 0 })
  const slice = encodeSliceSync(content, outboard, ranges)
  const options = { cid: outboard.root, ranges, groupLog: 0 }
  const wanted = concat(ranges.toBytes(content.length).map(({ start, end }) => content.subarray(start, end)))
  const isPlaced = leaves => leaves.every(
    ({ offset, bytes }) => same(bytes, content.subarray(offset, offset + bytes.length))
  )

  it('of the caller are filled from the start', async () => {
    const memory = new Uint8Array(wanted.length + 20).fill(0xee)
    const into = memory.subarray(10, 10 + wanted.length)
    const ways = {
      verifySlice: () => verifySlice(slice, { ...options, into }),
      SliceVerifier () {
        const verifier = new SliceVerifier({ ...options, into })
        return [...ragged(slice, 2).flatMap(piece => verifier.write(piece)), ...verifier.end()]
      },
      async verifyStream () {
        const leaves = []
        for await (const leaf of verifyStream(stream(ragged(slice, 3)), { ...options, into })) leaves.push(leaf)
        return leaves
      }
    }
    for (const [name, way] of Object.entries(ways)) {
      into.fill(0)
      const leaves = await way()
      expect(same(into, wanted), name).to.equal(true)
      expect(isPlaced(leaves), name).to.equal(true)
      for (const { bytes } of leaves) expect(bytes.buffer, name).to.equal(memory.buffer)
      expect([...memory.subarray(0, 10), ...memory.subarray(-10)].every(byte => byte === 0xee), name).to.equal(true)
    }
  })

  it('of the caller that is too short cause an error, and nothing after it is written', () => {
    for (const len of [0, 1, 1024, wanted.length - 1]) {
      const memory = new Uint8Array(wanted.length + 1000)
      expect(() => verifySlice(slice, { ...options, into: memory.subarray(0, len) })).to.throw(RangeError, '"into"')
      expect(memory.subarray(len).every(byte => byte === 0)).to.equal(true)
    }
  })

  it('of the caller are only verified ones', () => {
    const into = new Uint8Array(wanted.length)
    const at = slice.length - 70_000
    expect(
      () => verifySlice(flipped(slice, at), { ...options, into })
    ).to.throw().with.property('code', 'BAO_LEAF_MISMATCH')
    const good = into.findLastIndex(byte => byte !== 0) + 1
    expect(good).to.be.greaterThan(0)
    expect(same(into.subarray(0, good), wanted.subarray(0, good))).to.equal(true)
  })

  it('of the caller may be the result of decode', () => {
    for (const len of [0, 1, 1024, 5000, content.length]) {
      const { root, bytes: combined } = encode(content.subarray(0, len), { groupLog: 0 })
      const into = new Uint8Array(len + 7)
      const blob = decode(combined, root, { into, groupLog: 0 })
      expect(blob.buffer).to.equal(into.buffer)
      expect(same(blob, content.subarray(0, len))).to.equal(true)
      if (len > 0) {
        expect(
          () => decode(combined, root, { into: new Uint8Array(len - 1), groupLog: 0 })
        ).to.throw(RangeError, '"into"')
      }
    }
  })

  it('may be those of the slice itself', () => {
    const { root, bytes: combined } = encode(content, { groupLog: 0 })
    expect(same(decode(combined, root, { into: combined, groupLog: 0 }), content)).to.equal(true)
  })

  it('are borrowed until the next call, and their memory is reused', () => {
    const verifier = new SliceVerifier({ ...options, reuse: true })
    const buffers = new Set()
    const given = []
    for (const piece of inPieces(slice, 20_000)) {
      const leaves = verifier.write(piece)
      expect(isPlaced(leaves)).to.equal(true)
      leaves.forEach(({ bytes }) => buffers.add(bytes.buffer))
      given.push(...leaves.map(({ offset, bytes }) => ({ offset, bytes: bytes.slice() })))
    }
    verifier.end()
    expect(same(concat(given.map(({ bytes }) => bytes)), wanted)).to.equal(true)
    expect(buffers.size).to.be.below(5)
    expect(
      isPlaced(new SliceVerifier({ ...options, reuse: true }).write(slice)), 'many leaves of one call'
    ).to.equal(true)
  })

  it('are borrowed by a callback, and not copied', () => {
    for (const pieces of [[slice], ragged(slice, 4)]) {
      const given = []
      const verifier = new SliceVerifier(
        { ...options, onLeaf: (offset, bytes) => given.push({ offset, bytes: bytes.slice() }) }
      )
      for (const piece of pieces) expect(verifier.write(piece)).to.deep.equal([])
      expect(verifier.end()).to.deep.equal([])
      expect(isPlaced(given)).to.equal(true)
      expect(joined(given)).to.have.length(2)
      expect(same(concat(given.map(({ bytes }) => bytes)), wanted)).to.equal(true)
    }
    const lens = []
    expect(verifySlice(slice, { ...options, onLeaf: (_offset, bytes) => lens.push(bytes.length) })).to.deep.equal([])
    expect(lens.reduce((sum, len) => sum + len, 0)).to.equal(wanted.length)
  })

  it('are not given to a callback that hashes, or that returns a promise', () => {
    expect(() => verifySlice(slice, { ...options, onLeaf: (_offset, bytes) => hash(bytes) })).to.throw('borrowed')
    expect(() => verifySlice(slice, { ...options, onLeaf: async () => {} })).to.throw(TypeError, 'promise')
    expect(hash(content), 'the next call is as ever').to.deep.equal(outboard.root)
  })

  it('do not change when a callback tries to hash, and neither does the hasher', () => {
    const chunks = ChunkRanges.fromBoundaries([0, 1, 2, 3, 4, 5, 6, 7])
    const outboard = createOutboardSync(content, { groupLog: 0 })
    const slice = encodeSliceSync(content, outboard, chunks)
    const hasher = new Hasher().update(content.subarray(0, 10))
    const other = new Uint8Array(200_000).fill(0xee)
    const starts = []
    verifySlice(slice, {
      cid: outboard.root,
      ranges: chunks,
      groupLog: 0,
      onLeaf (offset, bytes) {
        for (const tries of [
          () => hasher.update(other), () => createOutboardSync(other), () => encode(other, { groupLog: 0 })
        ]) expect(tries).to.throw('borrowed')
        expect(same(bytes, content.subarray(offset, offset + bytes.length))).to.equal(true)
        starts.push(offset / KIB)
      }
    })
    expect(starts).to.deep.equal([0, 2, 4, 6])
    expect(hasher.digest()).to.deep.equal(hash(content.subarray(0, 10)))
  })

  it('are kept in only one way', async () => {
    const into = new Uint8Array(10)
    const onLeaf = () => {}
    for (const kinds of [{ into, reuse: true }, { into, reuse: 'yes' }, { into, onLeaf }, { reuse: true, onLeaf }]) {
      expect(() => new SliceVerifier({ ...options, ...kinds })).to.throw(TypeError, 'exclude')
    }
    for (const value of [null, 5, 'abc', [1]]) {
      expect(() => verifySlice(slice, { ...options, into: value })).to.throw(TypeError, '"into"')
      expect(() => verifySlice(slice, { ...options, onLeaf: value })).to.throw(TypeError, '"onLeaf"')
    }
    for (const kind of [{ into }, { reuse: true }, { onLeaf }]) {
      expect(
        await errorOf(() => verifyTransform({ ...options, ...kind })), 'what waits in a stream cannot be lent'
      ).to.be.instanceOf(TypeError)
    }
  })
}))
