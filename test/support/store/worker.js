// A process that works on a store until disk.test.js kills it. It prints each call that it begins, and each call that
// the store has acknowledged.
import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { stream } from '../feeding.js'
import { noise } from '../inputs.js'
import { killAtStep } from './folder-steps.js'
import { sliceOf } from './stores.js'

/** Sizes. Of the two long ones, the store writes a batch before they end; it writes the two short ones in one go. */
const SIZES = [5_500_000, 4_900_000, 20_000, 300]

/**
 * Returns the first number from `i` on whose blob is the longest: it is put in several batches. The worker receives the
 * blob after it, and then deletes the first.
 *
 * @param {number} i
 */
export const nextRound = i => Math.ceil(i / SIZES.length) * SIZES.length

/** @param {number} i */
export const sizeOf = i => SIZES[i % SIZES.length] + i

const PIECE_LEN = 500_000

/** Returns the blob of a number, the same in both processes. @param {number} i */
export const blobOf = i => noise(sizeOf(i), i + 1)

/** Returns true for every other blob: those are received, the others are put. @param {number} i */
export const isReceived = i => i % 2 === 1

const say = (...words) => writeSync(1, `${words.join(' ')}\n`)

/**
 * Prints how many pieces it has given, so that the process can be killed in the middle. It waits, so that the disk has
 * some of the bytes by then.
 */
async function * inPieces (bytes, what, i) {
  for (let given = 0; given * PIECE_LEN < bytes.length; given++) {
    await setTimeout(5)
    say('given', what, i, given)
    yield * stream([bytes.subarray(given * PIECE_LEN, (given + 1) * PIECE_LEN)])
  }
}

/** The slow preparations come first, so that the printed line is about the store's own work. */
const JOBS = {
  put (store, i) {
    const bytes = blobOf(i)
    return () => store.put(inPieces(bytes, 'put', i))
  },
  receive (store, i) {
    const bytes = blobOf(i)
    const slice = sliceOf(bytes)
    return () => store.receive(hash(bytes), inPieces(slice, 'receive', i))
  },
  delete (store, i) {
    const root = hash(blobOf(i))
    return () => store.delete(root)
  }
}

async function work (location, first) {
  const store = await BlobStore.open(location)
  say('open')
  for (let i = first; ; i++) {
    const jobs = [[isReceived(i) ? 'receive' : 'put', i], ...i % SIZES.length === 1 ? [['delete', i - 1]] : []]
    for (const [what, i] of jobs) {
      const run = JOBS[what](store, i)
      say('begin', what, i)
      await run()
      say('done', what, i)
    }
  }
}

/**
 * The blobs that are put before each collection, all different; the last of them goes to a file. Every third one has a
 * tag.
 */
export const GARBAGE_COUNT = 12
export const garbageOf = i =>
  noise(i % GARBAGE_COUNT === GARBAGE_COUNT - 1 ? 1_500_000 + i : 3000 * (i % GARBAGE_COUNT) + 100, i + 1)
export const isTagged = i => i % 3 === 2

async function litter (location, first) {
  const store = await BlobStore.open(location)
  for (let i = first; ; i += GARBAGE_COUNT) {
    for (let j = i; j < i + GARBAGE_COUNT; j++) {
      await store.put(garbageOf(j), { tag: isTagged(j) ? `tag ${j}` : undefined })
    }
    say('put', i)
    await store.gc({ onBlob: ({ cid }) => say('gone', cid) })
    say('collected', i)
  }
}

async function hold (location) {
  await BlobStore.open(location)
  say('open')
  setInterval(() => {}, 1000)
}

/** Stops the rescue at the moment that it begins to check the rescued data. */
async function rescueAndStay (location) {
  await BlobStore.rescue(location, {
    onProgress () {
      say('checking')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    }
  })
  say('done')
}

/** @param {string} location @param {number} step  the process is killed before this step */
async function rescueUntil (location, step) {
  killAtStep(step)
  await BlobStore.rescue(location)
  say('done')
}

const [, file, task, location, first] = process.argv
if (file === new URL(import.meta.url).pathname) {
  if (task === 'work') await work(location, Number(first))
  if (task === 'litter') await litter(location, Number(first))
  if (task === 'hold') await hold(location)
  if (task === 'rescue') await rescueAndStay(location)
  if (task === 'rescue-until') await rescueUntil(location, Number(first))
  if (task === 'try') {
    const wait = Number(first ?? 0)
    say(...await BlobStore.open(location, { wait }).then(() => ['open'], ({ code, pid }) => [code, pid]))
  }
}
