// Measures a cache by key, beside cacache.
//
// A key of ours is a weak tag of a store with a quota; cacache has an index of keys. Values of 4 KiB are put and read
// one after the other, and many at once: 64 calls are under way all the time. `put` leaves syncing to the system on
// both sides, which is all that cacache can do; ours with sync is beside it. Both verify what they read. The caches are
// filled first, 64 at once; at most 10 000 calls are made one after the other.

import { BlobStore } from '../store/index.js'
import { KiB, randomBytes } from './support/inputs.js'
import { installPeers } from './support/peers.js'
import { flags, report } from './support/run.js'
import { shuffled } from './support/measure.js'
import { inFolder } from './support/stores.js'

/** @import { Result } from './support/tables.js' */

/**
 * @typedef {object} Cache
 * @property {(key: string, bytes: Uint8Array) => Promise<unknown>} put
 * @property {(key: string) => Promise<Uint8Array>} get
 * @property {() => Promise<void>} close
 */

const LEN = 4 * KiB
const COUNTS = flags.quick ? [100] : [1000, 100_000]
const AT_ONCE = 64
const MOST_IN_TURN = 10_000
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 3)

installPeers()
const { default: cacache } = await import('cacache')

/** @param {string} folder @param {'sync' | 'process'} durability @returns {Promise<Cache>} */
async function ours (folder, durability) {
  const store = await BlobStore.open(folder, { quota: 2 ** 40, durability })
  return {
    put: (key, bytes) => store.put(bytes, { tag: key, weak: true }),
    async get (key) {
      const tag = await store.tags.get(key)
      if (tag === undefined) throw new Error(`there is no ${key}`)
      return store.bytes(tag.cid)
    },
    close: () => store.close()
  }
}

/** @type {Record<string, (folder: string) => Promise<Cache>>} */
const CACHES = {
  baobox: folder => ours(folder, 'process'),
  'baobox, with sync': folder => ours(folder, 'sync'),
  cacache: async folder => ({
    put: (key, bytes) => cacache.put(folder, key, bytes),
    get: async key => (await cacache.get(folder, key)).data,
    close: async () => {}
  })
}

for (const count of COUNTS) {
  const rows = ['put, 64 at once', 'put, one after the other', 'get, one after the other', 'get, 64 at once']
  const results = rows.map(name => /** @type {Result} */ ({
    name, bytes: LEN, unit: 'time', samples: Object.fromEntries(Object.keys(CACHES).map(cache => [cache, []]))
  }))
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of shuffled(Object.keys(CACHES))) {
      for (const [i, ns] of (await timesOf(CACHES[name], count)).entries()) results[i].samples[name].push(ns)
    }
  }
  report('store-keys', `${count} values of 4 KiB by key: time of a call`, results)
}

/**
 * @param {(folder: string) => Promise<Cache>} open @param {number} count
 * @returns {Promise<number[]>} nanoseconds a call, for each row
 */
async function timesOf (open, count) {
  const bytes = randomBytes(LEN)
  const valueOf = (/** @type {number} */ i) => {
    new DataView(bytes.buffer).setUint32(0, i)
    return bytes.slice()
  }
  return inFolder(async folder => {
    const cache = await open(folder)
    const put = (/** @type {number} */ at) => cache.put(`key ${at}`, valueOf(at))
    const get = async (/** @type {number} */ at) => {
      const value = await cache.get(`key ${at}`)
      if (new DataView(value.buffer, value.byteOffset).getUint32(0) !== at) throw new Error(`key ${at} is wrong`)
    }
    const few = Math.min(count, MOST_IN_TURN)
    const times = [
      await timed(0, count, AT_ONCE, put), await timed(count, few, 1, put),
      await timed(0, few, 1, get), await timed(0, count, AT_ONCE, get)
    ]
    await cache.close()
    return times
  })
}

/**
 * Calls a function for each number from `first`, and returns the nanoseconds a call.
 *
 * @param {number} first @param {number} count @param {number} atOnce @param {(at: number) => Promise<unknown>} call
 */
async function timed (first, count, atOnce, call) {
  const begun = performance.now()
  let next = first
  await Promise.all(Array.from({ length: atOnce }, async () => { while (next < first + count) await call(next++) }))
  return (performance.now() - begun) * 1e6 / count
}
