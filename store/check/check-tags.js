// Checks tags. The index has two entries for each tag: one under its name, and one beside its blob. So a lost or
// damaged entry can be restored from the other one.

import { VIEWS, allTagged, nameBeside, nameOfTag, tagKey, taggedKey, tagsWith } from '../storage/format/keys.js'
import { areSameTags, decodeTag, decodeTagged, encodeTag } from '../storage/format/tags.js'
import { DAMAGED, eachReadable, orIfUnreadable } from '../storage/errors.js'

/** @import { Catalog, TagChange } from '../catalog/catalog.js' */
/** @import { Operation } from '../storage/level/safe-database.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { TagIndex } from '../catalog/names/tag-index.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Tag } from '../storage/format/tags.js' */

/** @typedef {{ name: string, isRestored: boolean }} DamagedTag */

export class TagCheck {
  #parts
  #repairs
  #signal
  /** Tags whose two entries differ, by their names. */
  #found = /** @type {Map<string, DamagedTag>} */ (new Map())
  /** Number of entries that are so damaged that the tag's name is not known. */
  strays = 0
  isUnreadable = false

  /**
   * @param {{ catalog: Catalog, databases: Databases, locks: Locks, tags: TagIndex }} parts
   * @param {{ repair: boolean, signal?: AbortSignal }} options
   */
  constructor (parts, { repair, signal }) {
    this.#parts = parts
    this.#repairs = repair
    this.#signal = signal
  }

  get #index () { return this.#parts.databases.index }

  /** @returns {Promise<DamagedTag[]>} `isRestored`: true if a repair has restored the tag from its other entry */
  async run () {
    for await (const [key, value] of this.#entries(allTagged)) {
      const tag = decodeTagged(key, value)
      if (tag === undefined) await this.#alone(nameBeside(key), () => this.#strayBeside(key))
      else if (!areSameTags(tag, await this.#named(tag.name))) {
        await this.#alone(tag.name, () => this.#checkBeside(key, tag.name))
      }
    }
    for await (const [key, value] of this.#entries(tagsWith(''))) {
      const name = nameOfTag(key)
      const tag = decodeTag(key, value)
      if (tag !== undefined && areSameTags(tag, await this.#beside(tag))) continue
      await this.#alone(name, () => this.#checkNamed(key, name))
    }
    return [...this.#found.values()]
  }

  /** @param {object} range */
  async * #entries (range) {
    const entries = this.#index.iterator({ ...range, ...VIEWS })
    for await (const [key, value] of eachReadable(entries, () => { this.isUnreadable = true })) {
      this.#signal?.throwIfAborted()
      yield [new Uint8Array(key), new Uint8Array(value)]
    }
  }

  /** Drops an unreadable entry. The entry under the tag's name says which tag it was. @param {Uint8Array} key */
  async #strayBeside (key) {
    const value = await orIfUnreadable(this.#index.get(key, VIEWS))
    if (value === undefined || decodeTagged(key, value) !== undefined) return
    this.strays++
    if (this.#repairs) await this.#delete(key)
  }

  /**
   * Checks an entry beside a blob again, under the lock of the tag's name, because a call may have changed it.
   *
   * @param {Uint8Array} key @param {string} name
   */
  async #checkBeside (key, name) {
    const value = await orIfUnreadable(this.#index.get(key, VIEWS))
    const tag = value && decodeTagged(key, value)
    const named = await this.#named(name)
    if (tag === undefined || areSameTags(tag, named)) return
    // The entry under the name decides. If it is lost or damaged, it is restored from this entry.
    const isStale = named !== undefined
    this.#note(name, true)
    if (!this.#repairs) return
    if (isStale) await this.#delete(key)
    else await this.#write(tag, [{ name, after: tag }])
  }

  /** Checks the entry under a name again, under the lock of the name. @param {Uint8Array} key @param {string} name */
  async #checkNamed (key, name) {
    const value = await orIfUnreadable(this.#index.get(key, VIEWS), DAMAGED)
    if (value === undefined) return
    const tag = decodeTag(key, value)
    if (tag !== undefined && areSameTags(tag, await this.#beside(tag))) return
    this.#note(name, tag !== undefined)
    if (!this.#repairs) return
    if (tag !== undefined) await this.#write(tag)
    else await this.#parts.catalog.commit([], { also: [{ type: 'del', key }], tags: [{ name }] })
  }

  /** Deletes an entry that is beside a blob and does not belong to any tag. @param {Uint8Array} key */
  #delete (key) { return this.#parts.catalog.commit([], { also: [{ type: 'del', key }] }) }

  /** Writes both entries of a tag. @param {Tag} tag @param {TagChange[]} [tags]  changes to tell watchers of */
  async #write (tag, tags) {
    /** @type {Operation[]} */
    const also = Object.values(encodeTag(tag)).map(([key, value]) => ({ type: 'put', key, value }))
    await this.#parts.tags.whileTagging([tag], () => this.#parts.catalog.commit([], { also, tags }))
  }

  /** Reads the tag under a name. @param {string} name */
  async #named (name) {
    const value = await orIfUnreadable(this.#index.get(tagKey(name), VIEWS))
    return value && decodeTag(tagKey(name), value)
  }

  /** Reads the entry beside the blob of a tag. @param {Tag} tag */
  async #beside ({ root, name }) {
    const value = await orIfUnreadable(this.#index.get(taggedKey(root, name), VIEWS))
    return value && decodeTagged(taggedKey(root, name), value)
  }

  /** @param {string} name @param {boolean} isRestored */
  #note (name, isRestored) {
    if (!this.#found.get(name)?.isRestored) this.#found.set(name, { name, isRestored: isRestored && this.#repairs })
  }

  /** @param {string} name @param {() => Promise<void>} work */
  #alone (name, work) { return this.#parts.locks.run(`tag ${name}`, work) }
}
