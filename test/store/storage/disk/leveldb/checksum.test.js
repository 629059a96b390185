// The checksum of LevelDB's files, and how it tells which bit is wrong.
import { expect } from 'chai'
import {
  checksumOf, correctBit, findChecksum, loadChecksum
} from '../../../../../store/storage/disk/leveldb/checksum.js'
import { concat, same } from '../../../../support/bytes.js'
import { noise } from '../../../../support/inputs.js'

/** Returns a checksum as LevelDB writes it. */
function le32 (value) {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, true)
  return bytes
}

describe('store: the checksum of LevelDB', () => {
  before(loadChecksum)

  it('is CRC-32C, masked', () => {
    const masked = crc => (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
    // RFC 3720, B.4
    const ascending = Uint8Array.from({ length: 32 }, (_, i) => i)
    expect(checksumOf(new Uint8Array(32))).to.equal(masked(0x8a9136aa))
    expect(checksumOf(new Uint8Array(32).fill(0xff))).to.equal(masked(0x62a8ab43))
    expect(checksumOf(ascending)).to.equal(masked(0x46dd794e))
    expect(checksumOf(ascending.slice().reverse())).to.equal(masked(0x113fdb5c))
  })

  for (const len of [1, 7, 300]) {
    it(`corrects each bit of ${len} bytes, and of the checksum itself`, () => {
      const bytes = noise(len, len)
      const checksum = checksumOf(bytes)
      for (let bit = 0; bit < 8 * len; bit++) {
        const flipped = bytes.slice()
        flipped[bit >> 3] ^= 1 << (bit & 7)
        expect(correctBit(flipped, checksum), `bit ${bit}`).to.equal(true)
        expect(same(flipped, bytes), `bit ${bit}`).to.equal(true)
      }
      for (let bit = 0; bit < 32; bit++) {
        expect(correctBit(bytes, (checksum ^ 1 << bit) >>> 0), `bit ${bit} of the checksum`).to.equal(true)
      }
      expect(checksumOf(bytes)).to.equal(checksum)
    })
  }

  it('does not change bytes with two wrong bits', () => {
    const bytes = noise(100, 1)
    const checksum = checksumOf(bytes)
    for (let bit = 1; bit < 800; bit++) {
      const flipped = bytes.slice()
      flipped[0] ^= 1
      flipped[bit >> 3] ^= 1 << (bit & 7)
      const before = flipped.slice()
      expect(correctBit(flipped, checksum), `bit ${bit}`).to.equal(false)
      expect(same(flipped, before)).to.equal(true)
    }
  })

  it('is found after the bytes that it covers', () => {
    const bytes = noise(1000, 2)
    const file = concat([noise(10, 3), bytes, le32(checksumOf(bytes)), noise(50, 4)])
    expect(findChecksum(file, 10, 2000)).to.equal(1010)
    expect(findChecksum(file, 10, 1000)).to.equal(1010)
    expect(findChecksum(file, 10, 999)).to.equal(undefined)
    expect(findChecksum(file, 11, 2000)).to.equal(undefined)
    expect(findChecksum(file.subarray(0, 1013), 10, 2000)).to.equal(undefined)
  })
})
