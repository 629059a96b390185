// What `import 'baobox/store/test'` gives: what every store promises, as tests that run over databases of yours. They need no test framework but
// `describe` and `it`, so they run in mocha, node:test, vitest and others, and in browsers.

import { ChunkRanges } from '../../lib/tree/ranges.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { toCid } from '../../lib/hash/cid.js'
import { hash } from '../../lib/hash/hasher.js'
import { BlobStore } from '../blob-store.js'
import { levelsAt } from '../storage/level/levels.js'
import { VIEWS } from '../storage/format/keys.js'
import { collect, equal, errorOf, fails, flipped, hex, noise, sameBytes, sliceOf } from './contract-checks.js'

/** @typedef {import('../storage/level/levels.js').DatabasePair} DatabasePair */
/** @typedef {import('../blob-store.js').StoreOptions} StoreOptions */

/** @typedef {string | DatabasePair} Where  as `BlobStore.open` takes it */
/** @typedef {(options?: StoreOptions) => Promise<BlobStore>} Open  opens a store where the one before was, which is closed first */

const KIB = 1024
const GROUP_LEN = 16 * KIB
const MIB = 1024 * KIB

/**
 * Defines the tests.
 *
 * @param {object} options
 * @param {(title: string, body: () => void) => unknown} options.describe
 * @param {(title: string, body: () => Promise<void>) => unknown} options.it
 * @param {() => Where | Promise<Where>} options.newPlace  gives a place where no store is yet. Two levels must keep what they hold when they are closed
 *   and opened again
 * @param {(where: Where) => unknown} [options.removePlace]  gets each of them when it is not used any more
 */
export function testStore (options) {
  assertKnownOptions(options, ['describe', 'it', 'newPlace', 'removePlace'])
  const { describe, it, newPlace, removePlace = () => {} } = options
  for (const [part, tests] of Object.entries(TESTS)) {
    describe(part, () => {
      for (const [title, test] of Object.entries(tests)) it(title, () => withPlaces(newPlace, removePlace, test))
    })
  }
}

/**
 * @param {() => Where | Promise<Where>} newPlace @param {(where: Where) => unknown} removePlace
 * @param {(open: Open, another: () => Promise<Open>, where: Where) => Promise<void>} test
 */
async function withPlaces (newPlace, removePlace, test) {
  /** @type {(() => Promise<unknown>)[]} */
  const endings = []
  const another = async () => {
    const where = await newPlace()
    /** @type {BlobStore | undefined} */
    let store
    endings.push(async () => {
      await store?.close()
      await removePlace(where)
    })
    /** @type {Open} */
    const open = async options => {
      await store?.close()
      store = await BlobStore.open(where, options)
      return store
    }
    return { open, where }
  }
  try {
    const { open, where } = await another()
    await test(open, async () => (await another()).open, where)
  } finally {
    for (const end of endings) await end()
  }
}

