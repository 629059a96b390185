// A process whose disk fails on demand: it makes calls to a store fail at one point after the other, and prints
// the faults afterwards. store-faults.test.js starts it.
import { cp, mkdir, rm } from 'node:fs/promises'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { Level } from 'level'
import { ChunkRanges } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { Random } from '../../fuzz/random.js'
import { concat } from '../../support/bytes.js'
import { GROUP, VIEWS } from '../../support/constants.js'
import { noise } from '../../support/inputs.js'
import { splice } from '../../support/store/grown.js'
import { sliceOf } from '../../support/store/stores.js'
import { Control, FAULTS } from './shim.js'
import { Model, blobOf, nameBlob } from './faults-model.js'
import { inPieces, orphansIn } from './look.js'

/** The number of a call that never comes, so none fails. */
const NEVER = 2 ** 32 - 1

/** A store, and the blobs that it must have. Blobs are named by their lengths. */
class Subject {
  constructor (location, model) {
    this.location = location
    this.model = model
  }

  async open () { this.store = await BlobStore.open(this.location) }
  close () { return this.store.close() }

  put (len, tag) { return this.model.keep(len, this.store.put(inPieces(blobOf(len).bytes), { tag }), { tag }) }

  append (from, len, tag) {
    const more = noise(len - from, len)
    nameBlob(concat([blobOf(from).bytes, more]))
    return this.model.keep(len, this.store.append(blobOf(from).root, inPieces(more), { tag }), { tag })
  }

  async putAll (lens) { for (const len of lens) await this.put(len, `tag ${len}`) }

  /** Everything acknowledged before a failure is kept. */
  async putMany (lens) {
    const left = [...lens]
    this.model.begin(lens)
    for await (const { size } of this.store.putMany(lens.map(len => blobOf(len).bytes))) {
      if (size !== left.shift()) throw new Error('putMany tells them in another order')
      await this.model.keep(size)
    }
  }

  /** Makes a blob of another one, which is 1000 bytes shorter. */
  splice (base, tag) {
    const { bytes, root } = blobOf(base)
    const [start, end] = [3 * GROUP, 5 * GROUP + 7]
    const source = noise(end - start + 1000, base)
    const made = concat([bytes.subarray(0, start), source, bytes.subarray(end)])
    nameBlob(made)
    const change = { start, end, source: inPieces(source) }
    return this.model.keep(made.length, splice(this.store, root, change, { tag }), { tag })
  }

  receive (len, { start = 0, end = len } = {}) {
    const { bytes, root } = blobOf(len)
    const slice = sliceOf(bytes, ChunkRanges.fromBytes(start, end))
    return this.model.keep(len, this.store.receive(root, inPieces(slice), { start, end }), { start, end })
  }

  delete (len) { return this.model.lose([len], this.store.delete(blobOf(len).root, { force: true })) }
  tag (name, len) { return this.model.tag(name, len, this.store.tags.set(name, blobOf(len).root)) }
  untag (name) { return this.model.tag(name, undefined, this.store.tags.delete(name)) }
  rename (from, to) { return this.model.rename(from, to, this.store.tags.rename(from, to)) }
  gc () { return this.model.gc(this.store.gc()) }
}

const [TINY, SMALL, TREE, FILE] = [301, 20_001, 250_001, 1_300_001]
const [LOOSE, LOOSE_TREE, LOOSE_FILE] = [701, 40_001, 1_200_001]
const [PART, PART_FILE] = [500_001, 1_500_001]
const HALF = { end: 15 * GROUP }
const SEVERAL = [401, 1201, 5001, 16_384, 9001, 20_002, 30_003, 2002, 50_005]

