// Damages copies of a store, one bit each, rescues those that do not open, and brings every blob back by `put` or
// `receive` alone. It is a process of its own, because LevelDB aborts some. Prints the result of each trial as a line
// of JSON.
import { cp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { BlobStore } from '../../store/index.js'
import { ChunkRanges, hash } from '../../lib/index.js'
import { GROUP } from '../support/constants.js'
import { Random } from '../fuzz/random.js'
import { collect, errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { same } from '../support/bytes.js'
import { sliceOf } from '../support/store/stores.js'

const FAST = { durability: 'process' }
/** Sizes of blobs that are kept in different ways: in one extent, with pages of pairs, in files. */
const SIZES = [300, GROUP, 40_000, 200_000, 64 * GROUP, 1_300_000]
const REFERENCE_LEN = 300_000
const BLOBS = [...SIZES, REFERENCE_LEN].map((size, i) => noise(size, 4000 + i))
const SLICES = new Map(BLOBS.map(bytes => [bytes, sliceOf(bytes)]))
/** The most trials of one process, so that LevelDB's memory does not grow. */
const PER_PROCESS = 100
/** A read notes 1 MiB, so there may be several rounds. */
const MAX_ROUNDS = 12

/** The kinds of files, and where they are. */
const KINDS = {
  'a blob file': ['store/blobs', /^\d+$/],
  'a table of data': ['store/data', /\.ldb$/],
  'a log of data': ['store/data', /\.log$/],
  'a table of the index': ['store/index', /\.ldb$/],
  'a log of the index': ['store/index', /\.log$/],
  'a file of others': ['', /^theirs$/]
}

/** Makes a store in two lives, so that LevelDB has both tables and logs. @param {string} folder */
export async function fill (folder) {
  await writeFile(join(folder, 'theirs'), BLOBS.at(-1))
  for (const half of [0, 1]) {
    const store = await BlobStore.open(join(folder, 'store'), FAST)
    for (const [i, bytes] of BLOBS.entries()) {
      if (i % 2 !== half || i === SIZES.length) continue
      await (i === 2 ? store.receive(hash(bytes), SLICES.get(bytes)) : store.put(bytes))
    }
    if (half === 0) await store.compact()
    await store.close()
  }
}

/** @returns {Promise<string>} a slice needs every byte and every pair: `all`, the code of an error, or `WRONG` */
async function readOf (store, bytes) {
  const got = []
  const error = await errorOf(async () => {
    const [all, slice] = [await store.bytes(hash(bytes)), await collect(store.slice(hash(bytes)))]
    if (!same(all, bytes) || !same(slice, SLICES.get(bytes))) got.push('WRONG')
  })
  return got[0] ?? (error === undefined ? 'all' : error.code ?? error.message)
}

/** Brings a blob back. @returns {Promise<string>} the result of a read after that */
async function heal (store, bytes, byPut) {
  let read = 'all'
  for (let round = 0; round < MAX_ROUNDS; round++) {
    read = await readOf(store, bytes)
    if (read === 'all' || read === 'WRONG') break
    if (byPut) await store.put(bytes)
    else {
      const missing = await store.missing(hash(bytes)).catch(() => ChunkRanges.all)
      await store.receive(hash(bytes), sliceOf(bytes, missing), missing)
    }
  }
  return read
}

/** @param {string} sound  a folder @param {string} folder  for its copy @param {number} seed @param {number} trial */
async function tryOne (sound, folder, seed, trial) {
  const random = new Random(Math.imul(seed, 0x2545f491) + trial)
  await cp(sound, folder, { recursive: true })
  const kinds = Object.keys(KINDS)
  const kind = kinds[trial % kinds.length]
  const [place, pattern] = KINDS[kind]
  const files = (await readdir(join(folder, place))).filter(name => pattern.test(name)).sort()
  const sizes = await Promise.all(files.map(async name => (await stat(join(folder, place, name))).size))
  const full = files.filter((_, i) => sizes[i] > 0)
  if (full.length === 0) return { kind, outcome: 'no such file' }
  // The path of a reference is absolute, so the copy gets a reference of its own.
  const store = kind === 'a file of others' ? await withReference(folder) : undefined
  const path = join(folder, place, random.pick(full))
  const bytes = await readFile(path)
  bytes[random.below(bytes.length)] ^= 1 << random.below(8)
  await writeFile(path, bytes)
  const blobs = store === undefined ? BLOBS.slice(0, -1) : BLOBS
  const location = join(folder, 'store')
  return { kind, ...await lookAndHeal(store ?? (() => BlobStore.open(location, FAST)), location, blobs, trial) }
}

async function withReference (folder) {
  const store = await BlobStore.open(join(folder, 'store'), FAST)
  await store.importFile(join(folder, 'theirs'), { mode: 'reference' })
  await store.close()
  return () => BlobStore.open(join(folder, 'store'), FAST)
}

async function lookAndHeal (open, location, blobs, trial) {
  let store
  let rescued = ''
  try {
    store = await open().catch(async error => {
      if (error.code !== 'STORE_CORRUPT') throw error
      await BlobStore.rescue(location)
      rescued = 'rescued, '
      return open()
    })
  } catch (error) {
    return { outcome: `refused: ${error.code}` }
  }
  const harmed = []
  try {
    const before = []
    for (const bytes of blobs) before.push(await readOf(store, bytes))
    for (const [i, bytes] of blobs.entries()) {
      if (before[i] === 'all') continue
      harmed.push(before[i])
      const after = await heal(store, bytes, trial % 2 === 0)
      if (after === 'WRONG' || before[i] === 'WRONG') return { outcome: 'WRONG' }
      if (after !== 'all') return { outcome: `refused: ${after}` }
    }
  } catch (error) {
    return { outcome: `refused: ${error.code ?? error.message}` }
  } finally {
    await store.close().catch(() => {})
  }
  return { outcome: `${rescued}${harmed.length === 0 ? 'no blob was harmed' : 'healed'}` }
}

const [, file, sound, copies, seed, from, to] = process.argv
if (file === new URL(import.meta.url).pathname) {
  for (let trial = Number(from); trial < Math.min(Number(to), Number(from) + PER_PROCESS); trial++) {
    const folder = join(copies, `${trial}`)
    const result = await tryOne(sound, folder, Number(seed), trial)
    await rm(folder, { recursive: true })
    writeSync(1, JSON.stringify({ trial, ...result }) + '\n')
  }
}
