// What a download remembers of the chunks that a mirror says it lacks.
import { expect } from 'chai'
import { BaoError, ChunkRanges } from '../../../lib/index.js'
import { Candidate } from '../../../verifier/mirrors/candidate.js'
import { mirrorOf } from '../../../verifier/mirrors/mirror.js'
import { MirrorRecord } from '../../../verifier/mirrors/mirror-record.js'

const TRIES = { retries: 3, now: 0 }

function lacking (...ranges) {
  const error = new BaoError('FETCH_STATUS', 'it answers with 404', { status: 404 })
  error.ranges = ChunkRanges.fromBoundaries(ranges)
  return error
}

const candidate = () => new Candidate(new MirrorRecord(mirrorOf('https://one.example/')))

describe('Candidate', () => {
  it('remembers only chunks that were asked for', () => {
    const mirror = candidate()
    mirror.failed(lacking(10, 20, 30, 40, 50, 60), new ChunkRanges([15, 35]), TRIES)
    expect(mirror.lacks.boundaries).to.deep.equal([15, 20, 30, 35])
  })

  it('is used as long as it denies all chunks of each request', () => {
    const mirror = candidate()
    for (let i = 0; i < 100; i++) mirror.failed(lacking(i, i + 1), new ChunkRanges([i, i + 1]), TRIES)
    expect(mirror.isUsable).to.equal(true)
  })

  it('is not used after it has denied a part of many requests, unless it gives something between them', () => {
    const [mirror, helpful] = [candidate(), candidate()]
    for (let i = 0; i < 100; i++) {
      for (const each of [mirror, helpful]) each.failed(lacking(2 * i, 2 * i + 1), new ChunkRanges([0, 1000]), TRIES)
      helpful.progressed()
    }
    expect(mirror.isUsable).to.equal(false)
    expect(helpful.isUsable).to.equal(true)
  })
})
