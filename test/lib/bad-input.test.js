import { expect } from 'chai'
import {
  ChunkRanges, Hasher, Walk, chunkCount, chunkCv, deriveKey, fromCid, groupCount, hash, hashInto, hashStream, keyedHash,
  leftLen, maxSubtreeLen, outboardLen, parentCv, parseRoot, rootHash, subtreeCv, toCid, walk
} from '../../lib/index.js'
import { hex } from '../support/bytes.js'
import { errorOf } from '../support/feeding.js'
import { KEY } from '../support/inputs.js'
import {
  IMPOSSIBLE_NUMBERS, expectSlip, refusesAllButBytes, refusesAllButCounts, refusesAllButGroupLogs, refusesAllButKeys
} from '../support/slips.js'

const BYTES = new Uint8Array(100)
const CV = new Uint8Array(32)

/** Calls that give a node of the tree, with options. */
const NODE_CALLS = [
  options => chunkCv(BYTES, 0, options),
  options => subtreeCv(BYTES, 0, options),
  options => parentCv(CV, CV, options),
  options => rootHash(CV, CV, options)
]

describe('hashing', () => {
  it('refuses input that is not bytes', async () => {
    await refusesAllButBytes('bytes', value => hash(value))
    await refusesAllButBytes('bytes', value => hash(value, 64))
    await refusesAllButBytes('bytes', value => keyedHash(KEY, value))
    await refusesAllButBytes('material', value => deriveKey('context', value))
    await refusesAllButBytes('bytes', value => hashInto(value, CV))
    await refusesAllButBytes('bytes', value => new Hasher().update(value))
  })

  it('refuses an output that is not bytes, or is too short', async () => {
    await refusesAllButBytes('out', value => hashInto(BYTES, value))
    await refusesAllButBytes('out', value => new Hasher().digestInto(value))
    await refusesAllButBytes('out', value => new Hasher().reader().readInto(value))
    await expectSlip('out', () => hashInto(BYTES, new Uint8Array(31)), [RangeError])
  })

  it('refuses keys of another type or length', async () => {
    await refusesAllButKeys(value => keyedHash(value, BYTES))
    await refusesAllButKeys(value => Hasher.keyed(value))
    await expectSlip('key', () => keyedHash(undefined, BYTES))
    await expectSlip('key', () => Hasher.keyed())
  })

  it('refuses contexts that are not strings', async () => {
    for (const value of [undefined, null, 5, BYTES, {}, ['context']]) {
      await expectSlip('context', () => deriveKey(value, BYTES), [TypeError])
      await expectSlip('context', () => Hasher.deriveKey(value), [TypeError])
    }
  })

  it('refuses impossible lengths of output', async () => {
    await refusesAllButCounts('length', value => hash(BYTES, value))
    await refusesAllButCounts('length', value => keyedHash(KEY, BYTES, value))
    await refusesAllButCounts('length', value => deriveKey('context', BYTES, value))
    await refusesAllButCounts('length', value => new Hasher().digest(value))
    await refusesAllButCounts('length', value => new Hasher().reader().read(value))
    await refusesAllButCounts('length', value => rootHash(CV, CV, { length: value }))
  })

  it('refuses impossible positions in the output', async () => {
    await refusesAllButCounts('position', value => new Hasher().reader().seek(value))
  })

  it('refuses unknown options, and options that are not an object', async () => {
    for (const call of [options => new Hasher(options), options => hashStream(BYTES, options)]) {
      await expectSlip('kye', () => call({ kye: KEY }), [TypeError])
      for (const options of [null, 5, 'key']) expect(await errorOf(() => call(options))).to.be.instanceOf(TypeError)
    }
    await expectSlip('length', () => hashStream(BYTES, { length: 64 }), [TypeError])
  })

  it('does not change a hasher by a refused call', async () => {
    const hasher = new Hasher().update(BYTES)
    await errorOf(() => hasher.update('abc'))
    await errorOf(() => hasher.digest(-1))
    expect(hasher.bytesHashed).to.equal(100)
    expect(hex(hasher.digest())).to.equal(hex(hash(BYTES)))
  })
})

