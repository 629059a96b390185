// Measures hashing a file that is in the page cache.
//
// A row is a way to hash it, and how many times as fast as our `hashStream` it is. `reading alone` is the cost of the
// file without hashing. Other packages are fed by `readSync` into one buffer, which is the quickest way in Node.js but
// blocks the thread, and by `createReadStream`, as in most programs; ours does not block. All of them have one thread:
// threads.js measures several.

import assert from 'node:assert/strict'
import { closeSync, createReadStream, openSync, readSync } from 'node:fs'
import { createOutboard } from '../encoder/index.js'
import { Hasher, hashStream } from '../lib/index.js'
import { MiB, sized, withRandomFile } from './support/inputs.js'
import { PEERS, loadPeers } from './support/peers.js'
import { flags, run } from './support/run.js'

/** @import { Incremental } from './support/peers.js' */

const SIZE = (flags.quick ? 8 : 256) * MiB
const PIECE_LEN = MiB
const ONE = { threads: 1 }
/** The packages that are also fed by streams. */
const STREAMED = ['@fuzdev/blake3_wasm', '@napi-rs/blake-hash', 'sha256 (node:crypto)']

const peers = await loadPeers()
const buffer = new Uint8Array(PIECE_LEN)

await withRandomFile(SIZE, async path => {
  const expected = Buffer.from(await hashStream(path))
  const cases = [{ name: sized(SIZE), bytes: SIZE, contestants: ways(path, expected) }]
  await run('file', `hashing of a file of ${sized(SIZE)} in the page cache`, cases, { form: 'ranking' })
})

/** @param {string} path @param {Buffer} expected */
function ways (path, expected) {
  /** @type {Record<string, () => unknown>} */
  const ways = {
    'hashStream(path)': () => hashStream(path, ONE),
    'createOutboard(path), group log 4': () => createOutboard(path, ONE),
    'createOutboard(path), group log 0': () => createOutboard(path, { ...ONE, groupLog: 0 }),
    'reading alone, readSync': () => readInto(path, { update () {} }),
    'reading alone, createReadStream': () => streamInto(path, { update () {} }),
    'Hasher, readSync': () => readInto(path, new Hasher())
  }
  for (const [name, { incremental }] of Object.entries(peers)) {
    if (incremental === undefined || SIZE > (PEERS[name].upTo ?? Infinity)) continue
    const isSameHash = PEERS[name].isOther || expected.equals(readInto(path, incremental()).digest())
    assert.ok(isSameHash, `${name} gives another hash`)
    ways[`${name}, readSync`] = () => readInto(path, incremental()).digest()
    if (STREAMED.includes(name)) {
      ways[`${name}, createReadStream`] = async () => (await streamInto(path, incremental())).digest()
    }
  }
  return ways
}

/** @template {Pick<Incremental, 'update'>} T @param {string} path @param {T} hasher */
function readInto (path, hasher) {
  const file = openSync(path)
  for (let len; (len = readSync(file, buffer)) > 0;) hasher.update(buffer.subarray(0, len))
  closeSync(file)
  return hasher
}

/** @template {Pick<Incremental, 'update'>} T @param {string} path @param {T} hasher */
async function streamInto (path, hasher) {
  for await (const piece of createReadStream(path, { highWaterMark: PIECE_LEN })) hasher.update(piece)
  return hasher
}
