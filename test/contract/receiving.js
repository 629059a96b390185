// The contract of `receive` and `missing`: a store keeps the right groups of slices, and no others.

import { hash } from '../../lib/hash/hasher.js'
import { GROUP_LEN, KIB, collect, equal, errorOf, fails, noise, sameBytes, sliceOf } from './checks.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { Tests } from './index.js' */

/**
 * Receives bytes that are not a right slice, and checks what the store has afterwards.
 *
 * @param {Store} store @param {Uint8Array} bytes  the blob @param {Uint8Array} given @param {string[]} codes
 * @param {string} label  says what is wrong with the slice
 */
async function expectRefused (store, bytes, given, codes, label) {
  const root = hash(bytes)
  const error = await errorOf(() => store.receive(root, given))
  equal(codes.includes(error?.code), true, `the code ${error?.code}, with ${label}`)
  if (await errorOf(() => store.stat(root))) { // The store has kept nothing.
    equal(await store.resolve(root), undefined, `the blob under the name, with ${label}`)
    return
  }
  for (const { start, end } of (await store.stat(root)).present.toBytes(bytes.length)) {
    sameBytes(await store.bytes(root, { start, end }), bytes.subarray(start, end), `bytes ${start} to ${end}`)
  }
  await store.delete(root)
}

/** @type {Tests} */
export const RECEIVING = {
  async 'receive() takes the slices of another store, and counts new bytes only' ({ open, another }) {
    const [there, here] = [await open(), await (await another())()]
    for (const size of [1, KIB, GROUP_LEN, GROUP_LEN + 1, 4 * GROUP_LEN + 1, 8 * GROUP_LEN, 1_100_000, 5_000_000]) {
      const bytes = noise(size)
      const { cid } = await there.put(bytes)
      equal(await here.receive(cid, there.slice(cid)), { received: size, complete: true }, 'what receive returns')
      sameBytes(await here.bytes(cid), bytes, `${size} bytes`)
      sameBytes(await collect(here.slice(cid)), sliceOf(bytes), `the slice of ${size} bytes`)
      const again = await here.receive(cid, there.slice(cid))
      equal(again, { received: 0, complete: true }, 'what receive returns for the same slice')
    }
  },

  async 'receive() takes slices in any order, and from several senders at the same time' ({ open, another }) {
    const [there, here] = [await open(), await (await another())()]
    const bytes = noise(40 * GROUP_LEN + 5001)
    const { cid } = await there.put(bytes)
    const parts = [[38, 41], [3, 4], [0, 3], [10, 30], [25, 38]]
      .map(([first, end]) => ({ start: first * GROUP_LEN, end: end * GROUP_LEN }))
    let received = 0
    for (const part of parts) received += (await here.receive(cid, there.slice(cid, part), part)).received
    equal(received, 34 * GROUP_LEN + 5001, 'bytes received, each counted once')
    const missing = await here.missing(cid)
    equal(missing.boundaries, [4 * 16, 10 * 16], 'the chunks that are missing')
    equal(await here.has(cid), false, 'the blob is complete')
    for (const part of parts) {
      sameBytes(await here.bytes(cid, part), bytes.subarray(part.start, part.end), `the part from ${part.start}`)
    }
    const { ranges } = /** @type {{ ranges: ChunkRanges }} */ (await fails(() => here.bytes(cid), 'STORE_MISSING'))
    equal(ranges.boundaries, missing.boundaries, 'the chunks that the error names as missing')
    await Promise.all([0, 1].map(() => here.receive(cid, there.slice(cid, missing), missing)))
    equal([await here.has(cid), (await here.missing(cid)).isEmpty], [true, true], 'the blob is complete')
    sameBytes(await here.bytes(cid), bytes, 'the blob')
    sameBytes(await collect(here.slice(cid)), sliceOf(bytes), 'the slice of the blob')
  },

  async 'receive() of a truncated or wrong slice keeps the right groups, and no others' ({ open }) {
    const store = await open()
    const bytes = noise(20 * GROUP_LEN + 5)
    const slice = sliceOf(bytes)
    for (const at of [8, 100, 700, 20_000, slice.length >> 1, slice.length - 1]) {
      const wrong = slice.slice()
      wrong[at] ^= 0x10
      await expectRefused(store, bytes, wrong, ['BAO_PARENT_MISMATCH', 'BAO_LEAF_MISMATCH'], `byte ${at} wrong`)
      await expectRefused(store, bytes, slice.subarray(0, at), ['BAO_TRUNCATED'], `only ${at} bytes`)
    }
  }
}
