// An object whose outboard does not fit into two pages is adopted as it is in practice.
import { expect } from 'chai'
import { adopt, bucketMirror, memoryBucket } from '../../exchange/bucket/index.js'
import { fetchVerified } from '../../verifier/index.js'
import { listed } from '../support/feeding.js'

const GIB = 2 ** 30
const SIZE = 9 * GIB + 5
const PIECE = new Uint8Array(1 << 16).fill(3)

/** A bucket with one long object, of which no byte is kept. */
function bucketWithLong (key) {
  const bucket = memoryBucket()
  const info = { size: SIZE, etag: 'e' }
  const { get, head } = bucket
  bucket.head = (asked, ...rest) => asked === key ? Promise.resolve(info) : head.call(bucket, asked, ...rest)
  bucket.get = async (asked, range = {}, ...rest) => {
    if (asked !== key) return get.call(bucket, asked, range, ...rest)
    const { start = 0, end = SIZE } = range
    const part = { start, end: Math.min(end, SIZE) }
    const body = async function * () {
      for (let at = start; at < part.end; at += PIECE.length) yield PIECE.subarray(0, part.end - at)
    }
    return { ...info, range: part, body: body() }
  }
  return bucket
}

describe('adopt', () => {
  it('adopts an object of 9 GiB, any part of which can then be verified', async () => {
    const bucket = bucketWithLong('long')
    const pages = []
    const { put } = bucket
    bucket.put = (key, bytes, ...rest) => {
      if (/^adopted\/.*\./.test(key)) pages.push(bytes.length)
      return put.call(bucket, key, bytes, ...rest)
    }
    const [{ cid, size, isNew }] = await listed(adopt(bucket, { keys: ['long'] }))
    expect({ size, isNew }).to.deep.equal({ size: SIZE, isNew: true })
    expect(pages, 'parts of the outboard that wait in the bucket').to.deep.equal([8, 8, 8].map(mib => mib << 20))
    const mirror = bucketMirror(bucket)
    for (let start = 0; start < SIZE; start += GIB / 4) {
      const range = { start, end: Math.min(start + 100, SIZE) }
      const response = await fetchVerified(mirror, { cid, range, retries: 0 })
      const bytes = new Uint8Array(await response.arrayBuffer())
      expect(bytes.length > 0 && bytes.every(byte => byte === 3), `from ${start}`).to.equal(true)
    }
    const keys = (await listed(bucket.list('adopted/'))).map(({ key }) => key)
    expect(keys.filter(key => key.includes('.'))).to.deep.equal([])
  }).timeout(1_800_000)
})
