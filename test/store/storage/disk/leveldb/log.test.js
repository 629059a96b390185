// Logs of LevelDB: all writes in them are read, and damaged records are told from records that a power cut has torn.
import { expect } from 'chai'
import { loadChecksum, checksumOf } from '../../../../../store/storage/disk/leveldb/checksum.js'
import { readLog } from '../../../../../store/storage/disk/leveldb/log.js'
import { entriesOfBatch } from '../../../../../store/storage/disk/leveldb/write-batch.js'
import { concat, same } from '../../../../support/bytes.js'
import { noise } from '../../../../support/inputs.js'

const BLOCK = 32768
const HEADER = 7
const [FULL, FIRST, MIDDLE, LAST] = [1, 2, 3, 4]

/** Writes payloads as LevelDB does. */
function logOf (payloads) {
  const parts = []
  let at = 0
  const put = bytes => {
    parts.push(bytes)
    at += bytes.length
  }
  for (const payload of payloads) {
    for (let done = 0, isFirst = true; isFirst || done < payload.length; isFirst = false) {
      const left = BLOCK - at % BLOCK
      if (left < HEADER) put(new Uint8Array(left))
      const part = payload.subarray(done, done + BLOCK - at % BLOCK - HEADER)
      done += part.length
      const isLast = done === payload.length
      put(record(isFirst ? isLast ? FULL : FIRST : isLast ? LAST : MIDDLE, part))
    }
  }
  return concat(parts)
}

function record (kind, payload) {
  const checked = concat([Uint8Array.of(kind), payload])
  const head = new DataView(new ArrayBuffer(6))
  head.setUint32(0, checksumOf(checked), true)
  head.setUint16(4, payload.length, true)
  return concat([new Uint8Array(head.buffer), checked])
}

const read = (bytes, options) => {
  const found = [...readLog(bytes, options)]
  return {
    payloads: found.flatMap(({ payload }) => payload ?? []),
    lost: found.flatMap(({ lost }) => lost ? [{ ...lost }] : [])
  }
}

/** Checks that the payloads are the first of the written ones. */
const arePrefix = (payloads, all) => payloads.every((payload, i) => same(payload, all[i]))

