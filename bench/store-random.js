// Measures how many small reads at random places are possible per second.
//
// Ours are ranges of 16 KiB of one long blob, each verified against its hash. Stores that have only whole values read
// values of 16 KiB, which they do not verify. `plain file` reads the ranges and does not verify them. One read follows
// the other; everything is in the page cache.

import { readSync, openSync, closeSync } from 'node:fs'
import { hash, toCid } from '../lib/index.js'
import { KiB, MiB, randomBytes, sized } from './support/inputs.js'
import { flags, run } from './support/run.js'
import { contestants, inFolder } from './support/stores.js'

const LEN = 16 * KiB
const SIZE = flags.quick ? 4 * MiB : 512 * MiB
const READS = 20

await inFolder(async folder => {
  const all = await contestants()
  const blobs = Array.from({ length: SIZE / LEN }, () => randomBytes(LEN))
  const cids = blobs.map(bytes => toCid(hash(bytes)))
  const place = () => Math.floor(Math.random() * blobs.length)

  const ours = await all.baobox(`${folder}/ours`)
  const cid = await ours.put(async function * () { yield * blobs })
  /** @type {Record<string, () => Promise<unknown>>} */
  const ways = {
    'baobox, a range': () => ours.range(cid, place() * LEN, LEN, true),
    'baobox, a range, not verified': () => ours.range(cid, place() * LEN, LEN, false)
  }
  const stores = [ours]
  for (const name of ['baobox', 'blockstore-level', 'blockstore-fs', 'cacache', 'plain files']) {
    if (!(name in all)) continue
    const store = await all[name](`${folder}/${name}`)
    stores.push(store)
    await store.putMany(blobs)
    ways[`${name}, a value`] = async () => store.getSmall(cids[place()])
  }
  const file = openSync(`${folder}/ours/blobs/0`)
  const buffer = new Uint8Array(LEN)
  ways['one plain file, a range'] = async () => readSync(file, buffer, 0, LEN, place() * LEN)

  const repeated = read => async () => { for (let i = 0; i < READS; i++) await read() }
  const reads = Object.fromEntries(Object.entries(ways).map(([name, read]) => [name, repeated(read)]))
  await run('store-random', `reads of ${sized(LEN)} at random places of ${sized(SIZE)}`,
    [{ name: 'reads', bytes: LEN * READS, unit: 'speed', contestants: reads }], { form: 'ranking' })
  closeSync(file)
  for (const store of stores) await store.close()
})
