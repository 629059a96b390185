// A process that works on a store until it is killed: disk.test.js starts it. It says what it begins and what it
// has been promised.
import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { stream } from '../feeding.js'
import { noise } from '../inputs.js'
import { killAtStep } from './folder-steps.js'
import { sliceOf } from './stores.js'

/** Two of which a batch is written before they end, one to be put and one to be received; two that go in at once. */
const SIZES = [5_500_000, 4_900_000, 20_000, 300]

/**
 * The first number from `i` on whose blob is put in several batches; the next one is received, and then the first
 * deleted.
 *
 * @param {number} i
 */
export const nextRound = i => Math.ceil(i / SIZES.length) * SIZES.length

/** @param {number} i */
export const sizeOf = i => SIZES[i % SIZES.length] + i

const PIECE_LEN = 500_000

/** The blob of a number: both processes make the same. @param {number} i */
export const blobOf = i => noise(sizeOf(i), i + 1)

/** Every other blob is received, the rest are put. @param {number} i */
export const isReceived = i => i % 2 === 1

const say = (...words) => writeSync(1, `${words.join(' ')}\n`)

/**
 * Says how many pieces it has given, so that it can be killed in the middle; and gives the disk time, so that
 * something is there then.
 */
async function * inPieces (bytes, what, i) {
  for (let given = 0; given * PIECE_LEN < bytes.length; given++) {
    await setTimeout(5)
    say('given', what, i, given)
    yield * stream([bytes.subarray(given * PIECE_LEN, (given + 1) * PIECE_LEN)])
  }
}

/** What takes its time is made ready first: the word is that the store begins. */
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
 * Blobs that are put before each collection, no two alike; the last of them goes to a file. Every third one is
 * tagged.
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

/** Stays in the rescue from when it checks what it has rescued. */
async function rescueAndStay (location) {
  await BlobStore.rescue(location, {
    onProgress () {
      say('checking')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    }
  })
  say('done')
}

/** @param {string} location @param {number} step  before which the process is killed */
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
