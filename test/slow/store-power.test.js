// Cuts the power at random moments of all calls to a store. Synced bytes are on the disk; of the others, a random part
// is. In every case the store opens, has everything acknowledged, and keeps no orphans but files that complement tagged
// blobs.
//
// A seed chooses the jobs and the cuts: `SEED=7 CUTS=1000 npm run test:slow -- -g power`. The machine determines the
// order in which writes reach the disk. KEEP=1 keeps the journals, and the folder of each store that failed.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { availableParallelism } from 'node:os'
import { expect } from 'chai'
import { Level } from 'level'
import { Random } from '../fuzz/random.js'
import { atEffort } from '../support/effort.js'
import { Disk, MARK, RENAME, SYNC_END, UNLINK, entriesOf } from './disk/journal.js'
import { environmentOf, makeDisk } from './disk/shim.js'

const WORKER = fileURLToPath(new URL('disk/power-worker.js', import.meta.url))
const { SEED = 1, KEEP } = process.env
const CUTS = Number(process.env.CUTS ?? atEffort(300))
/** The numbers of cuts and jobs in one life. */
const PER_LIFE = 60
const JOB_COUNT = 130
/** The most microseconds of a sync. Other calls go on during it. */
const SYNC_MICROS = 1500
const PROCESSES = Math.min(availableParallelism(), 4)
/** Kinds of journal entries around which a cut matters most. */
const TURNS = [MARK, SYNC_END, RENAME, UNLINK]

describe('store: power cuts', () => {
  let disk
  before(async function () {
    disk = await makeDisk()
    if (!disk.missing) return
    console.log(`    NOT RUN: a disk with a journal ${disk.missing}`)
    this.skip()
  })
  after(() => KEEP ? console.log(`      kept: ${disk.folder}`) : disk.remove?.())

  /** One life of a store. @returns {Promise<{ journal: string, entries: object[], live: string }>} */
  async function live (seed, name = seed) {
    const folder = join(disk.folder, `live ${name}`)
    const [journal, marks] = ['journal', 'marks'].map(file => join(disk.folder, `${file} ${name}`))
    const env = await environmentOf(disk.shim, folder, { journal, marks, syncMicros: SYNC_MICROS })
    const args = [WORKER, 'work', join(folder, 'store'), marks, String(seed), String(JOB_COUNT)]
    execFileSync(process.execPath, args, { env, stdio: 'inherit' })
    return { journal, entries: entriesOf(readFileSync(journal)), live: folder }
  }

  /**
   * @param {object[]} entries @param {Random} random @param {number} count
   * @returns {number[]} places in a journal, increasing
   */
  function placesIn (entries, random, count) {
    const turns = entries.flatMap(({ kind }, i) => TURNS.includes(kind) ? [i] : [])
    const nearTurn = () => Math.min(random.pick(turns) + random.below(4), entries.length)
    const place = () => random.chance(0.5) ? random.below(entries.length + 1) : nearTurn()
    return Array.from({ length: count }, place).sort((a, b) => a - b)
  }

  /**
   * Cuts the power at places.
   *
   * @returns {Promise<{ place: number, wrong: string[], underWay?: object[], contents?: object }[]>} `contents`: what
   *   the cut has left in the folder
   */
  async function cut (journal, places, seed, number) {
    const folder = join(disk.folder, `left ${seed} ${number}`)
    const env = await environmentOf(disk.shim, folder)
    const args = [WORKER, 'cut', journal, folder, JSON.stringify(places), String(seed)]
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const exit = once(child, 'exit')
    const results = []
    for await (const line of createInterface({ input: child.stdout })) results.push(JSON.parse(line))
    const [code, signal] = await exit
    if (results.length < places.length) {
      const place = places[results.length]
      results.push({ place, wrong: [`the process ended with ${signal ?? code}`] })
      results.push(...await cut(journal, places.slice(results.length), seed, number))
    }
    return results
  }

  it('acknowledged writes are present even when LevelDB has switched to another log', async () => {
    const folder = join(disk.folder, 'logs')
    const [journal, marks] = ['journal', 'marks'].map(file => join(disk.folder, `${file} of logs`))
    const env = await environmentOf(disk.shim, folder, { journal, marks, syncMicros: SYNC_MICROS })
    execFileSync(process.execPath, [WORKER, 'logs', join(folder, 'store'), marks, '20'], { env, stdio: 'inherit' })
    const followed = new Disk()
    for (const entry of entriesOf(readFileSync(journal))) {
      if (entry.kind !== MARK) {
        followed.follow(entry)
        continue
      }
      const round = Number(Buffer.from(entry.bytes).toString())
      const left = join(disk.folder, `logs ${round}`)
      await followed.write(left, 'least')
      const level = new Level(join(left, 'store/index'), { keyEncoding: 'view', valueEncoding: 'view' })
      const kept = await level.getMany([Uint8Array.of(1, round), Uint8Array.of(2, round)])
      await level.close()
      expect(kept.map(value => value?.length), `round ${round}`).to.deep.equal([100, 100])
    }
  })

  it('the journal records all changes to the disk', async () => {
    const { journal, entries, live: folder } = await live(Number(SEED), 'first')
    const followed = new Disk()
    for (const entry of entries) if (entry.kind !== MARK) followed.follow(entry)
    const copy = join(disk.folder, 'copy')
    await followed.write(copy)
    execFileSync('diff', ['-r', '-x', 'LOG', '-x', 'LOG.old', folder, copy])
    expect(entries.length, journal).to.be.above(500)
  })

  it(`${CUTS} times (from seed ${SEED} on) lose nothing that was acknowledged`, async function () {
    this.timeout(Math.max(1_800_000, CUTS * 10_000))
    const failures = []
    const kinds = {}
    for (let seed = Number(SEED), left = CUTS; left > 0; seed++, left -= PER_LIFE) {
      const { journal, entries } = await live(seed)
      const places = placesIn(entries, new Random(seed), Math.min(left, PER_LIFE))
      const placesOf = number => places.filter((_, i) => i % PROCESSES === number)
      const cutting = Array.from({ length: PROCESSES }, (_, number) => cut(journal, placesOf(number), seed, number))
      for (const { place, wrong, underWay, contents } of (await Promise.all(cutting)).flat()) {
        if (wrong.length === 0) continue
        const why = [`under way: ${JSON.stringify(underWay)}`, `left by the cut: ${JSON.stringify(contents)}`]
        failures.push([`seed ${seed}, cut at ${place}:`, ...wrong.slice(0, 6), ...why].join('\n  '))
        const kindsHere = new Set(wrong.map(words => words.split(/[:\d(]/)[0].trim()))
        for (const kind of kindsHere) kinds[kind] = (kinds[kind] ?? 0) + 1
      }
    }
    console.log(`      ${CUTS} cuts, ${failures.length} failures`)
    for (const [kind, count] of Object.entries(kinds)) console.log(`      ${kind}: ${count}`)
    expect(failures.length, failures.join('\n')).to.equal(0)
  })
})
