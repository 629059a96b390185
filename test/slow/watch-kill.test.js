// Kills a process that puts, tags and deletes blobs, and opens its store again. `watch` then gives exactly the
// committed changes, after a point that was kept before as well as after the last event that the process has seen.
//
// A seed decides the jobs and the pauses before a kill: `SEED=7 KILLS=100 npm run test:slow -- -g events`. The machine
// determines where exactly the process is killed.
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { hash, toCid } from '../../lib/index.js'
import { Random } from '../fuzz/random.js'
import { atEffort } from '../support/effort.js'
import { listed } from '../support/feeding.js'
import { killDuring } from '../support/killed.js'
import { onDisk } from '../support/store/stores.js'
import { BLOB_COUNT, LONG_COUNT, SMALL_COUNT, blobOf, smallFrom } from './kill-worker.js'

const WORKER = fileURLToPath(new URL('kill-worker.js', import.meta.url))
const { SEED = 1 } = process.env
const KILLS = Number(process.env.KILLS ?? atEffort(60))
/** The most milliseconds from the beginning of a job to the kill. */
const PATIENCE = 25
const PER_LIFE = 8

const random = new Random(Number(SEED))
const CIDS = Array.from({ length: BLOB_COUNT }, (_, i) => `${toCid(hash(blobOf(i)))}`)

/** The state of a blob after each job, and the types of its events. @type {Record<string, Function>} */
const EVENTS_OF = {
  put: ({ isWhole }) => isWhole ? [] : ['added'],
  putTagged: blob => [...EVENTS_OF.put(blob), 'tagged'],
  putMany: blob => EVENTS_OF.put(blob),
  delete: ({ isWhole }) => isWhole ? ['removed'] : [],
  deleteMany: blob => EVENTS_OF.delete(blob),
  tag: () => ['tagged'],
  untag: ({ isTagged }) => isTagged ? ['untagged'] : [],
  gc: ({ isWhole, isTagged }) => isWhole && !isTagged ? ['removed'] : []
}

/** The state of its blob in an event. */
const AFTER = {
  added: { isWhole: true }, removed: { isWhole: false }, tagged: { isTagged: true }, untagged: { isTagged: false }
}

/** The numbers of the blobs of a job. */
function blobsOf ([what, i, count]) {
  if (what === 'gc') return CIDS.keys()
  return what.endsWith('Many') ? smallFrom(i, count) : [i]
}

/** Jobs for one life. Those of one list run at the same time. Blobs are deleted only without a tag. */
function ordersFor (blobs) {
  const tagged = blobs.map(({ isTagged }) => isTagged)
  const jobOn = i => {
    const what = random.pick(['put', 'put', 'putTagged', 'tag', tagged[i] ? 'untag' : 'delete'])
    if (what === 'putTagged' || what === 'tag') tagged[i] = true
    if (what === 'untag') tagged[i] = false
    return [what, i]
  }
  return Array.from({ length: PER_LIFE }, () => {
    if (random.chance(0.1)) return [['gc']]
    const first = random.below(LONG_COUNT)
    if (random.chance(0.5)) return [first, (first + 1) % LONG_COUNT].map(jobOn)
    const what = random.pick(['putMany', 'deleteMany'])
    return [[what, random.below(SMALL_COUNT), random.between(SMALL_COUNT / 2, SMALL_COUNT)], jobOn(first)]
  })
}

/** The events after a point, as the worker prints them. */
async function eventsAfter (store, after) {
  const { point: last } = await store.info()
  const events = []
  if (last === after) return events
  for await (const { type, cid, complete, tag, point } of store.watch({ after })) {
    events.push(JSON.parse(JSON.stringify({ type, cid: `${cid}`, complete, tag, point })))
    if (point === last) return events
  }
}

describe('store: the events of a store that is killed', () => {
  let place
  before(async () => { place = await onDisk() })
  after(() => place.remove())

  it(`${KILLS} times (seed ${SEED}) are exactly those of the committed changes`, async function () {
    this.timeout(Math.max(1_800_000, KILLS * 10_000))
    const blobs = CIDS.map(() => ({ isWhole: false, isTagged: false }))
    const counts = { events: 0, 'seen by the process': 0, 'of jobs under way': 0 }
    let store = await place.open()
    let { point } = await store.info()
    await store.close()
    for (let kill = 0; kill < KILLS; kill++) {
      const expected = CIDS.map(() => [])
      const state = blobs.map(blob => ({ ...blob }))
      const seen = []
      const running = await killDuring([WORKER, place.where, JSON.stringify(ordersFor(blobs)), 'watch'], {
        job: random.between(1, PER_LIFE),
        pause: random.next() / 2 ** 32 * PATIENCE,
        onEvent: event => seen.push(event),
        onDone (job) {
          for (const i of blobsOf(job)) {
            for (const type of EVENTS_OF[job[0]](state[i])) {
              expected[i].push(type)
              Object.assign(state[i], AFTER[type])
            }
          }
        }
      })

      store = await place.open()
      const events = await eventsAfter(store, point)
      expect(events.slice(0, seen.length), 'what the process has seen').to.deep.equal(seen)
      if (seen.length > 0) {
        expect(await eventsAfter(store, seen.at(-1).point)).to.deep.equal(events.slice(seen.length))
      }
      const told = CIDS.map(() => [])
      for (const { type, cid, complete, tag } of events) {
        const i = CIDS.indexOf(cid)
        told[i].push(type)
        Object.assign(blobs[i], AFTER[type])
        if (type.endsWith('tagged')) expect(tag).to.equal(`tag ${i}`)
        else expect(complete).to.equal(type === 'added')
      }
      for (const [i, types] of told.entries()) {
        // A job that was under way is done, with all its events of a blob, or not done, with none of them. If the file
        // of a tagged blob was complete, and the record was not written, the next opening adds the blob.
        const job = running.find(job => [...blobsOf(job)].includes(i))
        const more = job === undefined ? [] : EVENTS_OF[job[0]](state[i])
        const isMore = types.length > expected[i].length
        const isRestored = state[i].isTagged && more[0] === 'added' && types.length === expected[i].length + 1
        const all = [...expected[i], ...isRestored ? ['added'] : isMore ? more : []]
        expect(types, `events of blob ${i}, during ${JSON.stringify(job)}`).to.deep.equal(all)
        counts['of jobs under way'] += types.length - expected[i].length
      }
      const there = (await listed(store.list())).map(({ cid }) => `${cid}`)
      expect(there.sort()).to.deep.equal(CIDS.filter((_, i) => blobs[i].isWhole).sort())
      const tags = (await listed(store.tags.list())).map(({ name }) => name)
      expect(tags.sort()).to.deep.equal([...blobs.keys()].filter(i => blobs[i].isTagged).map(i => `tag ${i}`).sort())
      counts.events += events.length
      counts['seen by the process'] += seen.length
      point = (await store.info()).point
      await store.close()
    }
    console.log(`      ${Object.entries(counts).map(([what, count]) => `${what} ${count}`).join(', ')}`)
    expect(counts.events).to.be.above(KILLS)
  })
})
