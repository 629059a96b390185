// The contract of `put`, `delete` and `list`: which blobs a store has, and with which bytes.

import { toCid } from '../../lib/hash/cid.js'
import { hash } from '../../lib/hash/hasher.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import {
  GROUP_LEN, KIB, MIB, around, collect, equal, errorOf, fails, hex, noise, sameBytes, sliceOf
} from './checks.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { Setting, Tests } from './index.js' */

const SIZES = {
  'nothing and a byte': [0, 1],
  'a chunk': around(KIB),
  'a chunk group': around(GROUP_LEN),
  'four chunk groups': around(4 * GROUP_LEN),
  'eight chunk groups': around(8 * GROUP_LEN),
  'a page of the tree, 64 groups': around(MIB),
  'the first page of the second band': [64 * GROUP_LEN, 65 * GROUP_LEN],
  'a batch': [...around(4 * MIB), 4 * MIB + 200_000],
  'a batch and the extents that wait for their pairs': [4 * MIB + 64 * KIB + 1, ...around(4 * MIB + 128 * KIB)],
  'two batches': [8 * MIB + 1]
}

/** Sources that hold the same bytes. @type {Record<string, (bytes: Uint8Array<ArrayBuffer>) => any>} */
const SOURCES = {
  bytes: bytes => bytes,
  'a Blob': bytes => new Blob([bytes]),
  'an async iterable of pieces of any length': async function * (bytes) {
    for (let at = 0, len = 0; at < bytes.length; at += len, len = (7 * len + 1) % 99_991) {
      yield bytes.subarray(at, at + len)
    }
  },
  'an array of pieces, one of them empty': bytes => [bytes.subarray(0, 1), bytes.subarray(1, 1), bytes.subarray(1)],
  'a ReadableStream': bytes => new Blob([bytes]).stream(),
  'an object that reads': bytes => ({
    size: bytes.length,
    read: (/** @type {number} */ start, /** @type {number} */ end) => bytes.subarray(start, end)
  }),
  'an async iterable that reuses one buffer': async function * (bytes) {
    const buffer = new Uint8Array(50_000)
    for (let at = 0; at < bytes.length; at += buffer.length) {
      const piece = bytes.subarray(at, at + buffer.length)
      buffer.set(piece)
      yield buffer.subarray(0, piece.length)
      buffer.fill(0xff)
    }
  }
}

/** @param {Store} store @param {number} size */
async function expectKept (store, size) {
  const bytes = noise(size)
  const root = hash(bytes)
  equal(await store.has(root), size === 0, `has ${size} bytes before they are put`)
  const { cid, ...result } = await store.put(bytes)
  equal([String(cid), result], [String(toCid(root)), { size, isNew: size > 0 }], `what put returns for ${size} bytes`)
  sameBytes(await store.bytes(cid), bytes, `${size} bytes`)
  sameBytes(await collect(store.slice(cid)), sliceOf(bytes), `the slice of ${size} bytes`)
  const { size: told, complete, sizeProven, present } = await store.stat(cid)
  equal([told, complete, sizeProven], [size, true, true], `what stat says of ${size} bytes`)
  equal([await store.has(cid), (await store.missing(cid)).isEmpty], [true, true], `${size} bytes are complete`)
  equal(present.equals(ChunkRanges.all.canonical(size)), true, `all chunks of ${size} bytes are present`)
  equal((await store.put(bytes)).isNew, false, `${size} bytes are new the second time`)
}

/** @param {Setting['open']} open @param {(bytes: Uint8Array<ArrayBuffer>) => any} sourceOf */
async function expectTaken (open, sourceOf) {
  const store = await open()
  const bytes = noise(4 * MIB + 300_001, 1)
  const { cid, size } = await store.put(sourceOf(bytes))
  equal([String(cid), size], [String(toCid(hash(bytes))), bytes.length], 'what put returns')
  sameBytes(await store.bytes(cid), bytes, 'the blob')
}

/** @type {Tests} */
const OF_SIZES = Object.fromEntries(Object.entries(SIZES).map(([what, sizes]) => [
  `put() keeps blobs around the size of ${what}`,
  async ({ open }) => {
    const store = await open()
    for (const size of sizes) await expectKept(store, size)
  }
]))

/** @type {Tests} */
const OF_SOURCES = Object.fromEntries(Object.entries(SOURCES).map(([name, sourceOf]) =>
  [`put() takes ${name}`, ({ open }) => expectTaken(open, sourceOf)]))

