// Measures what it costs to make a blob from stored blobs, beside putting its bytes.
//
// `put` has the bytes of the new blob in memory. `put of reads` puts the bytes that `get` reads from the store, which
// callers would do without `compose`. `verify: false` does not read bytes that stay in place. TMPDIR says on which disk
// the store is: some disks make files that share blocks.

import { BlobStore } from '../store/index.js'
import { MiB, randomBytes, sized } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { inFolder } from './support/stores.js'

/** @import { CID } from 'multiformats/cid' */

const SIZE = flags.quick ? 8 * MiB : 512 * MiB
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 5)
const HALF = SIZE / 2

const blob = new Uint8Array(SIZE)
for (let at = 0; at < SIZE; at += MiB) blob.set(randomBytes(MiB), at)
const piece = randomBytes(MiB)

/** @typedef {Record<string, () => Promise<{ cid: CID }>>} Ways  to make the same blob */

/** @param {BlobStore} store @returns {Promise<Ways>} */
async function joining (store) {
  const parts = [blob.subarray(HALF), blob.subarray(0, HALF)]
  const cids = /** @type {CID[]} */ ([])
  for (const part of parts) cids.push((await store.put([part])).cid)
  const reads = async function * () { for (const cid of cids) yield * store.get(cid, undefined, { reuse: true }) }
  return {
    put: () => store.put(parts),
    'put of reads': () => store.put(reads()),
    compose: () => store.compose(cids.map(cid => ({ cid }))),
    'compose, verify: false': () => store.compose(cids.map(cid => ({ cid })), { verify: false })
  }
}

/** @param {BlobStore} store @param {number} start @param {number} end @returns {Promise<Ways>} */
async function splicing (store, start, end) {
  const { cid } = await store.put([blob])
  const parts = [{ cid, end: start }, { source: piece }, { cid, start: end }]
  const reads = async function * () {
    yield * store.get(cid, { end: start }, { reuse: true })
    yield piece
    yield * store.get(cid, { start: end }, { reuse: true })
  }
  return {
    put: () => store.put([blob.subarray(0, start), piece, blob.subarray(end)]),
    'put of reads': () => store.put(reads()),
    compose: () => store.compose(parts),
    'compose, verify: false': () => store.compose(parts, { verify: false })
  }
}

/** @type {Record<string, (store: BlobStore) => Promise<Ways>>} */
const QUESTIONS = {
  [`two blobs of ${sized(HALF)}, joined`]: joining,
  [`1 MiB behind ${sized(SIZE)}`]: store => splicing(store, SIZE, SIZE),
  [`1 MiB in the middle of ${sized(SIZE)}, replaced`]: store => splicing(store, HALF, HALF + MiB),
  [`1 MiB in the middle of ${sized(SIZE)}, inserted`]: store => splicing(store, HALF, HALF)
}

for (const [question, prepare] of Object.entries(QUESTIONS)) {
  await inFolder(async folder => {
    const store = await BlobStore.open(folder)
    const ways = await prepare(store)
    const samples = /** @type {Record<string, number[]>} */ ({})
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, make] of Object.entries(ways)) {
        const begun = performance.now()
        const { cid } = await make()
        samples[name] = [...samples[name] ?? [], (performance.now() - begun) * 1e6]
        await store.delete(cid)
      }
    }
    await store.close()
    report('store-compose', question, [{ name: 'made', bytes: SIZE, unit: 'time', samples }])
  })
}
