// Aliases: other names of blobs, multihashes of other functions than BLAKE3. The index keeps each alias twice, by its
// multihash and by the blob. Both entries go into the batch that holds the blob's record, or into a later one, so an
// alias never leads to a blob without a record. What it leads to is hashed when it is read.

import { HASH_LEN } from '../../../lib/core/constants.js'
import { equals } from 'uint8arrays/equals'
import { SortedCursor } from '../sorted-cursor.js'
import { SMALL_ENTRIES } from '../../storage/level/entries.js'
import { damagedRecord, eachReadable, orIfUnreadable } from '../../storage/errors.js'
import {
  VIEWS, aliasKey, aliasOfKey, allAliases, allAliasesByBlob, allAliasesOf, multihashOfAlias,
  multihashOfAliasOf
} from '../../storage/format/keys.js'

/** @import { SafeDatabase } from '../../storage/level/safe-database.js' */
/** @import { Operation } from '../../storage/level/safe-database.js' */

export class Aliases {
  #index

  /** @param {SafeDatabase} index */
  constructor (index) {
    this.#index = index
  }

  /**
   * The blob that an alias leads to.
   *
   * @param {Uint8Array} multihash
   * @returns {Promise<Uint8Array | undefined>} its hash
   */
  async rootOf (multihash) {
    return rootIn(await orIfUnreadable(this.#index.get(aliasKey(multihash), VIEWS)))
  }

  /** The same for several. @param {Uint8Array[]} multihashes @returns {Promise<(Uint8Array | undefined)[]>} */
  async rootsOf (multihashes) {
    if (multihashes.length === 0) return []
    const stored = await orIfUnreadable(this.#index.getMany(multihashes.map(aliasKey), VIEWS))
    return stored === undefined ? Promise.all(multihashes.map(multihash => this.rootOf(multihash))) : stored.map(rootIn)
  }

  /**
   * The aliases of a blob.
   *
   * @param {Uint8Array} root
   * @param {() => void} [onDamage]  called when some cannot be read
   * @returns {Promise<Uint8Array[]>} multihashes
   */
  async of (root, onDamage) {
    const found = []
    for await (const key of eachReadable(this.#index.keys({ ...allAliasesOf(root), ...VIEWS }), onDamage)) {
      const multihash = multihashOfAliasOf(key)
      const leadsTo = await this.rootOf(multihash)
      if (leadsTo !== undefined && equals(leadsTo, root)) found.push(multihash)
    }
    return found
  }

  /**
   * @returns {AsyncGenerator<{ multihash: Uint8Array, root: Uint8Array }>} all of them, in the order of their
   *   multihashes
   * @throws {import('../../../lib/core/errors.js').BaoError} STORE_CORRUPT when some cannot be read, and all others
   *   have been given
   */
  async * all () {
    for await (const [key, value] of eachReadable(this.#index.iterator({ ...allAliases, ...VIEWS }), fail)) {
      const root = rootIn(value)
      if (root !== undefined) yield { multihash: multihashOfAlias(key), root }
    }
  }

  /** Tells which blobs have aliases, for readers that walk all blobs. */
  inOrder () { return new SortedCursor(this.#index.iterator({ ...allAliasesByBlob, ...SMALL_ENTRIES })) }

  /** @param {Uint8Array} multihash @param {Uint8Array} root @returns {Operation[]} */
  puts (multihash, root) {
    return [
      { type: 'put', key: aliasKey(multihash), value: root },
      { type: 'put', key: aliasOfKey(root, multihash), value: new Uint8Array(0) }
    ]
  }

  /** @param {Uint8Array} multihash @param {Uint8Array} root @returns {Operation[]} */
  dels (multihash, root) {
    return [{ type: 'del', key: aliasKey(multihash) }, { type: 'del', key: aliasOfKey(root, multihash) }]
  }
}

/** @param {Uint8Array | undefined} value  as it is stored */
const rootIn = value => value?.length === HASH_LEN ? new Uint8Array(value) : undefined

/** @returns {never} */
const fail = () => { throw damagedRecord() }
