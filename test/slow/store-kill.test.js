// Kills a process at random moments of all calls to a store. Everything that the store acknowledged is present. A job
// that was running is done, or not done, or done in part if that is allowed. No orphans are left.
//
// A seed decides the jobs and the pauses before a kill: `SEED=7 KILLS=500 npm run test:slow -- -g killed`. The machine
// determines where exactly the process is killed.
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../lib/index.js'
import { Random } from '../fuzz/random.js'
import { same } from '../support/bytes.js'
import { GROUP } from '../support/constants.js'
import { atEffort } from '../support/effort.js'
import { collect, errorOf } from '../support/feeding.js'
import { killDuring } from '../support/killed.js'
import { idsIn, idsWithout, recordsIn } from '../support/store/inspect.js'
import { expectNoOrphans, onDisk, sliceOf } from '../support/store/stores.js'
import { BLOB_COUNT, LONG_COUNT, PARTS, SMALL_COUNT, blobOf, sharesFile, smallFrom } from './kill-worker.js'

const WORKER = fileURLToPath(new URL('kill-worker.js', import.meta.url))
const { SEED = 1 } = process.env
const KILLS = Number(process.env.KILLS ?? atEffort(200))
/** The most milliseconds from the beginning of a job to the kill. */
const PATIENCE = 15
const PER_LIFE = 12

const random = new Random(Number(SEED))

/** The acknowledged state of one blob. */
class Acknowledged {
  isTagged = false
  /** Ranges that must be present. */
  ranges = []
  /** True if the blob must be missing. If false, more than the ranges may be present. */
  isGone = true

  add (range) {
    this.ranges.push(range)
    this.isGone = false
  }

  forget () {
    this.ranges = []
    this.isGone = true
  }
}

/** Jobs that keep a blob as a whole, or nothing of it. */
const PUTS = ['put', 'putTagged', 'splice', 'putMany']

/** Notes the acknowledged result of a job. */
const AFTER = {
  put: (blobs, i) => blobs[i].add(PARTS[0](blobOf(i).length)),
  putTagged (blobs, i) {
    AFTER.put(blobs, i)
    blobs[i].isTagged = true
  },
  splice: (blobs, i) => AFTER.put(blobs, i),
  receive: (blobs, i, part) => blobs[i].add(PARTS[part](blobOf(i).length)),
  putMany: (blobs, from, count) => { for (const i of smallFrom(from, count)) AFTER.put(blobs, i) },
  delete: (blobs, i) => blobs[i].forget(),
  deleteMany: (blobs, from, count) => { for (const i of smallFrom(from, count)) blobs[i].forget() },
  tag: (blobs, i) => { blobs[i].isTagged = true },
  untag: (blobs, i) => { blobs[i].isTagged = false },
  gc: blobs => { for (const blob of blobs) if (!blob.isTagged) blob.forget() },
  fsck () {},
  heal (blobs, i, byPut) { if (byPut && !blobs[i].isGone) AFTER.put(blobs, i) }
}

/** True if a job concerns this blob, alone or with others. */
const isAbout = ([what, i, count], blob) => what.endsWith('Many') ? smallFrom(i, count).includes(blob) : i === blob

/** Jobs for one life. Those of one list run at the same time. Blobs are deleted only without a tag. */
function ordersFor (blobs) {
  const tagged = blobs.map(({ isTagged }) => isTagged)
  const jobOn = i => {
    const less = tagged[i] ? 'untag' : 'delete'
    const jobs = ['put', 'putTagged', 'splice', 'receive', 'receive', less, less, 'tag']
    // A blob that is lost as a whole leaves an orphan until the next collection.
    const mayHeal = blobOf(i).length > 8 * GROUP && !sharesFile(i) // damage to one would be damage to others
    const what = random.pick(mayHeal ? [...jobs, 'heal', 'heal', 'heal'] : jobs)
    if (what === 'putTagged' || what === 'tag') tagged[i] = true
    if (what === 'untag') tagged[i] = false
    if (what === 'heal') return [what, i, random.chance(0.5)]
    return what === 'receive' ? [what, i, random.below(PARTS.length)] : [what, i]
  }
  return Array.from({ length: PER_LIFE }, () => {
    if (random.chance(0.2)) return [[random.pick(['gc', 'gc', 'fsck'])]]
    const count = random.chance(0.7) ? LONG_COUNT : BLOB_COUNT
    const first = random.below(count)
    if (random.chance(0.7)) return [first, (first + 1 + random.below(count - 1)) % count].map(jobOn)
    const what = random.pick(['putMany', 'putMany', 'deleteMany'])
    const many = [what, random.below(SMALL_COUNT), random.between(SMALL_COUNT / 2, SMALL_COUNT)]
    return [many, jobOn(random.below(LONG_COUNT))]
  })
}

/** One life of a process. @returns {Promise<unknown[][]>} jobs that were under way when it was killed */
const live = (location, blobs) => killDuring([WORKER, location, JSON.stringify(ordersFor(blobs))], {
  job: random.between(1, PER_LIFE),
  pause: random.next() / 2 ** 32 * PATIENCE,
  onDone: ([what, ...args]) => AFTER[what](blobs, ...args)
})

/**
 * Lets reads note the damage that a job has done to a blob, and brings back the acknowledged bytes. At any moment of
 * the job, at most one group was damaged.
 */