describe('store: logs of LevelDB', () => {
  before(loadChecksum)

  it('give all payloads, even those that cross the ends of blocks', () => {
    for (let first = BLOCK - 2 * HEADER - 12; first <= BLOCK; first++) {
      const all = [noise(first, 1), new Uint8Array(0), noise(3, 2), noise(2 * BLOCK, 3), noise(10, 4)]
      const { payloads, lost } = read(logOf(all))
      expect(lost, `${first}`).to.deep.equal([])
      expect(payloads).to.have.length(all.length)
      expect(arePrefix(payloads, all), `${first}`).to.equal(true)
    }
  })

  it('are torn where they were cut, and all earlier records are read', () => {
    const all = [noise(300, 1), noise(40_000, 2), noise(200, 3)]
    const log = logOf(all)
    const ends = new Set([0, 300 + HEADER, log.length - 200 - HEADER])
    for (let len = 0; len < log.length; len += len % 97 === 0 ? 1 : 13) {
      const { payloads, lost } = read(log.subarray(0, len))
      expect(arePrefix(payloads, all)).to.equal(true)
      expect(payloads).to.have.length([...ends].filter(end => end > 0 && end <= len).length)
      if (!ends.has(len)) expect(lost.every(({ isTorn }) => isTorn), `${len}`).to.equal(true)
    }
  })

  it('are torn where sectors were never written, at the end and in the middle', () => {
    const all = Array.from({ length: 100 }, (_, i) => noise(2000, i))
    const log = logOf(all)
    for (let sector = 0; sector < log.length - 1024; sector += 4096) {
      const holed = log.slice()
      holed.fill(0, sector, sector + 1024)
      const { lost, payloads } = read(holed)
      expect(lost.length).to.be.above(0)
      expect(lost.every(({ isTorn }) => isTorn), `${sector}`).to.equal(true)
      expect(payloads.length).to.be.below(all.length)
    }
  })

  it('are torn where the last part of the file has zeros, also within a sector', () => {
    const all = [noise(60, 1), noise(40, 2)]
    const log = logOf(all)
    for (let len = 60 + HEADER; len <= log.length - 8; len++) {
      const torn = log.slice().fill(0, len)
      const { lost, payloads } = read(torn)
      expect(lost.map(({ isTorn }) => isTorn), `${len}`).to.deep.equal([true])
      expect(payloads).to.have.length(1)
    }
    const damaged = log.slice().fill(0, 80, 90)
    expect(read(damaged).lost.map(({ isTorn }) => isTorn), 'zeros in the middle').to.deep.equal([false])
  })

  it('are damaged, not torn, where a bit is wrong, and every single wrong bit is corrected', () => {
    const all = [noise(60, 1), noise(40, 2)]
    const log = logOf(all)
    for (let bit = 0; bit < 8 * log.length; bit++) {
      const flipped = log.slice()
      flipped[bit >> 3] ^= 1 << (bit & 7)
      const { lost, payloads } = read(flipped)
      expect(lost.map(({ isTorn }) => isTorn), `bit ${bit}`).to.deep.equal([false])
      expect(arePrefix(payloads, all)).to.equal(true)
      const corrected = read(flipped, { corrects: true })
      expect(corrected.lost, `bit ${bit}`).to.deep.equal([])
      expect(corrected.payloads.length === 2 && arePrefix(corrected.payloads, all), `bit ${bit}`).to.equal(true)
    }
  })

  it('are damaged where several bits are wrong, and give the records of other blocks', () => {
    const all = Array.from({ length: 20 }, (_, i) => noise(BLOCK / 2 - HEADER, i))
    const log = logOf(all)
    log[100] ^= 3
    const { lost, payloads } = read(log, { corrects: true })
    expect(lost).to.deep.equal([{ start: 0, end: BLOCK, isTorn: false }])
    expect(arePrefix(payloads, all.slice(2))).to.equal(true)
    expect(payloads).to.have.length(18)
  })

  it('lose a payload of which one part is damaged, and no other', () => {
    const all = [noise(100, 1), noise(3 * BLOCK, 2), noise(100, 3)]
    const log = logOf(all)
    log[BLOCK + 100] ^= 3
    const { lost, payloads } = read(log)
    expect(payloads.map(({ length }) => length)).to.deep.equal([100, 100])
    expect(lost.every(({ isTorn }) => !isTorn)).to.equal(true)
    expect(lost[0].start).to.equal(100 + HEADER)
  })

  it('that are torn in the second part of a payload lose that payload only', () => {
    const all = [noise(BLOCK - 2 * HEADER - 20, 1), noise(5000, 2)]
    const log = logOf(all).subarray(0, BLOCK + 700)
    const { lost, payloads } = read(log)
    expect(lost.map(({ isTorn }) => isTorn)).to.deep.equal([true, true])
    expect(payloads).to.have.length(1)
  })

  it('with random bytes are read to the end', () => {
    for (let seed = 0; seed < 50; seed++) read(noise(70_000, seed), { corrects: seed % 10 === 0 })
  })

  it('hold batches of puts and deletions', () => {
    const batch = concat([
      Uint8Array.of(5, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0), // three operations from sequence number 5 on
      Uint8Array.of(1, 1, 65, 2, 1, 2), Uint8Array.of(0, 1, 66), Uint8Array.of(1, 0, 0)
    ])
    expect(entriesOfBatch(batch).map(({ key, value, sequence }) => [[...key], value && [...value], sequence]))
      .to.deep.equal([[[65], [1, 2], 5], [[66], undefined, 6], [[], [], 7]])
    for (let len = 0; len < batch.length; len++) expect(entriesOfBatch(batch.subarray(0, len))).to.equal(undefined)
    expect(entriesOfBatch(concat([batch, Uint8Array.of(0)]))).to.equal(undefined)
    for (let at = 12; at < batch.length; at++) {
      const wrong = batch.slice()
      wrong[at] = 0xff
      entriesOfBatch(wrong)
    }
  })
})
