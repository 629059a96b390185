// Reads of ranges: the bytes that they read and keep, and sources that change, fail or hang.
import { expect } from 'chai'
import { createOutboardSync, encode, openOutboard } from '../../../encoder/index.js'
import { VerifiedReader } from '../../../verifier/index.js'
import { flipped, same, withHeader } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'

const content = noise(3_000_000, 61)
const encodings = [0, 4].map(groupLog => ({ groupLog, groupLen: 1024 << groupLog, ...encode(content, { groupLog }) }))

/** A source that counts its reads, and can be told to fail. */
function counted (bytes, { overlaps, delay } = {}) {
  const seen = { reads: [], len: 0, most: 0, bytes, change: undefined }
  let active = 0
  seen.source = {
    size: bytes.length,
    overlaps,
    async read (start, end) {
      seen.reads.push([start, end])
      seen.most = Math.max(seen.most, ++active)
      if (delay) await new Promise(resolve => setTimeout(resolve, delay))
      active--
      const part = seen.bytes.slice(start, end)
      seen.len += part.length
      return seen.change ? seen.change(part, start) : part
    }
  }
  seen.since = () => {
    const { reads, len } = seen
    seen.reads = []
    seen.len = 0
    return { count: reads.length, len }
  }
  return seen
}

forEachKernel(() => describe('a reader', () => {
  for (const { root, groupLog, groupLen, bytes: encoded } of encodings) {
    const title = `in groups of ${2 ** groupLog}`

    it(`reads any range, ${title}`, async () => {
      const readers = [
        new VerifiedReader({ cid: root, encoded, groupLog }),
        new VerifiedReader({ cid: root, encoded: counted(encoded, { overlaps: true }).source, groupLog }),
        new VerifiedReader({ cid: root, source: content, outboard: createOutboardSync(content, { groupLog }) })
      ]
      for (const reader of readers) {
        for (const [start, end] of [
          [0, 1], [0, 0], [1023, 1025], [16_383, 16_385], [500_000, 900_001], [2_999_999, 3_000_000],
          [2_999_000, 5_000_000], [4_000_000, 4_000_001], [0, Infinity]
        ]) {
          expect(
            same(await reader.read({ start, end }), content.subarray(start, end)), `${start} to ${end}`
          ).to.equal(true)
        }
        expect(await reader.size()).to.equal(content.length)
      }
    })

    it(`reads only what it needs, and only the leaves below pairs that it keeps, ${title}`, async () => {
      const seen = counted(encoded)
      const reader = new VerifiedReader({ cid: root, encoded: seen.source, groupLog })
      const levels = Math.ceil(Math.log2(content.length / groupLen))
      await reader.read({ start: 1_500_000, end: 1_500_001 })
      const first = seen.since()
      expect(first.count).to.be.at.most(levels + 2)
      // The bytes between a leaf and its own parents may be read with them.
      expect(first.len).to.be.at.most(8 + groupLen + levels * (64 + 4096))

      await reader.read({ start: 1_500_000, end: 1_500_001 })
      expect(seen.since(), 'the same again').to.deep.equal({ count: 1, len: groupLen })

      const group = Math.floor(1_500_000 / groupLen)
      let len = 0
      for (let i = 1; i <= 16; i++) {
        await reader.read({ start: (group + i) * groupLen, end: (group + i) * groupLen + 10 })
        const { count, len: more } = seen.since()
        expect(count).to.be.at.most(2)
        len += more
      }
      // Sixteen neighbours have about sixteen new parents.
      expect(len).to.be.at.most(16 * groupLen + 16 * 64 + levels * 64)
    })

    it(`proves the size before it returns it, ${title}`, async () => {
      for (const size of [
        content.length - 1, content.length + 1, 2 * content.length, 1024, 0, Number.MAX_SAFE_INTEGER
      ]) {
        const reader = new VerifiedReader({ cid: root, encoded: withHeader(encoded, size), groupLog })
        expect((await errorOf(reader.size()))?.code, `${size}`).to.match(
          /^BAO_(PARENT_MISMATCH|LEAF_MISMATCH|TRUNCATED)$/
        )
        expect((await errorOf(reader.read({ start: size })))?.code, `${size}`).to.match(/^BAO_/)
      }
      const seen = counted(encoded)
      const reader = new VerifiedReader({ cid: root, encoded: seen.source, groupLog })
      await reader.size()
      seen.since()
      expect(await reader.size()).to.equal(content.length)
      expect(seen.since().count, 'proven once').to.equal(0)
    })

    it(`reports faults, and succeeds again when the source is right, ${title}`, async () => {
      const seen = counted(encoded)
      const reader = new VerifiedReader({ cid: root, encoded: seen.source, groupLog })
      expect(await reader.read({ start: 0, end: 10 })).to.deep.equal(content.slice(0, 10))
      for (let at = 8; at < encoded.length; at += 250_007) {
        seen.bytes = flipped(encoded, at)
        // The pairs above the first group are kept, and not read again.
        if (at > 8) expect((await errorOf(reader.read()))?.code, `${at}`).to.match(/MISMATCH/)
        else expect(same(await reader.read(), content)).to.equal(true)
        seen.bytes = encoded
        expect(await reader.read({ start: 700_000, end: 700_010 })).to.deep.equal(content.slice(700_000, 700_010))
      }
    })

    it(`reads several ranges at the same time, ${title}`, async () => {
      for (const overlaps of [true, false]) {
        const seen = counted(encoded, { overlaps, delay: 1 })
        const reader = new VerifiedReader({ cid: root, encoded: seen.source, groupLog })
        const starts = Array.from({ length: 25 }, (_, i) => i * 119_993)
        const parts = await Promise.all(starts.map(start => reader.read({ start, end: start + 70_000 })))
        parts.forEach((part, i) => expect(same(part, content.subarray(starts[i], starts[i] + 70_000))).to.equal(true))
        expect(seen.reads.filter(([start, end]) => start === 0 && end === 8), 'opened once').to.have.length(1)
      }
    })
  }

  it('keeps a bounded number of pairs', async () => {
    const long = noise(4_600_000, 62)
    const { root, bytes: encoded } = encode(long, { groupLog: 0 })
    const seen = counted(encoded)
    const reader = new VerifiedReader({ cid: root, encoded: seen.source, groupLog: 0 })
    const place = 1024 * 1000
    const again = async () => {
      seen.since()
      expect(await reader.read({ start: place, end: place + 1 })).to.deep.equal(long.slice(place, place + 1))
      return seen.since().len
    }
    await again()
    expect(await again()).to.equal(1024)
    for (let chunk = 1100; chunk < 1600; chunk++) await reader.read({ start: 1024 * chunk, end: 1024 * chunk + 1 })
    expect(await again(), 'still known').to.equal(1024)
    // A read of two chunks adds a new pair; those above it are kept.
    for (let chunk = 0; chunk < long.length / 1024; chunk += 2) {
      if (Math.abs(chunk - 1000) > 40) {
        await reader.read(
          { start: 1024 * chunk, end: 1024 * chunk + 1 }
        )
      }
    }
    await reader.read({ start: 0, end: 1 })
    expect(await again(), 'forgotten').to.be.greaterThan(1024)
  })

  it('reads distant places at the same time if the source allows it', async () => {
    const [{ root, bytes: encoded }] = encodings
    for (const overlaps of [true, false]) {
      const seen = counted(encoded, { overlaps, delay: 1 })
      await new VerifiedReader(
        { cid: root, encoded: seen.source, groupLog: 0 }
      ).read({ start: 2_900_000, end: 2_900_001 })
      expect(seen.most > 1).to.equal(overlaps)
    }
  })

  it('takes a blob and an outboard that are both remote', async () => {
    const tree = createOutboardSync(content)
    const pairs = counted(tree.bytes)
    const blob = counted(content)
    const outboard = await openOutboard(pairs.source, { cid: tree.root, size: content.length })
    const reader = new VerifiedReader({ cid: tree.root, source: blob.source, outboard })
    expect(await reader.read({ start: 1_000_000, end: 1_000_100 })).to.deep.equal(content.slice(1_000_000, 1_000_100))
    expect(blob.since()).to.deep.equal({ count: 1, len: 16_384 })
    expect(pairs.since().count).to.be.greaterThan(0)
    await reader.read({ start: 1_020_000, end: 1_020_100 })
    expect(blob.since()).to.deep.equal({ count: 1, len: 16_384 })
    expect(pairs.since().count, 'pairs are known').to.equal(0)
  })

  it('reports every way in which a source can be wrong', async () => {
    const { root, bytes: encoded } = encodings[0]
    const ways = {
      'is short': [part => part.subarray(0, part.length - 1), { code: 'BAO_TRUNCATED' }],
      'gives nothing': [() => new Uint8Array(0), { code: 'BAO_TRUNCATED' }],
      'gives more': [part => new Uint8Array(part.length + 1), { name: 'RangeError' }],
      'gives no bytes': [() => 'abc', { name: 'TypeError' }],
      fails: [() => { throw new Error('unplugged') }, { message: 'unplugged' }],
      'gives zeros': [part => new Uint8Array(part.length), { code: 'BAO_PARENT_MISMATCH' }]
    }
    for (const [title, [change, expected]] of Object.entries(ways)) {
      for (const overlaps of [true, false]) {
        const seen = counted(encoded, { overlaps })
        const reader = new VerifiedReader({ cid: root, encoded: seen.source, groupLog: 0 })
        await reader.read({ start: 0, end: 1 })
        seen.change = change
        expect(await errorOf(reader.read({ start: 2_000_000, end: 2_000_001 })), title).to.include(expected)
        seen.change = undefined
        expect(
          await reader.read({ start: 2_000_000, end: 2_000_001 }), title
        ).to.deep.equal(content.slice(2_000_000, 2_000_001))
      }
    }
  })

  it('ends with an abort, and passes it on to the source', async () => {
    const { root, bytes: encoded } = encodings[0]
    const reason = new Error('enough')
    const signals = []
    let isStuck = false
    const source = {
      size: encoded.length,
      overlaps: true,
      read (start, end, signal) {
        signals.push(signal)
        return isStuck ? new Promise(() => {}) : encoded.slice(start, end)
      }
    }
    const reader = new VerifiedReader({ cid: root, encoded: source, groupLog: 0 })
    await reader.read({ start: 0, end: 1 })
    isStuck = true
    const controller = new AbortController()
    const other = reader.read({ start: 1_000_000, end: 1_000_001 })
    setTimeout(() => controller.abort(reason), 5)
    expect(
      await errorOf(reader.read({ start: 2_000_000, end: 2_000_001 }, { signal: controller.signal }))
    ).to.equal(reason)
    expect(signals.at(-1)).to.equal(controller.signal)
    expect(await Promise.race([other, 'still waiting'])).to.equal('still waiting')
    expect(await errorOf(reader.read({ start: 0, end: 1 }, { signal: AbortSignal.abort(reason) }))).to.equal(reason)
    isStuck = false
    expect(await reader.read({ start: 5, end: 6 })).to.deep.equal(content.slice(5, 6))
  })

  it('opens a source again that could not be opened, even after an abort', async () => {
    const { root, bytes: encoded } = encodings[0]
    let fail = () => {}
    let opened = 0
    const source = {
      size: encoded.length,
      read (start, end) {
        if (start === 0 && end === 8 && opened++ === 0) {
          return new Promise(
            (_resolve, reject) => { fail = () => reject(new Error('broken')) }
          )
        }
        return encoded.slice(start, end)
      }
    }
    const reader = new VerifiedReader({ cid: root, encoded: source, groupLog: 0 })
    expect(
      await errorOf(reader.read({ start: 5, end: 6 }, { signal: AbortSignal.timeout(5) }))
    ).to.include({ name: 'TimeoutError' })
    const waiting = errorOf(reader.read({ start: 5, end: 6 }))
    fail()
    expect(await waiting).to.include({ message: 'broken' })
    expect(await reader.read({ start: 5, end: 6 })).to.deep.equal(content.slice(5, 6))
    opened = 0
    const again = new VerifiedReader({ cid: root, encoded: source, groupLog: 0 })
    expect(
      await errorOf(again.read({ start: 5, end: 6 }, { signal: AbortSignal.timeout(5) }))
    ).to.include({ name: 'TimeoutError' })
    fail()
    await new Promise(resolve => setTimeout(resolve))
    expect(await again.read({ start: 5, end: 6 })).to.deep.equal(content.slice(5, 6))
  })

  it('reads no byte beyond the end of its source', async () => {
    const source = {
      size: 3,
      read (start, end) {
        if (end > 3) throw new Error('there is nothing')
        return new Uint8Array(end - start)
      }
    }
    expect(
      await errorOf(new VerifiedReader({ cid: encodings[0].root, encoded: source, groupLog: 0 }).read())
    ).to.include({ code: 'BAO_TRUNCATED', wanted: 8, got: 3 })
  })
}))
