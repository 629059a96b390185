// The tags of a store: names that protect blobs from garbage collection.

import { equals } from 'uint8arrays/equals'
import { HASHSEQ, RAW, toCid } from '../../../lib/hash/cid.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { describe } from '../../../lib/core/bytes.js'
import { assertMany } from '../../../lib/async/in-order.js'
import { decodeMeta, encodeMeta } from '../../storage/format/tags.js'
import { cidOfAlias } from './alias-index.js'
import { assertName, checkedTagListOptions, tagFrom } from './tag-target.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { Lifetime } from '../../storage/concurrency/lifetime.js' */
/** @import { Tag, TagFormat } from '../../storage/format/tags.js' */
/** @import { TagIndex } from './tag-index.js' */
/** @import { TagOptions } from './tag-target.js' */

/**
 * @typedef {object} TagInfo
 * @property {string} name
 * @property {CID} cid  the CID of the blob, with the codec of the format; for a tag of an alias, the CID of the alias
 * @property {TagFormat} format
 * @property {true} [weak]  for a tag that protects nothing
 * @property {unknown} [meta]  a copy of the metadata that was kept with the tag
 * @property {Date} [expires]
 */

/** @typedef {{ name: string, cid: BlobName } & TagOptions} NewTag */

export class Tags {
  #index
  #life

  /** @param {TagIndex} index @param {Lifetime} life */
  constructor (index, life) {
    this.#index = index
    this.#life = life
  }

  /**
   * Protects a blob, even one that the store does not have yet. Replaces a tag of that name. A weak tag protects
   * nothing.
   *
   * @param {string} name  any string except the empty one
   * @param {BlobName} cid  the name of the blob, or an alias, which is a CID of another hash function. For an alias,
   *   the tag protects the blob that the alias leads to, even if the store gets that blob later
   * @param {TagOptions} [options]
   */
  async set (name, cid, options) {
    const tag = tagFrom(name, cid, options)
    return this.#life.run(() => this.#index.set([tag(this.#index.now())]))
  }

  /**
   * Protects a blob as `set` does, unless there is a tag of that name.
   *
   * @param {string} name  any string except the empty one
   * @param {BlobName} cid  as for `set`
   * @param {TagOptions} [options]
   * @returns {Promise<boolean>} false when a tag already has the name, even a damaged one. Then nothing has changed
   */
  async add (name, cid, options) {
    const tag = tagFrom(name, cid, options)
    return this.#life.run(() => this.#index.add(tag(this.#index.now())))
  }

  /**
   * Sets many tags in one write: all of them, or none if it fails. The call holds all tags in memory.
   *
   * @param {Iterable<NewTag> | AsyncIterable<NewTag>} entries  as `list` yields them. If several have the same name,
   *   the last one counts
   */
  async setMany (entries) {
    const tags = await tagsFrom(entries)
    return this.#life.run(() => this.#index.set(tags.map(tag => tag(this.#index.now()))))
  }

  /**
   * @param {string} name
   * @returns {Promise<TagInfo | undefined>}
   * @throws {BaoError} STORE_CORRUPT { tag } when the tag is damaged; it can be set again
   */
  async get (name) {
    assertName('name', name)
    return this.#life.run(async () => {
      const tag = await this.#index.get(name)
      return tag && tagInfoOf(tag)
    })
  }

  /**
   * @param {string} name
   * @param {{ onlyIf?: (tag: TagInfo) => boolean }} [options]  `onlyIf`: deletes the tag only if this function returns
   *   true for it. The tag cannot change between these steps. A damaged tag stays. Default: deletes any tag of that
   *   name
   * @returns {Promise<boolean>} true if a tag was deleted
   */
  async delete (name, options) {
    assertName('name', name)
    assertKnownOptions(options, ['onlyIf'])
    const { onlyIf } = options ?? {}
    /** @type {((tag: Tag | undefined) => boolean) | undefined} */
    const isMeant = onlyIf && (tag => tag !== undefined && onlyIf(tagInfoOf(tag)))
    return this.#life.run(() => this.#index.delete(name, isMeant))
  }

  /**
   * Renames a tag in one step, so that the blob is always protected.
   *
   * @param {string} from
   * @param {string} to  replaces a tag of that name
   * @throws {BaoError} STORE_TAG_NOT_FOUND { tag }
   */
  async rename (from, to) {
    assertName('from', from)
    assertName('to', to)
    return this.#life.run(() => this.#index.rename(from, to))
  }

  /**
   * @param {{ prefix?: string, after?: string }} [options]  `prefix`: only tags whose names begin with it.
   *   `after`: only tags whose names follow this one; there need not be a tag of that name
   * @returns {AsyncGenerator<TagInfo>} sorted by the UTF-8 bytes of their names
   * @throws {BaoError} STORE_CORRUPT { tag } when a tag is damaged, after all other tags have been yielded
   */
  list (options = {}) {
    const { prefix, after } = checkedTagListOptions(options)
    return this.#life.each(() => this.#list(prefix, after))
  }

  /** @param {string} prefix @param {string} [after] */
  async * #list (prefix, after) {
    for await (const tag of this.#index.list(prefix, after)) yield tagInfoOf(tag)
  }
}

/**
 * Makes tags from the entries of a caller. If several have the same name, the last one counts.
 *
 * @param {Iterable<NewTag> | AsyncIterable<NewTag>} entries
 * @returns {Promise<((now: number) => Tag)[]>} functions that make the tags, as those of `tagFrom`
 */
export async function tagsFrom (entries) {
  assertMany('entries', entries, 'tags')
  const tags = /** @type {Map<string, (now: number) => Tag>} */ (new Map())
  for await (const entry of entries) {
    if (typeof entry !== 'object' || entry === null) {
      throw new TypeError(`"entries" expected objects { name, cid }, got ${describe(entry)}`)
    }
    const { name, cid, ...options } = entry
    tags.set(name, tagFrom(name, cid, options))
  }
  return [...tags.values()]
}

/**
 * Returns true if two tags are equal; they may be tags of different stores.
 *
 * @param {TagInfo} tag @param {TagInfo} [other]
 */
export const areSameTags = (tag, other) => other !== undefined &&
  tag.name === other.name && tag.cid.equals(other.cid) && tag.format === other.format && tag.weak === other.weak &&
  tag.expires?.getTime() === other.expires?.getTime() && areSameMeta(tag.meta, other.meta)

/** @param {unknown} meta @param {unknown} other */
const areSameMeta = (meta, other) => meta === undefined || other === undefined
  ? meta === other
  : equals(encodeMeta(meta), encodeMeta(other))

/** @param {Tag} tag @returns {TagInfo} */
export const tagInfoOf = ({ name, root, format, weak, alias, meta, expires }) => ({
  name,
  cid: alias ? cidOfAlias(alias) : toCid(root, format === 'hashseq' ? HASHSEQ : RAW),
  format,
  ...weak && { weak },
  ...meta !== undefined && { meta: decodeMeta(meta)?.value },
  ...expires !== undefined && { expires: new Date(expires) }
})
