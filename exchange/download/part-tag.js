// Protects what a download has brought until all of it is there, by a tag called `NAME.part`. The next download of the
// same blob to the tag `NAME` takes it over, also after a crash.

import { equals } from 'uint8arrays/equals'
import { BaoError } from '../../lib/core/errors.js'
import { encodeMeta } from '../../store/storage/format/tags.js'

/** @import { Tag, TagFormat } from '../../store/storage/format/tags.js' */
/** @import { StoreContext } from '../../store/store-context.js' */

/** @typedef {{ name: string, root: Uint8Array, format: TagFormat }} DownloadTag */

/** The metadata of these tags. No other tag is taken over or deleted. */
const MARK = encodeMeta({ 'baobox:download': 'unfinished' })

/** How many downloads that are under way share a tag, by its name. */
const counts = /** @type {WeakMap<StoreContext, Map<string, number>>} */ (new WeakMap())

/**
 * Does the work of a download. When it has succeeded, the tag names the blob. Until then a tag of that name goes on
 * naming what it did. When nothing has come, no tag is left.
 *
 * @template T
 * @param {StoreContext} store @param {DownloadTag} tag @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function protectByTag (store, tag, work) {
  const name = await begin(store, tag)
  let isOver = false
  try {
    const result = await work()
    await store.tags.set([tag])
    isOver = true
    return result
  } catch (error) {
    isOver = await store.catalog.get(tag.root).catch(() => true) === undefined
    throw error
  } finally {
    await end(store, tag, name, isOver)
  }
}

/**
 * Sets a tag for an unfinished download, or takes over that of an earlier one.
 *
 * @param {StoreContext} store @param {DownloadTag} tag
 * @returns {Promise<string>} its name
 */
function begin (store, tag) {
  return alone(store, tag, async () => {
    let name = await earlierName(store, tag)
    for (let i = 1; name === undefined; i++) {
      const free = `${tag.name}.part${i === 1 ? '' : i}`
      if (await store.tags.add({ ...tag, name: free, meta: MARK })) name = free
    }
    const shared = counts.get(store) ?? new Map()
    counts.set(store, shared.set(name, (shared.get(name) ?? 0) + 1))
    return name
  })
}

/**
 * Gives up the tag of an unfinished download, and deletes it when no other download uses it.
 *
 * @param {StoreContext} store @param {DownloadTag} tag @param {string} name
 * @param {boolean} isOver  is there nothing left to protect?
 */
function end (store, tag, name, isOver) {
  return alone(store, tag, async () => {
    const shared = /** @type {Map<string, number>} */ (counts.get(store))
    const left = /** @type {number} */ (shared.get(name)) - 1
    if (left > 0) return shared.set(name, left)
    shared.delete(name)
    if (isOver) await store.tags.delete(name, there => isOf(tag, there))
  })
}

/**
 * The name of the tag that an earlier download of the blob has left.
 *
 * @param {StoreContext} store @param {DownloadTag} tag
 */
async function earlierName (store, tag) {
  const prefix = `${tag.name}.part`
  try {
    for await (const there of store.tags.list(prefix)) {
      if (isOf(tag, there) && /^\d*$/.test(there.name.slice(prefix.length))) return there.name
    }
  } catch (error) {
    // Thrown after all readable tags were given. What a damaged one was for is not known, so its name is taken.
    if (!(error instanceof BaoError && error.code === 'STORE_CORRUPT')) throw error
  }
}

/** Is a tag that of an unfinished download of a blob? @param {DownloadTag} tag @param {Tag} [there] */
const isOf = ({ root, format }, there) => there?.meta !== undefined && equals(there.meta, MARK) &&
  there.format === format && equals(there.root, root)

/**
 * Runs work while no other download looks for a tag beside this one.
 *
 * @template T
 * @param {StoreContext} store @param {DownloadTag} tag @param {() => Promise<T>} work
 */
const alone = (store, { name }, work) => store.locks.run(`download ${name}`, work)