/** @type {Record<string, Record<string, (open: Open, another: () => Promise<Open>, where: Where) => Promise<void>>>} */
const TESTS = {
  'whole blobs': {
    async 'come out as they went in, of any size' (open) {
      const store = await open()
      for (const size of [0, 1, KIB, KIB + 1, GROUP_LEN, GROUP_LEN + 1, 4 * GROUP_LEN + 1, 8 * GROUP_LEN + 1, MIB + 1, 4 * MIB + 200_000]) {
        const bytes = noise(size)
        const root = hash(bytes)
        equal(await store.has(root), size === 0, `has ${size} bytes before they were put`)
        const { cid, size: told, isNew } = await store.put(bytes)
        equal([String(cid), told, isNew], [String(toCid(root)), size, size > 0], `what put says of ${size} bytes`)
        sameBytes(await store.bytes(cid), bytes, `${size} bytes`)
        sameBytes(await collect(store.slice(cid)), sliceOf(bytes), `the slice of ${size} bytes`)
        const { complete, sizeProven, present } = await store.stat(cid)
        equal([await store.has(cid), complete, sizeProven, (await store.missing(cid)).isEmpty], [true, true, true, true], `what is known of ${size} bytes`)
        equal(present.equals(ChunkRanges.all.canonical(size)), true, `all chunks of ${size} bytes are present`)
        equal((await store.put(bytes)).isNew, false, `${size} bytes are new the second time`)
      }
    },
    async 'may come from any source' (open) {
      const store = await open()
      const bytes = noise(4 * MIB + 200_000, 1)
      const buffer = new Uint8Array(99_999)
      const sources = {
        'a Blob': new Blob([bytes]),
        'a ReadableStream': new Blob([bytes]).stream(),
        pieces: [bytes.subarray(0, 1), new Uint8Array(0), bytes.subarray(1)],
        'one buffer, filled again and again': (async function * () {
          for (let at = 0; at < bytes.length; at += buffer.length) {
            const piece = bytes.subarray(at, at + buffer.length)
            buffer.set(piece)
            yield buffer.subarray(0, piece.length)
            buffer.fill(0)
          }
        })(),
        'an object that reads': { size: bytes.length, read: (/** @type {number} */ start, /** @type {number} */ end) => bytes.subarray(start, end) }
      }
      for (const [name, source] of Object.entries(sources)) {
        const { cid } = await store.put(source)
        equal(String(cid), String(toCid(hash(bytes))), `the CID of ${name}`)
        sameBytes(await store.bytes(cid), bytes, name)
        equal(await store.delete(cid), true, `${name} is deleted`)
      }
    },
    async 'are read in any part' (open) {
      const store = await open()
      const bytes = noise(9 * GROUP_LEN + 1)
      const { cid } = await store.put(bytes)
      const borders = [0, 1, KIB, GROUP_LEN - 1, GROUP_LEN, 4 * GROUP_LEN, 8 * GROUP_LEN + 1, 9 * GROUP_LEN, bytes.length, bytes.length + 1]
      for (const start of borders) {
        for (const end of [...borders, start + 1]) {
          for (const verify of [true, false]) {
            sameBytes(await store.bytes(cid, { start, end, verify }), bytes.subarray(start, Math.max(start, end)), `bytes ${start} to ${end}`)
          }
        }
        sameBytes(new Uint8Array(await new Response(store.stream(cid, { start })).arrayBuffer()), bytes.subarray(start), `the stream from ${start}`)
        if (start < bytes.length) sameBytes(await collect(store.slice(cid, { start, end: start + 1 })), sliceOf(bytes, { start, end: start + 1 }), `the slice at ${start}`)
      }
    },
    async 'are listed in the order of their hashes' (open) {
      const store = await open()
      const roots = []
      for (const size of [1, 2000, 20_000, 100_000]) roots.push((await store.put(noise(size))).cid)
      const listed = []
      for await (const { cid } of store.list()) listed.push(hex(cid.multihash.digest))
      equal(listed, roots.map(cid => hex(cid.multihash.digest)).sort(), 'the list')
    },
    async 'are stored once, however often they come at once' (open, another, where) {
      const store = await open()
      const blobs = [noise(100), noise(5 * MIB)]
      const results = await Promise.all([0, 1, 2].flatMap(() => blobs.map(bytes => store.put(new Blob([bytes])))))
      equal(results.filter(({ isNew }) => isNew).length, blobs.length, 'how many were new')
      for (const bytes of blobs) sameBytes(await store.bytes(hash(bytes)), bytes, `${bytes.length} bytes`)
      for (const bytes of blobs) await store.delete(hash(bytes))
      await store.close()
      equal((await dataIn(where)).length, 0, 'entries left in the database')
    },
    async 'that do not come to their end leave nothing' (open, another, where) {
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
      equal(await errorOf(() => store.put(new Blob([bytes]), { signal: controller.signal, onProgress })) === reason, true, 'it fails with the reason of the abort')
      await store.close()
      equal((await dataIn(where)).length, 0, 'entries left in the database')
    }
  },
  'what is not here': {
    async 'is said to be missing' (open) {
      const store = await open()
      const cid = toCid(hash(noise(5)))
      equal([await store.has(cid), await store.delete(cid)], [false, false], 'has and delete')
      equal((await store.missing(cid)).equals(ChunkRanges.all), true, 'everything is missing')
      for (const ask of [() => store.bytes(cid), () => store.stat(cid), () => collect(store.slice(cid))]) await fails(ask, 'STORE_NOT_FOUND')
    },
    async 'is what was deleted, and may come again' (open) {
      const store = await open()
      const [bytes, other] = [noise(300_000), noise(300_001)]
      const { cid } = await store.put(bytes)
      await store.put(other)
      equal(await store.delete(cid), true, 'it was here')
      await fails(() => store.bytes(cid), 'STORE_NOT_FOUND')
      sameBytes(await store.bytes(hash(other)), other, 'another blob')
      equal((await store.put(bytes)).isNew, true, 'it is new')
      sameBytes(await store.bytes(cid), bytes, 'the blob that came again')
    },
    async 'is never made up for who was reading it' (open) {
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
    }
  },
  slices: {
    async 'bring a blob over, in any order and from several at once' (open, another) {
      const [there, here] = [await open(), await (await another())()]
      const bytes = noise(40 * GROUP_LEN + 5001)
      const { cid } = await there.put(bytes)
      const parts = [[38, 41], [3, 4], [0, 3], [10, 30], [25, 38]].map(([first, behind]) => ({ start: first * GROUP_LEN, end: behind * GROUP_LEN }))
      let received = 0
      for (const part of parts) received += (await here.receive(cid, there.slice(cid, part), part)).received
      equal(received, 34 * GROUP_LEN + 5001, 'bytes received, each counted once')
      const missing = await here.missing(cid)
      equal(missing.boundaries, [4 * 16, 10 * 16], 'the chunks that are missing')
      equal(await here.has(cid), false, 'it is whole')
      for (const part of parts) sameBytes(await here.bytes(cid, part), bytes.subarray(part.start, part.end), `the part from ${part.start}`)
      const { ranges } = /** @type {{ ranges: ChunkRanges }} */ (await fails(() => here.bytes(cid), 'STORE_MISSING'))
      equal(ranges.boundaries, missing.boundaries, 'what the error says is missing')
      await Promise.all([0, 1].map(() => here.receive(cid, there.slice(cid, missing), missing)))
      equal([await here.has(cid), (await here.missing(cid)).isEmpty], [true, true], 'it is whole')
      sameBytes(await here.bytes(cid), bytes, 'the whole')
      sameBytes(await collect(here.slice(cid)), sliceOf(bytes), 'its slice')
    },
    async 'that are cut or wrong leave what was right, and nothing else' (open) {
      const store = await open()
      const bytes = noise(20 * GROUP_LEN + 5)
      const slice = sliceOf(bytes)
      for (const at of [8, 100, 700, 20_000, slice.length >> 1, slice.length - 1]) {
        const wrong = slice.slice()
        wrong[at] ^= 0x10
        for (const [given, codes] of /** @type {[Uint8Array, string[]][]} */ ([
          [wrong, ['BAO_PARENT_MISMATCH', 'BAO_LEAF_MISMATCH']],
          [slice.subarray(0, at), ['BAO_TRUNCATED']]
        ])) {
          const error = await errorOf(() => store.receive(hash(bytes), given))
          equal(codes.includes(error?.code), true, `the code ${error?.code}, with byte ${at} wrong or missing`)
          if (await errorOf(() => store.stat(hash(bytes)))) continue // nothing was kept
          for (const [start, end] of (await store.stat(hash(bytes))).present.toBytes(bytes.length)) {
            sameBytes(await store.bytes(hash(bytes), { start, end }), bytes.subarray(start, end), `bytes ${start} to ${end}`)
          }
          await store.delete(hash(bytes))
        }
      }
    }
  },
  'a store that is opened again': {
    async 'has what it had, and has not what it had not' (open) {
      let store = await open()
      const [whole, part, gone] = [noise(5 * MIB), noise(300_000), noise(300_001)]
      const range = { start: 0, end: 8 * GROUP_LEN }
      await store.put(whole)
      await store.receive(hash(part), sliceOf(part, range), range)
      await store.put(gone)
      await store.delete(hash(gone))
      for (let life = 0; life < 2; life++) {
        store = await open()
        sameBytes(await store.bytes(hash(whole)), whole, 'the whole blob')
        sameBytes(await store.bytes(hash(part), range), part.subarray(0, range.end), 'the part')
        equal((await store.missing(hash(part))).boundaries, [128, 293], 'the chunks that are missing')
        equal(await store.has(hash(gone)), false, 'it has what was deleted')
      }
      const { complete } = await store.receive(hash(part), sliceOf(part, await store.missing(hash(part))), await store.missing(hash(part)))
      equal(complete, true, 'it is whole with what was missing')
      sameBytes(await store.bytes(hash(part)), part, 'the part that became whole')
    },
    async 'gives no byte that was damaged meanwhile' (open, another, where) {
      const bytes = noise(6 * GROUP_LEN + 500)
      let store = await open()
      const { cid } = await store.put(bytes)
      await store.close()
      for (const { key, value } of await dataIn(where)) {
        for (const damaged of [flipped(value, 9), flipped(value, value.length - 1), value.subarray(0, value.length - 1)]) {
          await putData(where, key, damaged)
          store = await open()
          const errors = []
          for (const [read, right] of /** @type {[() => AsyncIterable<Uint8Array>, Uint8Array][]} */ ([
            [() => store.get(cid), bytes],
            [() => store.get(cid, { start: 20_000, end: 80_000 }), bytes.subarray(20_000, 80_000)],
            [() => store.slice(cid), sliceOf(bytes)]
          ])) {
            let at = 0
            errors.push(await errorOf(async () => {
              for await (const piece of read()) {
                sameBytes(piece, right.subarray(at, at + piece.length), `bytes from ${at}`)
                at += piece.length
              }
              equal(at, right.length, 'bytes that were read')
            }))
          }
          for (const error of errors) equal(error === undefined || error.code === 'STORE_CORRUPT', true, `no other error than STORE_CORRUPT: ${error?.stack}`)
          equal(errors.some(error => error !== undefined), true, 'the damage is seen')
          await store.close()
        }
        await putData(where, key, value)
      }
      sameBytes(await (await open()).bytes(cid), bytes, 'the blob without damage')
    },
    async 'was closed before' (open, another, where) {
      const store = await open()
      const { cid } = await store.put(noise(100))
      if (typeof where === 'string') await fails(() => BlobStore.open(where), 'STORE_LOCKED')
      await store.close()
      for (const ask of [() => store.put(noise(5)), () => store.bytes(cid), () => store.has(cid), () => store.delete(cid), () => collect(store.slice(cid))]) {
        await fails(ask, 'STORE_CLOSED')
      }
    }
  }
}

/** Works on the database of a store that is closed. @template T @param {Where} where @param {(data: DatabasePair['data']) => Promise<T>} work */
async function withData (where, work) {
  const { index, data } = typeof where === 'string' ? levelsAt(where) : where
  await Promise.all([index.open(), data.open()]) // levels open by themselves: both have to be closed
  try {
    return await work(data)
  } finally {
    await Promise.all([index.close(), data.close()])
  }
}

/** @param {Where} where */
const dataIn = where => withData(where, async data => (await data.iterator(VIEWS).all()).map(([key, value]) => ({ key, value: new Uint8Array(value) })))

/** @param {Where} where @param {Uint8Array} key @param {Uint8Array} value */
const putData = (where, key, value) => withData(where, data => data.put(key, value, VIEWS))
