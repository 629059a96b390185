// Verification as a stage of a pipe: how many bytes wait in it, how it ends, and that nothing comes out afterwards.
import { expect } from 'chai'
import { encode } from '../../../encoder/index.js'
import { SliceVerifier, verifyStream, verifyTransform } from '../../../verifier/index.js'
import { concat, flipped, same } from '../../support/bytes.js'
import { collect, errorOf, ragged, readable } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'

const content = noise(1_000_000, 51)
const { root, bytes: encoded } = encode(content, { groupLog: 0 })
const options = { cid: root, groupLog: 0 }
const inPieces = (bytes, len) => Array.from(
  { length: Math.ceil(bytes.length / len) }, (_, i) => bytes.subarray(i * len, (i + 1) * len)
)
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/** A stream that counts the bytes that were read, and notes when it is cancelled. */
function counted (pieces) {
  const seen = { taken: 0, reason: undefined, isCancelled: false }
  const iterator = pieces[Symbol.iterator]()
  seen.stream = new ReadableStream({
    pull (controller) {
      const { done, value } = iterator.next()
      if (done) return controller.close()
      seen.taken += value.length
      controller.enqueue(value)
    },
    cancel (reason) {
      seen.isCancelled = true
      seen.reason = reason
    }
  }, { highWaterMark: 0 })
  return seen
}

forEachKernel(() => describe('a transform', () => {
  it('takes a piece only when the one before has been read', async () => {
    const len = 20_000
    const seen = counted(inPieces(encoded, len))
    const reader = seen.stream.pipeThrough(verifyTransform(options)).getReader()
    await pause(5)
    expect(seen.taken, 'before anybody reads').to.be.at.most(2 * len)
    let given = 0
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      expect(same(next.value, content.subarray(given, given + next.value.length))).to.equal(true)
      given += next.value.length
      if (given % 7 === 0) await pause(1)
      expect(seen.taken - given).to.be.below(4 * len + 65_536)
    }
    expect(given).to.equal(content.length)
  })

  it('takes pieces of any length, also an empty one', async () => {
    for (const pieces of [[encoded], ragged(encoded, 8), [...inPieces(encoded, 1000), new Uint8Array(0)]]) {
      expect(same(await collect(readable(pieces).pipeThrough(verifyTransform(options))), content)).to.equal(true)
    }
  })

  it('ends where the slice ends, and cancels the source when more comes', async () => {
    const seen = counted((function * () {
      yield encoded
      while (true) yield new Uint8Array(1000)
    })())
    expect(same(await collect(seen.stream.pipeThrough(verifyTransform(options))), content)).to.equal(true)
    await pause(5)
    expect(seen.isCancelled).to.equal(true)
    expect(seen.taken).to.be.at.most(encoded.length + 3000)
  })

  it('ends where the slice ends, also if the source then hangs', async () => {
    const quiet = new ReadableStream({ start: controller => controller.enqueue(encoded) })
    expect(same(await collect(quiet.pipeThrough(verifyTransform(options))), content)).to.equal(true)
  })

  it('ends without an error when writing ends with the slice', async () => {
    const { readable: out, writable } = verifyTransform(options)
    const given = collect(out)
    const writer = writable.getWriter()
    await writer.write(encoded)
    await writer.close()
    expect(same(await given, content)).to.equal(true)
  })

  it('gives everything before a fault, even if it is read slowly, then nothing', async () => {
    for (const [spoilt, code] of [
      [flipped(encoded, 700_000), 'BAO_LEAF_MISMATCH'], [encoded.subarray(0, 700_000), 'BAO_TRUNCATED']
    ]) {
      for (const pieces of [[spoilt], inPieces(spoilt, 30_000)]) {
        const seen = counted(pieces)
        const reader = seen.stream.pipeThrough(verifyTransform(options)).getReader()
        const given = []
        const error = await errorOf(async () => {
          for (let next = await reader.read(); !next.done; next = await reader.read()) {
            given.push(next.value)
            await pause(1)
          }
        })
        expect(error).to.include({ code })
        const good = concat(given)
        expect(good.length).to.be.within(650_000, 660_000)
        expect(same(good, content.subarray(0, good.length))).to.equal(true)
        expect(await errorOf(reader.read()), 'again').to.equal(error)
      }
    }
  })

  it('refuses every write after a fault', async () => {
    const { readable: out, writable } = verifyTransform(options)
    const given = errorOf(collect(out))
    const writer = writable.getWriter()
    writer.closed.catch(() => {})
    const error = await errorOf(writer.write(flipped(encoded, 8)))
    expect(error).to.include({ code: 'BAO_PARENT_MISMATCH' })
    expect(await given).to.equal(error)
    expect(await errorOf(writer.write(encoded))).to.equal(error)
    expect(await errorOf(writer.close())).to.be.instanceOf(Error)
  })

  it('can be cancelled at any moment, from either side', async () => {
    const reason = new Error('enough')
    for (let at = 0; at <= 24; at += 3) {
      const seen = counted(inPieces(encoded, 50_000))
      const reader = seen.stream.pipeThrough(verifyTransform(options)).getReader()
      for (let reads = 0; reads < at; reads++) await reader.read()
      await reader.cancel(reason)
      await pause(2)
      if (at < 20) expect(seen.reason, `after ${at} reads`).to.equal(reason)

      const controller = new AbortController()
      const other = counted(inPieces(encoded, 50_000))
      const given = other.stream.pipeThrough(verifyTransform(options), { signal: controller.signal }).getReader()
      let lastError
      for (let reads = 0; reads < at; reads++) await given.read()
      controller.abort(reason)
      while (lastError === undefined) {
        const next = await given.read().catch(error => { lastError = error; return { done: true } })
        if (next.done) break
      }
      if (at < 15) expect(lastError, `abort after ${at} reads`).to.equal(reason)
    }
  })

  it('can be aborted while nobody reads', async () => {
    const reason = new Error('enough')
    const { readable: out, writable } = verifyTransform(options)
    const writer = writable.getWriter()
    writer.closed.catch(() => {})
    const written = errorOf(writer.write(encoded))
    await pause(2)
    await writer.abort(reason)
    expect(await errorOf(collect(out))).to.equal(reason)
    expect(await written).to.be.instanceOf(Error)
  })
}))

