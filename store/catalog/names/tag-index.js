// The tags in the index. Each is kept twice, under its name and beside the blob that it names.

import { SortedCursor } from '../sorted-cursor.js'
import { SMALL_ENTRIES } from '../../storage/level/entries.js'
import { nameOf } from '../roots.js'
import { VIEWS, allTagged, nameOfTag, tagKey, taggedKey, tagsOf, tagsWith } from '../../storage/format/keys.js'
import { checkOfTag, decodeTag, decodeTagged, encodeTag, placeOfAlias } from '../../storage/format/records.js'
import { DAMAGED, damagedTag, damagedTags, eachReadable, orIfUnreadable, tagNotFound } from '../../storage/errors.js'

/** @import { StoreContext } from '../../blob-store.js' */
/** @import { Operation } from '../../storage/level/safe-database.js' */
/** @import { Tag } from '../../storage/format/records.js' */

export class TagIndex {
  #store

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  get #index () { return this.#store.databases.index }

  /** @param {string} name @returns {Promise<Tag | undefined>} @throws {BaoError} STORE_CORRUPT { tag } */
  async get (name) {
    const stored = await orIfUnreadable(this.#index.get(tagKey(name), VIEWS), DAMAGED)
    if (stored === undefined) return undefined
    const tag = decodeTag(tagKey(name), stored)
    if (tag === undefined) throw damagedTag(name)
    return tag
  }

  /**
   * @param {string} prefix
   * @returns {AsyncGenerator<Tag>} in the order of their names as UTF-8
   * @throws {BaoError} STORE_CORRUPT { tag } for a damaged one, when all others have been given
   */
  async * list (prefix) {
    /** @type {string | undefined} */
    let firstDamaged
    const damaged = () => firstDamaged === undefined ? damagedTags() : damagedTag(firstDamaged)
    const entries = this.#index.iterator({ ...tagsWith(prefix), ...VIEWS })
    for await (const [key, value] of eachReadable(entries, () => { throw damaged() })) {
      const tag = decodeTag(key, value)
      if (tag !== undefined) yield tag
      else firstDamaged ??= nameOfTag(key)
    }
    if (firstDamaged !== undefined) throw damaged()
  }

  /** How many tags there are. A damaged one does not count. */
  async count () {
    let count = 0
    for await (const [key, value] of eachReadable(this.#index.iterator({ ...tagsWith(''), ...VIEWS }))) {
      if (decodeTag(key, value) !== undefined) count++
    }
    return count
  }

  /**
   * @param {Tag} tag  takes the place of one of that name, damaged or not
   * @param {(operations: Operation[]) => Promise<void>} [write]  writes the operations together with others
   */
  set (tag, write = operations => this.#write(operations)) {
    return this.#alone([tag.name], () => this.whileTagging(tag, async () => {
      await write([...await this.#removal(tag.name), ...puts(tag)])
    }))
  }

  /** @param {string} name @returns {Promise<boolean>} was there one? */
  delete (name) {
    return this.#alone([name], async () => {
      const operations = await this.#removal(name)
      if (operations.length > 0) await this.#write(operations)
      return operations.length > 0
    })
  }

  /** @param {string} from @param {string} to  a tag of that name is replaced */
  rename (from, to) {
    return this.#alone([from, to], async () => {
      const tag = await this.get(from)
      if (tag === undefined) throw tagNotFound(from)
      if (from === to) return
      // A collection that reads all tags must not miss this one because it moves.
      await this.whileTagging(tag, async () => {
        await this.#write([...await this.#removal(from), ...await this.#removal(to), ...puts({ ...tag, name: to })])
      })
    })
  }

  /**
   * Protects what a tag names while the tag is written. Marks that are begun meanwhile may not find the tag yet: they
   * are told once it is there. So does a blob that gets the alias meanwhile which the tag names.
   *
   * @param {Tag} tag @param {() => Promise<void>} write
   */
  async whileTagging (tag, write) {
    const release = await this.#protect(tag)
    try {
      await write()
    } finally {
      const releaseAgain = await this.#protect(tag).finally(release)
      releaseAgain()
    }
  }

  /** @param {Tag} tag @returns {Promise<() => void>} lets it go */
  async #protect (tag) {
    const root = await this.blobOf(tag)
    return root === undefined ? () => {} : this.#store.protection.tag(root, tag.format)
  }

  /**
   * The blob that a tag names, itself or by an alias.
   *
   * @param {Tag} tag
   * @returns {Promise<Uint8Array | undefined>} undefined for an alias that leads to no blob yet
   */
  async blobOf ({ root, alias }) { return alias === undefined ? root : this.#store.catalog.aliases.resolve(alias) }

  /**
   * Does a tag name a blob itself, or an alias of it?
   *
   * @param {Uint8Array} root
   * @returns {Promise<{ isTagged: boolean, name?: string }>} without a name for a temporary one
   */
  async tagOf (root) {
    const own = await this.#firstAt(root)
    if (own !== undefined) return own
    for (const { multihash } of await this.#store.catalog.aliases.of(root, fail)) {
      const tag = await this.#firstAt(placeOfAlias(multihash))
      if (tag !== undefined) return tag
    }
    return { isTagged: this.#store.protection.isTagged(nameOf(root)) }
  }

  /** Does a tag name this alias? @param {Uint8Array} multihash */
  async namesAlias (multihash) { return await this.#firstAt(placeOfAlias(multihash)) !== undefined }

  /** The first of the tags at a place. @param {Uint8Array} root  of a blob, or the place of an alias */
  async #firstAt (root) {
    const [entry] = await orIfUnreadable(this.#index.iterator({ ...tagsOf(root), limit: 1, ...VIEWS }).all()) ?? fail()
    return entry && { isTagged: true, name: decodeTagged(...entry)?.name }
  }

  /** Tells which blobs have tags, for readers that walk all blobs. */
  inOrder () { return new SortedCursor(this.#index.iterator({ ...allTagged, ...SMALL_ENTRIES })) }

  /**
   * What tags name beside single blobs: sequences of hashes, and aliases. Every tag is looked at in both of its places:
   * they must say the same.
   *
   * @returns {Promise<{ sequences: Uint8Array[], aliases: Uint8Array[] }>} roots, and multihashes
   * @throws {BaoError} STORE_CORRUPT
   */
  async survey () {
    const snapshot = this.#index.supports.explicitSnapshots ? this.#index.snapshot() : undefined
    // Without snapshots (IndexedDB) tags may come and go between the two looks.
    const isComparable = snapshot !== undefined
    const options = isComparable ? { ...VIEWS, snapshot } : VIEWS
    const sequences = []
    const aliases = []
    let difference = 0n
    let count = 0
    try {
      for await (const [key, value] of eachReadable(this.#index.iterator({ ...tagsWith(''), ...options }), fail)) {
        const tag = decodeTag(key, value)
        if (tag === undefined) throw damagedTag(nameOfTag(key))
        if (tag.format === 'hashseq') sequences.push(tag.root)
        if (tag.alias !== undefined) aliases.push(tag.alias)
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
   * Batch operations that take away whatever is kept of a tag. What a damaged one named is found beside the blobs.
   *
   * @param {string} name @returns {Promise<Operation[]>}
   */
  async #removal (name) {
    const key = tagKey(name)
    const stored = await orIfUnreadable(this.#index.get(key, VIEWS), DAMAGED)
    if (stored === undefined) return []
    const tag = decodeTag(key, stored)
    const places = tag === undefined ? await this.#placesOf(name) : [taggedKey(tag.root, name)]
    return [key, ...places].map(key => ({ type: 'del', key }))
  }

  /** @param {string} name */
  async #placesOf (name) {
    const keys = []
    for await (const [key, value] of eachReadable(this.#index.iterator({ ...allTagged, ...VIEWS }), fail)) {
      if (decodeTagged(key, value)?.name === name) keys.push(new Uint8Array(key))
    }
    return keys
  }

  /** @param {Operation[]} operations */
  #write (operations) { return this.#index.batch(operations, this.#store.databases.syncBatch) }

  /**
   * Works on one name at a time. Two names are locked in order, so that no two calls wait for each other.
   *
   * @template T @param {string[]} names @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  #alone (names, work) {
    this.#store.databases.assertWritable()
    const [first, ...rest] = [...new Set(names)].sort()
    return this.#store.locks.run(`tag ${first}`, () => rest.length === 0 ? work() : this.#alone(rest, work))
  }
}

/** @returns {never} */
const fail = () => { throw damagedTags() }

/** @param {Tag} tag @returns {Operation[]} */
const puts = tag => Object.values(encodeTag(tag)).map(([key, value]) => ({ type: 'put', key, value }))
