// Node.js Buffers are Uint8Arrays, but their `slice` does not copy and they share memory with others.

import { expect } from 'chai'
import {
  BaoError, ChunkRanges, Hasher, fromCid, hash, keyedHash, parentCv, parseRoot, rootHash, subtreeCv, toCid
} from '../../../lib/index.js'
import { Outboard, createOutboardSync, encode, encodeSliceSync } from '../../../encoder/index.js'
import { decode, verifySlice } from '../../../verifier/index.js'
import { forEachKernel } from '../../support/kernels.js'
import { KEY, noise } from '../../support/inputs.js'

/** The same bytes in the middle of a Buffer's shared memory. */
const asBuffer = bytes => {
  const pool = Buffer.alloc(bytes.length + 24, 0xaa)
  pool.set(bytes, 7)
  return pool.subarray(7, 7 + bytes.length)
}

const content = noise(100_000)
const key = KEY

forEachKernel(() => {
  describe('Buffers', () => {
    it('as input and key', () => {
      expect(hash(asBuffer(content))).to.deep.equal(hash(content))
      expect(new Hasher().update(asBuffer(content)).digest()).to.deep.equal(hash(content))
      expect(keyedHash(asBuffer(key), content)).to.deep.equal(keyedHash(key, content))
      expect(Hasher.keyed(asBuffer(key)).update(content).digest(70)).to.deep.equal(keyedHash(key, content, 70))
    })

    it('as nodes', () => {
      const [left, right] = [subtreeCv(content.subarray(0, 65536), 0), subtreeCv(content.subarray(65536), 64)]
      expect(rootHash(asBuffer(left), asBuffer(right))).to.deep.equal(hash(content))
      const keyed = parentCv(asBuffer(left), asBuffer(right), { key: asBuffer(key) })
      expect(keyed).to.deep.equal(parentCv(left, right, { key }))
    })

    it('as names', () => {
      const root = hash(content)
      const buffer = asBuffer(root)
      const [cid, parsed, read] = [toCid(buffer), parseRoot(buffer), fromCid(asBuffer(toCid(root).bytes))]
      buffer.fill(0)
      expect(String(cid)).to.equal(String(toCid(root)))
      expect(parsed).to.deep.equal(root)
      expect(read).to.deep.equal(root)
    })

    it('as outboards, encodings and slices', () => {
      const outboard = createOutboardSync(asBuffer(content), { key: asBuffer(key) })
      const stored = Outboard.from({ ...outboard, bytes: asBuffer(outboard.bytes), cid: asBuffer(outboard.root) })
      expect(stored.flip().flip().bytes).to.deep.equal(outboard.bytes)
      const ranges = ChunkRanges.fromBytes(20_000, 40_000)
      const slice = encodeSliceSync(asBuffer(content), stored, ranges, { key: asBuffer(key) })
      const [leaf] = verifySlice(asBuffer(slice), { cid: asBuffer(outboard.root), ranges, key: asBuffer(key) })
      expect(leaf.bytes).to.deep.equal(content.slice(leaf.offset, leaf.offset + leaf.bytes.length))
      const { bytes, root } = encode(content, { groupLog: 0 })
      expect(decode(asBuffer(bytes), asBuffer(root), { groupLog: 0 })).to.deep.equal(content)
      expect(() => decode(asBuffer(bytes), asBuffer(key), { groupLog: 0 })).to.throw(BaoError)
    })
  })
})
