// Checks tags. The index keeps each tag twice, under its name and beside its blob. So a tag that one place has lost can
// be restored from the other.

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
  /** The tags that were not the same in both places, by their names. */
  #found = /** @type {Map<string, DamagedTag>} */ (new Map())
  /** How many entries are so damaged that their own name is not known. */
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

  /** @returns {Promise<DamagedTag[]>} `isRestored`: the other place has the tag; if not, `repair` has deleted it */
  async run () {
    for await (const [key, value] of this.#entries(allTagged)) {
      const tag = decodeTagged(key, value)
      if (tag === undefined) await this.#alone(nameBeside(key), () => this.#strayBeside(key))
      else if (!areSameTags(tag, await this.#named(tag.name))) {
        await this.#alone(tag.name, () => this.#settleBeside(key, tag.name))
      }
    }
    for await (const [key, value] of this.#entries(tagsWith(''))) {
      const name = nameOfTag(key)
      const tag = decodeTag(key, value)
      if (tag !== undefined && areSameTags(tag, await this.#beside(tag))) continue
      await this.#alone(name, () => this.#settleNamed(key, name))
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

  /** @param {Uint8Array} key  of a damaged entry beside a blob: the entry under the name tells what the tag was */
  async #strayBeside (key) {
    const value = await orIfUnreadable(this.#index.get(key, VIEWS))
    if (value === undefined || decodeTagged(key, value) !== undefined) return
    this.strays++
    if (this.#repairs) await this.#delete(key)
  }

  /**
   * Checks an entry beside a blob again, under the lock of its name: it may have been changed meanwhile.
   *
   * @param {Uint8Array} key @param {string} name
   */
  async #settleBeside (key, name) {
    const value = await orIfUnreadable(this.#index.get(key, VIEWS))
    const tag = value && decodeTagged(key, value)
    const named = await this.#named(name)
    if (tag === undefined || areSameTags(tag, named)) return
    // The entry under the name decides. Where there is none, or a damaged one, this entry says what the tag was.
    const isStale = named !== undefined
    this.#note(name, true)
    if (!this.#repairs) return
    if (isStale) await this.#delete(key)
    else await this.#write(tag, [{ name, after: tag }])
  }

  /** @param {Uint8Array} key @param {string} name */
  async #settleNamed (key, name) {
    const value = await orIfUnreadable(this.#index.get(key, VIEWS), DAMAGED)
    if (value === undefined) return
    const tag = decodeTag(key, value)
    if (tag !== undefined && areSameTags(tag, await this.#beside(tag))) return
    this.#note(name, tag !== undefined)
    if (!this.#repairs) return
    if (tag !== undefined) await this.#write(tag)
    else await this.#parts.catalog.commit([], { also: [{ type: 'del', key }], tags: [{ name }] })
  }

  /** Deletes an entry without which the tag is as it was. @param {Uint8Array} key */
  #delete (key) { return this.#parts.catalog.commit([], { also: [{ type: 'del', key }] }) }

  /** Writes both entries of a tag. @param {Tag} tag @param {TagChange[]} [tags]  what changes for watchers */
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
