// Two processes on a disk with a journal: one works on a store and writes each job that it begins and each promise
// into the journal; the other builds the folders that power cuts leave, and checks the promises. store-power.test.js
// starts both.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { SafeDatabase } from '../../../store/storage/level/safe-database.js'
import { levelsAt } from '../../../store/storage/level/levels.js'
import { Random } from '../../fuzz/random.js'
import { concat, same } from '../../support/bytes.js'
import { listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { sliceOf } from '../../support/store/stores.js'
import { Disk, MARK, entriesOf } from './journal.js'
import { PARTS, Promises } from './promises.js'
import {
  contentsOf, covers, inPieces, keptFilesIn, orphansIn, putOrAppend, splicedOf, unnamedIdsIn
} from './look.js'

/** Sizes of blobs in one extent, in several, with a tree, and in files. The others are small, and put in batches. */
const SIZES = [300, 20_000, 250_000, 900_000, 1_200_000, 1_600_000, 3_000_000]
const LONG_COUNT = 12
const BLOB_COUNT = 30
const MOST_AT_ONCE = 4
/** Milliseconds after which a process counts as stuck. */
const PATIENCE = 60_000

/** Some blobs begin with another one. They are put by appending to that. */
const PARENT = { 10: 5, 11: 10 }
const GROWTH = 500_000

const made = /** @type {Map<number, Uint8Array>} */ (new Map())
const blobOf = i => {
  if (!made.has(i)) {
    const len = i < LONG_COUNT ? SIZES[i % SIZES.length] + i : 200 + 501 * i
    made.set(i, i in PARENT ? concat([blobOf(PARENT[i]), noise(GROWTH, 1000 + i)]) : noise(len, 1000 + i))
  }
  return made.get(i)
}
const rootOf = i => hash(blobOf(i))

/** The jobs on a store, by name. */
const JOBS = {
  put: (store, [i], { tag }) => putOrAppend(store, blobOf(i), i in PARENT ? blobOf(PARENT[i]) : undefined, { tag }),
  splice: (store, [i], { tag }) => splicedOf(store, blobOf(i), { tag }),
  putMany: (store, blobs) => listed(store.putMany(blobs.map(blobOf))),
  receive: (store, [i], { part }) => {
    const range = PARTS[part](blobOf(i).length)
    return store.receive(rootOf(i), inPieces(sliceOf(blobOf(i), ChunkRanges.fromBytes(range.start, range.end))), range)
  },
  delete: (store, [i]) => store.delete(rootOf(i), { force: true }),
  deleteMany: (store, blobs) => Promise.all(blobs.map(i => store.delete(rootOf(i), { force: true }))),
  tag: (store, [i], { tag }) => store.tags.set(tag, rootOf(i)),
  untag: (store, _, { from }) => store.tags.delete(from),
  rename: (store, _, { from, tag }) => store.tags.rename(from, tag),
  gc: store => store.gc(),
  compact: store => store.compact(),
  fsck: store => store.fsck(),
  repair: store => store.fsck({ repair: true })
}

/**
 * A job on blobs on which no other job works. A blob has at most one tag.
 *
 * @param {Random} random @param {Set<number>} busy @param {Promises} promises
 */
function nextJob (random, busy, promises) {
  if (random.chance(0.12)) return { what: random.weighted({ gc: 5, compact: 2, fsck: 1, repair: 1 }), blobs: [] }
  if (random.chance(0.25)) {
    const first = random.between(LONG_COUNT, BLOB_COUNT - 1)
    const blobs = Array.from({ length: random.between(2, 8) }, (_, i) => first + i)
    const what = random.weighted({ putMany: 3, deleteMany: 1 })
    return { what, blobs: blobs.filter(i => i < BLOB_COUNT && !busy.has(i)) }
  }
  const isFree = i => !busy.has(i) && (i < LONG_COUNT || i % 4 === 0)
  const i = random.pick(Array.from({ length: BLOB_COUNT }, (_, i) => i).filter(isFree))
  const from = promises.tagOf(i)
  const other = from === `a ${i}` ? `b ${i}` : `a ${i}`
  const tagging = from === undefined ? { putTagged: 3, tag: 1 } : { untag: 2, rename: 4 }
  const what = random.weighted({ put: 3, splice: 2, receive: 5, delete: 3, ...tagging })
  const holds = i in PARENT ? [PARENT[i]] : undefined
  if (what === 'putTagged') return { what: 'put', blobs: [i], tag: other, holds }
  if (what === 'put') return { what, blobs: [i], from, holds }
  if (what === 'tag' || what === 'rename') return { what, blobs: [i], from, tag: other }
  return { what, blobs: [i], from, part: what === 'receive' ? random.below(PARTS.length) : undefined }
}

/** @param {string} location @param {string} marks @param {number} seed @param {number} count  of jobs */
async function work (location, marks, seed, count) {
  const random = new Random(seed)
  const fd = openSync(marks, 'w')
  const say = (...words) => writeSync(fd, words.join(' '))
  const promises = new Promises(blobOf)
  let store = await BlobStore.open(location)
  const underWay = new Set()
  const busy = new Set()
  for (let number = 0; number < count; number++) {
    while (underWay.size >= random.between(1, MOST_AT_ONCE)) await Promise.race(underWay)
    if (random.chance(0.03)) {
      await Promise.all(underWay)
      await store.close()
      store = await BlobStore.open(location)
    }
    const job = nextJob(random, busy, promises)
    if (job.blobs.length === 0 && job.what.endsWith('Many')) continue
    for (const i of job.blobs) busy.add(i)
    promises.begin(number, job)
    say('begin', number, JSON.stringify(job))
    const working = JOBS[job.what](store, job.blobs, job).then(() => {
      say('done', number)
      promises.end(number)
      for (const i of job.blobs) busy.delete(i)
      underWay.delete(working)
    })
    underWay.add(working)
  }
  await Promise.all(underWay)
  await store.close()
  closeSync(fd)
}

/**
 * Makes LevelDB switch to another log while the old one has bytes that no sync has brought to the disk, and then
 * acknowledges something with a sync.
 *
 * @param {string} location @param {string} marks @param {number} count  of rounds
 */
async function changeLogs (location, marks, count) {
  await mkdir(location, { recursive: true })
  const fd = openSync(marks, 'w')
  const database = new SafeDatabase(levelsAt(location).index, { location, path: `${location}/index` })
  await database.open()
  for (let i = 0; i < count; i++) {
    await database.put(Uint8Array.of(1, i), new Uint8Array(100))
    const compacting = database.compact()
    await new Promise(resolve => setTimeout(resolve, 3))
    await database.put(Uint8Array.of(2, i), new Uint8Array(100), { sync: true })
    writeSync(fd, String(i))
    await compacting
  }
  await database.close()
}

/**
 * Opens the folder that a power cut has left, and checks everything.
 *
 * @param {string} location @param {Promises} promises @param {Random} random
 * @returns {Promise<string[]>} the faults
 */
async function examine (location, promises, random) {
  const wrong = []
  const fault = words => { wrong.push(words) }
  let store
  try {
    store = await BlobStore.open(location)
  } catch (error) {
    return [`open: ${error.code} ${error.message}: ${error.cause?.cause?.message ?? error.cause?.message}`]
  }
  try {
    const kept = []
    for (let i = 0; i < BLOB_COUNT; i++) {
      const bytes = blobOf(i)
      const root = rootOf(i)
      const tags = (await listed(store.tags.list())).filter(({ name }) => name.endsWith(` ${i}`))
      const names = tags.map(({ name }) => name).join()
      if (tags.some(({ cid }) => !same(cid.multihash.digest, root))) fault(`tag ${names} names another blob`)
      if (!promises.mayHaveTags(i, names)) fault(`tags of blob ${i}: '${names}', promised was '${promises.tagOf(i)}'`)
      const stat = await store.stat(root).catch(error => {
        if (error.code !== 'STORE_NOT_FOUND') fault(`stat of blob ${i}: ${error.code} ${error.message}`)
      })
      const ranges = stat?.present ?? ChunkRanges.none
      if (stat !== undefined && promises.isGone(i)) fault(`blob ${i} is there, and had been deleted`)
      for (const { start, end } of promises.rangesOf(i)) {
        if (!covers(ranges, start, end)) fault(`lost: ${start} to ${end} of blob ${i}, here is ${ranges.boundaries}`)
      }
      if (stat?.sizeProven && stat.size !== bytes.length) fault(`blob ${i} has the size ${stat.size}`)
      for (const { start, end } of stat === undefined ? [] : ranges.toBytes(bytes.length)) {
        const where = `bytes ${start} to ${end} of blob ${i}, ${stat.complete ? 'whole' : 'in part'}`
        const read = await store.bytes(root, { start, end }).catch(error => {
          fault(`corrupt: ${where}: ${error.code} ${error.message}`)
        })
        if (read && !same(read, bytes.subarray(start, end))) fault(`wrong: ${where}`)
      }
      if (stat !== undefined) {
        kept.push({ i, root, boundaries: ranges.boundaries.join(), isTagged: tags.length > 0, bytes, present: ranges })
      }
    }
    const early = await store.fsck()
    const keptFiles = early.orphans > 0 ? await keptFilesIn(store, kept.filter(({ isTagged }) => isTagged)) : []
    if (!isSoundBut(early, keptFiles.length)) {
      const blobs = kept.map(({ i, isTagged, boundaries }) => `${i}${isTagged ? ' (tagged)' : ''}: ${boundaries}`)
      const ids = `ids without a record: ${await unnamedIdsIn(store)}; rightly kept: ${keptFiles}`
      fault(`unsound when opened: ${told(early)}; ${ids}; chunks of blobs: ${blobs.join('; ')}`)
    }
    for (const { i, root } of kept) await store.tags.set(`kept ${i}`, root)
    for (const tag of ['new 1', 'new 2', 'new 3']) {
      await store.put(noise(random.pick([500, 40_000, 1_100_000]), random.next()), { tag })
    }
    await store.gc()
    let late = await store.fsck()
    if (keptFiles.length > 0) {
      if (!isSoundBut(late, keptFiles.length)) fault(`unsound while files are kept: ${told(late)}`)
      for (const entry of kept) entry.boundaries = await whole(store, entry)
      await store.gc()
      late = await store.fsck()
    }
    if (!late.isSound) fault(`unsound after gc: ${told(late)}`)
    await store.close()
    for (const orphan of await orphansIn(location)) fault(`orphan: ${orphan}`)
    store = await BlobStore.open(location)
    for (const { i, root, boundaries } of kept) {
      const stat = await store.stat(root).catch(error => fault(`stat of blob ${i} when opened again: ${error.code}`))
      if (stat && stat.present.boundaries.join() !== boundaries) fault(`blob ${i} is another when opened again`)
    }
  } catch (error) {
    fault(`failed: ${error.code} ${error.stack}`)
  }
  await store.close()
  return wrong
}

/** Puts a blob that the store has in part. @returns {Promise<string>} the boundaries of its chunks */
async function whole (store, { i, root }) {
  if (!(await store.stat(root)).complete) await store.put(blobOf(i))
  return (await store.stat(root)).present.boundaries.join()
}

/**
 * Returns true if `fsck` has found nothing wrong but a number of orphans.
 *
 * @param {import('../../../store/index.js').FsckReport} report @param {number} orphans
 */
const isSoundBut = ({ isReadable, isStateDamaged, damaged, records, tags, strays, ...report }, orphans) =>
  isReadable && !isStateDamaged && damaged.length + records.length + tags.length + strays === 0 &&
  report.orphans === orphans

/** The faults in a report of `fsck`. */
function told ({ isSound, ...report }) {
  const isWorthIt = value => Array.isArray(value) ? value.length > 0 : value !== 0
  return JSON.stringify(Object.fromEntries(Object.entries(report).filter(([, value]) => isWorthIt(value))))
}

/**
 * @param {string} journal @param {string} folder  for the folders that cuts leave
 * @param {number[]} cuts  increasing @param {number} seed
 */
async function cut (journal, folder, cuts, seed) {
  const entries = entriesOf(readFileSync(journal))
  const disk = new Disk()
  const promises = new Promises(blobOf)
  let at = 0
  for (const place of cuts) {
    for (; at < place; at++) {
      if (entries[at].kind === MARK) promises.read(Buffer.from(entries[at].bytes).toString())
      else disk.follow(entries[at])
    }
    const [seedHere, location] = [seed * 1_000_003 + place, join(folder, `${place}`)]
    await mkdir(folder, { recursive: true })
    const random = new Random(seedHere)
    await disk.write(location, random)
    /** Tells what this cut has left, before the store was opened. */
    const contents = async () => {
      const again = `${location} again`
      await disk.write(again, new Random(seedHere))
      const found = await contentsOf(join(again, 'store'))
      await rm(again, { recursive: true })
      return found
    }
    const stuck = setTimeout(() => {
      console.log(JSON.stringify({ place, wrong: ['stuck'] }))
      process.exit(1)
    }, PATIENCE)
    const wrong = await examine(join(location, 'store'), promises, random)
    clearTimeout(stuck)
    const isWrong = wrong.length > 0
    const why = isWrong ? { underWay: promises.underWay, contents: await contents() } : undefined
    console.log(JSON.stringify({ place, wrong, ...why }))
    if (!process.env.KEEP || !isWrong) await rm(location, { recursive: true })
  }
}

const [, file, what, ...args] = process.argv
if (file === new URL(import.meta.url).pathname) {
  if (what === 'work') await work(args[0], args[1], Number(args[2]), Number(args[3]))
  else if (what === 'logs') await changeLogs(args[0], args[1], Number(args[2]))
  else await cut(args[0], args[1], JSON.parse(args[2]), Number(args[3]))
}
