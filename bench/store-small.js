// Measures what it costs to keep many small blobs, and to read them back.
//
// A row is a store. Ours uses `putMany` and `getMany`, the others their calls for many, or one call after the other.
// All of them make names with our hash. Only `baobox` and the rows with fsync promise that acknowledged blobs survive a
// power cut.

import { KiB, randomBytes, sized } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { contestants, costRows, measureStores } from './support/stores.js'
import { hash, toCid } from '../lib/index.js'

const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 3)
/** Lengths, each with the number of blobs. @type {[number, number][]} */
const CASES = flags.quick ? [[4 * KiB, 50]] : [[256, 10_000], [4 * KiB, 10_000], [16 * KiB, 4000]]

const all = await contestants()
for (const [len, count] of CASES) {
  const blobs = Array.from({ length: count }, () => randomBytes(len))
  const cids = blobs.map(bytes => toCid(hash(bytes)))
  const put = await measureStores(all, ROUNDS, store => store.putMany(blobs))
  report('store-small', `${count} blobs of ${sized(len)}: put`, costRows('put', len * count, put), { form: 'ranking' })
  const get = await measureStores(all, ROUNDS, store => store.getMany(cids), store => store.putMany(blobs))
  const rows = costRows('get', len * count, get, { disk: false })
  report('store-small', `${count} blobs of ${sized(len)}: get`, rows, { form: 'ranking' })
}
