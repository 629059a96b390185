// The suite that `baobox/store/test` exports: contract tests for a `BlobStore` over any databases, and for any other
// store with the same calls.
//
// The tests need only the functions `describe` and `it` of a framework. So they run in mocha, node:test, vitest and
// others, and in browsers.

import { assertKnownOptions } from '../../lib/core/options.js'
import { BlobStore } from '../../store/blob-store.js'
import { dataIn } from './checks.js'
import { OVER_LEVELS } from './levels.js'
import { LIFETIME } from './lifetime.js'
import { PUTTING } from './putting.js'
import { READING } from './reading.js'
import { RECEIVING } from './receiving.js'

/** @typedef {import('../../store/storage/level/levels.js').DatabasePair} DatabasePair */
/** @typedef {import('../../store/interface.js').Store} Store */

/** @typedef {string | DatabasePair} Where  as `BlobStore.open` takes it */

/**
 * @typedef {object} Setting  the tools of a test
 * @property {() => Promise<Store>} open  opens the store at a place, and first closes the one that it opened before
 * @property {() => Promise<() => Promise<Store>>} another  makes another place, and returns a function that opens the
 *   store there
 * @property {() => Promise<number>} countEntries  counts what a closed store keeps of blobs
 */
/** @typedef {Record<string, (setting: Setting) => Promise<void>>} Tests  tests by their titles */

/**
 * @typedef {object} LevelSetting
 * @property {Where} where
 * @property {() => Promise<BlobStore>} open
 * @property {() => Promise<BlobStore>} openBeside  opens the store without closing it first
 */
/** @typedef {Record<string, (setting: LevelSetting) => Promise<void>>} LevelTests */

/**
 * @template Place
 * @typedef {object} StoreKind  a store that is no `BlobStore`
 * @property {() => Place | Promise<Place>} newPlace  returns a place that has no store yet
 * @property {(where: Place) => unknown} [removePlace]  called with each of these places after its test
 * @property {(where: Place) => Promise<Store>} open  opens the store at a place; again, after it was closed
 * @property {(where: Place) => Promise<number>} countEntries  counts what a closed store keeps of blobs: none if it has
 *   no blobs
 */

/** @type {Record<string, Tests>} */
const TESTS = {
  'putting blobs': PUTTING,
  'reading blobs': READING,
  'receiving slices': RECEIVING,
  'closing and opening': LIFETIME
}

const OVER_TWO_LEVELS = {
  open: (/** @type {Where} */ where) => BlobStore.open(where),
  countEntries: async (/** @type {Where} */ where) => (await dataIn(where)).length
}

/**
 * Defines the tests: of a `BlobStore` over the databases that `newPlace` returns; or, with `open`, of another store.
 *
 * @template Place
 * @param {object} options
 * @param {(title: string, body: () => void) => unknown} options.describe
 * @param {(title: string, body: () => Promise<void>) => unknown} options.it
 * @param {() => Place | Promise<Place>} options.newPlace  returns a place that has no store yet. Two levels must keep
 *   their entries when they are closed and opened again
 * @param {(where: Place) => unknown} [options.removePlace]  called with each of these places after its test
 * @param {(where: Place) => Promise<Store>} [options.open]  opens the store at a place; again, after it was closed.
 *   Default: `BlobStore.open`
 * @param {(where: Place) => Promise<number>} [options.countEntries]  counts what a closed store keeps of blobs: 0 if it
 *   has none. Needed with `open`
 */
export function testStore (options) {
  assertKnownOptions(options, ['describe', 'it', 'newPlace', 'removePlace', 'open', 'countEntries'])
  const { describe, it, ...kind } = options
  const all = /** @type {StoreKind<any>} */ ({ ...OVER_TWO_LEVELS, ...kind })
  const parts = options.open === undefined ? { ...TESTS, 'databases and parts': OVER_LEVELS } : TESTS
  for (const [part, tests] of Object.entries(parts)) {
    describe(part, () => {
      for (const [title, test] of Object.entries(tests)) it(title, () => inPlaces(all, /** @type {any} */ (test)))
    })
  }
}

/**
 * Runs a test, then closes its stores and removes its places.
 *
 * @param {StoreKind<any>} kind @param {(setting: Setting & LevelSetting) => Promise<void>} test
 */
async function inPlaces ({ newPlace, removePlace = () => {}, open, countEntries }, test) {
  /** @type {(() => Promise<unknown>)[]} */
  const endings = []
  const newSetting = async () => {
    const where = await newPlace()
    /** @type {Store | undefined} */
    let store
    endings.push(async () => {
      await store?.close()
      await removePlace(where)
    })
    const openAgain = async () => {
      await store?.close()
      store = await open(where)
      return store
    }
    return { where, open: openAgain, openBeside: () => open(where), countEntries: () => countEntries(where) }
  }
  try {
    const another = async () => (await newSetting()).open
    await test(/** @type {any} */ ({ ...await newSetting(), another }))
  } finally {
    for (const end of endings) await end()
  }
}
