// Measures what it costs to serve slices from a store, and to receive them into one.
//
// The blob is long, the served slices are short and at random places. `receive` takes the slice of everything,
// verifies it and keeps it; `put` takes the bytes.

import { BlobStore } from '../store/index.js'
import { GiB, KiB, MiB, randomBytes, sized } from './support/inputs.js'
import { flags, report, run } from './support/run.js'
import { contestants, costRows, inFolder, measureStores } from './support/stores.js'

const SIZE = flags.quick ? 8 * MiB : GiB
const MOVED = flags.quick ? 4 * MiB : 256 * MiB
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 5)
const LENS = [1, 16 * KiB, 64 * KiB, MiB]

/** @param {number} size */
async function * pieces (size) {
  const piece = randomBytes(MiB)
  for (let i = 0; i < size / MiB; i++) {
    new DataView(piece.buffer).setUint32(0, i)
    yield piece
  }
}

await inFolder(async folder => {
  const store = await BlobStore.open(folder, { durability: 'process' })
  const { cid } = await store.put(pieces(SIZE))
  const drain = async (/** @type {AsyncIterable<Uint8Array>} */ slice) => {
    for await (const piece of slice) if (piece.length === 0) throw new Error('empty')
  }
  await run('store-partial', `slices at random places of a blob of ${sized(SIZE)}`, LENS.map(len => {
    const range = () => {
      const start = Math.floor(Math.random() * (SIZE - len))
      return { start, end: start + len }
    }
    return {
      name: sized(len),
      bytes: len,
      unit: /** @type {const} */ ('time'),
      contestants: { slice: () => drain(store.slice(cid, range())), get: () => drain(store.get(cid, range())) }
    }
  }))

  const { cid: moved } = await store.put(pieces(MOVED))
  const { baobox } = await contestants()
  const costs = await measureStores({ put: baobox, receive: baobox }, ROUNDS, (there, name) => name === 'put'
    ? there.put(() => store.get(moved))
    : there.receive(moved, store.slice(moved)))
  const question = `a blob of ${sized(MOVED)} from one store to another, as bytes or as a slice`
  report('store-partial', question, costRows('moved', MOVED, costs), { form: 'ranking' })
  await store.close()
})
