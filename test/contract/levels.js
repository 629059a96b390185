// The contract of a `BlobStore` over two levels: damage in them is found, and blobs are made from parts of others.

import { concat } from '../../lib/core/bytes.js'
import { toCid } from '../../lib/hash/cid.js'
import { hash } from '../../lib/hash/hasher.js'
import {
  GROUP_LEN, MIB, collect, dataIn, equal, errorOf, fails, flipped, noise, putData, sameBytes, sliceOf
} from './checks.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobStore } from '../../store/blob-store.js' */
/** @import { LevelTests } from './index.js' */

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

/** @type {LevelTests} */
export const OVER_LEVELS = {
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

  async 'open() refuses a place that is open already' ({ open, openBeside, where }) {
    await open()
    if (typeof where === 'string') await fails(openBeside, 'STORE_LOCKED')
  },

  async 'compose() makes the blobs that put() makes' ({ open }) {
    const store = await open()
    const [bytes, other] = [noise(5 * MIB + 300_001), noise(MIB, 1)]
    const { cid } = await store.put(bytes)
    const [start, end] = [2 * MIB + GROUP_LEN + 5, 3 * MIB + 5]
    for (const source of [other.subarray(0, end - start), other, undefined]) {
      const expected = concat([bytes.subarray(0, start), ...source === undefined ? [] : [source], bytes.subarray(end)])
      const middle = source === undefined ? [] : [{ source }]
      const made = await store.compose([{ cid, end: start }, ...middle, { cid, start: end }])
      equal([String(made.cid), made.size], [String(toCid(hash(expected))), expected.length], 'what compose returns')
      sameBytes(await store.bytes(made.cid), expected, 'the changed blob')
      sameBytes(await collect(store.slice(made.cid)), sliceOf(expected), 'the slice of the changed blob')
    }
    const joined = concat([bytes, bytes])
    const made = await store.compose([{ cid }, { cid }])
    equal(String(made.cid), String(toCid(hash(joined))), 'what compose of two blobs returns')
    sameBytes(await store.bytes(made.cid), joined, 'the joined blob')
    equal((await store.fsck()).isSound, true, 'the store is sound')
  }
}
