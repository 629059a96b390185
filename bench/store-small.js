// What does it cost to keep many small blobs, and to read them back?
//
// A row is a store. Ours are put and got by `putMany` and `getMany`, others by what they have for many, or one after
// the other. Names are made with our hash by everybody. Only `baobox` and what is called fsync promise that what they
// have acknowledged outlasts a power cut.

import { KiB, randomBytes, sized } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { contestants, costRows, measureStores } from './support/stores.js'
import { hash, toCid } from '../lib/index.js'

const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 3)
/** Lengths, and how many of them. @type {[number, number][]} */
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
