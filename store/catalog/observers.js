// Who wants to know when something changes about a blob. Changes are not kept for who is slow: what is told is how
// things are then.

import { ChunkRanges } from '../../lib/tree/ranges.js'
import { nameOf } from './roots.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { untilAborted } from '../../lib/source/async-util.js'

/** @import { BlobName, StoreContext } from '../blob-store.js' */
/** @import { Change } from './catalog.js' */

/**
 * @typedef {object} BlobState
 * @property {number} [size]  bytes; a claim unless `sizeProven`, and undefined when nothing is here
 * @property {boolean} sizeProven
 * @property {boolean} complete  is every byte here?
 * @property {ChunkRanges} present  which chunks are here
 */

export class Observers {
  #watches = /** @type {Map<string, Set<Watch>>} */ (new Map())

  /** @param {Change} change */
  recordChanged ({ root }) {
    if (this.#watches.size === 0) return
    for (const watch of this.#watches.get(nameOf(root)) ?? []) watch.wake()
  }

  /** The store is closed: whoever waits finds out. */
  end () {
    for (const watches of this.#watches.values()) for (const watch of watches) watch.wake()
  }

  /** @param {string} name  of a blob, in memory */
  watch (name) {
    const watch = new Watch(() => {
      watches.delete(watch)
      if (watches.size === 0 && this.#watches.get(name) === watches) this.#watches.delete(name)
    })
    const watches = this.#watches.get(name) ?? new Set()
    this.#watches.set(name, watches.add(watch))
    return watch
  }
}

class Watch {
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

  /** From now on only what comes later counts. */
  settle () { this.#isAwake = false }

  /** @returns {Promise<void>} when something has changed */
  get change () {
    return this.#isAwake ? Promise.resolve() : new Promise(resolve => { this.#wake = resolve })
  }
}

/**
 * See `BlobStore.observe`.
 *
 * @param {StoreContext} store @param {BlobName} cid @param {{ signal?: AbortSignal }} options
 * @returns {AsyncGenerator<BlobState>}
 */
export async function * observe ({ catalog, locks, presence, life, observers }, cid, options) {
  assertKnownOptions(options, ['signal'])
  const { signal } = options
  const root = parseRoot(cid, 'cid')
  const watch = observers.watch(nameOf(root))
  try {
    for (let last; ;) {
      signal?.throwIfAborted()
      // Under the lock: who is about to write has then written, or not begun.
      const state = await life.run(() => locks.run(nameOf(root), async () => {
        watch.settle()
        const record = await catalog.record(root)
        if (record === undefined) return { size: undefined, sizeProven: false, complete: false, present: ChunkRanges.none }
        const { size, sizeProven, complete } = record
        return { size, sizeProven, complete, present: await presence.of(record) }
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

/** @param {BlobState} a @param {BlobState} b */
const areSame = (a, b) => a.size === b.size && a.sizeProven === b.sizeProven && a.complete === b.complete && a.present.equals(b.present)
