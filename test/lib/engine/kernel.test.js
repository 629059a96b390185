// Compares the kernels, call by call, on an arena full of random bytes.
import { expect } from 'chai'
import { BLOCK_LEN, CHUNK_END, CHUNK_LEN, HASH_LEN, PAIR_LEN, PARENT, ROOT } from '../../../lib/core/constants.js'
import { CVS, INPUT, INPUT_LEN, OUT, STAGE, TABLE, ZEROS, u32, u8 } from '../../../lib/engine/arena.js'
import { enter, keyedMode } from '../../../lib/engine/mode.js'
import { kernel } from '../../../lib/engine/kernel/index.js'
import { hex, same } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { ALL_KERNELS, onEachKernel } from '../../support/kernels.js'

const KEY = keyedMode(noise(32, 8))
/** The bytes in the input region. */
const RUBBISH = noise(INPUT_LEN, 7)
const LAST_LENS = [1, 63, 64, 65, 128, 511, 512, 575, 576, 577, 640, 960, 961, 1023, 1024]

/**
 * The results of each kernel in several cases, with the same arena each time.
 *
 * @template T
 * @param {T[]} cases @param {number} count  chaining values that a call writes
 * @param {(flags: number, value: T) => void} call
 */
const results = (cases, count, call) => onEachKernel(() => cases.map(value => {
  u8.set(RUBBISH, INPUT)
  u8.fill(0xee, CVS, CVS + HASH_LEN * (count + 4))
  call(enter(KEY), value)
  return `${value}: ${hex(u8.subarray(CVS, CVS + HASH_LEN * count))}`
}), ALL_KERNELS)

/** Expects that all are equal. */
function expectSame (results) {
  for (const result of results.slice(1)) expect(result).to.deep.equal(results[0])
}

/** All lengths from 0 to the given one. */
const lengths = last => Array.from({ length: last + 1 }, (_, len) => len)

/** Inputs in any order, and not adjacent. */
function pointTo (count, len) {
  const places = INPUT_LEN / len
  for (let i = 0; i < count; i++) u32[TABLE / 4 + i] = INPUT + (i * 37 + 5) % places * len
}

describe('compressMany', () => {
  for (let count = 1; count <= 9; count++) {
    it(`gives the same on every kernel for ${count} chunks, for any length of the last one`, () => {
      pointTo(count, CHUNK_LEN)
      expectSame(results(LAST_LENS, count, (flags, lastLen) =>
        kernel.compressMany(TABLE, count, lastLen, flags, 0xfffffffd, 5, CVS)))
    })

    it(`gives the same on every kernel for ${count} pairs`, () => {
      pointTo(count, PAIR_LEN)
      expectSame(results([PAIR_LEN], count, (flags, len) =>
        kernel.compressMany(TABLE, count, len, flags | PARENT, 0, 0, CVS)))
    })
  }
})

describe('the block of an empty input', () => {
  it('stays zero after any hashing', () => {
    onEachKernel(() => {
      u8.set(RUBBISH, INPUT)
      const flags = enter(KEY)
      for (const len of [0, 1, 64, 1023, 1024]) {
        kernel.compressChunk(INPUT, len, flags, CHUNK_END, 0, 0, OUT)
        kernel.compressBlock(INPUT, INPUT, len % 65, flags, 0, 0, OUT)
      }
      pointTo(9, CHUNK_LEN)
      kernel.compressMany(TABLE, 9, 5, flags, 0, 0, CVS)
    }, ALL_KERNELS)
    expect(u8.subarray(ZEROS, ZEROS + BLOCK_LEN)).to.deep.equal(new Uint8Array(BLOCK_LEN))
  })
})

describe('compressChunk', () => {
  it('gives the same on every kernel for a chunk of any length, with any bytes after it', () => {
    expectSame(results(lengths(CHUNK_LEN), 1, (flags, len) =>
      kernel.compressChunk(INPUT + BLOCK_LEN, len, flags, CHUNK_END, 0xffffffff, len, CVS)))
  })

  it('does not change the input', () => {
    u8.set(RUBBISH, INPUT)
    onEachKernel(() => {
      for (const len of LAST_LENS) kernel.compressChunk(INPUT, len, enter(KEY), CHUNK_END, 0, 0, CVS)
    }, ALL_KERNELS)
    expect(same(u8.subarray(INPUT, INPUT + INPUT_LEN), RUBBISH)).to.equal(true)
  })
})

describe('compressBlock', () => {
  it('gives the same 64 bytes on every kernel for a block of any length, with any bytes after it', () => {
    expectSame(results(lengths(BLOCK_LEN), 2, (flags, len) =>
      kernel.compressBlock(INPUT + CHUNK_LEN, INPUT + BLOCK_LEN, len, flags | ROOT, 0xfffffffe, len, CVS)))
  })
})

describe('gather and scatter', () => {
  /** The bytes in the stage afterwards, and the expected ones. */
  const moved = (count, len, call, expected) => onEachKernel(() => {
    const bytes = RUBBISH
    u8.set(bytes, INPUT)
    u8.fill(0xee, STAGE, STAGE + INPUT_LEN)
    call()
    const wanted = new Uint8Array(INPUT_LEN).fill(0xee)
    for (let i = 0; i < count; i++) expected(i, bytes, wanted)
    return hex(u8.subarray(STAGE, STAGE + INPUT_LEN)) === hex(wanted)
  })

  for (const [count, len] of [[1, 64], [9, 64], [127, 64], [1, 1024], [128, 1024], [3, 16384]]) {
    const placeOf = i => (i * 37 + 5) % Math.floor(INPUT_LEN / len) * len

    it(`copy ${count} times ${len} bytes, and change nothing else`, () => {
      pointTo(count, len)
      expect(moved(count, len, () => kernel.gather(TABLE, count, len, STAGE),
        (i, bytes, wanted) => wanted.set(bytes.subarray(placeOf(i), placeOf(i) + len), i * len))).not.to.include(false)
      for (let i = 0; i < count; i++) u32[TABLE / 4 + i] = STAGE + placeOf(i)
      expect(moved(count, len, () => kernel.scatter(TABLE, count, len, INPUT),
        (i, bytes, wanted) => wanted.set(bytes.subarray(i * len, (i + 1) * len), placeOf(i)))).not.to.include(false)
    })
  }
})

describe('compare', () => {
  for (const [count, len] of [[1, 64], [2, 64], [127, 64], [3, 1024]]) {
    it(`finds exactly the differences among ${count} times ${len} bytes`, () => {
      const found = onEachKernel(() => {
        pointTo(count, len)
        u8.set(RUBBISH, INPUT)
        kernel.gather(TABLE, count, len, STAGE)
        const isSame = () => {
          kernel.compare(TABLE, count, len, STAGE)
          return u8.subarray(OUT, OUT + 16).every(byte => byte === 0)
        }
        const before = isSame()
        const missed = []
        for (let bit = 0; bit < 8 * count * len; bit += 509) {
          u8[STAGE + (bit >> 3)] ^= 1 << (bit & 7)
          if (isSame()) missed.push(bit)
          u8[STAGE + (bit >> 3)] ^= 1 << (bit & 7)
        }
        return { before, missed, after: isSame() }
      })
      for (const result of found) expect(result).to.deep.equal({ before: true, missed: [], after: true })
    })
  }
})