async function bringBack (store, i, acknowledged) {
  const bytes = blobOf(i)
  const root = hash(bytes)
  const presentNow = () => store.stat(root).then(({ present }) => present, () => ChunkRanges.none)
  for (let reads = 0; reads < 3; reads++) {
    const present = await presentNow()
    const error = present.isEmpty ? undefined : await errorOf(collect(store.slice(root, present)))
    if (error === undefined) break
    expect(error, error.stack).to.include({ code: 'STORE_CORRUPT' })
  }
  const wanted = acknowledged.ranges
    .reduce((all, { start, end }) => all.union(ChunkRanges.fromBytes(start, end)), ChunkRanges.none)
  const lost = wanted.difference(await presentNow())
  if (lost.isEmpty) return
  const len = lost.toBytes(bytes.length).reduce((sum, { start, end }) => sum + end - start, 0)
  expect(len, `bytes of blob ${i} that are lost`).to.be.at.most(GROUP)
  await store.receive(root, sliceOf(bytes, lost), lost)
}

/**
 * Compares a blob with its acknowledged state. Present bytes count as acknowledged from now on.
 *
 * @returns {Promise<string>} the finding
 */
async function settle (store, i, acknowledged, jobs) {
  const bytes = blobOf(i)
  const root = hash(bytes)
  const isMine = (...names) => jobs.some(job => names.includes(job[0]) && (job.length === 1 || isAbout(job, i)))
  const tag = await store.tags.get(`tag ${i}`)
  if (!isMine('tag', 'untag', 'putTagged')) {
    expect(tag !== undefined, `blob ${i} has its tag`).to.equal(acknowledged.isTagged)
  }
  const wasTagged = acknowledged.isTagged || isMine('tag', 'putTagged')
  acknowledged.isTagged = tag !== undefined

  const stat = await store.stat(root).catch(error => {
    expect(error.code).to.equal('STORE_NOT_FOUND')
  })
  if (stat === undefined) {
    // A tag that was being set or deleted may or may not protect its blob.
    const isProtected = wasTagged && !isMine('tag', 'untag', 'putTagged')
    const mayBeGone = acknowledged.isGone || isMine('delete', 'deleteMany') || (isMine('gc') && !isProtected)
    expect(mayBeGone, `blob ${i} is gone, after ${JSON.stringify(jobs)}`).to.equal(true)
    acknowledged.forget()
    return 'nothing'
  }
  const { present, complete, size, sizeProven } = stat
  if (acknowledged.isGone) {
    const isAdded = isMine(...PUTS, 'receive')
    expect(isAdded, `blob ${i} is present, and had been deleted`).to.equal(true)
  }
  for (const { start, end } of acknowledged.ranges) {
    if (!present.contains(Math.floor(start / 1024), Math.ceil(end / 1024))) {
      expect.fail(`bytes ${start} to ${end} of blob ${i} were acknowledged; present are chunks ${present.boundaries}`)
    }
  }
  if (sizeProven) expect(size).to.equal(bytes.length)
  expect(await store.has(root)).to.equal(complete)
  const ranges = present.toBytes(bytes.length)
  // `fsck` reads all blobs. This reads those of the jobs.
  for (const { start, end } of jobs.some(job => isAbout(job, i)) ? ranges : []) {
    const got = await store.bytes(root, { start, end })
    if (!same(got, bytes.subarray(start, end))) expect.fail(`bytes ${start} to ${end} of blob ${i} are wrong`)
  }
  acknowledged.ranges = ranges
  acknowledged.isGone = false
  if (!isMine(...PUTS) || isMine('receive')) return complete ? 'all' : 'a part'
  return complete ? 'all' : 'what was there before'
}

describe('store: being killed', () => {
  let place
  before(async () => { place = await onDisk() })
  after(() => place.remove())

  it(`${KILLS} times (seed ${SEED}) keeps everything acknowledged and leaves no orphans`, async function () {
    this.timeout(Math.max(1_800_000, KILLS * 10_000))
    const blobs = Array.from({ length: BLOB_COUNT }, () => new Acknowledged())
    const found = {}
    const note = (what, state) => {
      found[what] ??= { kills: 0 }
      found[what][state] = (found[what][state] ?? 0) + 1
    }
    let leftovers = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const jobs = await live(place.where, blobs)
      for (const what of new Set(jobs.map(([what]) => what))) note(what, 'kills')
      if (jobs.length === 0) note('nothing', 'kills')
      leftovers += await place.look(async ({ index, data, files }) => {
        const ids = new Set([...files, ...await idsIn(data)])
        return idsWithout([...ids], await recordsIn(index)).length
      })

      const store = await place.open()
      for (const [i, acknowledged] of blobs.entries()) {
        const mine = jobs.filter(job => isAbout(job, i))
        if (mine.some(([what]) => what === 'heal')) await bringBack(store, i, acknowledged)
        const state = await settle(store, i, acknowledged, jobs)
        for (const [what] of mine) note(what, state)
      }
      const { isSound, ...report } = await store.fsck()
      if (!isSound) expect.fail(`after ${JSON.stringify(jobs)}: ${JSON.stringify(report)}`)
      await store.close()
      await expectNoOrphans(place)
    }
    console.log(`      ${KILLS} kills; ids with data and no record before the store was opened again: ${leftovers}`)
    for (const [what, states] of Object.entries(found)) {
      const counts = Object.entries(states).map(([state, count]) => `${state} ${count}`)
      console.log(`      ${what}: ${counts.join(', ')}`)
    }
  })
})
