// What every bucket must do, whatever keeps its objects.
import { expect } from 'chai'
import { same } from '../bytes.js'
import { errorOf, listed } from '../feeding.js'
import { noise } from '../inputs.js'

const text = new TextEncoder()
export const bytesOf = string => text.encode(string)

/** The bytes of an object that was read. */
export async function bodyOf (object) {
  const pieces = []
  for await (const piece of object.body) pieces.push(piece)
  return new Uint8Array(await new Blob(pieces).arrayBuffer())
}

export const textOf = async object => new TextDecoder().decode(await bodyOf(object))
const keysOf = async list => (await listed(list)).map(({ key }) => key)

/** Keys that URLs, XML and signatures change if they are not encoded. In the order of a list. */
const ODD_KEYS = [
  'odd/ a', 'odd/!\'()*', 'odd/%25', 'odd/%zz', 'odd/+', 'odd/<&>"', 'odd/=?#', 'odd/@:;,', 'odd/~', 'odd/\u00e4',
  'odd/\u6f22', 'odd/\ufb00', 'odd/\u{1f600}'
]

/** @param {() => Promise<import('../../../exchange/bucket/bucket.js').Bucket>} open  gives an empty bucket */
export function testBucket (open, { partLen = 1000 } = {}) {
  let bucket
  beforeEach(async () => { bucket = await open() })

  it('gives what was put, whole and in ranges, with its size and ETag', async () => {
    const content = noise(200_000, 1)
    const { isWritten, etag } = await bucket.put('a/b', content)
    expect(isWritten).to.equal(true)
    const object = await bucket.get('a/b')
    expect(object).to.deep.include({ size: 200_000, range: { start: 0, end: 200_000 } })
    expect(object.etag).to.equal(etag)
    expect(Math.abs(object.modified - Date.now())).to.be.below(60_000)
    expect(same(await bodyOf(object), content)).to.equal(true)
    const ranges = [[0, 1], [5, 5], [70_000, 140_001], [199_999, 200_000], [199_000, 300_000], [1, Infinity]]
    for (const [start, end] of ranges) {
      const part = await bucket.get('a/b', { start, end })
      expect(part.range, `${start} to ${end}`).to.deep.equal({ start, end: Math.min(end, 200_000) })
      expect(part.size).to.equal(200_000)
      expect(same(await bodyOf(part), content.subarray(start, end)), `${start} to ${end}`).to.equal(true)
    }
  })

  it('gives nothing beyond the end of an object, and of an empty one', async () => {
    await bucket.put('a', bytesOf('12345'))
    await bucket.put('empty', new Uint8Array(0))
    const parts = [
      ['a', { start: 5 }, 5], ['a', { start: 9, end: 20 }, 5], ['a', { start: 7, end: 7 }, 5], ['empty', {}, 0],
      ['empty', { start: 0, end: 10 }, 0]
    ]
    for (const [key, range, at] of parts) {
      const part = await bucket.get(key, range)
      expect(part).to.deep.include({ size: at, range: { start: at, end: at } })
      expect(await bodyOf(part)).to.have.length(0)
    }
  })

  it('says that there is no object', async () => {
    expect(await bucket.get('none')).to.equal(undefined)
    expect(await bucket.get('none', { start: 3, end: 3 })).to.equal(undefined)
    expect(await bucket.head('none')).to.equal(undefined)
    expect(await listed(bucket.list('none'))).to.deep.equal([])
  })

  it('tells of an object without reading it', async () => {
    const { etag } = await bucket.put('a', bytesOf('12345'))
    const info = await bucket.head('a')
    expect(info).to.include({ size: 5, etag })
    expect(Math.abs(info.modified - Date.now())).to.be.below(60_000)
  })

  it('replaces an object, and shows the new one at once', async () => {
    await bucket.put('a', bytesOf('old'))
    await bucket.put('a', bytesOf('newer'))
    expect(await textOf(await bucket.get('a'))).to.equal('newer')
    expect(await bucket.head('a')).to.include({ size: 5 })
    expect((await listed(bucket.list()))[0]).to.include({ key: 'a', size: 5 })
  })

  it('creates an object only where there is none', async () => {
    expect(await bucket.put('a', bytesOf('first'), { ifAbsent: true })).to.include({ isWritten: true })
    expect(await bucket.put('a', bytesOf('second'), { ifAbsent: true })).to.deep.equal({ isWritten: false })
    expect(await textOf(await bucket.get('a'))).to.equal('first')
    await bucket.delete('a')
    expect(await bucket.put('a', bytesOf('third'), { ifAbsent: true })).to.include({ isWritten: true })
  })

  it('lets one of eight racing creates write', async () => {
    const bodies = Array.from({ length: 8 }, (_, i) => `writer ${i}`)
    const results = await Promise.all(bodies.map(body => bucket.put('raced', bytesOf(body), { ifAbsent: true })))
    const winners = bodies.filter((_, i) => results[i].isWritten)
    expect(winners).to.have.length(1)
    expect(await textOf(await bucket.get('raced'))).to.equal(winners[0])
  })

  it('reads only the version that ifMatch names', async () => {
    const { etag } = await bucket.put('a', bytesOf('old'))
    expect(await textOf(await bucket.get('a', {}, { ifMatch: etag }))).to.equal('old')
    await bucket.put('a', bytesOf('new'))
    for (const range of [{}, { start: 1, end: 2 }, { start: 1, end: 1 }]) {
      expect(await errorOf(bucket.get('a', range, { ifMatch: etag }))).to.include({ code: 'FETCH_CHANGED' })
    }
    expect(await bucket.get('none', {}, { ifMatch: etag })).to.equal(undefined)
  })

  it('deletes an object, and one that is not there', async () => {
    await bucket.put('a', bytesOf('1'))
    await bucket.delete('a')
    expect(await bucket.get('a')).to.equal(undefined)
    expect(await keysOf(bucket.list())).to.deep.equal([])
    await bucket.delete('a')
  })

  it('lists the keys with a prefix, after a key, in order', async () => {
    const keys = ['a', 'b-1', 'b/1', 'b/10', 'b/2', 'b0', 'c/d/e']
    for (const key of [...keys].reverse()) await bucket.put(key, bytesOf(key))
    const all = await listed(bucket.list())
    expect(all.map(({ key }) => key)).to.deep.equal(keys)
    expect(all.map(({ size }) => size)).to.deep.equal(keys.map(key => key.length))
    expect(all[3]).to.include({ etag: (await bucket.head('b/10')).etag })
    expect(await keysOf(bucket.list('b'))).to.deep.equal(['b-1', 'b/1', 'b/10', 'b/2', 'b0'])
    expect(await keysOf(bucket.list('b/'))).to.deep.equal(['b/1', 'b/10', 'b/2'])
    expect(await keysOf(bucket.list('b/1'))).to.deep.equal(['b/1', 'b/10'])
    expect(await keysOf(bucket.list('', 'b/10'))).to.deep.equal(['b/2', 'b0', 'c/d/e'])
    expect(await keysOf(bucket.list('b/', 'b/1'))).to.deep.equal(['b/10', 'b/2'])
    expect(await keysOf(bucket.list('b/', 'c'))).to.deep.equal([])
    expect(await keysOf(bucket.list('b/', 'a'))).to.deep.equal(['b/1', 'b/10', 'b/2'])
  })

  it('keeps odd keys as they are', async () => {
    for (const key of ODD_KEYS) await bucket.put(key, bytesOf(key))
    expect(await keysOf(bucket.list('odd/'))).to.deep.equal(ODD_KEYS)
    for (const [i, key] of ODD_KEYS.entries()) {
      expect(await textOf(await bucket.get(key))).to.equal(key)
      expect(await keysOf(bucket.list('odd/', key))).to.deep.equal(ODD_KEYS.slice(i + 1))
    }
    expect(await keysOf(bucket.list('odd/+'))).to.deep.equal(['odd/+'])
    for (const key of ODD_KEYS) await bucket.delete(key)
    expect(await keysOf(bucket.list())).to.deep.equal([])
  })

  it('refuses keys that are not kept as they are', async () => {
    const wrong = [
      '', '/a', 'a/', 'a//b', '.', '..', 'a/../b', 'a/.', './a', 'a\nb', 'a\0', '\ud800', 'k'.repeat(1025), 5
    ]
    for (const key of wrong) {
      const calls = [() => bucket.get(key), () => bucket.head(key), () => bucket.put(key, new Uint8Array(1)),
        () => bucket.putParts(key, new Uint8Array(1)), () => bucket.delete(key), () => bucket.url(key, 60)]
      for (const call of calls) expect(await errorOf(call()), String(key)).to.be.an.instanceOf(TypeError)
    }
    for (const start of ['/a', 'a//b', '../b', 'a\0']) expect(() => bucket.list(start)).to.throw(TypeError)
  })

  it('refuses other wrong arguments, and unknown options', async () => {
    const body = bytesOf('1')
    const calls = [
      () => bucket.get('a', { start: -1 }), () => bucket.get('a', { start: 2, end: 1 }), () => bucket.get('a', 5),
      () => bucket.get('a', {}, { offset: 1 }), () => bucket.head('a', { x: 1 }), () => bucket.put('a', 'text'),
      () => bucket.put('a', body, { ifabsent: true }), () => bucket.putParts('a', 5),
      () => bucket.delete('a', { x: 1 }),
      () => bucket.abortUploads(5), () => bucket.abortUploads(new Date(NaN)), () => bucket.url('a', 0)
    ]
    for (const call of calls) {
      const error = await errorOf(Promise.resolve().then(call))
      expect(error instanceof TypeError || error instanceof RangeError, `${call}`).to.equal(true)
    }
    expect(() => bucket.list('', '', { limit: 1 })).to.throw(TypeError)
    expect(await keysOf(bucket.list())).to.deep.equal([])
  })

  it('puts a stream in parts, of any number', async () => {
    for (const len of [0, 1, partLen, partLen + 1, 3 * partLen, Math.floor(7.3 * partLen)]) {
      const content = noise(len, len)
      const stream = async function * () {
        for (let at = 0; at < len; at += 777) yield content.subarray(at, at + 777)
      }
      const { size, etag } = await bucket.putParts('long', stream(), { size: len })
      expect(size).to.equal(len)
      expect(await bucket.head('long')).to.include({ size: len, etag })
      expect(same(await bodyOf(await bucket.get('long')), content), `${len} bytes`).to.equal(true)
    }
    expect(await keysOf(bucket.list())).to.deep.equal(['long'])
  })

  it('leaves nothing of a stream that fails, or has another length', async () => {
    const failing = async function * () {
      yield noise(3 * partLen, 5)
      throw new Error('no more')
    }
    expect(await errorOf(bucket.putParts('long', failing()))).to.have.property('message', 'no more')
    for (const size of [3 * partLen - 1, 3 * partLen + 1]) {
      const error = await errorOf(bucket.putParts('long', [noise(3 * partLen, 5)], { size }))
      expect(error).to.include({ code: 'SIZE_MISMATCH', wanted: size, got: 3 * partLen })
    }
    expect(await bucket.get('long')).to.equal(undefined)
    expect(await keysOf(bucket.list())).to.deep.equal([])
    expect(await bucket.abortUploads(new Date(Date.now() + 3_600_000))).to.equal(0)
  })

  it('ends with the reason of a signal', async () => {
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    await bucket.put('a', bytesOf('1'))
    const calls = [
      () => bucket.get('a', {}, { signal }), () => bucket.head('a', { signal }), () => bucket.delete('a', { signal }),
      () => bucket.put('b', bytesOf('1'), { signal }), () => bucket.putParts('b', [bytesOf('1')], { signal }),
      () => listed(bucket.list('', '', { signal }))
    ]
    for (const call of calls) expect(await errorOf(call()), `${call}`).to.equal(reason)
    expect(await keysOf(bucket.list())).to.deep.equal(['a'])
  })

  it('can be read in part, and left', async () => {
    await bucket.put('a', noise(3_000_000, 3))
    for (let i = 0; i < 3; i++) await (await bucket.get('a')).body.return()
    const { body } = await bucket.get('a')
    const { value } = await body.next()
    expect(value.length).to.be.above(0)
    await body.return()
    expect(await body.next()).to.deep.equal({ done: true, value: undefined })
  })
}