describe('the tree', () => {
  it('refuses input that is not a chunk, or not a subtree, at its place', async () => {
    await refusesAllButBytes('bytes', value => chunkCv(value, 0))
    await refusesAllButBytes('bytes', value => subtreeCv(value, 0))
    await expectSlip('bytes', () => chunkCv(new Uint8Array(1025), 0), [RangeError])
    // No subtree is empty, or crosses the border of its power of two.
    await expectSlip('bytes', () => subtreeCv(new Uint8Array(0), 0), [RangeError])
    await expectSlip('bytes', () => subtreeCv(new Uint8Array(1025), 1), [RangeError])
    await expectSlip('bytes', () => subtreeCv(new Uint8Array(2049), 2), [RangeError])
  })

  it('refuses chaining values of another type or length', async () => {
    for (const join of [parentCv, rootHash]) {
      await refusesAllButBytes('left', value => join(value, CV))
      await refusesAllButBytes('right', value => join(CV, value))
      for (const len of [0, 31, 33, 64]) {
        await expectSlip('left', () => join(new Uint8Array(len), CV))
        await expectSlip('right', () => join(CV, new Uint8Array(len)))
      }
    }
  })

  it('refuses impossible keys and contexts, and both together', async () => {
    for (const call of NODE_CALLS) {
      await refusesAllButKeys(key => call({ key }))
      await expectSlip('context', () => call({ context: 5 }), [TypeError])
      await expectSlip('key', () => call({ key: KEY, context: 'context' }))
    }
  })

  it('refuses unknown options', async () => {
    for (const call of NODE_CALLS) await expectSlip('kye', () => call({ kye: KEY }), [TypeError])
    await expectSlip('comeBack', () => new Walk(5000, 0, ChunkRanges.all, { comeBack: true }), [TypeError])
  })

  it('refuses impossible places in a blob', async () => {
    await refusesAllButCounts('chunkIndex', value => chunkCv(BYTES, value))
    await refusesAllButCounts('startChunk', value => subtreeCv(BYTES, value))
    // The last chunk of the largest blob, and the one after it.
    expect(chunkCv(BYTES, 2 ** 43 - 1)).to.have.length(32)
    await expectSlip('chunkIndex', () => chunkCv(BYTES, 2 ** 43), [RangeError])
  })

  it('refuses impossible sizes, group logs and ranges', async () => {
    await refusesAllButCounts('len', value => leftLen(value))
    await expectSlip('len', () => leftLen(1024), [RangeError])
    await refusesAllButCounts('offset', value => maxSubtreeLen(value))
    await expectSlip('offset', () => maxSubtreeLen(1), [RangeError])
    await refusesAllButCounts('size', value => chunkCount(value))
    await refusesAllButCounts('size', value => groupCount(value, 0))
    await refusesAllButCounts('size', value => outboardLen(value, 0))
    await refusesAllButCounts('size', value => [...walk(value, 0)])
    await refusesAllButGroupLogs(value => groupCount(5, value))
    await refusesAllButGroupLogs(value => outboardLen(5, value))
    await refusesAllButGroupLogs(value => [...walk(5, value)])
    for (const value of [null, 5, [0], '0', { start: 0 }]) {
      await expectSlip('ranges', () => [...walk(5, 0, value)], [TypeError])
    }
  })
})

describe('ChunkRanges', () => {
  it('refuses impossible byte offsets', async () => {
    await refusesAllButCounts('start', value => ChunkRanges.fromBytes(value, 5))
    const impossible = IMPOSSIBLE_NUMBERS.filter(value => value !== Infinity)
    await refusesAllButCounts('end', value => ChunkRanges.fromBytes(0, value), impossible)
  })

  it('refuses boundaries that are not increasing chunk indices', async () => {
    const wrong = [[1, 1], [2, 1], [0, 5, 5, 7], [-1], [1.5], [NaN], [Infinity], ['0'], [null], [-1n], [3n, 3]]
    for (const boundaries of wrong) {
      await expectSlip('boundaries', () => ChunkRanges.fromBoundaries(boundaries))
    }
    for (const value of [undefined, null, 5, {}]) {
      await expectSlip('boundaries', () => ChunkRanges.fromBoundaries(value), [TypeError])
    }
  })

  it('refuses to combine a set with anything else', async () => {
    for (const operation of ['union', 'intersect', 'difference']) {
      for (const value of [undefined, null, 5, [0], { boundaries: 5 }]) {
        await expectSlip('other', () => ChunkRanges.all[operation](value), [TypeError])
      }
    }
  })

  it('refuses impossible sizes, group logs and chunks', async () => {
    await refusesAllButCounts('size', value => ChunkRanges.all.canonical(value))
    await refusesAllButCounts('size', value => ChunkRanges.all.toBytes(value))
    await refusesAllButGroupLogs(value => ChunkRanges.all.roundToGroups(value))
    await refusesAllButCounts('chunk', value => ChunkRanges.all.has(value))
  })
})

describe('CIDs', () => {
  it('refuses values that are not a hash or not a code', async () => {
    await refusesAllButBytes('hash', value => toCid(value))
    for (const len of [0, 31, 33]) await expectSlip('hash', () => toCid(new Uint8Array(len)))
    await refusesAllButCounts('code', value => toCid(CV, value))
  })

  it('refuses values that are not a name', async () => {
    for (const value of [undefined, null, 5, {}, [1]]) {
      await expectSlip('cid', () => fromCid(value), [TypeError])
      await expectSlip('cid', () => parseRoot(value), [TypeError])
    }
    // A name may come from outside of the program, so this is not a mistake of the caller: the error has a code.
    for (const value of ['', 'nonsense', 'ab'.repeat(31), new Uint8Array(31)]) {
      expect(await errorOf(() => parseRoot(value)), value).to.include({ code: 'CID_UNSUPPORTED' })
    }
  })
})
