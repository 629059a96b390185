// Measures what it costs to copy blobs to another store, beside putting them.
//
// `put` puts the bytes that `get` or `getMany` reads from the first store, as a copy would do without `copyTo`.
// `copyTo, again` finds that nothing is missing. Each copy goes to a new store that survives power cuts.

import { BlobStore } from '../store/index.js'
import { GiB, KiB, MiB, randomBytes, sized } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { inFolder } from './support/stores.js'
import { copy } from '../exchange/transfer/index.js'

const COUNT = flags.quick ? 500 : 10_000
const LEN = 4 * KiB
const SIZE = flags.quick ? 8 * MiB : GiB
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 3)

/** @param {number} count @param {number} len */
async function * differentBlobs (count, len) {
  const bytes = randomBytes(len)
  for (let i = 0; i < count; i++) {
    new DataView(bytes.buffer).setUint32(0, i)
    yield bytes
  }
}

/** @param {BlobStore} from @param {BlobStore} to */
async function putSmall (from, to) {
  const names = []
  for await (const { cid } of from.list()) names.push(cid)
  const read = async function * () {
    for await (const { bytes, error } of from.getMany(names)) {
      if (bytes === undefined) throw error
      yield bytes
    }
  }
  for await (const { isNew } of to.putMany(read())) if (!isNew) throw new Error('it was there')
}

/** @param {BlobStore} from @param {BlobStore} to */
async function putLong (from, to) {
  for await (const { cid } of from.list()) await to.put(from.get(cid))
}

/**
 * @param {string} question @param {number} bytes
 * @param {(store: BlobStore) => Promise<unknown>} fill @param {(from: BlobStore, to: BlobStore) => Promise<void>} put
 */
async function compare (question, bytes, fill, put) {
  const samples = /** @type {Record<string, number[]>} */ ({ copyTo: [], put: [], 'copyTo, again': [] })
  await inFolder(async source => {
    const from = await BlobStore.open(source, { durability: 'process' })
    await fill(from)
    for (let round = 0; round < ROUNDS; round++) {
      for (const work of ['put', 'copyTo']) {
        await inFolder(async target => {
          const to = await BlobStore.open(target)
          const timed = async (/** @type {string} */ name, /** @type {() => Promise<unknown>} */ run) => {
            const start = performance.now()
            await run()
            samples[name].push((performance.now() - start) * 1e6)
          }
          await timed(work, () => work === 'put' ? put(from, to) : copy(from, to))
          if (work === 'copyTo') await timed('copyTo, again', () => copy(from, to))
          await to.close()
        })
      }
    }
    await from.close()
  })
  report('store-copy', question, [{ name: 'moved', bytes, unit: 'time', samples }])
}

await compare(`${COUNT} blobs of ${sized(LEN)} from one store to another`, COUNT * LEN, async store => {
  for await (const { isNew } of store.putMany(differentBlobs(COUNT, LEN))) if (!isNew) throw new Error('not new')
}, putSmall)
await compare(`a blob of ${sized(SIZE)} from one store to another`, SIZE,
  store => store.put(differentBlobs(SIZE / MiB, MiB)), putLong)
