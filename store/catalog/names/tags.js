// Tags: names under which blobs are protected from garbage collection.

import { HASHSEQ, RAW, toCid } from '../../../lib/hash/cid.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { describe } from '../../../lib/core/bytes.js'
import { assertName, assertWellFormed, targetOrAlias } from './tag-target.js'
import { cidOfAlias } from './aliases.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { Lifetime } from '../../storage/concurrency/lifetime.js' */
/** @import { Tag, TagFormat } from '../../storage/format/records.js' */
/** @import { TagIndex } from './tag-index.js' */

/**
 * @typedef {{ name: string, cid: CID, format: TagFormat }} TagInfo  the codec of `cid` follows the format. Where a tag
 *   names an alias, `cid` is of the alias's hash function
 */

export class Tags {
  #index
  #life

  /** @param {TagIndex} index @param {Lifetime} life */
  constructor (index, life) {
    this.#index = index
    this.#life = life
  }

  /**
   * Protects a blob, whether the store has it already or not. A tag of that name is replaced.
   *
   * @param {string} name  any text but an empty one
   * @param {BlobName} cid  or a CID of another hash function, which names an alias: it protects the blob that the alias
   *   leads to, whenever that comes
   * @param {{ format?: TagFormat }} [options]  `hashseq` protects also the blobs whose hashes the content consists
   *   of, 32 bytes each; default for a CID with the codec of hash sequences (0x80)
   */
  async set (name, cid, options) {
    assertName('name', name)
    const what = targetOrAlias(cid, options)
    return this.#life.run(() => this.#index.set({ name, ...what }))
  }

  /**
   * @param {string} name
   * @returns {Promise<TagInfo | undefined>}
   * @throws {BaoError} STORE_CORRUPT { tag }: it can be set again
   */
  async get (name) {
    assertName('name', name)
    return this.#life.run(async () => {
      const tag = await this.#index.get(name)
      return tag && infoOf(tag)
    })
  }

  /** @param {string} name @returns {Promise<boolean>} was there one? */
  async delete (name) {
    assertName('name', name)
    return this.#life.run(() => this.#index.delete(name))
  }

  /**
   * In one step: the blob is protected all the time.
   *
   * @param {string} from
   * @param {string} to  a tag of that name is replaced
   * @throws {BaoError} STORE_TAG_NOT_FOUND { tag }
   */
  async rename (from, to) {
    assertName('from', from)
    assertName('to', to)
    return this.#life.run(() => this.#index.rename(from, to))
  }

  /**
   * @param {{ prefix?: string }} [options]  of the names
   * @returns {AsyncGenerator<TagInfo>} in the order of their names as UTF-8
   * @throws {BaoError} STORE_CORRUPT { tag } for a damaged one, when all others have been given
   */
  list (options = {}) {
    return this.#life.each(() => this.#list(options))
  }

  /** @param {{ prefix?: string }} options */
  async * #list (options) {
    assertKnownOptions(options, ['prefix'])
    const { prefix = '' } = options
    if (typeof prefix !== 'string') throw new TypeError(`"prefix" expected a string, got ${describe(prefix)}`)
    assertWellFormed('prefix', prefix)
    for await (const tag of this.#index.list(prefix)) yield infoOf(tag)
  }
}

/** @param {Tag} tag @returns {TagInfo} */
const infoOf = ({ name, root, format, alias }) =>
  ({ name, cid: alias ? cidOfAlias(alias) : toCid(root, format === 'hashseq' ? HASHSEQ : RAW), format })
