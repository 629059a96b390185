// Protects the received data of a download until the download succeeds, by a tag called `NAME.part`. If the download
// fails, the next download of the same blob to the tag `NAME` takes over this tag, even after a crash.

import { BaoError } from '../../lib/core/errors.js'
import { Locks } from '../../lib/async/locks.js'
import { HASHSEQ, RAW, toCid } from '../../lib/hash/cid.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { TagFormat, TagInfo } from '../../store/index.js' */

/** @typedef {{ name: string, root: Uint8Array, format: TagFormat }} DownloadTag */

/** The metadata of tags of unfinished downloads. Tags without it are never taken over or deleted. */
const MARK = { 'baobox:download': 'unfinished' }
/** The codecs of the CIDs of tags, by format. */
const CODECS = { raw: RAW, hashseq: HASHSEQ }

/** The tags of unfinished downloads into one store. */
class PartTags {
  #store
  #locks = new Locks()
  /** How many downloads under way share a tag, by the name of the tag. */
  #counts = /** @type {Map<string, number>} */ (new Map())

  /** @param {Store} store */
  constructor (store) {
    this.#store = store
  }

  /**
   * Sets a tag for an unfinished download, or takes over the tag of an earlier one.
   *
   * @param {DownloadTag} tag
   * @returns {Promise<string>} its name
   */
  begin (tag) {
    return this.#locks.run(tag.name, async () => {
      const { root, format } = tag
      let name = await this.#earlierName(tag)
      for (let i = 1; name === undefined; i++) {
        const free = `${tag.name}.part${i === 1 ? '' : i}`
        if (await this.#store.tags.add(free, root, { format, meta: MARK })) name = free
      }
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
      return name
    })
  }

  /**
   * Ends the use of a tag by a download. Deletes the tag if no other download uses it and nothing is left to protect.
   *
   * @param {DownloadTag} tag @param {string} name
   * @param {boolean} isOver  true when nothing is left to protect
   */
  end (tag, name, isOver) {
    return this.#locks.run(tag.name, async () => {
      const left = /** @type {number} */ (this.#counts.get(name)) - 1
      if (left > 0) return this.#counts.set(name, left)
      this.#counts.delete(name)
      if (isOver) await this.#store.tags.delete(name, { onlyIf: there => isOf(tag, there) })
    })
  }

  /** Returns the name of the tag that an earlier download of the blob has left. @param {DownloadTag} tag */
  async #earlierName (tag) {
    const prefix = `${tag.name}.part`
    try {
      for await (const there of this.#store.tags.list({ prefix })) {
        if (isOf(tag, there) && /^\d*$/.test(there.name.slice(prefix.length))) return there.name
      }
    } catch (error) {
      // `list` throws this error after it has yielded all readable tags. Nobody knows what a damaged tag was for, so
      // its name counts as taken.
      if (!(error instanceof BaoError && error.code === 'STORE_CORRUPT')) throw error
    }
  }
}

const tagsOf = /** @type {WeakMap<Store, PartTags>} */ (new WeakMap())

/**
 * Does the work of a download. When it succeeds, the tag names the blob. Until then, an older tag of that name stays as
 * it is. If the download fails and nothing of the blob was received, no `NAME.part` is left.
 *
 * @template T
 * @param {Store} store @param {DownloadTag} tag @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function protectByTag (store, tag, work) {
  const tags = tagsOf.get(store) ?? new PartTags(store)
  tagsOf.set(store, tags)
  const name = await tags.begin(tag)
  let isOver = false
  try {
    const result = await work()
    await store.tags.set(tag.name, tag.root, { format: tag.format })
    isOver = true
    return result
  } catch (error) {
    isOver = await store.stat(tag.root).then(() => false, ({ code }) => code === 'STORE_NOT_FOUND')
    throw error
  } finally {
    await tags.end(tag, name, isOver)
  }
}

/** True if a tag is that of an unfinished download of a blob. @param {DownloadTag} tag @param {TagInfo} there */
const isOf = ({ root, format }, { cid, meta }) => isMark(meta) && cid.equals(toCid(root, CODECS[format]))

/** @param {unknown} meta */
const isMark = meta => typeof meta === 'object' && meta !== null &&
  Object.entries(meta).join() === Object.entries(MARK).join()
