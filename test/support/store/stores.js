// Places for stores: on a disk, or in memory. They outlast the stores that are opened in them, and are removed after
// the tests.
import { expect } from 'chai'
import { Level } from 'level'
import { MemoryLevel } from 'memory-level'
import { ALL, LEVEL, filesIn, newLocation, removeLocation } from '#runtime'
import { encodeSliceSync } from '../../../encoder/index.js'
import { BlobStore } from '../../../store/index.js'
import { VIEWS } from '../constants.js'
import { listed, stream } from '../feeding.js'
import { outboardOf } from '../outboards.js'
import { idsIn, idsWithout, recordsIn } from './inspect.js'

/** A place for stores. It is removed when `after` runs, as after the surrounding `describe`. */
class Place {
  #databases
  #stores = []

  /**
   * @param {string | object} where  as `BlobStore.open` takes it
   * @param {() => object} databases  makes the two levels, for a look inside
   */
  constructor (where, databases) {
    this.where = where
    this.#databases = databases
  }

  async open (options) {
    const store = await BlobStore.open(this.where, options)
    this.#stores.push(store)
    return store
  }

  /** Opens the two databases of a closed store for a function, and tells it which ids have files. */
  async look (at) {
    const { index, data } = this.#databases()
    await Promise.all([index.open(), data.open()])
    try {
      return await at({ index, data, files: typeof this.where === 'string' ? await filesIn(this.where) : [] })
    } finally {
      await Promise.all([index.close(), data.close()])
    }
  }

  async remove () {
    await Promise.all(this.#stores.map(store => store.close()))
    if (typeof this.where === 'string') await removeLocation(this.where)
  }
}

export async function onDisk () {
  const location = await newLocation()
  return new Place(location, () => ({
    index: new Level(`${location}/index`, VIEWS),
    data: new Level(`${location}/data`, VIEWS)
  }))
}

export async function inMemory () {
  const pair = { index: new MemoryLevel(VIEWS), data: new MemoryLevel(VIEWS) }
  return new Place(pair, () => pair)
}

const PLACES = { [LEVEL]: onDisk, 'memory-level': inMemory }

/**
 * Runs the same tests in every kind of place, or in memory without ALL=1.
 *
 * @param {(newPlace: () => Promise<Place>, kind: string) => void} tests
 */
export function forEachPlace (tests) {
  for (const [kind, make] of Object.entries(PLACES).slice(ALL ? 0 : 1)) {
    describe(kind, () => tests(removedAfterwards(make), kind))
  }
}

/**
 * Makes a store in memory for each test, with its databases.
 *
 * @returns {() => Promise<{ place: Place, store: BlobStore, index: any, data: any }>}
 */
export function newStores () {
  const newPlace = removedAfterwards(inMemory)
  return async options => {
    const place = await newPlace()
    return { place, store: await place.open(options), ...place.where }
  }
}

/** Removes everything that a test has made after the test. */
function removedAfterwards (make) {
  const made = []
  afterEach(async () => { for (const place of made.splice(0)) await place.remove() })
  return async () => {
    const place = await make()
    made.push(place)
    return place
  }
}

/** Expects that a record names every id and every file, and that every named file exists. */
export const expectNoOrphans = place => place.look(async ({ index, data, files }) => {
  const records = await recordsIn(index)
  expect(idsWithout([...await idsIn(data), ...files], records), 'ids with data and no record').to.deep.equal([])
  const inFiles = records.flatMap(({ home, id, base }) => home === 'file' ? [id] : base === undefined ? [] : [base])
  expect(files.sort(), 'files').to.deep.equal([...new Set(inFiles)].sort())
})

/** Lists the names of the tags of a store. */
export const tagNamesIn = async (store, options) => (await listed(store.tags.list(options))).map(({ name }) => name)

/** Returns a slice as another program would send it. The bytes must not change afterwards: their tree is kept. */
export const sliceOf = (bytes, ranges, options) => encodeSliceSync(bytes, outboardOf(bytes), ranges, options)

/** A source that waits: `gate.reached` resolves after the bytes before the gap, and `gate.open()` ends the wait. */
export function gated (before, after) {
  const gate = {}
  gate.reached = new Promise(resolve => { gate.tell = resolve })
  const opened = new Promise(resolve => { gate.open = resolve })
  gate.source = (async function * () {
    yield * stream(before)
    gate.tell()
    await opened
    yield * stream(after)
  })()
  return gate
}
