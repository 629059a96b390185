// One job of store-many, in a process of its own: prints its cost as JSON.

import { readFileSync } from 'node:fs'
import { BlobStore } from '../../store/index.js'

const [job, count, len, folder] = process.argv.slice(2)

/** Makes blobs that are all different. */
function * blobs () {
  for (let i = 0; i < Number(count); i++) {
    const bytes = new Uint8Array(Number(len))
    new DataView(bytes.buffer).setUint32(0, i)
    yield bytes
  }
}

/** @param {AsyncIterable<unknown>} many */
async function countOf (many) {
  let found = 0
  for await (const _ of many) found++ // eslint-disable-line no-unused-vars
  return found
}

/** Protects every other blob. @param {BlobStore} store */
async function tagHalf (store) {
  let i = 0
  await store.put((async function * () {
    for await (const { cid } of store.list()) if (i++ % 2 === 0) yield new Uint8Array(cid.multihash.digest)
  })(), { tag: 'half', format: 'hashseq' })
}

/**
 * The jobs, each with the expected result.
 *
 * @type {Record<string, { run: (store: BlobStore) => Promise<unknown>, expected: unknown }>}
 */
const JOBS = {
  putMany: { run: store => countOf(store.putMany(blobs())), expected: Number(count) },
  open: { run: async store => store.tags.get('none'), expected: undefined },
  list: { run: store => countOf(store.list()), expected: Number(count) },
  fsck: { run: async store => (await store.fsck()).isSound, expected: true },
  tagHalf: { run: tagHalf, expected: undefined },
  gc: { run: async store => (await store.gc()).blobs, expected: Math.floor(Number(count) / 2) }
}
const { run, expected } = JOBS[job]

let store = job === 'open' ? undefined : await BlobStore.open(folder)
globalThis.gc?.()
const before = memory()
const peak = { resident: 0, anonymous: 0 }
const watching = setInterval(look, 20)
const begun = performance.now()
store ??= await BlobStore.open(folder)
const found = await run(store)
const ns = (performance.now() - begun) * 1e6
clearInterval(watching)
look()
await store.close()
if (found !== expected) throw new Error(`${job}: expected ${expected}, got ${found}`)
const [resident, anonymous] = [peak.resident - before.resident, peak.anonymous - before.anonymous]
console.log(JSON.stringify({ ns, resident: Math.max(1, resident), anonymous: Math.max(1, anonymous) }))

function look () {
  const { resident, anonymous } = memory()
  peak.resident = Math.max(peak.resident, resident)
  peak.anonymous = Math.max(peak.anonymous, anonymous)
}

/** Resident memory in bytes: all of it, and the part that is not of files. */
function memory () {
  if (process.platform !== 'linux') return { resident: process.memoryUsage.rss(), anonymous: 0 }
  const status = readFileSync('/proc/self/status', 'utf8')
  const of = (/** @type {string} */ field) => 1024 * Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return { resident: of('VmRSS'), anonymous: of('RssAnon') }
}
