// Places where stores live: on a disk, or in memory. They outlast the stores that are opened in them, and are gone
// after the tests.
import { expect } from 'chai'
import { Level } from 'level'
import { MemoryLevel } from 'memory-level'
import { ALL, LEVEL, filesIn, newLocation, removeLocation } from '#runtime'
import { encodeSliceSync } from '../../../encoder/index.js'
import { BlobStore } from '../../../store/index.js'
import { VIEWS } from '../constants.js'
import { stream } from '../feeding.js'
import { outboardOf } from '../outboards.js'
import { idsIn, idsWithout, recordsIn } from './inspect.js'

/** A place that is removed after the surrounding `describe`, or whatever else `after` belongs to. */
class Place {
  #databases
  #stores = []

  /**
   * @param {string | object} where  as `BlobStore.open` takes it
   * @param {() => object} databases  the two levels, for a look inside
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

  /** Shows the two databases, and which ids have files, while no store has them. */
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
 * A store for every test in memory, with its databases at hand.
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

/** Whatever is made in a test is removed after it. */
function removedAfterwards (make) {
  const made = []
  afterEach(async () => { for (const place of made.splice(0)) await place.remove() })
  return async () => {
    const place = await make()
    made.push(place)
    return place
  }
}

/** Every id in the data database and every file has a record, and every file that a record names is there. */
export const expectNoOrphans = place => place.look(async ({ index, data, files }) => {
  const records = await recordsIn(index)
  expect(idsWithout([...await idsIn(data), ...files], records), 'ids with data and no record').to.deep.equal([])
  const inFiles = records.flatMap(({ home, id, base }) => home === 'file' ? [id] : base === undefined ? [] : [base])
  expect(files.sort(), 'files').to.deep.equal([...new Set(inFiles)].sort())
})

/** A slice as somebody else would send it, of bytes that stay as they are. */
export const sliceOf = (bytes, ranges, options) => encodeSliceSync(bytes, outboardOf(bytes), ranges, options)

/** A source that waits: `gate.reached` tells that all before came, and it goes on with `gate.open()`. */
export function gated (before, behind) {
  const gate = {}
  gate.reached = new Promise(resolve => { gate.tell = resolve })
  const opened = new Promise(resolve => { gate.open = resolve })
  gate.source = (async function * () {
    yield * stream(before)
    gate.tell()
    await opened
    yield * stream(behind)
  })()
  return gate
}
