// Looks at a store whose files were damaged, in a process of its own: LevelDB ends some of them. Says what it found as one line of JSON.
import { BlobStore } from '../../store/index.js'
import { errorOf, listed } from '../support/feeding.js'
import { hash } from '../../lib/index.js'
import { noise } from '../support/inputs.js'
import { same } from '../support/bytes.js'
import { sliceOf } from '../support/store/stores.js'

const GROUP = 16384
/** In one extent, with a page, with pages of two bands, in a file. */
const LONG = [300, 10_000, 40_000, 100_000, 64 * GROUP, 2_000_000, 30_000, 700_000]
/** Behind them small ones that come in batches. */
const SMALL_COUNT = 20
const SIZES = [...LONG, ...Array(SMALL_COUNT).fill(GROUP)]
export const BLOBS = SIZES.map((size, i) => noise(size, 3000 + i))
/** One that comes with each batch, and is deleted again. */
const DELETED = noise(GROUP, 2999)

/** The first half of every fourth blob was received. @param {number} i */
const partOf = i => i < LONG.length && i % 4 === 3 ? { start: 0, end: Math.ceil(SIZES[i] / 2 / GROUP) * GROUP } : undefined

/** A store that has been closed and opened, so that there are tables, and logs beside them. @param {string} location */
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

/** @returns {Promise<string>} what a read gives: all, a code, or `WRONG` */
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

/** What is wrong with the store, before and after repairs. @param {string} location */
export async function look (location) {
  const steps = []
  const failed = code => steps.push(code)
  let isRepaired = false
  /** Opens the store, after LevelDB has repaired it if need be. */
  const opened = async () => {
    try {
      return await BlobStore.open(location)
    } catch (error) {
      failed(`open ${error.code}`)
      isRepaired = true
      await BlobStore.rescue(location)
      return BlobStore.open(location)
    }
  }
  let store = await opened()
  const reads = []
  for (const i of BLOBS.keys()) reads.push(await readOf(store, i))
  /** @param {(store: BlobStore) => Promise<unknown>} work */
  const orRepaired = async work => {
    try {
      const report = await work(store)
      if (report.isReadable) return report
      throw new Error('some cannot be read')
    } catch (error) {
      // Files that cannot be read are nothing that could be dropped in one that is open.
      failed(`fsck ${error.code ?? error.message}`)
      await store.close().catch(() => {})
      isRepaired = true
      const report = await BlobStore.rescue(location)
      store = await opened()
      return report
    }
  }
  const found = await store.fsck().catch(error => { failed(`look ${error.code}`); return { isSound: false } })
  const mended = await orRepaired(store => store.fsck({ repair: true }))
  const again = await orRepaired(store => store.fsck())
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
  return { steps, isRepaired, reads, found: found.isSound, mended: mended.isSound, again: again.isSound, rereads, refetched, isSound }
}

const [, file, location] = process.argv
if (file === new URL(import.meta.url).pathname) {
  Error.stackTraceLimit = 50
  console.log(JSON.stringify(await look(location)))
}
