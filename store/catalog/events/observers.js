// Tells observers the state of a blob, and tells it again after each change of the blob's record. States are not
// queued, so a slow observer gets the latest one, and misses earlier ones.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { untilAborted } from '../../../lib/source/async-util.js'

/** @import { BlobName } from '../../blob-store.js' */
/** @import { Locks } from '../../../lib/async/locks.js' */
/** @import { Lifetime } from '../../storage/concurrency/lifetime.js' */
/** @import { Catalog, Change } from '../catalog.js' */
/** @import { Presence } from '../presence.js' */

/**
 * @typedef {object} BlobState
 * @property {number} [size]  bytes; a claim unless `sizeProven`; undefined when nothing is present
 * @property {boolean} sizeProven
 * @property {boolean} complete  true if every byte is present
 * @property {ChunkRanges} present  which chunks are present
 */

export class Observers {
  #catalog
  #life
  #locks
  #presence
  #watches = /** @type {Map<string, Set<Watch>>} */ (new Map())

  /** @param {{ catalog: Catalog, life: Lifetime, locks: Locks, presence: Presence }} parts */
  constructor ({ catalog, life, locks, presence }) {
    this.#catalog = catalog
    this.#life = life
    this.#locks = locks
    this.#presence = presence
  }

  /** @param {Change} change */
  recordChanged ({ root }) {
    if (this.#watches.size === 0) return
    for (const watch of this.#watches.get(nameOf(root)) ?? []) watch.wake()
  }

  /** Wakes all observers, which then notice that the store is closed. */
  end () {
    for (const watches of this.#watches.values()) for (const watch of watches) watch.wake()
  }

  /**
   * See `BlobStore.observe`.
   *
   * @param {BlobName} cid @param {{ signal?: AbortSignal }} options
   * @returns {AsyncGenerator<BlobState>}
   */
  observe (cid, options) {
    assertKnownOptions(options, ['signal'])
    return this.#states(parseRoot(cid, 'cid'), options.signal)
  }

  /** @param {Uint8Array} root @param {AbortSignal} [signal] @returns {AsyncGenerator<BlobState>} */
  async * #states (root, signal) {
    const watch = this.#watch(nameOf(root))
    try {
      for (let last; ;) {
        signal?.throwIfAborted()
        // Under the blob's lock, no write of the record is under way.
        const state = await this.#life.run(() => this.#locks.run(nameOf(root), async () => {
          watch.reset()
          const record = await this.#catalog.get(root)
          if (record === undefined) return NOTHING
          const { size, sizeProven, complete } = record
          return { size, sizeProven, complete, present: await this.#presence.of(record) }
        }))
        if (last === undefined || !areSame(last, state)) yield state
        if (state.complete) return
        last = state
        await untilAborted(watch.change, signal)
      }
    } finally {
      watch.end()
    }
  }

  /** @param {string} name  of a blob, in memory */
  #watch (name) {
    const watch = new Watch(() => {
      watches.delete(watch)
      if (watches.size === 0 && this.#watches.get(name) === watches) this.#watches.delete(name)
    })
    const watches = this.#watches.get(name) ?? new Set()
    this.#watches.set(name, watches.add(watch))
    return watch
  }
}

/** Lets a loop sleep until something has changed. */
export class Watch {
  #isAwake = false
  #wake = () => {}
  end

  /** @param {() => void} end */
  constructor (end) {
    this.end = end
  }

  wake () {
    this.#isAwake = true
    this.#wake()
  }

  /** Forgets all changes up to now. */
  reset () { this.#isAwake = false }

  /** Resolves when something has changed since `reset`. @returns {Promise<void>} */
  get change () {
    return this.#isAwake ? Promise.resolve() : new Promise(resolve => { this.#wake = resolve })
  }
}

/** The state of a blob without a record. @type {BlobState} */
const NOTHING = { size: undefined, sizeProven: false, complete: false, present: ChunkRanges.none }

/** @param {BlobState} a @param {BlobState} b */
const areSame = (a, b) =>
  a.size === b.size && a.sizeProven === b.sizeProven && a.complete === b.complete && a.present.equals(b.present)
