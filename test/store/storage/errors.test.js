import { expect } from 'chai'
import { ChunkRanges } from '../../../lib/index.js'
import { asWriteFailed, missing } from '../../../store/storage/errors.js'

describe('STORE_MISSING', () => {
  it('names at most three ranges of bytes, none of them beyond the end of the blob', () => {
    const root = new Uint8Array(32)
    const named = (boundaries, size) =>
      /bytes (.*) of/.exec(missing(root, size, new ChunkRanges(boundaries)).message)[1]
    expect(named([64, 2930], 3_000_000)).to.equal('65536-3000000')
    expect(named([0, 1, 2, 3, 4, 5], 4097)).to.equal('0-1024, 2048-3072, 4096-4097')
    expect(named([0, 1, 2, 3, 4, 5, 6, 7], 8192)).to.equal('0-1024, 2048-3072, 4096-5120, ...')
    expect(named([8], 1024)).to.equal('8192-')
  })
})

describe('an error of a write', () => {
  it('passes through when its code is that of a browser, a number', () => {
    const error = new DOMException('the disk is broken', 'NotReadableError')
    expect(error.code).to.be.a('number')
    expect(asWriteFailed(error)).to.equal(error)
    expect(asWriteFailed(undefined)).to.equal(undefined)
  })
})
