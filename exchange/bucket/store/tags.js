// The tags of a store in a bucket: names that protect blobs from garbage collection.

import { base64 } from 'multiformats/bases/base64'
import { decode } from '@ipld/dag-cbor'
import {
  assertName, checkedTagListOptions, damagedTag, isMiss, tagFrom, tagInfoOf, tagNotFound, tagsFrom
} from '../../../store/interface.js'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { concat } from '../../../lib/core/bytes.js'
import { BaoError } from '../../../lib/core/errors.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { eachOf, forEachOf, inOrder } from '../../../lib/async/in-order.js'
import { compareKeys } from '../keys.js'
import { parseTagKey, tagFolder, tagKeysFrom } from './name-keys.js'
import { highest } from './versions.js'

/** @import { BlobName, BlobStore, NewTag, TagInfo, TagOptions } from '../../../store/index.js' */
/** @import { Bucket } from '../bucket.js' */
/** @import { BucketAliases } from './aliases.js' */
/** @import { Calls } from './calls.js' */
/** @import { Placements } from './placements.js' */
/** @import { Value, Version, Versions, Written } from './versions.js' */

/** @typedef {ReturnType<ReturnType<typeof tagFrom>>} Tag */

/** How many tags are read or set at the same time. */
const PARALLEL = 32
/** How often the versions of a tag are listed again, because one was gone when it was read. */
const MAX_TRIES = 10

export class BucketTags {
  #aliases
  #bucket
  #calls
  #local
  #now
  #placements
  #versions

  /**
   * @param {object} parts
   * @param {BucketAliases} parts.aliases
   * @param {Bucket} parts.bucket
   * @param {Calls} parts.calls
   * @param {BlobStore} parts.local
   * @param {() => number} parts.now  the time of the bucket, in milliseconds since 1970
   * @param {Placements} parts.placements
   * @param {Versions} parts.versions
   */
  constructor ({ aliases, bucket, calls, local, now, placements, versions }) {
    this.#aliases = aliases
    this.#bucket = bucket
    this.#calls = calls
    this.#local = local
    this.#now = now
    this.#placements = placements
    this.#versions = versions
  }

  /**
   * Protects a blob, even one that the store does not have yet, as `Tags.set` does.
   *
   * @param {string} name @param {BlobName} cid @param {TagOptions} [options]
   * @throws {BaoError} STORE_CONDEMNED { cid } if the blob, or a member of the sequence, is being deleted, and its
   *   bytes are not here: put it again. The tag is as it was before
   */
  async set (name, cid, options) {
    const tag = tagFrom(name, cid, options)
    await this.#calls.write(signal => this.write(tag, { signal }))
  }

