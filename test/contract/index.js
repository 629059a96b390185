// The suite that `baobox/store/test` exports: contract tests for stores over any databases.
//
// The tests need only the functions `describe` and `it` of a framework. So they run in mocha, node:test, vitest and
// others, and in browsers.

import { assertKnownOptions } from '../../lib/core/options.js'
import { BlobStore } from '../../store/blob-store.js'
import { LIFETIME } from './lifetime.js'
import { PUTTING } from './putting.js'
import { READING } from './reading.js'
import { RECEIVING } from './receiving.js'

/** @typedef {import('../../store/storage/level/levels.js').DatabasePair} DatabasePair */
/** @typedef {import('../../store/open.js').StoreOptions} StoreOptions */

/** @typedef {string | DatabasePair} Where  as `BlobStore.open` takes it */
/** @typedef {(options?: StoreOptions) => Promise<BlobStore>} Open  first closes the store that it opened before */

/**
 * @typedef {object} Setting  the tools of a test
 * @property {Where} where  a place for a store
 * @property {Open} open  opens the store at this place
 * @property {() => Promise<unknown>} openBeside  opens the store at this place without closing it first
 * @property {() => Promise<Open>} another  makes another place, and returns a function that opens the store there
 */

/** @typedef {Record<string, (setting: Setting) => Promise<void>>} Tests  tests by their titles */

/** @type {Record<string, Tests>} */
const TESTS = {
  'putting blobs': PUTTING,
  'reading blobs': READING,
  'receiving slices': RECEIVING,
  'closing and opening': LIFETIME
}

/**
 * Defines the tests.
 *
 * @param {object} options
 * @param {(title: string, body: () => void) => unknown} options.describe
 * @param {(title: string, body: () => Promise<void>) => unknown} options.it
 * @param {() => Where | Promise<Where>} options.newPlace  returns a place that has no store yet. Two levels must keep
 *   their entries when they are closed and opened again
 * @param {(where: Where) => unknown} [options.removePlace]  called with each of these places after its test
 */
export function testStore (options) {
  assertKnownOptions(options, ['describe', 'it', 'newPlace', 'removePlace'])
  const { describe, it, newPlace, removePlace = () => {} } = options
  for (const [part, tests] of Object.entries(TESTS)) {
    describe(part, () => {
      for (const [title, test] of Object.entries(tests)) it(title, () => inPlaces(newPlace, removePlace, test))
    })
  }
}

/**
 * Runs a test, then closes its stores and removes its places.
 *
 * @param {() => Where | Promise<Where>} newPlace @param {(where: Where) => unknown} removePlace
 * @param {(setting: Setting) => Promise<void>} test
 */
async function inPlaces (newPlace, removePlace, test) {
  /** @type {(() => Promise<unknown>)[]} */
  const endings = []
  const newSetting = async () => {
    const where = await newPlace()
    /** @type {BlobStore | undefined} */
    let store
    endings.push(async () => {
      await store?.close()
      await removePlace(where)
    })
    /** @type {Open} */
    const open = async options => {
      await store?.close()
      store = await BlobStore.open(where, options)
      return store
    }
    return { where, open, openBeside: () => BlobStore.open(where) }
  }
  try {
    await test({ ...await newSetting(), another: async () => (await newSetting()).open })
  } finally {
    for (const end of endings) await end()
  }
}
