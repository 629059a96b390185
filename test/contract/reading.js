// The contract of `bytes`, `get`, `stream` and `slice`: readers get the right bytes of any range.

import { createOutboardSync } from '../../encoder/create-outboard.js'
import { encodeSliceSync } from '../../encoder/slice.js'
import { toCid } from '../../lib/hash/cid.js'
import { hash } from '../../lib/hash/hasher.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import {
  GROUP_LEN, KIB, MIB, bordersOf, collect, equal, errorOf, fails, hex, noise, rangesOf, sameBytes, sliceOf
} from './checks.js'

/** @import { Tests } from './index.js' */

/** @param {Uint8Array} bytes @param {{ start: number, end: number }} range */
const partOf = (bytes, { start, end }) => bytes.subarray(start, end)

/** Returns boundaries of sets of chunks in a blob of so many chunks. @param {number} chunks */
const boundariesIn = chunks => [
  [], [0, 1], [0, 16], [1, 2, 5, 17], [15, 17], [64, 65, 70, 90], [1023, 1025], [3],
  [Math.max(chunks - 1, 0), chunks + 1], [chunks + 5]
]

/** @type {Tests} */
export const READING = {
  async 'bytes() gives any range' ({ open }) {
    const store = await open()
    for (const size of [1, KIB + 1, GROUP_LEN + 1, 4 * GROUP_LEN, 8 * GROUP_LEN + 1, MIB + 1]) {
      const bytes = noise(size)
      const { cid } = await store.put(bytes)
      for (const range of rangesOf(size)) {
        const got = await store.bytes(cid, range)
        sameBytes(got, partOf(bytes, range), `bytes ${range.start} to ${range.end} of ${size}`)
      }
    }
  },

  async 'bytes() gives any range without verifying it' ({ open }) {
    const store = await open()
    const bytes = noise(300_001)
    const { cid } = await store.put(bytes)
    for (const range of rangesOf(bytes.length)) {
      const got = await store.bytes(cid, range, { verify: false })
      sameBytes(got, partOf(bytes, range), `bytes ${range.start} to ${range.end}`)
    }
  },

  async 'bytes() gives all bytes from a position on, and all bytes before it' ({ open }) {
    const store = await open()
    const bytes = noise(300_001)
    const { cid } = await store.put(bytes)
    for (const border of bordersOf(bytes.length)) {
      sameBytes(await store.bytes(cid, { start: border }), bytes.subarray(border), `from ${border}`)
      sameBytes(await store.bytes(cid, { end: border }), bytes.subarray(0, border), `up to ${border}`)
    }
  },

  async 'bytes(), stream() and slice() agree on ranges between any two borders of groups' ({ open }) {
    const store = await open()
    const bytes = noise(9 * GROUP_LEN + 1)
    const { cid } = await store.put(bytes)
    const inside = [0, 1, KIB, GROUP_LEN - 1, GROUP_LEN, 4 * GROUP_LEN, 8 * GROUP_LEN + 1, 9 * GROUP_LEN]
    const borders = [...inside, bytes.length, bytes.length + 1]
    for (const start of borders) {
      for (const end of [...borders.filter(border => border >= start), start + 1]) {
        for (const verify of [true, false]) {
          const got = await store.bytes(cid, { start, end }, { verify })
          sameBytes(got, partOf(bytes, { start, end }), `bytes ${start} to ${end}`)
        }
      }
      const streamed = await new Response(store.stream(cid, { start })).arrayBuffer()
      sameBytes(new Uint8Array(streamed), bytes.subarray(start), `the stream from ${start}`)
      const one = { start, end: start + 1 }
      if (start >= bytes.length) continue
      sameBytes(await collect(store.slice(cid, one)), sliceOf(bytes, one), `the slice at ${start}`)
    }
  },

  async 'slice() gives the same bytes as the encoder' ({ open }) {
    const store = await open()
    for (const size of [0, 1, KIB + 1, GROUP_LEN + 1, 8 * GROUP_LEN + 1, 1_100_000]) {
      const bytes = noise(size)
      const outboard = createOutboardSync(bytes)
      const { cid } = await store.put(bytes)
      const sets = boundariesIn(Math.ceil(size / KIB)).map(boundaries => ChunkRanges.fromBoundaries(boundaries))
      const spans = [...rangesOf(size)].filter((_, i) => i % 9 === 0)
      for (const ranges of [...sets, ...spans]) {
        for (const header of [true, false]) {
          const got = await collect(store.slice(cid, ranges, { header }))
          const expected = encodeSliceSync(bytes, outboard, ranges, { header })
          sameBytes(got, expected, `the slice of ${JSON.stringify(ranges)} of ${size} bytes`)
        }
      }
    }
  },

  async 'stream() gives the bytes of a blob, or of a range' ({ open }) {
    const store = await open()
    const bytes = noise(1_100_000)
    const { cid } = await store.put(bytes)
    equal(store.stream(cid) instanceof ReadableStream, true, 'it is a ReadableStream')
    const whole = await new Response(store.stream(cid)).arrayBuffer()
    sameBytes(new Uint8Array(whole), bytes, 'the whole blob')
    const part = await collect(store.stream(cid, { start: 100, end: 90_000 }))
    sameBytes(part, bytes.subarray(100, 90_000), 'a part')
  },

  async 'callers may stop stream() and get() early' ({ open }) {
    const store = await open()
    const bytes = noise(1_100_000)
    const { cid } = await store.put(bytes)
    const reader = store.stream(cid).getReader()
    const { value } = await reader.read()
    sameBytes(/** @type {Uint8Array} */ (value).subarray(0, 10), bytes.subarray(0, 10), 'the first bytes')
    await reader.cancel()
    const pieces = store.get(cid)
    equal((await pieces.next()).done, false, 'get is at its end')
    await pieces.return(undefined)
    await store.close() // This would wait or fail if an iterator of a database were still open.
  },

  async 'get() and slice() give pieces that callers may keep and change' ({ open }) {
    const store = await open()
    const bytes = noise(300_001)
    const { cid } = await store.put(bytes)
    for (const verify of [true, false]) {
      for await (const piece of store.get(cid, undefined, { verify })) piece.fill(0)
      for await (const piece of store.slice(cid)) piece.fill(0)
      sameBytes(await store.bytes(cid, undefined, { verify }), bytes, 'the blob')
    }
  },

  async 'get() and slice() stop when their signal aborts' ({ open }) {
    const store = await open()
    const { cid } = await store.put(noise(1_100_000))
    const reason = new Error('enough')
    /** @type {((options: { signal: AbortSignal }) => AsyncGenerator<Uint8Array>)[]} */
    const readings = [
      options => store.get(cid, undefined, options),
      options => store.get(cid, undefined, { verify: false, ...options }),
      options => store.slice(cid, undefined, options)
    ]
    for (const read of readings) {
      const early = await errorOf(() => collect(read({ signal: AbortSignal.abort(reason) })))
      equal(early === reason, true, 'it fails with the reason of an earlier abort')
      const controller = new AbortController()
      const pieces = read({ signal: controller.signal })
      await pieces.next()
      controller.abort(reason)
      equal(await errorOf(() => collect(pieces)) === reason, true, 'it fails with the reason of a later abort')
    }
  },

  async 'get() of a blob that is deleted during the read gives right bytes, or fails' ({ open }) {
    const store = await open()
    const bytes = noise(3 * MIB)
    const { cid } = await store.put(bytes)
    const pieces = store.get(cid)
    let at = /** @type {Uint8Array} */ ((await pieces.next()).value).length
    await store.delete(cid)
    const error = await errorOf(async () => {
      for await (const piece of pieces) {
        sameBytes(piece, bytes.subarray(at, at + piece.length), `bytes from ${at}`)
        at += piece.length
      }
    })
    if (error === undefined) equal(at, bytes.length, 'bytes that were read')
    else equal(error.code, 'STORE_NOT_FOUND', 'the code of the error')
  },

  async 'every call reports a blob that was never put as not found' ({ open }) {
    const store = await open()
    const cid = toCid(hash(noise(5)))
    await store.put(noise(6))
    equal([await store.has(cid), (await store.delete(cid)).blobs], [false, 0], 'has and delete')
    equal((await store.missing(cid)).equals(ChunkRanges.all), true, 'everything is missing')
    const { boundaries } = await store.missing(cid, { start: 5000, end: 6000 })
    equal(boundaries, [0, 16], 'the missing chunks of a range, in whole groups')
    const reads = [() => store.bytes(cid), () => collect(store.stream(cid)), () => collect(store.slice(cid))]
    for (const ask of [...reads, () => store.stat(cid)]) {
      equal(String((await fails(ask, 'STORE_NOT_FOUND')).cid), String(cid), 'the CID that the error names')
    }
  },

  async 'calls without options refuse all options' ({ open }) {
    const store = /** @type {any} */ (await open())
    const { cid } = await store.put(noise(5))
    for (const [call, name] of [['has', cid], ['stat', cid], ['resolve', cid], ['statMany', [cid]]]) {
      const error = await errorOf(() => store[call](name, { recursive: true }))
      equal(error instanceof TypeError, true, `${call}() refuses an option`)
      await store[call](name, {})
    }
  },

  async 'every call takes any name of a blob' ({ open }) {
    const store = await open()
    const bytes = noise(20_000)
    const root = hash(bytes)
    const { cid } = await store.put(bytes)
    for (const name of [cid, String(cid), cid.bytes, root, hex(root), hex(root).toUpperCase(), toCid(root, 0x71)]) {
      equal([await store.has(name), (await store.missing(name)).isEmpty], [true, true], `it has ${name}`)
      sameBytes(await store.bytes(name), bytes, `the bytes of ${name}`)
      equal(String((await store.stat(name)).cid), String(cid), `the CID of ${name}`)
    }
    equal((await store.delete(hex(root))).blobs, 1, 'delete finds it')
    const ofSha256 = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
    await fails(() => store.has(ofSha256), 'CID_UNSUPPORTED')
  }
}