/** The stores before a call. */
const BASES = {
  async filled (subject) {
    for (const len of [TINY, SMALL, TREE, FILE]) await subject.put(len, `tag ${len}`)
    for (const len of [LOOSE, LOOSE_TREE, LOOSE_FILE]) await subject.put(len)
    for (const len of [PART, PART_FILE]) {
      await subject.receive(len, HALF)
      await subject.tag(`tag ${len}`, len)
    }
    await subject.close()
  },
  /** As after a crash: a put was under way, and a deletion is not finished. */
  async crashed (subject) {
    await BASES.filled(subject)
    await subject.open()
    await subject.delete(LOOSE_FILE)
    const { bytes } = blobOf(2_500_001)
    await new Promise(resolve => {
      subject.store.put((async function * () {
        yield * inPieces(bytes)
        resolve(undefined)
        await new Promise(() => {})
      })())
    })
    await new Promise(resolve => setTimeout(resolve, 100)) // for the writes that have begun
    await cp(subject.location, `${subject.location}.copy`, { recursive: true })
    subject.location = `${subject.location}.copy`
  },
  /** In an extent, a record, a page. */
  async damaged (subject) {
    await BASES.filled(subject)
    const [index, data] = ['index', 'data'].map(name => new Level(`${subject.location}/${name}`, VIEWS))
    const extents = await data.iterator(VIEWS).all()
    const spoil = async (level, [key, value], at) => {
      value[at] ^= 1
      await level.put(key, value, VIEWS)
    }
    await spoil(data, extents.find(([, { length }]) => length === TINY), 7)
    await spoil(data, extents.find(([, { length }]) => length === 65_536), 30_000)
    const records = await index.iterator({ gte: Uint8Array.of(1), lt: Uint8Array.of(2), ...VIEWS }).all()
    await spoil(index, records.find(([key]) => key.length === 33), 3)
    await Promise.all([index.close(), data.close()])
    for (const len of subject.model.lens) subject.model.damage(len)
  }
}

/** The calls during which the disk fails. */
export const CALLS = {
  'put of 300 bytes': { call: subject => subject.put(302, 'new') },
  'put of 100 KB': { call: subject => subject.put(100_002, 'new') },
  'put of 3 MiB': { call: subject => subject.put(3_000_002, 'new') },
  'put, when LevelDB begins a new log': {
    before: subject => subject.putAll([1_000_002, 1_000_003, 1_000_004]),
    call: subject => subject.putAll([900_001, 900_002, 900_003])
  },
  'splice of 250 KB': { call: subject => subject.splice(TREE, 'new') },
  'splice of a file': { call: subject => subject.splice(FILE, 'new') },
  'a first append': { call: subject => subject.append(FILE, FILE + 400_002, 'new') },
  'a second append': {
    before: subject => subject.append(FILE, FILE + 30_002, 'longer'),
    call: subject => subject.append(FILE + 30_002, FILE + 400_003, 'new')
  },
  'an append to a blob that goes on already': {
    before: subject => subject.append(FILE, FILE + 30_002, 'longer'),
    call: subject => subject.append(FILE, FILE + 400_004, 'new')
  },
  'delete of the longest in a file': {
    before: subject => subject.append(FILE, FILE + 30_002),
    call: subject => subject.delete(FILE + 30_002)
  },
  'delete of the shortest in a file': {
    before: subject => subject.append(FILE, FILE + 30_002, 'longer'),
    call: subject => subject.delete(FILE)
  },
  putMany: { call: subject => subject.putMany(SEVERAL) },
  'receive of 100 KB': { call: subject => subject.receive(100_003) },
  'receive of 3 MiB': { call: subject => subject.receive(3_000_003) },
  'receive of a part': { call: subject => subject.receive(PART, { start: 12 * GROUP, end: PART }) },
  'receive of a part of a file': {
    call: subject => subject.receive(PART_FILE, { start: 12 * GROUP, end: 80 * GROUP })
  },
  'tags.set': { call: subject => subject.tag('new', LOOSE) },
  'tags.rename': { call: subject => subject.rename(`tag ${SMALL}`, 'new'), isOnce: true },
  'tags.delete': { call: subject => subject.untag(`tag ${SMALL}`) },
  delete: { call: subject => subject.delete(LOOSE_TREE) },
  'delete of a file': { call: subject => subject.delete(LOOSE_FILE) },
  gc: { call: subject => subject.gc() },
  compact: { before: subject => subject.delete(LOOSE_TREE), call: subject => subject.store.compact() },
  fsck: { call: subject => subject.store.fsck() },
  'fsck with repair': { base: 'damaged', call: subject => subject.store.fsck({ repair: true }) },
  'many at a time': {
    async call (subject) {
      const calls = [
        ...[303, 30_001, 100_004, 304].map(len => subject.put(len, `tag ${len}`)),
        subject.receive(PART, { start: 12 * GROUP, end: PART }),
        subject.tag('new', LOOSE),
        subject.delete(LOOSE_TREE),
        subject.put(1_400_001),
        subject.rename(`tag ${SMALL}`, 'other')
      ]
      const failure = (await Promise.allSettled(calls)).find(({ status }) => status === 'rejected')
      if (failure !== undefined) throw failure.reason
    },
    isOnce: true
  },
  close: { before: subject => subject.put(305, 'new'), call: subject => subject.close(), isOpening: true },
  open: { before: subject => subject.close(), call: subject => subject.open(), isOpening: true },
  'open after a crash': { base: 'crashed', call: subject => subject.open(), isOpening: true, isFresh: true }
}

