// Reads and changes the tags in the index, which keeps each tag twice: under its name, and in the order of the blobs.
//
// An expired tag counts as deleted, even before garbage collection deletes it. The system's clock decides whether the
// tag has expired. If the clock is set back, the tag counts again. A weak tag counts only while the store has a record
// of its blob.

import { SortedCursor } from '../../storage/level/sorted-cursor.js'
import { SMALL_ENTRIES } from '../../storage/level/entries.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { VIEWS, allTagged, nameOfTag, tagKey, taggedKey, tagsOf, tagsWith } from '../../storage/format/keys.js'
import {
  checkOfTag, decodeTag, decodeTagged, encodeTag, isLive, placeOfAlias, protects
} from '../../storage/format/tags.js'
import { DAMAGED, damagedTag, damagedTags, eachReadable, orIfUnreadable, tagNotFound } from '../../storage/errors.js'

/** @import { Locks } from '../../../lib/async/locks.js' */
/** @import { Protection } from '../../gc/protection.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { EventLog } from '../events/event-log.js' */
/** @import { AliasIndex } from './alias-index.js' */
/** @import { Operation } from '../../storage/level/safe-database.js' */
/** @import { Tag } from '../../storage/format/tags.js' */
/** @import { Catalog, TagChange } from '../catalog.js' */

/** @typedef {{ also: Operation[], tags: TagChange[] }} TagCommit  for `Catalog.commit` */

/** At most this many expired tags are deleted in one write. */
const SWEPT_TAGS = 1000

export class TagIndex {
  #databases
  #index
  #catalog
  #aliases
  #log
  #locks
  #protection

  /**
   * @param {object} parts
   * @param {Databases} parts.databases
   * @param {Catalog} parts.catalog
   * @param {AliasIndex} parts.aliases
   * @param {EventLog} parts.log
   * @param {Locks} parts.locks
   * @param {Protection} parts.protection
   */
  constructor ({ databases, catalog, aliases, log, locks, protection }) {
    this.#databases = databases
    this.#index = databases.index
    this.#catalog = catalog
    this.#aliases = aliases
    this.#log = log
    this.#locks = locks
    this.#protection = protection
  }

  /**
   * Returns the time from which a `ttl` counts, in milliseconds since 1970. It never goes back. If it followed a clock
   * that was set back, the tag would expire too early once the clock is right again.
   */
  now () { return this.#log.now() }

  /**
   * @param {string} name
   * @returns {Promise<Tag | undefined>} undefined when there is no tag of that name that counts
   * @throws {BaoError} STORE_CORRUPT { tag }
   */
  async get (name) {
    const { isThere, tag } = await this.#find(name)
    if (isThere && tag === undefined) throw damagedTag(name)
    return tag !== undefined && await this.#counts(tag) ? tag : undefined
  }

  /** Returns false for a tag that has expired, and for a weak one without a blob. @param {Tag} tag */
  async #counts (tag) {
    return isLive(tag, Date.now()) && (!tag.weak || (await this.#catalog.find(tag.root)).isThere)
  }

  /** @param {string} name @returns {Promise<{ isThere: boolean, tag?: Tag }>} without `tag` when it is damaged */
  async #find (name) {
    const stored = await orIfUnreadable(this.#index.get(tagKey(name), VIEWS), DAMAGED)
    return stored === undefined ? { isThere: false } : { isThere: true, tag: decodeTag(tagKey(name), stored) }
  }

  /**
   * @param {string} prefix @param {string} [after]  a name
   * @returns {AsyncGenerator<Tag>} the tags that count, in the order of their names as UTF-8
   * @throws {BaoError} STORE_CORRUPT { tag } for a damaged tag, after all others
   */
  async * list (prefix, after) {
    /** @type {string | undefined} */
    let firstDamaged
    const errorOf = () => firstDamaged === undefined ? damagedTags() : damagedTag(firstDamaged)
    const entries = this.#index.iterator({ ...tagsWith(prefix, after), ...VIEWS })
    for await (const [key, value] of eachReadable(entries, () => { throw errorOf() })) {
      const tag = decodeTag(key, value)
      if (tag === undefined) firstDamaged ??= nameOfTag(key)
      else if (await this.#counts(tag)) yield tag
    }
    if (firstDamaged !== undefined) throw errorOf()
  }

  /** Counts the tags that protect something. Damaged ones do not count. */
  async count () {
    let count = 0
    const now = Date.now()
    for await (const tag of this.#readable()) if (isLive(tag, now) && !tag.weak) count++
    return count
  }

  /** Yields all readable tags, even expired ones. @returns {AsyncGenerator<Tag>} */
  async * #readable () {
    for await (const [key, value] of eachReadable(this.#index.iterator({ ...tagsWith(''), ...VIEWS }))) {
      const tag = decodeTag(key, value)
      if (tag !== undefined) yield tag
    }
  }

  /**
   * Sets tags in one write.
   *
   * @param {Tag[]} tags  with different names; each replaces a tag of that name, damaged or not
   * @param {(tags: TagCommit) => Promise<void>} [commit]  writes them, maybe together with other changes
   */
  set (tags, commit = changes => this.#catalog.commit([], changes)) {
    return this.#alone(tags.map(({ name }) => name), () => this.#write(tags, commit))
  }

  /**
   * Sets a tag if its name is free.
   *
   * @param {Tag} tag
   * @returns {Promise<boolean>} false when there is a tag of that name, damaged or not
   */
  add (tag) {
    return this.#alone([tag.name], async () => {
      const { isThere, tag: before } = await this.#find(tag.name)
      if (isThere && (before === undefined || await this.#counts(before))) return false
      await this.#write([tag], changes => this.#catalog.commit([], changes))
      return true
    })
  }

  /** @param {Tag[]} tags @param {(tags: TagCommit) => Promise<void>} commit */
  #write (tags, commit) {
    return this.whileTagging(tags, async () => {
      const changes = /** @type {TagCommit} */ ({ also: [], tags: [] })
      for (const tag of tags) {
        const { operations, before } = await this.#removal(tag.name)
        changes.also.push(...operations, ...puts(tag))
        changes.tags.push({ name: tag.name, before, after: tag })
      }
      await commit(changes)
    })
  }

  /**
   * @param {string} name
   * @param {(tag: Tag | undefined) => boolean} [isMeant]  returns true for the tag to delete; gets undefined for a
   *   damaged tag. Default: true for any tag
   * @returns {Promise<boolean>} true if it has deleted a tag that had not expired
   */
  delete (name, isMeant = () => true) {
    return this.#alone([name], async () => {
      const { operations, before } = await this.#removal(name)
      if (operations.length === 0 || !isMeant(before)) return false
      const counted = before !== undefined && await this.#counts(before)
      await this.#catalog.commit([], { also: operations, tags: [{ name, before }] })
      return before === undefined || counted
    })
  }

  /** @param {string} from @param {string} to  replaces a tag of that name */
  rename (from, to) {
    return this.#alone([from, to], async () => {
      const tag = await this.get(from)
      if (tag === undefined) throw tagNotFound(from)
      if (from === to) return
      const moved = { ...tag, name: to }
      // A collection that is reading all tags must not miss this one while it moves.
      await this.whileTagging([tag], async () => {
        const [old, replaced] = [await this.#removal(from), await this.#removal(to)]
        const also = [...old.operations, ...replaced.operations, ...puts(moved)]
        const tags = [{ name: to, before: replaced.before, after: moved }, { name: from, before: tag }]
        await this.#catalog.commit([], { also, tags })
      })
    })
  }