forEachKernel(() => describe('very many pieces', () => {
  it('of one byte take bounded time and memory', async () => {
    const part = content.subarray(0, 100_000)
    for (const groupLog of [0, 4, 7]) {
      const { root, bytes: combined } = encode(part, { groupLog })
      for (const release of ['soon', 'leaf', 'window']) {
        const verifier = new SliceVerifier({ cid: root, groupLog, release })
        let given = 0
        let most = 0
        for (let at = 0; at < combined.length; at++) {
          for (const { offset, bytes } of verifier.write(combined.subarray(at, at + 1))) {
            if (!same(bytes, part.subarray(offset, offset + bytes.length))) throw new Error(`wrong bytes at ${offset}`)
            given += bytes.length
          }
          most = Math.max(most, at - given)
        }
        verifier.end()
        expect(given).to.equal(part.length)
        if (release === 'leaf') expect(most).to.be.below(1024 * 2 ** groupLog + 7000)
      }
    }
  })

  it('of no bytes change nothing', async () => {
    const pieces = Array.from({ length: 100_000 }, () => new Uint8Array(0))
    const source = (function * () { yield * pieces; yield encoded })()
    let given = 0
    for await (const { bytes } of verifyStream(source, options)) given += bytes.length
    expect(given).to.equal(content.length)
  })

  it('of an endless stream are read only to the end of the slice', async () => {
    let taken = 0
    const endless = (function * () {
      for (const piece of inPieces(encoded, 10_000)) yield piece
      while (true) {
        taken++
        yield new Uint8Array(10_000)
      }
    })()
    let given = 0
    for await (const { bytes } of verifyStream(endless, options)) given += bytes.length
    expect(given).to.equal(content.length)
    expect(taken).to.equal(0)
    const lies = (function * () { while (true) { taken++; yield new Uint8Array(10_000) } })()
    expect(await errorOf(async () => {
      for await (
        const leaf of verifyStream(lies, { cid: root, groupLog: 0, size: Number.MAX_SAFE_INTEGER })
      ) given += leaf.bytes.length
    }))
      .to.include({ code: 'BAO_PARENT_MISMATCH' })
    expect(taken).to.be.below(20)
  })
}))