const bases = new Map()

/** @param {string} folder @param {string} name @returns {Promise<{ location: string, model: Model }>} made once */
async function baseOf (folder, name) {
  if (!bases.has(name)) {
    const subject = new Subject(join(folder, name), new Model())
    await subject.open()
    await BASES[name](subject)
    bases.set(name, subject)
  }
  return bases.get(name)
}

/** The errors of the system for files. */
const OF_FILES = ['ENOSPC', 'EIO', 'EDQUOT', 'EFBIG', 'EROFS']

const isStable = error =>
  error instanceof Error && (/^STORE_[A-Z_]+$/.test(error.code) || OF_FILES.includes(error.code))

/** A copy of a store, ready for a call. */
async function prepare (folder, { base = 'filled', before, isFresh }) {
  const { location, model } = await baseOf(folder, base)
  const copy = join(folder, 'copy')
  await rm(copy, { recursive: true, force: true })
  await cp(location, copy, { recursive: true })
  const subject = new Subject(copy, model.copy())
  if (isFresh) return subject
  await subject.open()
  await before?.(subject)
  return subject
}

/** The number of calls to the disk that may fail. */
async function count (folder, control, what, fault) {
  const call = CALLS[what]
  const subject = await prepare(folder, call)
  control.arm(FAULTS[fault], NEVER)
  await call.call(subject)
  const { seen } = control.disarm()
  await subject.close()
  return seen
}

/**
 * Makes one call fail, and checks everything.
 *
 * @returns {Promise<{ wrong: string[], outcome: string }>}
 */
async function point (folder, control, { what, fault, pass, seed }) {
  const random = new Random(seed)
  const call = CALLS[what]
  const subject = await prepare(folder, call)
  const wrong = []
  /** Makes a call that may fail with an error that callers know. */
  const tried = async (name, work, mustWork = false) => {
    try {
      await work()
      return 'done'
    } catch (error) {
      const isWrong = mustWork || !isStable(error)
      if (isWrong) wrong.push(`${name} failed with ${error?.code} ${error?.stack}, because of ${error?.cause}`)
      return error?.code
    }
  }
  const must = (name, work) => tried(name, work, true)

  control.arm(FAULTS[fault], pass)
  const isShort = FAULTS[fault].error === 0
  const outcome = await tried(what, () => call.call(subject), isShort)
  const isOpen = !call.isOpening || (what !== 'close' && outcome === 'done')
  if (isOpen && random.chance(0.5)) {
    await tried('another put', () => subject.put(306, 'another'), isShort)
    await tried('a read', () => subject.store.bytes(blobOf(SMALL).root))
  }
  const { failed } = control.disarm()
  if (!isOpen) await must('opening', () => subject.open())
  if (subject.store === undefined) return { wrong, outcome }

  const again = random.chance(0.5) && !call.isOnce && !call.isOpening
  for (let i = random.between(10, 16); i > 0; i--) {
    const len = random.pick([400 + i, 20_100 + i, 400 + i, 1000 + i, i < 3 ? 1_100_100 + i : 60_000 + i])
    await must('a later put', () => subject.put(len, `later ${i}`))
  }
  if (again) await must(`${what}, again`, () => call.call(subject))
  const check = async when => {
    wrong.push(...await subject.model.check(subject.store, when).catch(error => [`${when}: ${error.stack}`]))
  }
  await check('before closing')
  await must('closing', () => subject.close())
  if (await must('opening again', () => subject.open()) !== 'done') return { wrong, outcome }
  await check('opened again')
  if (call.base === 'damaged') await must('repair', () => subject.store.fsck({ repair: true }))
  await must('gc', () => subject.gc())
  await check('after gc')
  const { isSound, ...report } = await subject.store.fsck()
  if (!isSound) wrong.push(`unsound after gc: ${JSON.stringify(report)}`)
  await must('closing at the end', () => subject.close())
  for (const orphan of await orphansIn(subject.location)) wrong.push(`orphan: ${orphan}`)
  return { wrong, outcome: failed === 0 ? 'nothing failed' : outcome }
}

const [, file, folder, tasks] = process.argv
if (file === new URL(import.meta.url).pathname) {
  await mkdir(folder, { recursive: true })
  const control = new Control()
  const say = result => writeSync(1, `${JSON.stringify(result)}\n`)
  for (const task of JSON.parse(tasks)) {
    say({ begun: true })
    if (task.pass === undefined) say({ seen: await count(folder, control, task.what, task.fault) })
    else say(await point(folder, control, task).catch(error => ({ wrong: [`failed: ${error.stack}`] })))
  }
  process.exit()
}
