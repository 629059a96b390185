// Reads, checks and repairs a store with damaged files. It is a process of its own, because LevelDB aborts some.
// Prints its findings as one line of JSON.
import { BlobStore } from '../../store/index.js'
import { GROUP } from '../support/constants.js'
import { errorOf, listed } from '../support/feeding.js'
import { hash } from '../../lib/index.js'
import { noise } from '../support/inputs.js'
import { same } from '../support/bytes.js'
import { sliceOf } from '../support/store/stores.js'

/** Sizes of blobs that are kept in different ways: in one extent, with pages of pairs, in a file. */
const LONG = [300, 10_000, 40_000, 100_000, 64 * GROUP, 2_000_000, 30_000, 700_000]
/** Small blobs, which are put in batches. */
const SMALL_COUNT = 20
const SIZES = [...LONG, ...Array(SMALL_COUNT).fill(GROUP)]
export const BLOBS = SIZES.map((size, i) => noise(size, 3000 + i))
/** A blob that is put with each batch, and deleted after it. */
const DELETED = noise(GROUP, 2999)

/** Of every fourth long blob, only the first half is present. @param {number} i */
const partOf = i =>
  i < LONG.length && i % 4 === 3 ? { start: 0, end: Math.ceil(SIZES[i] / 2 / GROUP) * GROUP } : undefined

/** Makes a store in two lives, so that LevelDB has both tables and logs. @param {string} location */
export async function fill (location) {
  for (const half of [0, 1]) {
    const store = await BlobStore.open(location)
    await listed(store.putMany([DELETED, ...BLOBS.filter((_, i) => i >= LONG.length && i % 2 === half)]))
    await store.delete(hash(DELETED))
    for (const [i, bytes] of BLOBS.entries()) {
      if (i % 2 !== half) continue
      const range = partOf(i)
      if (range) await store.receive(hash(bytes), sliceOf(bytes, range), range)
      else await store.put(bytes, { tag: `tag ${i}` })
    }
    if (half === 0) await store.compact()
    await store.close()
  }
}

/** @returns {Promise<string>} the result of a read: `all`, the code of an error, or `WRONG` */
async function readOf (store, i) {
  const range = partOf(i) ?? { start: 0, end: BLOBS[i].length }
  const got = []
  const error = await errorOf(async () => {
    let at = range.start
    for await (const piece of store.get(hash(BLOBS[i]), range)) {
      if (!same(piece, BLOBS[i].subarray(at, at + piece.length))) got.push('WRONG')
      at += piece.length
    }
    if (at !== range.end) got.push('WRONG')
  })
  return got[0] ?? error?.code ?? 'all'
}

/** Reports the faults of the store, before and after repairs. @param {string} location */
export async function look (location) {
  const steps = []
  const failed = code => steps.push(code)
  let isRescued = false
  /** Opens the store. If that fails, rescues it first. */
  const opened = async () => {
    try {
      return await BlobStore.open(location)
    } catch (error) {
      failed(`open ${error.code}`)
      isRescued = true
      await BlobStore.rescue(location)
      return BlobStore.open(location)
    }
  }
  let store = await opened()
  const reads = []
  for (const i of BLOBS.keys()) reads.push(await readOf(store, i))
  /** For each blob: true if the store lacks a part that it had. */
  const missed = []
  for (const [i, bytes] of BLOBS.entries()) {
    const missing = store.missing(hash(bytes), partOf(i) ?? { start: 0 })
    missed.push(await missing.then(ranges => !ranges.isEmpty, () => false)) // nothing is known without a record
  }
  /** @param {(store: BlobStore) => Promise<unknown>} work */
  const orRescued = async work => {
    try {
      const report = await work(store)
      if (report.isReadable) return report
      throw new Error('some cannot be read')
    } catch (error) {
      // An open store cannot drop files that cannot be read.
      failed(`fsck ${error.code ?? error.message}`)
      await store.close().catch(() => {})
      isRescued = true
      const report = await BlobStore.rescue(location)
      store = await opened()
      return report
    }
  }
  const found = await store.fsck().catch(error => { failed(`look ${error.code}`); return { isSound: false } })
  const mended = await orRescued(store => store.fsck({ repair: true }))
  const again = await orRescued(store => store.fsck())
  const rereads = []
  for (const i of BLOBS.keys()) rereads.push(await readOf(store, i))
  const refetched = []
  for (const bytes of BLOBS) {
    const root = hash(bytes)
    const missing = await store.missing(root)
    if (!missing.isEmpty) await store.receive(root, sliceOf(bytes, missing), missing)
    refetched.push(await store.has(root) && same(await store.bytes(root), bytes))
  }
  const { isSound } = await store.fsck()
  await store.close()
  const checks = { found: found.isSound, mended: mended.isSound, again: again.isSound }
  return { steps, isRescued, reads, missed, ...checks, rereads, refetched, isSound }
}

const [, file, location] = process.argv
if (file === new URL(import.meta.url).pathname) {
  Error.stackTraceLimit = 50
  console.log(JSON.stringify(await look(location)))
}