  /**
   * Protects a blob as `set` does, unless there is a tag of that name.
   *
   * @param {string} name @param {BlobName} cid @param {TagOptions} [options]
   * @returns {Promise<boolean>} false when a tag already has the name, even a damaged one
   */
  async add (name, cid, options) {
    const tag = tagFrom(name, cid, options)
    return this.#calls.write(async signal => {
      const isMeant = async (/** @type {Version[]} */ versions) =>
        await this.#current(name, versions, signal).catch(ifDamaged) === undefined
      return (await this.write(tag, { isMeant, signal })).isWritten
    })
  }

  /**
   * Sets many tags. They are not set in one step: if the call fails, some of them are set.
   *
   * @param {Iterable<NewTag> | AsyncIterable<NewTag>} entries  as `list` yields them
   */
  async setMany (entries) {
    const tags = await tagsFrom(entries)
    await this.#calls.write(signal =>
      forEachOf(tags, PARALLEL, tag => this.write(tag, { signal })))
  }

  /**
   * @param {string} name @returns {Promise<TagInfo | undefined>}
   * @throws {BaoError} STORE_CORRUPT { tag } when the tag is damaged; it can be set again
   */
  async get (name) {
    assertName('name', name)
    return this.#calls.run(async signal => {
      const tag = await this.#current(name, await this.#versions.list(tagFolder(name), signal), signal)
      return tag && tagInfoOf(tag)
    })
  }

  /**
   * @param {string} name
   * @param {{ onlyIf?: (tag: TagInfo) => boolean }} [options]  as for `Tags.delete`
   * @returns {Promise<boolean>} true if a tag was deleted
   */
  async delete (name, options) {
    assertName('name', name)
    assertKnownOptions(options, ['onlyIf'])
    const { onlyIf } = options ?? {}
    return this.#calls.write(async signal => {
      let isThere = false
      const isMeant = async (/** @type {Version[]} */ versions) => {
        const tag = await this.#current(name, versions, signal).catch(ifDamaged)
        isThere = tag !== undefined
        // A process that was killed leaves versions that do not count, and they protect their blobs.
        if (tag === undefined) return versions.length > 1
        return onlyIf === undefined || (tag !== DAMAGED && onlyIf(tagInfoOf(tag)))
      }
      const written = await this.#versions.write(tagFolder(name), deletion, { isMeant, signal })
      if (written === undefined) return false
      await this.#versions.tidy(written, signal)
      return isThere
    })
  }

  /**
   * Renames a tag. The blob is always protected: the new tag is set before the old one is deleted.
   *
   * @param {string} from @param {string} to  replaces a tag of that name
   * @throws {BaoError} STORE_TAG_NOT_FOUND { tag }
   */
  async rename (from, to) {
    assertName('from', from)
    assertName('to', to)
    await this.#calls.write(async signal => {
      const versions = await this.#versions.list(tagFolder(from), signal)
      const tag = await this.#current(from, versions, signal)
      if (tag === undefined) throw tagNotFound(from)
      if (from === to) return
      await this.write(() => ({ ...tag, name: to }), { signal })
      // If somebody has set the old name since, that tag stays.
      const isMeant = async (/** @type {Version[]} */ now) => highest(now) === highest(versions)
      const written = await this.#versions.write(tagFolder(from), deletion, { isMeant, signal })
      if (written !== undefined) await this.#versions.tidy(written, signal)
    })
  }

  /**
   * Lists tags. It holds their names in memory, because a bucket lists them in another order.
   *
   * @param {{ prefix?: string, after?: string }} [options]  as for `Tags.list`
   * @returns {AsyncGenerator<TagInfo>} sorted by the UTF-8 bytes of their names
   * @throws {BaoError} STORE_CORRUPT { tag } when a tag is damaged, after all other tags have been yielded
   */
  list (options = {}) {
    const checked = checkedTagListOptions(options)
    return this.#calls.each(signal => this.#list(checked, signal))
  }

  /**
   * @param {{ prefix?: string, after?: string }} options @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<TagInfo>}
   */
  async * #list ({ prefix = '', after }, signal) {
    const names = /** @type {Map<string, Version[]>} */ (new Map())
    for await (const { name, version, object } of this.#objects(prefix, signal)) {
      if (after !== undefined && compareKeys(name, after) <= 0) continue
      const versions = names.get(name) ?? []
      names.set(name, versions)
      versions.push({ version, object })
    }
    const sorted = [...names].sort(([a], [b]) => compareKeys(a, b))
    const reading = inOrder(eachOf(sorted), () => PARALLEL - 1, async ([name, versions]) =>
      ({ name, tag: await this.#current(name, versions, signal).catch(ifDamaged) }))
    let damaged
    for await (const { name, tag } of reading) {
      if (tag === DAMAGED) damaged ??= name
      else if (tag !== undefined) yield tagInfoOf(tag)
    }
    if (damaged !== undefined) throw damagedTag(damaged)
  }

  /** @param {string} prefix @param {AbortSignal} [signal] */
  async * #objects (prefix, signal) {
    for await (const object of this.#bucket.list(tagKeysFrom(prefix), '', { signal })) {
      const parsed = parseTagKey(object.key)
      if (parsed?.name.startsWith(prefix)) yield { ...parsed, object }
    }
  }

  /** Counts the tags that protect something. @param {AbortSignal} [signal] */
  async count (signal) {
    let count = 0
    for await (const { weak } of this.#list({}, signal)) if (!weak) count++
    return count
  }

  /**
   * Yields what every version of every tag protects, also versions that do not count.
   *
   * @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Tag>} tags that are neither weak nor expired
   * @throws {BaoError} STORE_CORRUPT { tag } for a version that cannot be read: it hides what is protected
   */
  async * protecting (signal) {
    const reading = inOrder(this.#objects('', signal), () => PARALLEL - 1, object => this.#tagIn(object, signal))
    for await (const tag of reading) {
      if (tag !== undefined && !tag.weak && !hasExpired(tag, this.#now())) yield tag
    }
  }

  /**
   * Finds the tags of which a version cannot be read.
   *
   * @param {AbortSignal} [signal] @returns {Promise<string[]>} their names, each once
   */
  async damaged (signal) {
    const names = /** @type {Set<string>} */ (new Set())
    await forEachOf(this.#objects('', signal), PARALLEL, async object => {
      if (await this.#tagIn(object, signal).catch(ifDamaged) === DAMAGED) names.add(object.name)
    })
    return [...names]
  }

  /** @param {{ name: string, object: Version['object'] }} version @param {AbortSignal} [signal] */
  async #tagIn ({ name, object }, signal) {
    const value = await this.#readValue(name, object, signal)
    return isLive(value) ? tagOf(name, value) : undefined
  }

  /**
   * Writes a tag, and makes sure that nothing that it protects is deleted.
   *
   * @param {(now: number) => Tag} tagAt  makes the tag when it is written; `now`: the time of the bucket then
   * @param {object} [options]
   * @param {Uint8Array} [options.required]  the blob that must exist
   * @param {(versions: Version[]) => Promise<boolean>} [options.isMeant]  as for `Versions.write`
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<{ isWritten: boolean, isNew: boolean }>} `isWritten`: false if `isMeant` returned false; `isNew`:
   *   true if an object of a blob was put
   */
  async write (tagAt, { required, isMeant, signal } = {}) {
    const tag = tagAt(this.#now())
    const protectedByTag = await this.#protectedBy(tag, signal)
    // A weak tag protects nothing. `put` requires its blob all the same.
    const roots = protectedByTag.length === 0 && required !== undefined ? [required] : protectedByTag
    /** @type {Written | undefined} */
    let written
    const name = async (/** @type {(root: Uint8Array) => boolean} */ isThere) => {
      const makeValue = () => valueOf(tagAt(this.#now()), roots.length > 0 && isThere(roots[0]))
      written = await this.#versions.write(tagFolder(tag.name), makeValue, { isMeant, signal })
      const own = written
      return own && { takeBack: () => this.#versions.takeBack(own) }
    }
    const isNew = await this.#placements.keep(roots, { required, name, signal })
    if (written !== undefined) await this.#versions.tidy(written, signal)
    return { isWritten: written !== undefined, isNew }
  }

  /** @param {Tag} tag @param {AbortSignal} [signal] @returns {Promise<Uint8Array[]>} the blobs that a tag protects */
  async #protectedBy (tag, signal) {
    if (tag.weak) return []
    const root = await this.rootOf(tag, signal)
    if (root === undefined) return []
    const roots = [root]
    if (tag.format === 'hashseq') for await (const member of this.members(root, signal)) roots.push(member)
    return roots
  }

  /** The blob that a tag names, directly or by an alias. @param {Tag} tag @param {AbortSignal} [signal] */
  async rootOf ({ alias, root }, signal) { return alias === undefined ? root : this.#aliases.rootOf(alias, signal) }

  /**
   * Yields the members of a sequence; none if the store does not have it.
   *
   * @param {Uint8Array} root @param {AbortSignal} [signal] @returns {AsyncGenerator<Uint8Array>}
   */
  async * members (root, signal) {
    let rest = new Uint8Array(0)
    try {
      for await (const piece of this.#local.get(root, undefined, { signal })) {
        const bytes = rest.length === 0 ? piece : concat([rest, piece])
        let at = 0
        for (; at + HASH_LEN <= bytes.length; at += HASH_LEN) yield bytes.slice(at, at + HASH_LEN)
        rest = bytes.slice(at)
      }
    } catch (error) {
      if (!isMiss(error)) throw error
    }
  }

  /**
   * Returns the tag that counts: the highest version that is not void. If the blob of a version is gone, that version
   * was never acknowledged.
   *
   * @param {string} name @param {Version[]} versions @param {AbortSignal} [signal]
   * @param {number} [tries]  how often versions may be gone that were listed
   * @returns {Promise<Tag | undefined>} undefined if there is none, or it has expired, or it is weak and has no blob
   * @throws {BaoError} STORE_CORRUPT { tag }
   */
  async #current (name, versions, signal, tries = MAX_TRIES) {
    for (let i = versions.length - 1; i >= 0; i--) {
      const value = await this.#readValue(name, versions[i].object, signal)
      if (value === undefined) {
        if (tries === 0) throw damagedTag(name)
        // Versions go only when there is a higher one, so the list is outdated.
        return this.#current(name, await this.#versions.list(tagFolder(name), signal), signal, tries - 1)
      }
      if (value.void === true) continue
      if (value.deleted === true) return undefined
      const tag = tagOf(name, value)
      if (hasExpired(tag, this.#now())) return undefined
      // What an alias leads to changes without the tag.
      const mustBeThere = tag.weak || (i > 0 && value.isThere === true && tag.alias === undefined)
      if (!mustBeThere || await this.#placements.find(tag.root, signal) !== undefined) return tag
      if (tag.weak) return undefined
    }
    return undefined
  }

  /** @param {string} name @param {Version['object']} object @param {AbortSignal} [signal] */
  #readValue (name, object, signal) {
    return this.#versions.read(object, signal).catch(error => {
      throw error instanceof BaoError && error.code === 'BUCKET_INVALID' ? damagedTag(name) : error
    })
  }
}

const DAMAGED = 'damaged'

/** @returns {Value} */
const deletion = () => ({ deleted: true })

/** @param {unknown} error @returns {typeof DAMAGED}  for a damaged tag */
function ifDamaged (error) {
  if (error instanceof BaoError && error.code === 'STORE_CORRUPT') return DAMAGED
  throw error
}

/** @param {Value | undefined} value @returns {value is Value} true if it names something */
const isLive = value => value !== undefined && value.void !== true && value.deleted !== true

/** @param {Tag} tag @param {number} now */
const hasExpired = ({ expires }, now) => expires !== undefined && now >= expires

/**
 * @param {Tag} tag @param {boolean} isThere  true if the blob was there when the tag was written
 * @returns {Value}
 */
function valueOf (tag, isThere) {
  const { cid, format } = tagInfoOf(tag)
  const { weak, meta, expires } = tag
  return {
    cid: String(cid),
    format,
    isThere,
    ...weak && { weak },
    ...meta !== undefined && { meta: base64.baseEncode(meta) },
    ...expires !== undefined && { expires }
  }
}

/** @param {string} name @param {Value} value @returns {Tag} @throws {BaoError} STORE_CORRUPT { tag } */
function tagOf (name, { cid, format, weak, meta, expires }) {
  try {
    return tagFrom(name, /** @type {string} */ (cid), {
      format: /** @type {Tag['format']} */ (format),
      weak: /** @type {boolean} */ (weak),
      meta: meta === undefined ? undefined : decode(base64.baseDecode(/** @type {string} */ (meta))),
      expires: expires === undefined ? undefined : new Date(/** @type {number} */ (expires))
    })(0)
  } catch {
    throw damagedTag(name)
  }
}