  /**
   * Deletes the tags that do not count: those that have expired, and weak ones without a blob.
   *
   * @param {AbortSignal} [signal]
   */
  async sweepEnded (signal) {
    let tags = /** @type {Tag[]} */ ([])
    for await (const tag of this.#readable()) {
      signal?.throwIfAborted()
      if (isLive(tag, Date.now()) && !tag.weak) continue
      tags.push(tag)
      if (tags.length < SWEPT_TAGS) continue
      await this.#sweepOf(tags)
      tags = []
    }
    if (tags.length > 0) await this.#sweepOf(tags)
  }

  /** Deletes those of some tags that do not count. @param {Tag[]} tags */
  async #sweepOf (tags) {
    const looks = await this.#catalog.findMany(tags.map(({ root }) => root))
    const names = tags.filter((tag, i) => !isLive(tag, Date.now()) || !looks[i].isThere).map(({ name }) => name)
    if (names.length > 0) await this.#sweep(names)
  }

  /** @param {string[]} names  of tags that did not count; callers may have set them again since */
  #sweep (names) {
    return this.#alone(names, async () => {
      const changes = /** @type {TagCommit} */ ({ also: [], tags: [] })
      for (const name of names) {
        const { operations, before } = await this.#removal(name)
        if (before === undefined || await this.#counts(before)) continue
        changes.also.push(...operations)
        changes.tags.push({ name, before })
      }
      await this.#catalog.commit([], changes)
    })
  }

  /**
   * Protects the blobs that tags name while the tags are written, and once more after the write, because a collection
   * that has begun since may not find the new tags in the index. If an alias that a tag names leads to a blob only by
   * then, that blob is protected, too.
   *
   * @param {Tag[]} tags @param {() => Promise<void>} write
   */
  async whileTagging (tags, write) {
    const release = await this.#protect(tags)
    try {
      await write()
    } finally {
      const releaseAgain = await this.#protect(tags).finally(release)
      releaseAgain()
    }
  }

  /** @param {Tag[]} tags @returns {Promise<() => void>} a function that ends the protection */
  async #protect (tags) {
    const releases = /** @type {(() => void)[]} */ ([])
    const release = () => { for (const release of releases) release() }
    try {
      for (const tag of tags) {
        const root = tag.alias === undefined ? tag.root : await this.blobOf(tag)
        if (root !== undefined) releases.push(this.#protection.tag(root, tag.format))
      }
    } catch (error) {
      release()
      throw error
    }
    return release
  }

  /**
   * Finds the blob that a tag names, directly or by an alias.
   *
   * @param {Tag} tag
   * @returns {Promise<Uint8Array | undefined>} undefined for an alias that does not lead to a blob yet
   */
  async blobOf ({ root, alias }) { return alias === undefined ? root : this.#aliases.resolve(alias) }

  /**
   * Finds a tag that names a blob, directly or by an alias.
   *
   * @param {Uint8Array} root
   * @returns {Promise<{ isTagged: boolean, name?: string }>} without `name` for a temporary tag
   */
  async tagOf (root) {
    const own = await this.#firstAt(root)
    if (own !== undefined) return own
    for (const { multihash } of await this.#aliases.of(root, fail)) {
      const tag = await this.#firstAt(placeOfAlias(multihash))
      if (tag !== undefined) return tag
    }
    return { isTagged: this.#protection.isTagged(nameOf(root)) }
  }

  /** Returns true if a tag names this alias. @param {Uint8Array} multihash */
  async namesAlias (multihash) { return await this.#firstAt(placeOfAlias(multihash)) !== undefined }

  /** Finds the first live tag of a blob or an alias. @param {Uint8Array} root  of a blob, or the place of an alias */
  async #firstAt (root) {
    const now = Date.now()
    for await (const [key, value] of eachReadable(this.#index.iterator({ ...tagsOf(root), ...VIEWS }), fail)) {
      if (protects(key, value, now)) return { isTagged: true, name: decodeTagged(key, value)?.name }
    }
  }

  /** Returns a cursor that tells which blobs have tags, for callers that walk all blobs and ask once for each blob. */
  inOrder () {
    const cursor = new SortedCursor(this.#index.iterator({ ...allTagged, ...SMALL_ENTRIES }))
    const now = Date.now()
    return {
      isTagged: (/** @type {Uint8Array} */ root) => cursor.some(root, ([key, value]) => protects(key, value, now)),
      close: () => cursor.close()
    }
  }

  /**
   * Finds the hash sequences and aliases that tags name. It reads both entries of every tag, which must agree.
   *
   * @returns {Promise<{ sequences: Uint8Array[], aliases: Uint8Array[] }>} roots of sequences, and multihashes
   * @throws {BaoError} STORE_CORRUPT
   */
  async survey () {
    const snapshot = this.#index.supports.explicitSnapshots ? this.#index.snapshot() : undefined
    // Without snapshots (in IndexedDB), tags may change between the two walks.
    const isComparable = snapshot !== undefined
    const options = isComparable ? { ...VIEWS, snapshot } : VIEWS
    const now = Date.now()
    const sequences = []
    const aliases = []
    let difference = 0n
    let count = 0
    try {
      for await (const [key, value] of eachReadable(this.#index.iterator({ ...tagsWith(''), ...options }), fail)) {
        const tag = decodeTag(key, value)
        if (tag === undefined) throw damagedTag(nameOfTag(key))
        if (tag.format === 'hashseq' && isLive(tag, now)) sequences.push(tag.root)
        if (tag.alias !== undefined && isLive(tag, now)) aliases.push(tag.alias)
        difference ^= checkOfTag(value)
        count++
      }
      for await (const [key, value] of eachReadable(this.#index.iterator({ ...allTagged, ...options }), fail)) {
        if (decodeTagged(key, value) === undefined) throw damagedTags()
        difference ^= checkOfTag(value)
        count--
      }
    } finally {
      await snapshot?.close()
    }
    if (isComparable && (count !== 0 || difference !== 0n)) throw damagedTags()
    return { sequences, aliases }
  }

  /**
   * Returns the operations that delete both entries of a tag. It finds the second entry of a damaged tag by the name.
   *
   * @param {string} name
   * @returns {Promise<{ operations: Operation[], before?: Tag }>} without `before` when the tag is missing or damaged
   */
  async #removal (name) {
    const { isThere, tag } = await this.#find(name)
    if (!isThere) return { operations: [] }
    const places = tag === undefined ? await this.#placesOf(name) : [taggedKey(tag.root, name)]
    return { operations: [tagKey(name), ...places].map(key => ({ type: 'del', key })), before: tag }
  }

  /** @param {string} name */
  async #placesOf (name) {
    const keys = []
    for await (const [key, value] of eachReadable(this.#index.iterator({ ...allTagged, ...VIEWS }), fail)) {
      if (decodeTagged(key, value)?.name === name) keys.push(new Uint8Array(key))
    }
    return keys
  }

  /**
   * Runs work under the locks of some names.
   *
   * @template T @param {string[]} names @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  #alone (names, work) {
    this.#databases.assertWritable()
    return this.#locks.runAll([...new Set(names)].map(name => `tag ${name}`), work)
  }
}

/** @returns {never} */
const fail = () => { throw damagedTags() }

/** @param {Tag} tag @returns {Operation[]} */
const puts = tag => Object.values(encodeTag(tag)).map(([key, value]) => ({ type: 'put', key, value }))
