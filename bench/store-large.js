// Measures what it costs to keep a long blob, and to read it back.
//
// A row is a store. The pieces have 1 MiB each, as from streams; a store that needs a name for the contents makes it
// with our hash, so hashing is part of every store's work. Only `baobox` and `plain files, fsync` promise that the blob
// survives a power cut. blockstore-* keep it in blocks of 1 MiB, as Helia does by default. Reads are from the page
// cache, after the blob has reached the disk: ours verifies against the hash, cacache against its own hash, the others
// do not verify. `reuse` lends its pieces, as `plain files` does; others give fresh ones. `hash` is our hash of a blob
// of the same length in memory: the limit of every store that verifies with it.

import { execFileSync } from 'node:child_process'
import { hash } from '../lib/index.js'
import { GiB, MiB, randomBytes, sized } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { contestants, costRows, lending, measureStores } from './support/stores.js'

/** @import { OpenStore } from './support/stores.js' */

const SIZE = flags.quick ? 8 * MiB : GiB
const ROUNDS = flags.quick ? 1 : Number(flags.repeat ?? 3)

const piece = randomBytes(MiB)
const view = new DataView(piece.buffer)

/** Makes all pieces of all rounds different. */
let salt = 0
async function * pieces () {
  salt++
  for (let i = 0; i < SIZE / MiB; i++) {
    view.setUint32(0, salt)
    view.setUint32(4, i)
    yield piece
  }
}

const all = await contestants()
const put = await measureStores(all, ROUNDS, store => store.put(pieces))
report('store-large', `a blob of ${sized(SIZE)}: put`, costRows('put', SIZE, put), { form: 'ranking' })

const names = /** @type {WeakMap<OpenStore, any>} */ (new WeakMap())
let seen = 0
const read = (/** @type {Uint8Array} */ bytes) => { seen += bytes.length }
const { 'baobox, without sync': _, 'plain files, fsync': __, ...readers } = all
const get = await measureStores(
  { ...readers, 'baobox, reuse': lending, hash: async () => hashing() },
  ROUNDS,
  store => store.get(names.get(store), read),
  async store => {
    names.set(store, await store.put(pieces))
    if (process.platform !== 'win32') execFileSync('sync') // otherwise it would be written while it is read
  }
)
if (seen < SIZE) throw new Error('something was not read')
const rows = costRows('get', SIZE, get, { disk: false })
report('store-large', `a blob of ${sized(SIZE)}: get, in the page cache`, rows, { form: 'ranking' })

/** Not a store: the limit for a store that verifies. @returns {OpenStore} */
function hashing () {
  const blob = new Uint8Array(SIZE)
  for (let at = 0; at < SIZE; at += MiB) blob.set(piece, at)
  return {
    putMany: async () => {},
    put: async () => {},
    async get () { hash(blob) },
    getSmall: async () => piece,
    getMany: async () => {},
    close: async () => {}
  }
}
