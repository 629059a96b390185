// The store when a disk has changed what is in its databases and files.
import { readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { Level } from 'level'
import { MemoryLevel } from 'memory-level'
import { newLocation, removeLocation } from '#runtime'
import { ChunkRanges, toCid } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { concat, same } from '../../support/bytes.js'
import { VIEWS } from '../../support/constants.js'
import { errorOf } from '../../support/feeding.js'
import { writeRecord } from '../../support/store/inspect.js'
import { Bao } from '../../support/twin/index.js'
import { siblingOf, someBlob, someBoundaries, someStored } from '../cases.js'
import { expectCode, expectThat, finding } from '../finding.js'
import { oneFlipped } from '../mutations.js'

/** @import { Random } from '../random.js' */

const GROUP_LOG = 4
/** More entries than any of these stores has, many times over. */
const MOST_STEPS = 20_000

/** Databases in memory that say so when somebody goes round and round in them. */
function newDatabases () {
  const count = { steps: 0 }
  const limited = level => {
    for (const name of ['keys', 'values', 'iterator']) {
      const make = level[name].bind(level)
      level[name] = (...args) => {
        const iterator = make(...args)
        const next = iterator.next.bind(iterator)
        iterator.next = () => {
          if (++count.steps > MOST_STEPS) finding('a database is gone through without end')
          return next()
        }
        return iterator
      }
    }
    return level
  }
  const where = { index: limited(new MemoryLevel(VIEWS)), data: limited(new MemoryLevel(VIEWS)) }
  return { count, where, levels: () => where, async spoilFile () {}, async remove () {} }
}

/** The same on a disk: there, large blobs are in files of their own. */
async function newDirectory () {
  const where = await newLocation()
  return {
    count: { steps: 0 },
    where,
    levels: () => ({ index: new Level(`${where}/index`, VIEWS), data: new Level(`${where}/data`, VIEWS) }),
    /** @param {Random} random */
    async spoilFile (random) {
      const names = await readdir(`${where}/blobs`).catch(() => [])
      if (names.length === 0) return
      const path = `${where}/blobs/${random.pick(names)}`
      const bytes = new Uint8Array(await readFile(path))
      await random.pick([
        () => writeFile(path, oneFlipped(random, bytes)),
        () => truncate(path, random.below(bytes.length + 1)),
        () => writeFile(path, concat([bytes, random.bytes(100)])),
        () => rm(path),
        () => writeFile(`${where}/blobs/${random.below(10)}`, random.bytes(50))
      ])()
    },
    remove: () => removeLocation(where)
  }
}

/**
 * What a disk does to one entry.
 *
 * @type {Record<string, (random: Random, level: any, entry: { key: Uint8Array, value: Uint8Array },
 *   other: { key: Uint8Array, value: Uint8Array }) => Promise<void>>}
 */
const DAMAGE = {
  value: (random, level, { key, value }) => level.put(key, oneFlipped(random, value), VIEWS),
  async key (random, level, { key, value }) {
    await level.del(key, VIEWS)
    await level.put(oneFlipped(random, key), value, VIEWS)
  },
  twice: (random, level, { key, value }) => level.put(oneFlipped(random, key), value, VIEWS),
  lost: (random, level, { key }) => level.del(key, VIEWS),
  short: (random, level, { key, value }) => level.put(key, value.slice(0, random.below(value.length + 1)), VIEWS),
  long: (random, level, { key, value }) => level.put(
    key, concat([value, random.bytes(random.pick([1, 8, 64, 70_000]))]), VIEWS
  ),
  shortKey: (random, level, { key, value }) => level.put(key.slice(0, random.between(1, key.length)), value, VIEWS),
  longKey: (random, level, { key, value }) => level.put(
    concat([key, random.bytes(random.between(1, 3))]), value, VIEWS
  ),
  noise: (random, level) => level.put(random.bytes(random.between(1, 20)), random.bytes(random.below(60)), VIEWS),
  far: (random, level, { key, value }) => level.put(concat([key.subarray(0, 8), random.bytes(9)]), value, VIEWS),
  /** All that is kept of one blob, in the place of another. */
  async foreign (_random, level, one, other) {
    for (const [key, value] of await level.iterator(VIEWS).all()) {
      if (same(key.subarray(0, 8), other.key.subarray(0, 8))) {
        await level.put(
          concat([one.key.subarray(0, 8), key.subarray(8)]), value, VIEWS
        )
      }
    }
  },
  swapped: async (random, level, one, other) => {
    await level.put(one.key, other.value, VIEWS)
    await level.put(other.key, one.value, VIEWS)
  }
}

/**
 * Records by somebody who knows how they are made: any size, and everything is here.
 *
 * @param {Random} random @param {any} index @param {import('../cases.js').Blob} blob
 */
async function forgeRecord (random, index, { root, bytes }) {
  const size = Number(random.claim(bytes.length))
  const record = {
    id: random.below(4),
    size,
    sizeProven: true,
    complete: true,
    home: random.pick(['extents', 'extents', 'file', 'reference']),
    created: Date.now()
  }
  await writeRecord(index, root, record)
  return size
}

const CODES = [
  'STORE_CORRUPT', 'STORE_NOT_FOUND', 'STORE_MISSING', 'STORE_VERSION', 'STORE_OPEN_FAILED', 'STORE_CHANGED',
  'STORE_TAGGED', 'STORE_TAG_NOT_FOUND'
]

/** @param {Random} random */
async function damage (random) {
  const isOnDisk = random.chance(0.08)
  const place = isOnDisk ? await newDirectory() : newDatabases()
  try {
    const blob = isOnDisk ? someBlob(random, 'huge') : someStored(random)
    await damaged(random, place, [blob, random.chance(0.3) ? siblingOf(blob) : someStored(random)])
  } finally {
    await place.remove()
  }
}

/**
 * @param {Random} random @param {Awaited<ReturnType<newDirectory>>} place
 * @param {import('../cases.js').Blob[]} blobs
 */
async function damaged (random, { where, count, levels, spoilFile }, blobs) {
  let store = await BlobStore.open(where)
  for (const { bytes, root, tree } of blobs) {
    const boundaries = random.chance(0.5) ? [0] : someBoundaries(random, bytes.length)
    if (random.chance(0.5)) await store.put(bytes)
    else await store.receive(root, Bao.slice(tree, GROUP_LOG, boundaries), ChunkRanges.fromBoundaries(boundaries))
    if (random.chance(0.1)) await store.delete(root, { force: true })
    if (random.chance(0.3)) await ACTS.tag(random, store, { root })
  }
  await store.close()

  const done = []
  const databases = levels()
  for (const level of Object.values(databases)) await level.open()
  const forged = new Map()
  for (let times = random.between(1, 3); times > 0; times--) {
    const name = random.chance(0.5) ? 'index' : 'data'
    const entries = (await databases[name].iterator(VIEWS).all()).map(
      ([key, value]) => ({ key: new Uint8Array(key), value: new Uint8Array(value) })
    )
    if (entries.length === 0) continue
    const how = random.pick(Object.keys(DAMAGE))
    await DAMAGE[how](random, databases[name], random.pick(entries), random.pick(entries))
    done.push(`${name} ${how}`)
  }
  const [one, other] = blobs
  if (one !== other && one.bytes.length === other.bytes.length) {
    const entries = (await databases.data.keys(VIEWS).all()).map(key => ({ key: new Uint8Array(key), value: key }))
    if (entries.length > 1) await DAMAGE.foreign(random, databases.data, entries[0], entries[entries.length - 1])
    done.push('data of the other')
  }
  if (random.chance(0.2)) {
    const blob = random.pick(blobs)
    forged.set(blob, await forgeRecord(random, databases.index, blob))
    done.push(`forged a size of ${forged.get(blob)}`)
  }
  for (const level of Object.values(databases)) await level.close()
  if (random.chance(0.8)) await spoilFile(random)

  const what = `${blobs.map(({ bytes }) => bytes.length)} bytes, ${done}`
  const tolerated = async (act, run) => {
    count.steps = 0
    const got = []
    const error = await errorOf(async () => { got.push(await run()) })
    if (error) expectCode(error, CODES, `${what}: ${act}`)
    return got[0]
  }
  store = await tolerated('open', () => BlobStore.open(where))
  if (store === undefined) return
  for (let acts = random.between(4, 10); acts > 0; acts--) {
    const blob = random.pick(blobs)
    const act = random.pick(Object.keys(ACTS))
    await tolerated(act, () => ACTS[act](random, store, blob, what, forged.get(blob)))
  }
  if (random.chance(0.3) && forged.size === 0) await mended(random, store, blobs, what)
  // Whatever was wrong with it: deleted and put again, a blob is here. And so after the next opening.
  const [{ bytes, root }] = blobs
  await tolerated('delete', () => store.delete(root, { force: true }))
  await store.put(bytes)
  const expectWhole = async () => {
    const error = await errorOf(async () => expectThat(
      same(await store.bytes(root), bytes), () => `${what}: other bytes of a blob that was put again`
    ))
    // A forged record may have led to the data of this one; they are lost then, and not wrong.
    if (error && forged.size > 0) expectCode(error, CODES, what)
    else if (error) finding(`${what}: a blob that was put again: ${error.stack}`)
  }
  await expectWhole()
  await store.close()
  store = await BlobStore.open(where)
  await expectWhole()
  await store.close()
}

/** After a repair nothing is wrong any more: what was is not here. */
async function mended (random, store, blobs, what) {
  const repaired = await store.fsck({ repair: true })
  const again = await store.fsck({ repair: random.chance(0.5) })
  expectThat(
    again.damaged.length === 0,
    () => `${what}: after a repair, ${again.damaged.length} are damaged; ${repaired.damaged.length} were before`
  )
  for (const { root, bytes } of blobs) {
    const got = []
    const error = await errorOf(async () => { got.push(await store.bytes(root)) })
    if (error) expectCode(error, ['STORE_NOT_FOUND', 'STORE_MISSING'], `${what}: after a repair`)
    else expectThat(same(got[0], bytes), () => `${what}: other bytes after a repair`)
  }
}

/**
 * @type {Record<string, (random: Random, store: BlobStore, blob: any, what: string, forgedSize?:
 *   number) => Promise<unknown>>}
 */
const ACTS = {
  has: (_random, store, { root }) => store.has(root),
  async stat (_random, store, { root }, what) {
    const { created, lastUsed } = await store.stat(root)
    expectThat(!isNaN(created.getTime()) && !isNaN(lastUsed.getTime()), () => `${what}: no date`)
  },
  async list (_random, store) { for await (const one of store.list()) if (one.size < 0) finding('a size below zero') },
  missing: (_random, store, { root }) => store.missing(root),
  async get (random, store, { root, bytes }, what, forgedSize) {
    const start = random.chance(0.3) ? 0 : random.below(bytes.length)
    const end = random.chance(0.5) ? Infinity : start + random.below(70_000)
    const got = []
    try {
      for await (const piece of store.get(root, { start, end })) got.push(piece)
    } finally {
      const out = concat(got)
      expectThat(same(out, bytes.subarray(start, end).subarray(0, out.length)), () => `${what}: wrong bytes came out`)
    }
    // Who writes records can say where a blob ends, and there is nothing behind that; but what is
    // before it he cannot take away.
    if (start >= forgedSize) return
    expectThat(concat(got).length === bytes.subarray(start, end).length, () => `${what}: too few bytes, and no error`)
  },
  async slice (random, store, { root, bytes, tree }, what) {
    const boundaries = someBoundaries(random, bytes.length)
    const got = []
    try {
      for await (const piece of store.slice(root, ChunkRanges.fromBoundaries(boundaries))) got.push(piece)
    } finally {
      const out = concat(got).subarray(8)
      const good = Bao.response(tree, GROUP_LOG, boundaries)
      expectThat(same(out, good.subarray(0, out.length)), () => `${what}: a wrong slice came out`)
    }
  },
  receive: (_random, store, { root, tree }) => store.receive(root, Bao.slice(tree, GROUP_LOG, [0])),
  put: (_random, store, { bytes }) => store.put(bytes),
  delete: (random, store, { root }) => store.delete(root, { force: random.chance(0.5) }),
  async putMany (random, store, { bytes }) {
    for await (
      const one of store.putMany([bytes, random.bytes(random.below(3000))])
    ) if (one.size < 0) finding('a size below zero')
  },
  async getMany (random, store, { root, bytes }, what) {
    for await (const { bytes: got, error } of store.getMany([root, random.bytes(32), root])) {
      if (error) expectCode(error, CODES, `${what}: getMany`)
      else expectThat(same(got, bytes), () => `${what}: getMany gave other bytes`)
    }
  },
  tag: (random, store, { root }) => store.tags.set(
    random.pick(TAGS), root, { format: random.pick(['raw', 'raw', 'hashseq']) }
  ),
  async tags (random, store) {
    await store.tags.get(random.pick(TAGS))
    for await (const { name } of store.tags.list()) if (name === '') finding('a tag without a name')
  },
  rename: (random, store) => store.tags.rename(random.pick(TAGS), random.pick(TAGS)),
  untag: (random, store) => store.tags.delete(random.pick(TAGS)),
  gc: (_random, store) => store.gc(),
  fsck: (random, store) => store.fsck({ repair: random.chance(0.5) }),
  async block (_random, store, { root, bytes }, what) {
    const got = concat(await collectAll(asBlockstore(store).get(toCid(root))))
    expectThat(same(got, bytes), () => `${what}: a block of other bytes`)
  }
}

const TAGS = ['a', 'b', 'bé', 'c'.repeat(300)]

/** @param {AsyncIterable<Uint8Array> | Iterable<Uint8Array> | Promise<Uint8Array> | Uint8Array} given */
async function collectAll (given) {
  if (given instanceof Uint8Array || given instanceof Promise) return [await given]
  const parts = []
  for await (const part of given) parts.push(part)
  return parts
}

export default [{
  name: 'damage',
  about: 'a store whose databases were changed under it: every call, a blob put again, the next opening',
  run: damage
}]
