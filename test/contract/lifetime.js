// The contract of `open` and `close`: a store that is opened again has its blobs, and gives no damaged bytes.

import { hash } from '../../lib/hash/hasher.js'
import {
  GROUP_LEN, MIB, collect, dataIn, equal, errorOf, fails, flipped, noise, putData, sameBytes, sliceOf
} from './checks.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobStore } from '../../store/blob-store.js' */
/** @import { Tests } from './index.js' */

/**
 * Reads a damaged blob in three ways. Each gives right bytes up to the damage. The first read that finds the damage
 * notes it, so that later reads miss the damaged bytes.
 *
 * @param {BlobStore} store @param {CID} cid @param {Uint8Array} bytes  as they were put
 */
async function expectNothingWrong (store, cid, bytes) {
  /** @type {[() => AsyncIterable<Uint8Array>, Uint8Array][]} */
  const readings = [
    [() => store.get(cid), bytes],
    [() => store.get(cid, { start: 20_000, end: 80_000 }), bytes.subarray(20_000, 80_000)],
    [() => store.slice(cid), sliceOf(bytes)]
  ]
  let errors = 0
  for (const [read, expected] of readings) {
    let at = 0
    const error = await errorOf(async () => {
      for await (const piece of read()) {
        sameBytes(piece, expected.subarray(at, at + piece.length), `bytes from ${at}`)
        at += piece.length
      }
      equal(at, expected.length, 'bytes that were read')
    })
    if (error === undefined) continue
    equal(error.code, errors++ === 0 ? 'STORE_CORRUPT' : 'STORE_MISSING', `the code of ${error.stack}`)
  }
}

/** Ways to damage a stored value. @type {((value: Uint8Array) => Uint8Array)[]} */
const DAMAGES = [
  value => flipped(value, 9), value => flipped(value, value.length - 1), value => value.subarray(0, -1)
]

/** @type {Tests} */
export const LIFETIME = {
  async 'open() finds the blobs that the store had when it was closed, and no others' ({ open }) {
    let store = await open()
    const [whole, part, deleted] = [noise(5 * MIB), noise(300_000), noise(300_001)]
    const range = { start: 0, end: 8 * GROUP_LEN }
    await store.put(whole)
    await store.receive(hash(part), sliceOf(part, range), range)
    await store.put(deleted)
    await store.delete(hash(deleted))
    for (let life = 0; life < 2; life++) {
      store = await open()
      sameBytes(await store.bytes(hash(whole)), whole, 'the whole blob')
      sameBytes(await store.bytes(hash(part), range), part.subarray(0, range.end), 'the part')
      equal((await store.missing(hash(part))).boundaries, [128, 293], 'the chunks that are missing')
      equal(await store.has(hash(deleted)), false, 'it has the deleted blob')
    }
    const missing = await store.missing(hash(part))
    const { complete } = await store.receive(hash(part), sliceOf(part, missing), missing)
    equal(complete, true, 'the blob is complete once it has the missing chunks')
    sameBytes(await store.bytes(hash(part)), part, 'the blob that became complete')
  },

  async 'get() and slice() never give a damaged byte, and put() heals the damage' ({ open, where }) {
    const bytes = noise(6 * GROUP_LEN + 500)
    const store = await open()
    const { cid } = await store.put(bytes)
    await store.close()
    const { length } = await dataIn(where)
    for (let i = 0; i < length; i++) {
      for (const damage of DAMAGES) {
        const { key, value } = (await dataIn(where))[i]
        await putData(where, key, damage(value))
        const store = await open()
        await expectNothingWrong(store, cid, bytes)
        await store.put(bytes, { recheck: true })
        sameBytes(await store.bytes(cid), bytes, 'the blob that was put again')
        await store.close()
      }
    }
  },

  async 'close() ends a store: every later call fails, and the store can be opened again' ({
    open, openBeside, where
  }) {
    const store = await open()
    const { cid } = await store.put(noise(100))
    if (typeof where === 'string') await fails(openBeside, 'STORE_LOCKED')
    await store.close()
    const reads = [() => store.bytes(cid), () => store.has(cid), () => collect(store.slice(cid))]
    for (const ask of [...reads, () => store.put(noise(5)), () => store.delete(cid)]) await fails(ask, 'STORE_CLOSED')
    sameBytes(await (await open()).bytes(cid), noise(100), 'the blob in the store that was opened again')
  }
}
