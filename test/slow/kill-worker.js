// A process that works on a store until store-kill.test.js or watch-kill.test.js kills it. It prints each job when it
// begins and when the store has acknowledged it, and with `watch` each event that it sees.
import { writeSync } from 'node:fs'
import { ChunkRanges, hash } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { GROUP } from '../support/constants.js'
import { listed } from '../support/feeding.js'
import { flipStoredByte } from '../support/store/inspect.js'
import { concat } from '../support/bytes.js'
import { noise } from '../support/inputs.js'
import { sliceOf } from '../support/store/stores.js'
import { inPieces, putOrAppend, splicedOf } from './disk/look.js'

/** Sizes of blobs that are kept in different ways: in one extent, with pages of pairs, in files. */
const SIZES = [300, 20_000, 250_000, 900_000, 1_200_000, 1_600_000]
/** Blobs of these sizes come first, then small ones, for jobs with many blobs. */
export const LONG_COUNT = 11
/** Some blobs begin with another one. They are put by appending to that. */
const PARENT = { 9: 4, 10: 9 }
const GROWTH = 350_000
export const SMALL_COUNT = 14
export const BLOB_COUNT = LONG_COUNT + SMALL_COUNT

const sizeOf = i => i < LONG_COUNT ? SIZES[i % SIZES.length] + i : GROUP - i
const blobs = /** @type {Uint8Array[]} */ ([])
for (let i = 0; i < BLOB_COUNT; i++) {
  const parent = blobs[PARENT[i]]
  blobs.push(parent === undefined ? noise(sizeOf(i), 1000 + i) : concat([parent, noise(GROWTH, 1000 + i)]))
}

/** True if a blob shares its file with others. @param {number} i */
export const sharesFile = i => i in PARENT || Object.values(PARENT).includes(i)

/** The numbers of some small blobs. @param {number} from @param {number} count */
export const smallFrom = (from, count) => Array.from({ length: count }, (_, i) => LONG_COUNT + (from + i) % SMALL_COUNT)

/** The blob of a number. Both processes make the same. @param {number} i */
export const blobOf = i => blobs[i]

/** Parts that are received: all, the first half, the last two thirds. */
export const PARTS = [
  size => ({ start: 0, end: size }),
  size => ({ start: 0, end: Math.min(Math.ceil(size / 2 / GROUP) * GROUP, size) }),
  size => ({ start: Math.floor(size / 3 / GROUP) * GROUP, end: size })
]

/** The jobs by name. Each prepares its bytes and returns the call, so that `begin` is printed right before the call. */
const JOBS = {
  put: (store, i) => () => putOrAppend(store, blobOf(i), blobs[PARENT[i]]),
  putTagged: (store, i) => () => putOrAppend(store, blobOf(i), blobs[PARENT[i]], { tag: `tag ${i}` }),
  splice: (store, i) => () => splicedOf(store, blobOf(i)),
  receive (store, i, part) {
    const bytes = blobOf(i)
    const range = PARTS[part](bytes.length)
    const slice = sliceOf(bytes, ChunkRanges.fromBytes(range.start, range.end))
    return () => store.receive(hash(bytes), inPieces(slice), range)
  },
  putMany: (store, from, count) => () => listed(store.putMany(smallFrom(from, count).map(blobOf))),
  delete: (store, i) => () => store.delete(hash(blobOf(i))),
  deleteMany: (store, from, count) => async () => {
    for (const i of smallFrom(from, count)) await store.delete(hash(blobOf(i)), { force: true })
  },
  tag: (store, i) => () => store.tags.set(`tag ${i}`, hash(blobOf(i))),
  untag: (store, i) => () => store.tags.delete(`tag ${i}`),
  gc: store => () => store.gc(),
  fsck: store => () => store.fsck({ repair: true }),
  /** A disk damages a blob, a read notes that, and `receive` or `put` brings the right bytes. */
  heal: (store, i, byPut) => async () => {
    const bytes = blobOf(i)
    const root = hash(bytes)
    const { present } = await store.stat(root).catch(() => ({ present: ChunkRanges.none }))
    if (present.isEmpty) return
    const [{ start, end }] = present.toBytes(bytes.length)
    await flipStoredByte(store, root, start + Math.floor((end - start) / 2))
    await store.bytes(root, { start, end }).catch(() => {})
    if (byPut) await store.put(inPieces(bytes))
    else await store.receive(root, inPieces(sliceOf(bytes, present)), present)
  }
}

const say = (...words) => writeSync(1, `${words.join(' ')}\n`)

/** @param {import('../../store/index.js').BlobStore} store */
async function tellEvents (store) {
  for await (const { type, cid, complete, tag, point } of store.watch()) {
    say('event', JSON.stringify({ type, cid: `${cid}`, complete, tag, point }))
  }
}

/**
 * @param {string} location
 * @param {string[]} orders  lists of jobs; the jobs of one list run at the same time
 * @param {boolean} watches
 */
async function work (location, orders, watches) {
  const store = await BlobStore.open(location)
  if (watches) tellEvents(store)
  say('open')
  for (const jobs of orders) {
    const runs = jobs.map(([what, ...args]) => [JOBS[what](store, ...args), JSON.stringify([what, ...args])])
    await Promise.all(runs.map(async ([run, name]) => {
      say('begin', name)
      await run()
      say('done', name)
    }))
  }
  say('over')
  setInterval(() => {}, 1000)
}

const [, file, location, orders, watch] = process.argv
if (file === new URL(import.meta.url).pathname) await work(location, JSON.parse(orders), watch === 'watch')