/** @type {Tests} */
export const PUTTING = {
  ...OF_SIZES,
  ...OF_SOURCES,

  async 'put() does not change the given bytes, and keeps no view of them' ({ open }) {
    const store = await open()
    const bytes = noise(300_001)
    const given = bytes.slice()
    const { cid } = await store.put(given)
    sameBytes(given, bytes, 'the given bytes')
    given.fill(0)
    sameBytes(await store.bytes(cid), bytes, 'the blob')
  },

  async 'put() reports its progress' ({ open }) {
    const store = await open()
    const bytes = noise(4 * MIB + 300_001, 1)
    /** @type {any[]} */
    const events = []
    await store.put(new Blob([bytes]), { onProgress: event => { events.push(event) } })
    for (const { type, detail } of events) equal([type, detail.total], ['baobox:put', bytes.length], 'an event')
    equal(events.at(-1).detail.done, bytes.length, 'bytes done at the end')
    equal(events.length > 1, true, 'there are several events')
  },

  async 'put() of the same blobs at the same time stores each once' ({ open, countEntries }) {
    const store = await open()
    const blobs = [noise(100), noise(5 * MIB)]
    const puts = [0, 1, 2].flatMap(() => blobs.map(bytes => store.put(new Blob([bytes]))))
    equal((await Promise.all(puts)).filter(({ isNew }) => isNew).length, blobs.length, 'how many are new')
    for (const bytes of blobs) sameBytes(await store.bytes(hash(bytes)), bytes, `${bytes.length} bytes`)
    for (const bytes of blobs) await store.delete(hash(bytes))
    await store.close()
    equal(await countEntries(), 0, 'entries that are left')
  },

  async 'put() that fails or is aborted leaves nothing' ({ open, countEntries }) {
    const store = await open()
    const reason = new Error('no more')
    const bytes = noise(6 * MIB)
    const controller = new AbortController()
    const failing = (async function * () {
      yield bytes
      throw reason
    })()
    equal(await errorOf(() => store.put(failing)) === reason, true, 'it fails with the error of the source')
    const onProgress = () => controller.abort(reason)
    const put = () => store.put(new Blob([bytes]), { signal: controller.signal, onProgress })
    equal(await errorOf(put) === reason, true, 'it fails with the reason of the abort')
    await store.close()
    equal(await countEntries(), 0, 'entries that are left')
  },

  async 'list() gives blobs in the order of their hashes' ({ open }) {
    const store = await open()
    const blobs = [1, 2000, 20_000, 70_000, 100_000].map(size => noise(size))
    for (const bytes of blobs) await store.put(bytes)
    const [part, range] = [noise(100_001), { start: 0, end: GROUP_LEN }]
    await store.receive(hash(part), sliceOf(part, range), range)
    const listed = []
    for await (const { cid, size, complete, created, lastUsed } of store.list()) {
      equal(created instanceof Date && lastUsed >= created, true, 'the times are dates in their order')
      listed.push(`${hex(cid.multihash.digest)} ${size} ${complete}`)
    }
    const expected = [...blobs, part].map(bytes => `${hex(hash(bytes))} ${bytes.length} ${bytes !== part}`)
    equal(listed, expected.sort(), 'the list')
  },

  async 'delete() removes a blob and its data, and no other blob' ({ open, countEntries }) {
    const store = await open()
    const [bytes, other] = [noise(300_001), noise(1)]
    const { cid } = await store.put(bytes)
    await store.put(other)
    equal(await store.delete(cid), { blobs: 1, bytes: bytes.length }, 'delete finds the blob')
    equal(
      [await store.has(cid), await store.delete(cid)], [false, { blobs: 0, bytes: 0 }], 'has and delete find it again'
    )
    await fails(() => store.bytes(cid), 'STORE_NOT_FOUND')
    sameBytes(await store.bytes(hash(other)), other, 'the other blob')
    equal((await store.put(bytes)).isNew, true, 'the blob is new again')
    sameBytes(await store.bytes(cid), bytes, 'the blob that was put again')
    await store.delete(cid)
    await store.close()
    equal(await countEntries(), 1, 'entries that are left, of the other blob')
  },

  async 'delete() never removes the empty blob, which is in every store' ({ open }) {
    const store = await open()
    const cid = toCid(hash(new Uint8Array(0)))
    equal([await store.delete(cid), await store.has(cid)], [{ blobs: 0, bytes: 0 }, true], 'delete and has')
    equal([(await store.bytes(cid)).length, (await store.stat(cid)).size], [0, 0], 'bytes and size')
    equal(await store.receive(cid, new Uint8Array(8)), { received: 0, complete: true }, 'what receive returns')
  }
}
