// Compares a store in a bucket with the plain client of the same bucket, on a server on this machine (versitygw). One
// question is asked again behind a proxy that gives each connection 40 MB/s, because stores in a network limit them.
//
// The plain client puts and gets objects and proves nothing. The store hashes what it puts, keeps it in its local
// store, looks for condemned keys and puts outboards; what it reads is verified and kept. Server and client share the
// machine.
// Without versitygw, a line says NOT RUN: `npm run test:bucket -- --install --engine versitygw` installs it.

import { BucketStore, s3 } from '../exchange/bucket/index.js'
import { have, start } from '../test/bucket/engines.js'
import { limitedProxy } from './support/limited-proxy.js'
import { KiB, MiB, randomBytes, sized } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { shuffled } from './support/measure.js'
import { inFolder } from './support/stores.js'

/** @import { Result } from './support/tables.js' */

const LONG = flags.quick ? 32 * MiB : 1024 * MiB
const SMALL = 4 * KiB
const COUNT = flags.quick ? 200 : 10_000
const PARALLEL = 32
/** What a connection through the proxy carries, in bytes a second, and the blob that is read through it. */
const RATE = 40e6
const SLOW = flags.quick ? 16 * MiB : 256 * MiB
const ROUNDS = flags.quick ? 1 : 3
const [STORE, PLAIN] = ['BucketStore', 'plain client, not verified']

try {
  have('versitygw', {})
} catch (error) {
  console.log(`NOT RUN: the bench of stores in buckets needs versitygw. ${error.message}`)
  process.exit()
}

const engine = await start('versitygw')
let folders = 0
const proxy = await limitedProxy(new URL(engine.options[0].endpoint), RATE)
const open = (prefix, options) => s3({ ...engine.options[0], prefix, ...options })
try {
  await inFolder(run)
} finally {
  proxy.close()
  await engine.stop()
}

/** @param {string} folder */
async function run (folder) {
  const withStore = async (bucket, work) => {
    const store = await BucketStore.open(bucket, { local: `${folder}/${++folders}` })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }
  const noSamples = () => ({ [STORE]: [], [PLAIN]: [] })
  /** @type {Result[]} */
  const results = [
    { name: `put ${sized(LONG)}`, bytes: LONG, unit: 'speed', samples: noSamples() },
    { name: `get ${sized(LONG)}, cold`, bytes: LONG, unit: 'speed', samples: noSamples() },
    { name: `put ${COUNT} of ${sized(SMALL)}`, bytes: SMALL, unit: 'rate', samples: noSamples() },
    { name: 'first MiB, cold', bytes: MiB, unit: 'time', samples: noSamples() },
    { name: `get ${sized(SLOW)}, cold, 40 MB/s a connection`, bytes: SLOW, unit: 'speed', samples: noSamples() }
  ]
  const ways = { [STORE]: ofStore, [PLAIN]: ofPlain }
  for (let round = 0; round <= ROUNDS; round++) {
    const pieces = Array.from({ length: 8 }, () => randomBytes(MiB))
    const smalls = Array.from({ length: COUNT }, () => randomBytes(SMALL))
    for (const [name, way] of shuffled(Object.entries(ways))) {
      const prefix = `round-${round}-${name.length}`
      const slow = open(prefix, { endpoint: proxy.url })
      const figures = await way({ bucket: open(prefix), slow, pieces, smalls, withStore })
      if (round === 0) continue // warms up
      results.forEach(({ samples }, i) => { samples[name].push(figures[i]) })
    }
  }
  report('bucket-store', 'a store in a bucket', results, { form: 'ranking' })
}

/** Bytes that are never the same twice, from pieces that are made once. */
async function * long (pieces, size = LONG) {
  for (let at = 0; at < size; at += MiB) {
    const piece = pieces[at / MiB % pieces.length]
    new DataView(piece.buffer).setUint32(0, at / MiB)
    yield piece
  }
}

async function ofStore ({ bucket, slow, pieces, smalls, withStore }) {
  let cid, shorter
  const put = await withStore(bucket, async store => {
    await store.put(new Uint8Array(1)) // It probes the bucket.
    ;({ cid: shorter } = await store.put(long(pieces, SLOW)))
    return timed(async () => { ({ cid } = await store.put(long(pieces))) })
  })
  const get = await withStore(bucket, store => timed(async () => drained(store.get(cid))))
  const many = await withStore(bucket, store => timed(async () => {
    for await (const result of store.putMany(smalls)) if (!result.isNew) throw new Error('a blob was there')
  }))
  const first = await withStore(bucket, store => timed(() => store.bytes(cid, { start: 0, end: MiB })))
  const slowly = await withStore(slow, store => timed(async () => drained(store.get(shorter))))
  return [put, get, many / COUNT, first, slowly]
}

async function ofPlain ({ bucket, slow, pieces, smalls }) {
  const put = await timed(() => bucket.putParts('long', long(pieces), { size: LONG }))
  const get = await timed(async () => drained((await bucket.get('long')).body))
  const left = smalls.map((bytes, i) => /** @type {const} */ ([`small/${i}`, bytes]))
  const many = await timed(() => Promise.all(Array.from({ length: PARALLEL }, async () => {
    for (let next; (next = left.pop()) !== undefined;) await bucket.put(...next)
  })))
  const first = await timed(async () => drained((await bucket.get('long', { start: 0, end: MiB })).body))
  const slowly = await timed(async () => drained((await slow.get('long', { start: 0, end: SLOW })).body))
  return [put, get, many / COUNT, first, slowly]
}

/** @param {AsyncIterable<Uint8Array>} pieces */
async function drained (pieces) {
  let size = 0
  for await (const piece of pieces) size += piece.length
  return size
}

/** @returns {Promise<number>} nanoseconds */
async function timed (work) {
  const began = performance.now()
  await work()
  return (performance.now() - began) * 1e6
}
