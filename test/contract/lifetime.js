// The contract of `open` and `close`: a store that is opened again has its blobs.

import { hash } from '../../lib/hash/hasher.js'
import { GROUP_LEN, MIB, collect, equal, fails, noise, sameBytes, sliceOf } from './checks.js'

/** @import { Tests } from './index.js' */

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

  async 'close() ends a store: every later call fails, and the store can be opened again' ({ open }) {
    const store = await open()
    const { cid } = await store.put(noise(100))
    await store.close()
    const reads = [() => store.bytes(cid), () => store.has(cid), () => collect(store.slice(cid))]
    for (const ask of [...reads, () => store.put(noise(5)), () => store.delete(cid)]) await fails(ask, 'STORE_CLOSED')
    sameBytes(await (await open()).bytes(cid), noise(100), 'the blob in the store that was opened again')
  }
}
